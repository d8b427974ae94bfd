# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Sections that lie in the order of what follows the $ in their names, whatever the order of files and in files.

        .section table$z,"dr"
table_end:
        .section table$m,"dr"
        .byte   3
        .section table$b,"dr"
        .byte   2
        .section table$a,"dr"
table_start:
        .byte   1

        .text
        .globl  digits, number_of
digits:
        xorl    %eax, %eax
        leaq    table_start(%rip), %rcx
        leaq    table_end(%rip), %rdx
next:   cmpq    %rdx, %rcx
        je      done
        imull   $10, %eax, %eax
        movzbl  (%rcx), %r8d
        addl    %r8d, %eax
        incq    %rcx
        jmp     next
done:   retq

# Of a group without a suffix, which comes first; not one of another name that begins alike.
        .section other,"dr"
        .globl  other_first
other_first:
        .byte   1
        .section other$x,"dr"
        .byte   2
        .section others,"dr"
        .byte   9
