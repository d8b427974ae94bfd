# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# void call_with_registers(const void *function, const struct registers *in, int level)
#
# Calls the function with every register that may carry an argument as *in says; see tests/link/lazy/lazy_calls.c for the struct.
# Level: 0 xmm0-15, 1 ymm0-15, 2 zmm0-31 and k0-7.

        .text
        .globl  call_with_registers
        .type   call_with_registers,@function
call_with_registers:
        .cfi_startproc
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        pushq   %r12
        .cfi_def_cfa_offset 24
        .cfi_offset %r12, -24
        pushq   %r13
        .cfi_def_cfa_offset 32
        .cfi_offset %r13, -32
        pushq   %r14
        .cfi_def_cfa_offset 40
        .cfi_offset %r14, -40
        pushq   %r15
        .cfi_def_cfa_offset 48
        .cfi_offset %r15, -48
        movq    %rdi, %r11
        movq    %rsi, %rbx
        cmpl    $1, %edx
        jb      1f
        je      2f
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vmovups 256+256*\n(%rbx), %zmm\n
        .endr
        .irp    n, 0,1,2,3,4,5,6,7
        kmovq   256+256*32+32*\n(%rbx), %k\n
        .endr
        jmp     3f
1:
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movups  256+256*\n(%rbx), %xmm\n
        .endr
        jmp     3f
2:
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        vmovups 256+256*\n(%rbx), %ymm\n
        .endr
3:
        movq    0(%rbx), %rdi
        movq    8(%rbx), %rsi
        movq    16(%rbx), %rdx
        movq    24(%rbx), %rcx
        movq    32(%rbx), %r8
        movq    40(%rbx), %r9
        movq    48(%rbx), %r10
        movq    56(%rbx), %rax
        movq    64(%rbx), %r12
        movq    72(%rbx), %r13
        movq    80(%rbx), %r14
        movq    88(%rbx), %r15
        subq    $32, %rsp                # two words in memory, and what aligns them
        .cfi_adjust_cfa_offset 32
        movq    $0x1111, (%rsp)
        movq    $0x2222, 8(%rsp)
        call    *%r11
        addq    $32, %rsp
        .cfi_adjust_cfa_offset -32
        popq    %r15
        .cfi_adjust_cfa_offset -8
        popq    %r14
        .cfi_adjust_cfa_offset -8
        popq    %r13
        .cfi_adjust_cfa_offset -8
        popq    %r12
        .cfi_adjust_cfa_offset -8
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        ret
        .cfi_endproc
        .size   call_with_registers, .-call_with_registers
        .section .note.GNU-stack,"",@progbits
