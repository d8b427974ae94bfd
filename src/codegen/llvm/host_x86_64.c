/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Runs code on another stack, on x86-64. */

#include "codegen/llvm/fatal.h"

__asm__(".pushsection .text.tn__stack_switch,\"ax\",@progbits\n"
        ".globl tn__stack_switch\n"
        ".hidden tn__stack_switch\n"
        ".type tn__stack_switch,@function\n"
        ".balign 16\n"
        "tn__stack_switch:\n"
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register rbp\n"
        "    movq %rdi, %rsp\n"
        "    movq %rdx, %rdi\n"
        "    call *%rsi\n"
        "    leave\n"
        "    .cfi_def_cfa rsp, 8\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__stack_switch, .-tn__stack_switch\n"
        ".popsection\n");
