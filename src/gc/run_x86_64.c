/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compiled x86-64 code calls with conventions of its own. Only built for x86-64. The offsets are those of tenon_gc.h; the
 * assertions below hold them together. */

#include "gc.h"

_Static_assert(TN_GC_BLOCK_POLL == 16 && TN_GC_BLOCK_STATE == 20 && TN_GC_BLOCK_TOP == 24, "offsets below");
_Static_assert(TN_GC_ANCHOR_SP == 0 && TN_GC_ANCHOR_FP == 8 && TN_GC_ANCHOR_RA == 16 && TN_GC_ANCHOR_SIZE == 24,
               "offsets below");
_Static_assert(TN_GC_MANAGED == 0 && TN_GC_BLOCKING == 1 && TN_GC_UNLOGGED == 2, "values below");
_Static_assert(offsetof(struct tn_gc_block, top) == TN_GC_BLOCK_TOP &&
                   offsetof(struct tn_gc_block, poll) == TN_GC_BLOCK_POLL &&
                   offsetof(struct tn_gc_block, state) == TN_GC_BLOCK_STATE &&
                   offsetof(struct tn_gc_block, pgcstack) == TN_GC_BLOCK_PGCSTACK,
               "the block as compiled code knows it");
_Static_assert(offsetof(struct tn_gc_anchor, fp) == TN_GC_ANCHOR_FP && sizeof(struct tn_gc_anchor) == TN_GC_ANCHOR_SIZE,
               "anchors as compiled code knows them");

#define FUNCTION(name)                                                                                                 \
    ".pushsection .text." name ",\"ax\",@progbits\n"                                                                   \
    ".globl " name "\n"                                                                                                \
    ".hidden " name "\n"                                                                                               \
    ".type " name ",@function\n"                                                                                       \
    ".balign 16\n" name ":\n"                                                                                          \
    "    .cfi_startproc\n"                                                                                             \
    "    endbr64\n"
#define END(name)                                                                                                      \
    "    .cfi_endproc\n"                                                                                               \
    ".size " name ", .-" name "\n"                                                                                     \
    ".popsection\n"

/* Only r11 is free: all others may hold arguments, r10 the function. */
__asm__(FUNCTION("tn__gc_call_native") /* */
        "    movq tn__gc_block@gottpoff(%rip), %r11\n"
        "    movq %fs:24(%r11), %r11\n"
        "    movq %rsp, (%r11)\n"
        "    movq %rbp, 8(%r11)\n"
        "    movq $0, 16(%r11)\n"
        "    jmp *%r10\n" END("tn__gc_call_native"));

/* The function is called with the stack pointer where it was, for its arguments in memory: so the return address goes to the
 * anchor, and nothing else may be pushed. The level above, which is like this one, makes entries take the slow side, where the thread stops
 * being one that nobody waits for. Afterwards this call's level is searched for: callees may have left others on top. */
__asm__(FUNCTION("tn__gc_call_blocking") /* */
        "    movq tn__gc_block@gottpoff(%rip), %r11\n"
        "    movq %fs:24(%r11), %r11\n"
        "    movq %rsp, (%r11)\n"
        "    movq %rbp, 8(%r11)\n"
        "    movq %rsp, 24(%r11)\n"
        "    movq %rbp, 32(%r11)\n"
        "    popq 16(%r11)\n"
        "    .cfi_def_cfa_offset 0\n"
        "    .cfi_undefined rip\n"
        "    pushq 16(%r11)\n"
        "    popq 40(%r11)\n"
        "    addq $24, %r11\n"
        "    pushq %r10\n"
        "    movq tn__gc_block@gottpoff(%rip), %r10\n"
        "    movq %r11, %fs:24(%r10)\n"
        "    movl $1, %fs:20(%r10)\n"
        "    popq %r10\n"
        "    call *%r10\n"
        "    movq tn__gc_block@gottpoff(%rip), %r10\n"
        "    movq %fs:24(%r10), %r11\n"
        "    leaq -8(%rsp), %rcx\n"
        "    jmp 1f\n"
        "0:  subq $24, %r11\n"
        "1:  cmpq %rcx, (%r11)\n"
        "    jne 0b\n"
        "    cmpq %rcx, -24(%r11)\n"
        "    je 0b\n" /* the one above is still there */
        "    movq %r11, %fs:24(%r10)\n"
        "    pushq 16(%r11)\n"
        "    .cfi_def_cfa_offset 8\n"
        "    .cfi_offset rip, -8\n"
        "    xorl %ecx, %ecx\n"
        "    xchgl %ecx, %fs:20(%r10)\n"
        "    testl $1, %fs:16(%r10)\n"
        "    jnz 2f\n"
        "    ret\n"
        "2:  pushq %rbp\n"
        "    .cfi_def_cfa_offset 16\n"
        "    .cfi_offset rbp, -16\n"
        "    movq %rsp, %rbp\n"
        "    .cfi_def_cfa_register rbp\n"
        "    andq $-16, %rsp\n"
        "    subq $64, %rsp\n"
        "    movq %rax, (%rsp)\n"
        "    movq %rdx, 8(%rsp)\n"
        "    movups %xmm0, 16(%rsp)\n"
        "    movups %xmm1, 32(%rsp)\n"
        "    call tn__gc_leave_blocking\n"
        "    movq (%rsp), %rax\n"
        "    movq 8(%rsp), %rdx\n"
        "    movups 16(%rsp), %xmm0\n"
        "    movups 32(%rsp), %xmm1\n"
        "    leave\n"
        "    .cfi_def_cfa rsp, 8\n"
        "    ret\n" END("tn__gc_call_blocking"));

/* This collector asks only when it verifies which objects were stored to: by the bit. */
__asm__(FUNCTION("tn__gc_log") /* */
        "    lock andq $~2, -8(%rdi)\n"
        "    ret\n" END("tn__gc_log"));
