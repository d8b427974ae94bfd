# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# More relocations than the header of a section can count.

        .section .rdata,"dr"
        .globl  words
words:  .rept   65534
        .quad   first
        .endr
        .quad   first
        .quad   second
        .data
        .globl  first, second
first:  .long   1
second: .long   2
