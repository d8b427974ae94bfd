// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// void ask(anything): asks for the place of a thread-local variable by its descriptor, and goes on to dump_registers
// with the registers that it was called with. Answers what the variable has, in initial_value.

        .text
        .globl  ask
        .type   ask,@function
ask:
        .cfi_startproc
        stp     x0, x1, [sp, #-32]!
        .cfi_adjust_cfa_offset 32
        str     x30, [sp, #16]
        .cfi_offset x30, -16
        adrp    x0, :tlsdesc:variable
        ldr     x1, [x0, :tlsdesc_lo12:variable]
        add     x0, x0, :tlsdesc_lo12:variable
        .tlsdesccall variable
        blr     x1
        mrs     x16, tpidr_el0
        ldr     x17, [x16, x0]
        adrp    x16, :got:initial_value
        ldr     x16, [x16, :got_lo12:initial_value]
        str     x17, [x16]
        ldr     x30, [sp, #16]
        .cfi_restore x30
        ldp     x0, x1, [sp], #32
        .cfi_adjust_cfa_offset -32
        b       dump_registers
        .cfi_endproc
        .size   ask, .-ask

        .section .tdata,"awT",@progbits
        .balign 64
variable:
        .quad   0x1234567890
        .fill   504, 1, 0xa5
        .section .note.GNU-stack,"",@progbits
