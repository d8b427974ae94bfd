# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# See comdat_1.s. This copy answers 2, so that a test sees which one was taken. through_2 calls
# its first argument with its second one.

    .section .text.inlined,"axG",@progbits,inlined,comdat
    .weak inlined
    .type inlined, @function
inlined:
    .cfi_startproc
    movl $2, %eax
    ret
    .cfi_endproc
    .size inlined, .-inlined
    .section .rodata.inlined,"aG",@progbits,inlined,comdat
    .weak inlined_data
inlined_data:
    .long 2

    .text
    .globl call_2
    .type call_2, @function
call_2:
    .cfi_startproc
    subq $8, %rsp
    .cfi_def_cfa_offset 16
    call inlined@PLT
    addq $8, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size call_2, .-call_2
    .globl through_2
    .type through_2, @function
through_2:
    .cfi_startproc
    subq $8, %rsp
    .cfi_def_cfa_offset 16
    movq %rdi, %rax
    movq %rsi, %rdi
    call *%rax
    addq $8, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size through_2, .-through_2
    .globl data_2
data_2:
    movq inlined_data@GOTPCREL(%rip), %rax
    movl (%rax), %eax
    ret
    .section .note.GNU-stack,"",@progbits
