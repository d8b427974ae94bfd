# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/assumption.pml with spin: an assumption is broken by two threads while versions that rest on it
# are added, redirected and removed, and each deliberate mistake is found.
# time limit: 900
# checked: tests/models/assumption.pml src/jit/assumption.c src/jit/replace.c

set -u
model=$PWD/tests/models/assumption.pml
. tests/models/support/spin.sh

good "two versions, two threads that break, a client that redirects, a thread that calls"
for mistake in 1 2 3 4 5 6 7 8 9; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
