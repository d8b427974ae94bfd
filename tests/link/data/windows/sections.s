# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Sections of Windows: arrays of functions, and relative addresses.

        .text
        .globl  get_order, relative, absolute_of, imported, needs_alternative, section_offset, section_number
get_order:
        movl    order(%rip), %eax
        retq
# Each appends its digit; their arguments may be stored above the return address.
        .macro  step name, digit
\name:
        movq    %rcx, 8(%rsp)
        movq    %rdx, 16(%rsp)
        movq    %r8, 24(%rsp)
        movq    %r9, 32(%rsp)
        imull   $10, order(%rip), %eax
        addl    $\digit, %eax
        movl    %eax, order(%rip)
        xorl    %eax, %eax
        retq
        .endm
        step    first, 1
        step    second, 2
        step    third, 3
        step    fourth, 4
        step    fifth, 5
        step    sixth, 6

# The address of `target`, from a distance from the base.
relative:
        leaq    __ImageBase(%rip), %rax
        movl    distance(%rip), %ecx
        addq    %rcx, %rax
        retq
absolute_of:
        leaq    target(%rip), %rax
        retq
imported:
        movq    __imp_host_add(%rip), %rax
        retq
needs_alternative:
        subq    $40, %rsp
        callq   not_defined
        addq    $40, %rsp
        retq
section_offset:
        movl    offset(%rip), %eax
        retq
section_number:
        movzwl  number(%rip), %eax
        retq
        .globl  the_alternative
the_alternative:
        movl    $4711, %eax
        retq

        .data
order:  .long   0
        .space  8
target: .long   6
distance:
        .rva    target
offset: .secrel32 target
number: .secidx target

        .section .CRT$XCZ,"dr"
        .quad   0
        .section .CRT$XCU,"dr"
        .quad   fifth
        .section .CRT$XCT00200,"dr"
        .quad   fourth
        .section .CRT$XCT00100,"dr"
        .quad   third
        .section .CRT$XCA,"dr"
        .quad   0
        .section .CRT$XIU,"dr"
        .quad   first
        .section .CRT$XCAA,"dr"
        .quad   second
        .section .CRT$XTU,"dr"
        .quad   sixth

        .section .drectve,"yn"
        .ascii  " /DEFAULTLIB:libcmt.lib -alternatename:not_defined=the_alternative /EXPORT:exported=the_alternative,DATA "
        .ascii  " /include:included_one \"/merge:.a=.b\""
