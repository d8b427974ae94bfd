# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/peek.pml with spin: stack maps are looked up without a lock while the table changes, and each
# deliberate mistake is found.
# time limit: 900
# checked: tests/models/peek.pml src/gc/object/maps.c

set -u
model=$PWD/tests/models/peek.pml
. tests/models/support/spin.sh

good "two threads that look up, one that changes the table and is interrupted"
for mistake in 1 2 3 4 5 6 7; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
