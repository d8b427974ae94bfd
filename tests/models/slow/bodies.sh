# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/bodies.pml with spin: a body is retired while threads call and a client redirects, and each
# deliberate mistake is found.
# time limit: 900
# checked: tests/models/bodies.pml src/jit/tiers_retire.c src/link/redirect/bodies.c

set -u
model=$PWD/tests/models/bodies.pml
. tests/models/support/spin.sh

good "a thread that raises and retires, a client that redirects, two threads that call"
for mistake in 1 2 3 4 5; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
