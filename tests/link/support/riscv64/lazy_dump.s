# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# void dump_registers(anything): stores what it was called with in dump_area; see lazy_registers.s.

        .option arch, +v
        .text
        .globl  dump_registers
        .type   dump_registers,@function
dump_registers:
        .cfi_startproc
        .option push
        .option pic
        la      t1, dump_area
        sd      a0, 0(t1)
        sd      a1, 8(t1)
        sd      a2, 16(t1)
        sd      a3, 24(t1)
        sd      a4, 32(t1)
        sd      a5, 40(t1)
        sd      a6, 48(t1)
        sd      a7, 56(t1)
        sd      t2, 64(t1)
        sd      t0, 72(t1)
        sd      t4, 80(t1)
        sd      t5, 88(t1)
        sd      t6, 96(t1)
        sd      s2, 104(t1)
        sd      s3, 112(t1)
        sd      s4, 120(t1)
        ld      t0, 0(sp)
        sd      t0, 232(t1)
        ld      t0, 8(sp)
        sd      t0, 240(t1)
        sd      sp, 248(t1)
        addi    t0, t1, 256
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        fsd     f\n, (t0)
        addi    t0, t0, 256
        .endr
        la      t2, dump_level
        lw      t2, (t2)
        beqz    t2, 1f
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vs1r.v  v\n, (t0)
        addi    t0, t0, 256
        .endr
1:
        ret
        .option pop
        .cfi_endproc
        .size   dump_registers, .-dump_registers
        .data
        .quad   witness                  # so that the test is asked while this is linked
        .section .note.GNU-stack,"",@progbits
