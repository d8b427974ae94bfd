# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# void ask(anything): asks for the place of a thread-local variable by its descriptor, and goes on to dump_registers with
# the registers that it was called with. Answers what the variable has, in initial_value. The assembler of gcc 12 does
# not know descriptors; their instructions and relocations are written out (psABI, "TLS Descriptors").

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
1:      .reloc  1b, 62, variable
        auipc   a0, 0
        .reloc  ., 63, 1b
        ld      t0, 0(a0)
        .reloc  ., 64, 1b
        addi    a0, a0, 0
        .reloc  ., 65, 1b
        jalr    t0, 0(t0)
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
