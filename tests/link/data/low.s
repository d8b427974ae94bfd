# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Position-dependent code: it has to lie below 2 GiB.

    .text
    .globl low
    .type low, @function
low:
    movl $number, %eax
    movl (%rax), %eax
    addl number, %eax
    subl number, %eax
    ret
    .size low, .-low
    .section .rodata
number:
    .long 77
    .section .note.GNU-stack,"",@progbits
