# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/retire.pml with spin: code is retired while threads call it through a stub and a client redirects
# that, and each deliberate mistake is found.
# time limit: 900
# checked: tests/models/retire.pml src/link/session/retire.c src/link/session/tracker.c

set -u
model=$PWD/tests/models/retire.pml
. tests/models/support/spin.sh

good "a thread that retires, a client that redirects, two threads that call"
for mistake in 1 2 3 4 5; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
