# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# void call_with_registers(const void *function, const struct registers *in, int level): see ../x86_64/lazy_registers.s.
# Level: 0 f0-31, 1 v0-31 too, whose bytes come after those of f0-31.

        .option arch, +v
        .text
        .globl  call_with_registers
        .type   call_with_registers,@function
call_with_registers:
        .cfi_startproc
        addi    sp, sp, -176
        .cfi_def_cfa_offset 176
        sd      ra, 168(sp)
        .cfi_offset ra, -8
        sd      s0, 160(sp)
        .cfi_offset s0, -16
        addi    s0, sp, 176
        .cfi_def_cfa s0, 0
        sd      s2, 16(sp)
        sd      s3, 24(sp)
        sd      s4, 32(sp)
        fsd     f8, 64(sp)
        fsd     f9, 72(sp)
        fsd     f18, 80(sp)
        fsd     f19, 88(sp)
        fsd     f20, 96(sp)
        fsd     f21, 104(sp)
        fsd     f22, 112(sp)
        fsd     f23, 120(sp)
        fsd     f24, 128(sp)
        fsd     f25, 136(sp)
        fsd     f26, 144(sp)
        fsd     f27, 152(sp)
        mv      t3, a0
        mv      t1, a1
        addi    t0, t1, 256
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        fld     f\n, (t0)
        addi    t0, t0, 256
        .endr
        beqz    a2, 1f
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vl1re8.v v\n, (t0)
        addi    t0, t0, 256
        .endr
1:
        li      t0, 0x1111
        sd      t0, 0(sp)
        li      t0, 0x2222
        sd      t0, 8(sp)
        ld      a0, 0(t1)
        ld      a1, 8(t1)
        ld      a2, 16(t1)
        ld      a3, 24(t1)
        ld      a4, 32(t1)
        ld      a5, 40(t1)
        ld      a6, 48(t1)
        ld      a7, 56(t1)
        ld      t2, 64(t1)
        ld      t0, 72(t1)
        ld      t4, 80(t1)
        ld      t5, 88(t1)
        ld      t6, 96(t1)
        ld      s2, 104(t1)
        ld      s3, 112(t1)
        ld      s4, 120(t1)
        jalr    t3
        fld     f8, 64(sp)
        fld     f9, 72(sp)
        fld     f18, 80(sp)
        fld     f19, 88(sp)
        fld     f20, 96(sp)
        fld     f21, 104(sp)
        fld     f22, 112(sp)
        fld     f23, 120(sp)
        fld     f24, 128(sp)
        fld     f25, 136(sp)
        fld     f26, 144(sp)
        fld     f27, 152(sp)
        ld      s2, 16(sp)
        ld      s3, 24(sp)
        ld      s4, 32(sp)
        ld      ra, 168(sp)
        ld      s0, 160(sp)
        addi    sp, sp, 176
        .cfi_def_cfa sp, 0
        .cfi_restore ra
        .cfi_restore s0
        ret
        .cfi_endproc
        .size   call_with_registers, .-call_with_registers
        .section .note.GNU-stack,"",@progbits
