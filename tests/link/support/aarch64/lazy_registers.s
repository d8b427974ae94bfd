# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# void call_with_registers(const void *function, const struct registers *in, int level): see ../x86_64/lazy_registers.s.
# Level: 0 q0-31, 1 z0-31 and p0-15.

        .arch_extension sve
        .text
        .globl  call_with_registers
        .type   call_with_registers,@function
call_with_registers:
        .cfi_startproc
        stp     x29, x30, [sp, #-64]!
        .cfi_def_cfa_offset 64
        .cfi_offset x29, -64
        .cfi_offset x30, -56
        mov     x29, sp
        stp     x20, x21, [sp, #16]
        .cfi_offset x20, -48
        .cfi_offset x21, -40
        stp     x22, x23, [sp, #32]
        .cfi_offset x22, -32
        .cfi_offset x23, -24
        stp     d8, d9, [sp, #48]
        sub     sp, sp, #64
        .cfi_def_cfa x29, 64
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        mov     x16, x1
        mov     x17, x0
        cbnz    w2, 1f
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        ldr     q\n, [x16, #256+256*\n]
        .endr
        b       2f
1:
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        add     x9, x16, #256+256*(\n&15)
        .if     \n > 15
        add     x9, x9, #4096
        .endif
        ldr     z\n, [x9]
        .endr
        add     x9, x16, #2*4096
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        add     x10, x9, #256+32*\n
        ldr     p\n, [x10]
        .endr
2:
        mov     x9, #0x1111
        mov     x10, #0x2222
        stp     x9, x10, [sp]
        ldp     x0, x1, [x16]
        ldp     x2, x3, [x16, #16]
        ldp     x4, x5, [x16, #32]
        ldp     x6, x7, [x16, #48]
        ldp     x8, x9, [x16, #64]
        ldp     x10, x11, [x16, #80]
        ldp     x12, x13, [x16, #96]
        ldp     x14, x15, [x16, #112]
        ldp     x18, x20, [x16, #128]
        ldp     x21, x22, [x16, #144]
        blr     x17
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        add     sp, sp, #64
        ldp     d8, d9, [sp, #48]
        ldp     x20, x21, [sp, #16]
        ldp     x22, x23, [sp, #32]
        ldp     x29, x30, [sp], #64
        .cfi_def_cfa sp, 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   call_with_registers, .-call_with_registers
        .section .note.GNU-stack,"",@progbits
