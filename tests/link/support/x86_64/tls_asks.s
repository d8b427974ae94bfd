# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# void ask(anything): asks for the place of a thread-local variable by its descriptor, and goes on to dump_registers with
# the registers that it was called with. Answers what the variable has, in initial_value.

        .text
        .globl  ask
        .type   ask,@function
ask:
        .cfi_startproc
        pushq   %rax
        .cfi_adjust_cfa_offset 8
        leaq    variable@tlsdesc(%rip), %rax
        call    *variable@tlscall(%rax)
        movq    %fs:(%rax), %rax
        movq    initial_value@GOTPCREL(%rip), %r11
        movq    %rax, (%r11)
        popq    %rax
        .cfi_adjust_cfa_offset -8
        jmp     dump_registers@PLT
        .cfi_endproc
        .size   ask, .-ask

        .section .tdata,"awT",@progbits
        .balign 64
variable:
        .quad   0x1234567890
        .fill   504, 1, 0xa5
        .section .note.GNU-stack,"",@progbits
