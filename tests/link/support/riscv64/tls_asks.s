# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# void ask(anything): asks for the place of a thread-local variable by its descriptor, and goes on to dump_registers with
# the registers that it was called with. Answers what the variable has, in initial_value.

        .text
        .option norvc
        .option norelax
        .globl  ask
        .type   ask,@function
ask:
        .cfi_startproc
        addi    sp, sp, -32
        .cfi_def_cfa_offset 32
        sd      a0, 0(sp)
        sd      t0, 8(sp)
        sd      ra, 16(sp)
        .cfi_offset ra, -16
1:      auipc   a0, %tlsdesc_hi(variable)
        ld      t0, %tlsdesc_load_lo(1b)(a0)
        addi    a0, a0, %tlsdesc_add_lo(1b)
        jalr    t0, 0(t0), %tlsdesc_call(1b)
        add     a0, a0, tp
        ld      t1, 0(a0)
        la      t3, initial_value
        sd      t1, 0(t3)
        ld      a0, 0(sp)
        ld      t0, 8(sp)
        ld      ra, 16(sp)
        .cfi_restore ra
        addi    sp, sp, 32
        .cfi_def_cfa_offset 0
        tail    dump_registers
        .cfi_endproc
        .size   ask, .-ask

        .section .tdata,"awT",@progbits
        .balign 64
variable:
        .quad   0x1234567890
        .fill   504, 1, 0xa5
        .section .note.GNU-stack,"",@progbits
