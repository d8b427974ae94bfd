# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Litmus tests of every publication under the memory models of AArch64 and RISC-V (tests/models/weak).

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -std=c11 -O2 -Wall -Wextra -Werror tests/models/weak/weak.c -o "$work/weak" &&
    "$work/weak" <tests/models/weak/publications.txt
