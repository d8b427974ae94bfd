# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/dl.pml with spin: three threads open and close libraries that need each other, and each deliberate
# mistake is found.
# checked: tests/models/dl.pml src/link/dl/open.c

set -u
model=$PWD/tests/models/dl.pml
. tests/models/support/spin.sh

good "three threads, two libraries that need a third"
for mistake in 1 2 3 4 5 6 7 8; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
