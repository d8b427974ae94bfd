# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# A small object with all that tables of COFF files have.

        .text
        .globl  small_function, small_name_that_is_long
small_function:
        callq   strlen
        movq    __imp_abs(%rip), %rax
        leaq    __ImageBase(%rip), %rcx
small_name_that_is_long:
        retq
        .weak   w
        .set    w, small_function
        .section .rdata$with_a_long_name,"dr",discard,once
        .globl  once
once:   .quad   small_function
        .rva    small_function
        .section .xdata,"dr",associative,once
        .rva    once
        .section .CRT$XCU,"dr"
        .quad   small_function
        .section .debug_x,"ndr"
        .secrel32 once
        .comm   common, 24
        .section .drectve,"yn"
        .ascii  " /alternatename:a=once /include:w -aligncomm:\"common\",5"
