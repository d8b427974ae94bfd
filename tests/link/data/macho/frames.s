# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Functions that save registers in every order that compact unwind can describe, and call `probe`. Those without a frame
# pointer push up to six registers; those with one store up to five below it. `call_with_values` gives each register
# that they save, but %rbp, a value from 1 on, and calls one of them. The table of them ends with 0.

    .text
    .globl _call_with_values
    .p2align 4
_call_with_values:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %r15
    pushq %r14
    pushq %r13
    pushq %r12
    pushq %rbx
    pushq %rbp
    .cfi_offset %rbx, -56
    .cfi_offset %r12, -48
    .cfi_offset %r13, -40
    .cfi_offset %r14, -32
    .cfi_offset %r15, -24
    movl $1, %ebx
    movl $2, %r12d
    movl $3, %r13d
    movl $4, %r14d
    movl $5, %r15d
    callq *%rdi
    popq %rbp
    popq %rbx
    popq %r12
    popq %r13
    popq %r14
    popq %r15
    popq %rbp
    retq
    .cfi_endproc

    .macro entry label
    .section __DATA,__const
    .quad \label
    .text
    .endm

    .section __DATA,__const
    .globl _functions
    .p2align 3
_functions:
    .text

    .set size, 0

# What was saved is overwritten, so that it can only come from the stack.
    .macro spoil reg
    .ifnc \reg,none
    movq $-1, %\reg
    .endif
    .endm

    .macro push_one reg
    .ifnc \reg,none
    pushq %\reg
    .set size, size + 8
    .cfi_def_cfa_offset size
    .endif
    .endm

# From the last one on, the lowest in memory, as compilers do it: the assembler takes this order for that of the memory.
    .set depth, 0
    .macro note_one reg
    .ifnc \reg,none
    .cfi_offset %\reg, depth
    .set depth, depth + 8
    .endif
    .endm

    .macro pop_one reg
    .ifnc \reg,none
    popq %\reg
    .endif
    .endm

    .macro frameless a, b=none, c=none, d=none, e=none, f=none
    .p2align 4
function\@:
    .cfi_startproc
    .set size, 8
    push_one \a
    push_one \b
    push_one \c
    push_one \d
    push_one \e
    push_one \f
    .set room, frame + ((size + frame) & 15) # so that the stack is aligned
    subq $room, %rsp
    .cfi_def_cfa_offset size + room
    .set depth, -size
    note_one \f
    note_one \e
    note_one \d
    note_one \c
    note_one \b
    note_one \a
    spoil \a
    spoil \b
    spoil \c
    spoil \d
    spoil \e
    spoil \f
    callq _probe
    addq $room, %rsp
    pop_one \f
    pop_one \e
    pop_one \d
    pop_one \c
    pop_one \b
    pop_one \a
    retq
    .cfi_endproc
    entry function\@
    .endm

    .macro store_one reg, at
    .ifnc \reg,none
    movq %\reg, -\at(%rbp)
    .cfi_offset %\reg, -16-\at
    .endif
    .endm

    .macro load_one reg, at
    .ifnc \reg,none
    movq -\at(%rbp), %\reg
    .endif
    .endm

    .macro framed a=none, b=none, c=none, d=none, e=none
    .p2align 4
framed\@:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $frame, %rsp
    store_one \e, 40
    store_one \d, 32
    store_one \c, 24
    store_one \b, 16
    store_one \a, 8
    spoil \a
    spoil \b
    spoil \c
    spoil \d
    spoil \e
    callq _probe
    load_one \a, 8
    load_one \b, 16
    load_one \c, 24
    load_one \d, 32
    load_one \e, 40
    leave
    retq
    .cfi_endproc
    entry framed\@
    .endm

# The first register of each order; the others are inner loops.
    .macro orders2 a
    .irp b,rbx,r12,r13,r14,r15,rbp
    .ifnc \a,\b
    frameless \a,\b
    orders3 \a,\b
    .endif
    .endr
    .endm
    .macro orders3 a, b
    .irp c,rbx,r12,r13,r14,r15,rbp
    .ifnc \a,\c
    .ifnc \b,\c
    frameless \a,\b,\c
    orders4 \a,\b,\c
    .endif
    .endif
    .endr
    .endm
    .macro orders4 a, b, c
    .irp d,rbx,r12,r13,r14,r15,rbp
    .ifnc \a,\d
    .ifnc \b,\d
    .ifnc \c,\d
    frameless \a,\b,\c,\d
    orders5 \a,\b,\c,\d
    .endif
    .endif
    .endif
    .endr
    .endm
    .macro orders5 a, b, c, d
    .irp e,rbx,r12,r13,r14,r15,rbp
    .ifnc \a,\e
    .ifnc \b,\e
    .ifnc \c,\e
    .ifnc \d,\e
    frameless \a,\b,\c,\d,\e
    orders6 \a,\b,\c,\d,\e
    .endif
    .endif
    .endif
    .endif
    .endr
    .endm
    .macro orders6 a, b, c, d, e
    .irp f,rbx,r12,r13,r14,r15,rbp
    .ifnc \a,\f
    .ifnc \b,\f
    .ifnc \c,\f
    .ifnc \d,\f
    .ifnc \e,\f
    frameless \a,\b,\c,\d,\e,\f
    .endif
    .endif
    .endif
    .endif
    .endif
    .endr
    .endm

    .set frame, 40
    .irp a,rbx,r12,r13,r14,r15,rbp
    frameless \a
    orders2 \a
    .endr

# Too large for the encoding: its size is in the instruction that makes it.
    .set frame, 4000
    frameless rbx
    frameless rbp,r15
    frameless r14,rbx,r12
    frameless r15,r14,r13,r12,rbx,rbp

    .set frame, 64
    framed
    framed rbx
    framed r15,rbx
    framed r12,r13,r14
    framed r15,r14,r13,r12
    framed rbx,r12,r13,r14,r15
    framed r14,r12,rbx,r15,r13

    .section __DATA,__const
    .quad 0

    .subsections_via_symbols
