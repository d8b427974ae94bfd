# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/marking.pml with spin: marking beside threads frees nothing that a thread can reach, and each
# deliberate mistake is found. marking_holes.sh and marking_four.sh do the rest, beside it.
# time limit: 1800
# checked: tests/models/marking.pml src/gc/generational/marker.c src/gc/generational/concurrent.c
# checked: src/gc/generational/log.c

set -u
model=$PWD/tests/models/marking.pml
. tests/models/support/spin.sh

good "three objects, three pauses" -DPAUSES=3
for mistake in 1 2 3 4 5 6 7 8 9 13 14; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
