# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/tiers.pml with spin: stubs are led to higher tiers while the client redirects them, retires
# modules and destroys the JIT, and each deliberate mistake is found.
# time limit: 900
# checked: tests/models/tiers.pml src/jit/tiers.c src/link/redirect/raise.c

set -u
model=$PWD/tests/models/tiers.pml
. tests/models/support/spin.sh

good "a thread that swaps, a client that redirects, retires and destroys, a thread that calls"
for mistake in 1 2 3 4 5 6; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
