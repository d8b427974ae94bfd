# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Position-dependent code that calls a function of the program through its PLT: near_function(x) + one.

    .text
    .globl low_c
    .type low_c, @function
low_c:
    subq $8, %rsp
    call near_function@PLT
    addl one, %eax
    addq $8, %rsp
    ret
    .size low_c, .-low_c
    .section .rodata
one:
    .long 1
    .section .note.GNU-stack,"",@progbits
