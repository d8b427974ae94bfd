# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# As managed.s, but a word that holds a reference is not aligned.

    .text
    .globl managed
    .type managed, @function
managed:
    nop
    nop
    ret
    .size managed, .-managed

    .data
    .balign 8
    .globl words
    .type words, @object
    .size words, 24
words:
    .quad 0, 0, 0x1234567

    .section tenon_maps, "ao", @progbits, .text
    .balign 4
    .long managed - .
    .long 2
    .long 1
    .byte 0, 0
    .long 2
    .byte 0, 0

    .section tenon_roots, "ao", @progbits, .data
    .balign 4
    .long words + 4 - .
    .long 1
    .section .note.GNU-stack, "", @progbits
