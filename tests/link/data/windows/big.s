# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# More sections than 16 bits count: assemblers write the other form of COFF then (/bigobj).

        .macro  part
        .section part\@,"dr"
        .long   \@
        .endm
        .rept   65300
        part
        .endr
        .globl  last
last:   .long   4711

        .text
        .globl  get_last
get_last:
        movl    last(%rip), %eax
        ret
