# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# void dump_registers(anything): stores what it was called with in dump_area; see lazy_registers.s.

        .arch_extension sve
        .text
        .globl  dump_registers
        .type   dump_registers,@function
dump_registers:
        .cfi_startproc
        adrp    x16, :got:dump_area
        ldr     x16, [x16, :got_lo12:dump_area]
        stp     x0, x1, [x16]
        stp     x2, x3, [x16, #16]
        stp     x4, x5, [x16, #32]
        stp     x6, x7, [x16, #48]
        stp     x8, x9, [x16, #64]
        stp     x10, x11, [x16, #80]
        stp     x12, x13, [x16, #96]
        stp     x14, x15, [x16, #112]
        stp     x18, x20, [x16, #128]
        stp     x21, x22, [x16, #144]
        ldp     x9, x10, [sp]
        stp     x9, x10, [x16, #232]
        mov     x9, sp
        str     x9, [x16, #248]
        adrp    x9, :got:dump_level
        ldr     x9, [x9, :got_lo12:dump_level]
        ldr     w9, [x9]
        cbnz    w9, 1f
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        str     q\n, [x16, #256+256*\n]
        .endr
        ret
1:
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        add     x9, x16, #256+256*(\n&15)
        .if     \n > 15
        add     x9, x9, #4096
        .endif
        str     z\n, [x9]
        .endr
        add     x9, x16, #2*4096
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        add     x10, x9, #256+32*\n
        str     p\n, [x10]
        .endr
        ret
        .cfi_endproc
        .size   dump_registers, .-dump_registers
        .data
        .quad   witness                  // so that the test is asked while this is linked
        .section .note.GNU-stack,"",@progbits
