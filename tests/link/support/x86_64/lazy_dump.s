# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# void dump_registers(anything): stores what it was called with in dump_area; see lazy_registers.s.

        .text
        .globl  dump_registers
        .type   dump_registers,@function
dump_registers:
        .cfi_startproc
        movq    dump_area@GOTPCREL(%rip), %r11
        movq    %rdi, 0(%r11)
        movq    %rsi, 8(%r11)
        movq    %rdx, 16(%r11)
        movq    %rcx, 24(%r11)
        movq    %r8, 32(%r11)
        movq    %r9, 40(%r11)
        movq    %r10, 48(%r11)
        movq    %rax, 56(%r11)
        movq    %r12, 64(%r11)
        movq    %r13, 72(%r11)
        movq    %r14, 80(%r11)
        movq    %r15, 88(%r11)
        movq    8(%rsp), %rax
        movq    %rax, 232(%r11)
        movq    16(%rsp), %rax
        movq    %rax, 240(%r11)
        movq    %rsp, 248(%r11)
        movq    dump_level@GOTPCREL(%rip), %rax
        cmpl    $1, (%rax)
        jb      1f
        je      2f
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vmovups %zmm\n, 256+256*\n(%r11)
        .endr
        .irp    n, 0,1,2,3,4,5,6,7
        kmovq   %k\n, 256+256*32+32*\n(%r11)
        .endr
        vzeroupper
        ret
1:
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movups  %xmm\n, 256+256*\n(%r11)
        .endr
        ret
2:
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        vmovups %ymm\n, 256+256*\n(%r11)
        .endr
        vzeroupper
        ret
        .cfi_endproc
        .size   dump_registers, .-dump_registers
        .data
        .quad   witness                  # so that the test is asked while this is linked
        .section .note.GNU-stack,"",@progbits
