# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/marking.pml with spin: marking beside threads frees nothing that a thread can reach, and each
# deliberate mistake is found.

set -u
model=$PWD/tests/models/marking.pml
. tests/models/support/spin.sh

good "three objects, three pauses" -DPAUSES=3
good "three objects in holes, two pauses" -DPAUSES=2 -DHOLES=1
good "four objects, two pauses" -DOBJECTS=4 -DPAUSES=2
for mistake in 1 2 3 4 5 6 7 8 9 13 14; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
for mistake in 1 2 6 7 8 10 11 12 13 14; do
    bad "mistake $mistake is found in holes" -DBROKEN=$mistake -DHOLES=1
done
