# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# A function with unwind data for Windows on AArch64, and its entry in the table of functions.

        .section .pdata,"dr"
        .globl  function_table
        .p2align 2
function_table:
        .text
        .globl  measured
        .p2align 2
        .seh_proc measured
measured:
        sub     sp, sp, #32
        .seh_stackalloc 32
        str     x19, [sp, #16]
        .seh_save_reg x19, 16
        .seh_endprologue
        add     w0, w0, w0, lsl #1
        .seh_startepilogue
        ldr     x19, [sp, #16]
        .seh_save_reg x19, 16
        add     sp, sp, #32
        .seh_stackalloc 32
        .seh_endepilogue
        ret
        .seh_endproc
