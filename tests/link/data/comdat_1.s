# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# An inline function of which comdat_2.s has a copy as well, with unwind data for it and for a function outside the group.

    .section .text.inlined,"axG",@progbits,inlined,comdat
    .weak inlined
    .type inlined, @function
inlined:
    .cfi_startproc
    movl $1, %eax
    ret
    .cfi_endproc
    .size inlined, .-inlined
    .section .rodata.inlined,"aG",@progbits,inlined,comdat
    .weak inlined_data
inlined_data:
    .long 1

    .text
    .globl call_1
    .type call_1, @function
call_1:
    .cfi_startproc
    subq $8, %rsp
    .cfi_def_cfa_offset 16
    call inlined@PLT
    addq $8, %rsp
    .cfi_def_cfa_offset 8
    ret
    .cfi_endproc
    .size call_1, .-call_1
    .globl data_1
data_1:
    movq inlined_data@GOTPCREL(%rip), %rax
    movl (%rax), %eax
    ret
    .section .note.GNU-stack,"",@progbits
