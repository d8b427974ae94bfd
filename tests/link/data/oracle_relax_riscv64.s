# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Every RISC-V instruction that may become shorter, at the limits of what its shorter forms reach, and neighbours that stay as
# they are; alignments between them (oracle.c).

    .text
    .globl here
here:
    call host_function
    tail host_function
    call near
    tail near
    call here
    tail here
    jump near, t1
    beqz a0, near
    j near
    lui a0, %hi(host_missing)
    addi a0, a0, %lo(host_missing)
    lui a1, %hi(host_missing + 0x7ff)
    lw a1, %lo(host_missing + 0x7ff)(a1)
    lui a1, %hi(host_missing + 0x800)
    sw a0, %lo(host_missing + 0x800)(a1)
    lui a1, %hi(host_missing - 0x800)
    sd a0, %lo(host_missing - 0x800)(a1)
    lui a1, %hi(host_datum)
    ld a0, %lo(host_datum)(a1)
    .option push
    .option norelax
    call near
    lui a0, %hi(host_missing)
    addi a0, a0, %lo(host_missing)
    .option pop
    .p2align 4
near:
    lui a0, %tprel_hi(thread_near)
    add a0, a0, tp, %tprel_add(thread_near)
    lw a1, %tprel_lo(thread_near)(a0)
    sw a1, %tprel_lo(thread_near)(a0)
    lui a0, %tprel_hi(thread_far)
    add a0, a0, tp, %tprel_add(thread_far)
    lw a1, %tprel_lo(thread_far)(a0)
    .p2align 3
    la a0, here
    la.tls.ie a0, thread_far
    la.tls.gd a1, thread_far
    ret
    .p2align 6
    c.nop
    .p2align 5
    .option push
    .option norvc
    .p2align 3
    nop
    .option pop

    # 2 KiB: the last c.j that reaches, and the first jal, forwards and backwards
    .section .text.short, "ax"
short:
    tail short_end
    .space 2042
short_middle:
    tail short
short_end:
    tail short
    tail short_middle
    .p2align 2
    tail short_far
    .space 2046
short_far:
    ret

    # 1 MiB, likewise
    .section .text.long, "ax"
long:
    call long_end
    .space 0xffff8
long_before:
    call long
long_end:
    call long
    call long_far
    .space 0xffffa
long_far:
    ret

    # distances of labels between which code becomes shorter
    .data
    .word long_end - long
    .dword short_far - short
    .half short_end - short
    .byte near - here
    .section .gcc_except_table, "a"
    .uleb128 near - here
    .uleb128 long_end - long

    .section .tdata, "awT"
thread_near:
    .word 1
    .zero 4096
    .globl thread_far
thread_far:
    .word 2
    .weak host_missing
