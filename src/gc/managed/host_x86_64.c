/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Entries that compiled x86-64 code calls with special calling conventions. The offsets are those of
 * tenon_gc.h; the assertions of managed.h keep them in step. */

#include <cpuid.h>

#include "gc/managed/managed.h"

const struct tn__transition_frame tn__transition_frame = {.unwind_register = 6, .to_sp = 8};

#define FUNCTION(name)                                                                                                 \
    ".pushsection .text." name ",\"ax\",@progbits\n"                                                                   \
    ".globl " name "\n"                                                                                                \
    ".hidden " name "\n"                                                                                               \
    ".type " name ",@function\n"                                                                                       \
    ".balign 16\n" name ":\n"                                                                                          \
    "    .cfi_startproc\n"                                                                                             \
    "    endbr64\n"
#define FRAME                                                                                                          \
    "    pushq %rbp\n"                                                                                                 \
    "    .cfi_def_cfa_offset 16\n"                                                                                     \
    "    .cfi_offset rbp, -16\n"                                                                                       \
    "    movq %rsp, %rbp\n"                                                                                            \
    "    .cfi_def_cfa_register rbp\n"
#define RETURN                                                                                                         \
    "    leave\n"                                                                                                      \
    "    .cfi_def_cfa rsp, 8\n"                                                                                        \
    "    ret\n"
#define END(name)                                                                                                      \
    "    .cfi_endproc\n"                                                                                               \
    ".size " name ", .-" name "\n"                                                                                     \
    ".popsection\n"

/* Fills in the thread's top anchor. r11: the address of its block; clobbered. */
#define FILL_IN                                                                                                        \
    "    movq %fs:24(%r11), %r11\n"                                                                                    \
    "    movq %rsp, (%r11)\n"                                                                                          \
    "    movq %rbp, 8(%r11)\n"                                                                                         \
    "    movq $0, 16(%r11)\n"

/* Only r11 is free: r10 holds the function, and all other registers may hold arguments. In stress mode the function is
 * called instead of jumped to, so that it returns here. It gets a copy of its arguments in memory: of all that the
 * caller's frame holds, up to a limit that no argument list reaches. Return addresses stay where unwinders look for
 * them. */
__asm__(FUNCTION("tn__gc_call_native") /* */
        "    movq tn__gc_block@gottpoff(%rip), %r11\n"
        "    testl $2, %fs:16(%r11)\n"
        "    jnz 1f\n" FILL_IN "    jmp *%r10\n"
        "1:  movq $0, %fs:72(%r11)\n" FILL_IN FRAME "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rcx\n"
        "    leaq 16(%rbp), %rsi\n"
        "    movq (%rbp), %rcx\n"
        "    subq %rsi, %rcx\n"
        "    movl $65536, %r11d\n"
        "    cmpq %r11, %rcx\n"
        "    cmova %r11, %rcx\n"
        "    subq %rcx, %rsp\n"
        "    andq $-16, %rsp\n"
        "    movq %rsp, %rdi\n"
        "    rep movsb\n"
        "    movq -8(%rbp), %rdi\n"
        "    movq -16(%rbp), %rsi\n"
        "    movq -24(%rbp), %rcx\n"
        "    call *%r10\n"
        "    leaq tn__gc_after_call(%rip), %r11\n"
        "    call tn__gc_keep_registers\n" RETURN END("tn__gc_call_native"));

/* For functions that return twice (setjmp): jumps, because a frame of its own would be gone at the second return. */
__asm__(FUNCTION("tn__gc_call_twice") /* */
        "    movq tn__gc_block@gottpoff(%rip), %r11\n" FILL_IN "    jmp *%r10\n" END("tn__gc_call_twice"));

/* After a second return that came out of a transition, the thread is outside managed code, and a collector may be
 * walking the frames that were left by the longjmp: they lie below the caller's frame, and above the stack pointer of
 * the top anchor. So nothing is written there until no collector can be there any more: the stack continues below them.
 * The call of this function has replaced the return address of the frame above it by one that is in the stack maps as
 * well. */
__asm__(FUNCTION("tn__gc_return_twice") /* */
        "    movq tn__gc_block@gottpoff(%rip), %r11\n"
        "    movq %fs:24(%r11), %r11\n"
        "    movq (%r11), %rcx\n"
        "    testb $1, %cl\n"
        "    jnz 1f\n"
        "    ret\n"
        "1:  movq %rsp, %rdx\n"
        "    .cfi_def_cfa rdx, 8\n"
        "    cmpq %rsp, %rcx\n"
        "    cmovb %rcx, %rsp\n"
        "    andq $-16, %rsp\n"
        "    pushq %rbx\n"
        "    .cfi_undefined rbx\n"
        "    pushq %rdx\n"
        "    movq %rdx, %rbx\n"
        "    .cfi_def_cfa rbx, 8\n"
        "    call tn__gc_after_jump\n"
        "    popq %rdx\n"
        "    .cfi_def_cfa rdx, 8\n"
        "    popq %rbx\n"
        "    .cfi_restore rbx\n"
        "    movq %rdx, %rsp\n"
        "    .cfi_def_cfa rsp, 8\n"
        "    ret\n" END("tn__gc_return_twice"));

/* ---- transitions ---- */

/* A throw that passes a transition ends it. No landing pad: the frames that the collector may be walking have to stay
 * as they are until the thread is back in managed code. */
#define PERSONALITY "    .cfi_personality 0x1b, tn__gc_unwind\n"

/* The level's anchor is filled in before its lowest bit is set, which is when a collector may read it. Only rbp, r10
 * and r11 are free. */
#define LEAVE                                                                                                          \
    "    movq tn__gc_block@gottpoff(%rip), %r11\n"                                                                     \
    "    movq %fs:24(%r11), %r11\n"                                                                                    \
    "    movq %rbp, 8(%r11)\n"                                                                                         \
    "    movq $0, 16(%r11)\n" FRAME "    pushq %r10\n"                                                                 \
    "    pushq %r10\n"                                                                                                 \
    "    leaq 9(%rbp), %r10\n"                                                                                         \
    "    movq %r10, (%r11)\n"                                                                                          \
    "    movq tn__gc_block@gottpoff(%rip), %r10\n"                                                                     \
    "    testl $2, %fs:16(%r10)\n"                                                                                     \
    "    jz 1f\n"                                                                                                      \
    "    leaq tn__gc_begin_transition(%rip), %r11\n"                                                                   \
    "    call tn__gc_keep_registers\n"                                                                                 \
    "1:\n"

/* Back at the same level. It is the top one, unless callees left others there; and it need not be the anchor that it
 * was, because entries drop abandoned levels below it. So it is known by its stack pointer. `poll` and `fences` are
 * read together, after the level has changed: the processor may exchange these two, which the collector's
 * tn__os_fence_threads makes up for. */
#define COME_BACK                                                                                                      \
    "    leaq 8(%rbp), %rdi\n"                                                                                         \
    "    movq tn__gc_block@gottpoff(%rip), %r10\n"                                                                     \
    "    movq %fs:24(%r10), %r11\n"                                                                                    \
    "    movq (%r11), %rsi\n"                                                                                          \
    "    andq $-8, %rsi\n"                                                                                             \
    "    cmpq %rdi, %rsi\n"                                                                                            \
    "    jne 3f\n"                                                                                                     \
    "2:  movq %rdi, (%r11)\n"                                                                                          \
    "    cmpq $0, %fs:16(%r10)\n"                                                                                      \
    "    je 1f\n"                                                                                                      \
    "    lock orl $0, (%rsp)\n"                                                                                        \
    "    cmpl $0, %fs:16(%r10)\n"                                                                                      \
    "    je 1f\n"                                                                                                      \
    "    leaq tn__gc_end_transition(%rip), %r11\n"                                                                     \
    "    call tn__gc_keep_registers\n"                                                                                 \
    "1:  .cfi_remember_state\n" RETURN "    .cfi_restore_state\n"                                                      \
    "3:  subq $24, %r11\n"                                                                                             \
    "    movq (%r11), %rsi\n"                                                                                          \
    "    andq $-8, %rsi\n"                                                                                             \
    "    cmpq %rdi, %rsi\n"                                                                                            \
    "    je 4f\n"                                                                                                      \
    "    cmpq $-8, %rsi\n"                                                                                             \
    "    jne 3b\n"                                                                                                     \
    "    call tn__gc_lost_level\n"                                                                                     \
    "4:  movq %r11, %fs:24(%r10)\n"                                                                                    \
    "    jmp 2b\n"

__asm__(FUNCTION("tn__gc_call_outside") PERSONALITY LEAVE /* */
        "    call *-16(%rbp)\n" COME_BACK END("tn__gc_call_outside"));

__asm__(FUNCTION("tn__gc_call_outside_memory") PERSONALITY LEAVE /* */
        "    movq tn__gc_block@gottpoff(%rip), %r10\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rcx\n"
        "    movq %fs:40(%r10), %rcx\n"
        "    subq %rcx, %rsp\n"
        "    andq $-16, %rsp\n"
        "    movq %rsp, %rdi\n"
        "    leaq 16(%rbp), %rsi\n"
        "    shrq $3, %rcx\n"
        "    rep movsq\n"
        "    movq -24(%rbp), %rdi\n"
        "    movq -32(%rbp), %rsi\n"
        "    movq -40(%rbp), %rcx\n"
        "    call *-16(%rbp)\n" COME_BACK END("tn__gc_call_outside_memory"));

/* ---- registers ---- */

enum { RESULT_COMPONENTS = 0x47, RESULT_AREA = 1664 };
_Static_assert(RESULT_COMPONENTS == (1 | 2 | 4 | 64) && RESULT_AREA == 1152 + 512,
               "x87, SSE, AVX, upper halves of zmm0-15, which end there");

static uint8_t has_xsave __asm__("tn__gc_has_xsave") __attribute__((used));

int tn__gc_look_at_machine(struct tn_error *err)
{
    uint32_t eax, ebx, ecx, edx;
    bool found = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_OSXSAVE);
    __atomic_store_n(&has_xsave, found, __ATOMIC_RELAXED);
    (void)err;
    return 0;
}

/* Calls the function in r11 with the result registers among the general ones, and preserves every register that may
 * hold an argument or a result: results may be long double, vectors or three words. An XSAVE area begins with the 512
 * bytes of FXSAVE (Intel SDM, volume 1, section 13.4). */
__asm__(FUNCTION("tn__gc_keep_registers") FRAME /* */
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq $0\n" /* other processors have eight registers of results */
        "    pushq $0\n"
        "    pushq $0\n"
        "    pushq $0\n"
        "    pushq $0\n"
        "    pushq %rcx\n"
        "    pushq %rdx\n"
        "    pushq %rax\n"
        "    movq %rsp, %rdi\n"
        "    subq $1664, %rsp\n"
        "    andq $-64, %rsp\n"
        "    cmpb $0, tn__gc_has_xsave(%rip)\n"
        "    je 1f\n"
        "    xorl %edx, %edx\n"
        "    movl $512, %eax\n"
        "0:  movq %rdx, (%rsp,%rax)\n" /* the header has to be zero */
        "    addl $8, %eax\n"
        "    cmpl $576, %eax\n"
        "    jne 0b\n"
        "    movl $0x47, %eax\n"
        "    xsave64 (%rsp)\n"
        "    call *%r11\n"
        "    xorl %edx, %edx\n"
        "    movl $0x47, %eax\n"
        "    xrstor64 (%rsp)\n"
        "    jmp 2f\n"
        "1:  fxsave64 (%rsp)\n"
        "    call *%r11\n"
        "    fxrstor64 (%rsp)\n"
        "2:  movq -96(%rbp), %rax\n"
        "    movq -88(%rbp), %rdx\n"
        "    movq -80(%rbp), %rcx\n"
        "    movq -32(%rbp), %r9\n"
        "    movq -24(%rbp), %r8\n"
        "    movq -16(%rbp), %rsi\n"
        "    movq -8(%rbp), %rdi\n" RETURN END("tn__gc_keep_registers"));

/* ---- the barrier ---- */

/* A slot of an object that is not permanent goes into the thread's buffer if that has space. All else is for
 * tn__gc_log_here. */
__asm__(FUNCTION("tn__gc_log") /* */
        "    testq %rsi, %rsi\n"
        "    jz 1f\n"
        "    testb $1, -8(%rdi)\n"
        "    jnz 1f\n"
        "    pushq %rax\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "    movq tn__gc_block@gottpoff(%rip), %r11\n"
        "    movq %fs:64(%r11), %r11\n"
        "    testq %r11, %r11\n"
        "    jz 2f\n"
        "    movq (%r11), %rax\n"
        "    cmpq 8(%r11), %rax\n"
        "    jae 2f\n"
        "    movq %rsi, (%rax)\n"
        "    addq $8, %rax\n"
        "    movq %rax, (%r11)\n"
        "    popq %rax\n"
        "    .cfi_adjust_cfa_offset -8\n"
        "    ret\n"
        "1:  pushq %rax\n"
        "    .cfi_adjust_cfa_offset 8\n"
        "2:  pushq %rcx\n"
        "    pushq %rdx\n"
        "    pushq %rsi\n"
        "    pushq %rdi\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq %r10\n"
        "    subq $8, %rsp\n"
        "    .cfi_adjust_cfa_offset 64\n"
        "    call tn__gc_log_here\n"
        "    addq $8, %rsp\n"
        "    popq %r10\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rdi\n"
        "    popq %rsi\n"
        "    popq %rdx\n"
        "    popq %rcx\n"
        "    popq %rax\n"
        "    .cfi_adjust_cfa_offset -72\n"
        "    ret\n" END("tn__gc_log"));
