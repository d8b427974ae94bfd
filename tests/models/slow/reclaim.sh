# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/reclaim.pml with spin: removals that do not wait for threads end once, whatever ends first, and
# each deliberate mistake is found.
# time limit: 900
# checked: tests/models/reclaim.pml src/link/session/reclaim.c src/link/session/tracker.c

set -u
model=$PWD/tests/models/reclaim.pml
. tests/models/support/spin.sh

good "two removals, a thread that runs their code, the end of the session"
for mistake in 1 2 3 4 5 6; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
