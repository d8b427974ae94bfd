# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# One copy of each group; comdat_2.s has the other ones.

        .section .text,"xr",discard,any
        .globl  any
any:    movl    $1, %eax
        retq
        .section .rdata,"dr",associative,any
        .globl  about_any
about_any:
        .long   11

        .section .text,"xr",largest,largest
        .globl  largest, inside_largest
largest:
        movl    $1, %eax
inside_largest:
        retq
        .section .rdata,"dr",same_size,same_size
        .globl  same_size
same_size:
        .quad   1
        .section .rdata,"dr",same_contents,identical
        .globl  identical
identical:
        .quad   7

        .text
        .globl  first_any, first_largest
first_any:
        jmp     any
first_largest:
        jmp     largest
