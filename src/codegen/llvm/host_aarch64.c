/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Runs code on another stack, on AArch64. */

#include "codegen/llvm/fatal.h"

/* The first instruction is "bti c", which is a hint where branch targets are not checked. The return address lies on
 * the caller's stack unsigned, as in the rest of the library's assembly. */
__asm__(".pushsection .text.tn__stack_switch,\"ax\",@progbits\n"
        ".globl tn__stack_switch\n"
        ".hidden tn__stack_switch\n"
        ".type tn__stack_switch,@function\n"
        ".balign 16\n"
        "tn__stack_switch:\n"
        "    .cfi_startproc\n"
        "    hint #34\n"
        "    stp x29, x30, [sp, #-16]!\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset x29, -16\n"
        "    .cfi_offset x30, -8\n"
        "    mov x29, sp\n"
        "    .cfi_def_cfa_register x29\n"
        "    mov sp, x0\n"
        "    mov x0, x2\n"
        "    blr x1\n"
        "    mov sp, x29\n"
        "    .cfi_def_cfa_register sp\n"
        "    ldp x29, x30, [sp], #16\n"
        "    .cfi_restore x30\n"
        "    .cfi_restore x29\n"
        "    .cfi_def_cfa_offset 0\n"
        "    ret\n"
        "    .cfi_endproc\n"
        ".size tn__stack_switch, .-tn__stack_switch\n"
        ".popsection\n");
