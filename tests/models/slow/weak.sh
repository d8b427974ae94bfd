# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Litmus tests of every publication under the memory models of AArch64 and RISC-V (tests/models/weak).
# time limit: 900
# checked: tests/models/weak/weak.c tests/models/weak/publications.txt src/link/redirect/host_aarch64.c
# checked: src/link/redirect/host_riscv64.c src/link/instance/instance.c

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gcc -std=c11 -O2 -Wall -Wextra -Werror tests/models/weak/weak.c -o "$work/weak" &&
    "$work/weak" <tests/models/weak/publications.txt
