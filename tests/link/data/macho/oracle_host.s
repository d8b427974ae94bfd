# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What program.c refers to, for oracle_lld.c and ld64.lld: each in 16 bytes of a section of their own.

        .section __HOST,__host,regular,pure_instructions
        .globl  _strlen, _elsewhere, _missing
_strlen:
        .zero   16
_elsewhere:
        .zero   16
_missing:
        .zero   16
