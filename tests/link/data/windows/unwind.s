# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Two functions, each in a section of its own, and the unwind data that compilers associate with them.

        .macro function name, stack, information
        .section .text,"xr",one_only,\name
        .globl  \name
\name:
        subq    $\stack, %rsp
        movl    $\stack, %eax
        addq    $\stack, %rsp
        retq
\name\()_end:
        .section .xdata,"dr",associative,\name
        .p2align 2
\name\()_information:
        .byte   1, 4, 1, 0, 4, \information, 0, 0
        .section .pdata,"dr",associative,\name
        .globl  \name\()_entry
        .p2align 2
\name\()_entry:
        .long   \name@IMGREL, \name\()_end@IMGREL, \name\()_information@IMGREL
        .endm

        function kept, 40, 0x42
        function dropped, 56, 0x62

        .section .rdata,"dr"
        .globl  base
        .p2align 3
base:
        .quad   __ImageBase
