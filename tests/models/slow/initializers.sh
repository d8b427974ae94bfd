# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Checks tests/models/initializers.pml with spin: three threads look up in libraries that need each other, and each
# deliberate mistake is found.

set -u
model=$PWD/tests/models/initializers.pml
. tests/models/support/spin.sh

good "three threads, two libraries in a circle, initializers that look up"
for mistake in 1 2 3 4 5 6; do
    bad "mistake $mistake is found" -DBROKEN=$mistake
done
