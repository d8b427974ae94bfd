# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Every instruction that loads from the GOT and can do without, and neighbours that cannot (oracle.c). One is missing: ld.lld 22
# takes `leaq x@GOTPCREL(%rip), %rax`, which wants the slot's address, for an operation and makes `orl $x, %esp` of it.

.macro operations register
    addq host_datum@GOTPCREL(%rip), \register
    orq here@GOTPCREL(%rip), \register
    adcq host_datum@GOTPCREL(%rip), \register
    sbbq here@GOTPCREL(%rip), \register
    andq host_datum@GOTPCREL(%rip), \register
    subq here@GOTPCREL(%rip), \register
    xorq host_datum@GOTPCREL(%rip), \register
    cmpq here@GOTPCREL(%rip), \register
    testq \register, host_datum@GOTPCREL(%rip)
    movq here@GOTPCREL(%rip), \register
    movq host_far@GOTPCREL(%rip), \register
    addq host_far@GOTPCREL(%rip), \register
.endm

.macro offsets register
    movq thread_datum@GOTTPOFF(%rip), \register
    addq thread_datum@GOTTPOFF(%rip), \register
.endm

    .text
    .globl here
here:
    .irp register, %rax, %rcx, %rsp, %rbp, %rdi, %r8, %r12, %r13, %r15, %r16, %r20, %r31
    operations \register
    offsets \register
    .endr
    call *host_function@GOTPCREL(%rip)
    call *here@GOTPCREL(%rip)
    call *host_far@GOTPCREL(%rip)
    jmp *host_function@GOTPCREL(%rip)
    jmp *here@GOTPCREL(%rip)
    jmp *host_far@GOTPCREL(%rip)
    movl here@GOTPCREL(%rip), %eax
    movl here@GOTPCREL(%rip), %r9d
    addl here@GOTPCREL(%rip), %eax
    pushq here@GOTPCREL(%rip)
    movq here@GOTPCREL+4(%rip), %rax
    cmpq $1, here@GOTPCREL(%rip)
    movq $_GLOBAL_OFFSET_TABLE_, %rax

    .section .tdata, "awT"
    .globl thread_datum
    .quad 1
thread_datum:
    .quad 2
