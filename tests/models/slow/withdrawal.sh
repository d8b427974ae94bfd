# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/withdrawal.pml with spin: code is published and gives way while its tracker is being removed, and
# each deliberate mistake is found.
# time limit: 900
# checked: tests/models/withdrawal.pml src/link/instance/instance.c src/link/session/retire.c src/link/session/tracker.c

set -u
model=$PWD/tests/models/withdrawal.pml
. tests/models/support/spin.sh

good "a client that publishes, two threads that remove, two threads that call"
for mistake in 1 2 3 4 5 6; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
