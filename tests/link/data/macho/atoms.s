# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What belongs together, and what stays although nothing refers to it.

        .section __TEXT,__text,regular,pure_instructions

# Runs on into another entry of the same function, to which nothing refers.
        .globl  _outer, _inner
_outer: movl    $20, %eax
        .alt_entry _inner
_inner: addl    $3, %eax
        ret

# Another function.
        .globl  _unused
_unused:
        movl    $1, %eax
        ret

        .globl  _kept
        .no_dead_strip _kept
_kept:  movl    $2, %eax
        ret

# Of literals, only one is referred to: the section is not cut.
        .globl  _root
_root:  movzbl  _text_b(%rip), %eax
        addl    _four_b(%rip), %eax
        addl    _eight_b(%rip), %eax
        addl    _sixteen_b(%rip), %eax
        ret

        .globl  _text_a, _text_b, _four_a, _four_b, _eight_a, _eight_b, _sixteen_a, _sixteen_b
        .cstring
_text_a: .asciz "a"
_text_b: .asciz "b"
        .literal4
_four_a: .long  1
_four_b: .long  2
        .literal8
_eight_a: .quad 3
_eight_b: .quad 4
        .literal16
_sixteen_a: .quad 5, 0
_sixteen_b: .quad 6, 0

# Data is cut, except where the section says that it is not stripped.
        .data
        .globl  _datum_a, _datum_b
_datum_a: .long 1
_datum_b: .long 2
        .section __DATA,__table,regular,no_dead_strip
        .globl  _table_a
_table_a: .long 1

        .section __DATA,__mod_term_func,mod_term_funcs
        .p2align 3
        .quad   _at_end
        .text
_at_end: incl   _ended(%rip)
        ret
        .comm   _ended, 4, 2

        .subsections_via_symbols
