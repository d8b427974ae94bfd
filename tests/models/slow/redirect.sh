# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/redirect.pml with spin: tiers, versions and a client claim the word that leads a function while
# threads call it, and each deliberate mistake is found.
# time limit: 900
# checked: tests/models/redirect.pml src/link/redirect/cell.c src/link/redirect/first_call.c
# checked: src/link/redirect/raise.c src/jit/replace.c

set -u
model=$PWD/tests/models/redirect.pml
. tests/models/support/spin.sh

good "tiers, versions that end in either order, a client, two threads that call"
good "no tiers, a thread that calls twice" -DTIERS=0 -DCALLS=2
for mistake in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
