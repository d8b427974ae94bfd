# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# More sections than the 16 bits of a symbol's section number hold, so that .symtab_shndx and the first section header
# come into play: 66,000 functions that answer their number.

    .altmacro
    .macro function number
    .section .text.f\number,"ax",@progbits
    .globl f\number
f\number:
    movl $\number, %eax
    ret
    .endm

    .set i, 0
    .rept 66000
    function %i
    .set i, i + 1
    .endr

    .section .text.sum,"ax",@progbits
    .globl sum
sum:
    subq $8, %rsp
    call f1@PLT
    movl %eax, %edx
    call f65999@PLT
    addl %edx, %eax
    addl answer(%rip), %eax
    addq $8, %rsp
    ret
    .section .rodata
answer:
    .long 7
    .section .note.GNU-stack,"",@progbits
