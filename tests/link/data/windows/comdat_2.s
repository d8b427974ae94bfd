# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# The other copies.

        .section .text,"xr",discard,any
        .globl  any
any:    movl    $2, %eax
        retq
        .section .rdata,"dr",associative,any
        .globl  about_any_too
about_any_too:
        .long   12

        .section .text,"xr",largest,largest
        .globl  largest, inside_largest
largest:
        movl    $2, %eax
        nop
        nop
inside_largest:
        retq
        .section .rdata,"dr",same_size,same_size
        .globl  same_size
same_size:
        .quad   2
        .section .rdata,"dr",same_contents,identical
        .globl  identical
identical:
        .quad   7

        .text
        .globl  second_any, second_largest
second_any:
        jmp     any
second_largest:
        jmp     largest
