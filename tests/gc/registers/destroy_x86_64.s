# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A barrier for programs that are linked with --wrap=tn__gc_log: it destroys every register that include/tenon_gc.h allows it to destroy,
# and, assembled with --defsym WRONG=N, one more: number N of those that it has to preserve.

    .globl __wrap_tn__gc_log
__wrap_tn__gc_log:
    call __real_tn__gc_log
    movq $-86, %r11
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    pcmpeqd %xmm\n, %xmm\n
    .endr
    .ifdef WRONG
    number = 0
    .irp register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, rbx, r12, r13, r14, r15
    .if number == WRONG
    movq %r11, %\register
    .endif
    number = number + 1
    .endr
    .endif
    addb $127, %r11b # flags
    ret
    .section .note.GNU-stack, "", @progbits
