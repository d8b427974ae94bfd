# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/cancel.pml with spin: however a cancellation and the last round of a lookup meet, its callback is
# called once, and each deliberate mistake is found.
# time limit: 900
# checked: tests/models/cancel.pml src/link/demand/cancel.c src/link/demand/query.c

set -u
model=$PWD/tests/models/cancel.pml
. tests/models/support/spin.sh

good "lookups of two rounds"
for mistake in 1 2 3 4 5 6 7; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
