# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/marking.pml with spin as marking.sh does, with objects in holes of the old space.
# time limit: 1800
# checked: tests/models/marking.pml src/gc/generational/marker.c src/gc/generational/concurrent.c
# checked: src/gc/generational/log.c

set -u
model=$PWD/tests/models/marking.pml
. tests/models/support/spin.sh

good "three objects in holes, two pauses" -DPAUSES=2 -DHOLES=1
for mistake in 1 2 6 7 8 10 11 12 13 14; do
    bad "mistake $mistake is found in holes" -DBROKEN=$mistake -DHOLES=1
done
