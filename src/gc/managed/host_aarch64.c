/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Entries that compiled AArch64 code calls with special calling conventions. The offsets are those of tenon_gc.h; the
 * assertions of managed.h keep them in step. Without comments of their own, functions are as in host_x86_64.c.
 *
 * A call leaves the return address in x30, so anchors hold it in `ra`, and their `sp` is the stack pointer itself,
 * which is where the caller's arguments in memory begin. x15 is the register of `nest` arguments. Only x16 and x17 are
 * free: all others may hold arguments, or be preserved by conventions such as preserve_most. */

#include <sys/auxv.h>

#include "gc/managed/managed.h"

const struct tn__transition_frame tn__transition_frame = {.unwind_register = 29, .to_sp = 48};

#define FUNCTION(name)                                                                                                 \
    ".pushsection .text." name ",\"ax\",@progbits\n"                                                                   \
    ".arch_extension sve\n"                                                                                            \
    ".globl " name "\n"                                                                                                \
    ".hidden " name "\n"                                                                                               \
    ".type " name ",@function\n"                                                                                       \
    ".balign 16\n" name ":\n"                                                                                          \
    "    .cfi_startproc\n"                                                                                             \
    "    hint #34\n" /* bti c */
#define END(name)                                                                                                      \
    "    .cfi_endproc\n"                                                                                               \
    ".size " name ", .-" name "\n"                                                                                     \
    ".popsection\n"

/* `size`: of the frame, whose record lies at its lower end. */
#define FRAME(size)                                                                                                    \
    "    stp x29, x30, [sp, #-" size "]!\n"                                                                            \
    "    .cfi_def_cfa_offset " size "\n"                                                                               \
    "    .cfi_offset x29, -" size "\n"                                                                                 \
    "    .cfi_offset x30, -" size " + 8\n"                                                                             \
    "    mov x29, sp\n"                                                                                                \
    "    .cfi_def_cfa_register x29\n"
#define RETURN(size)                                                                                                   \
    "    mov sp, x29\n"                                                                                                \
    "    ldp x29, x30, [sp], #" size "\n"                                                                              \
    "    .cfi_def_cfa sp, 0\n"                                                                                         \
    "    .cfi_restore x29\n"                                                                                           \
    "    .cfi_restore x30\n"                                                                                           \
    "    ret\n"

/* x16: the address of the thread's block; clobbers x17. */
#define BLOCK                                                                                                          \
    "    adrp x17, :gottprel:tn__gc_block\n"                                                                           \
    "    ldr x17, [x17, :gottprel_lo12:tn__gc_block]\n"                                                                \
    "    mrs x16, tpidr_el0\n"                                                                                         \
    "    add x16, x16, x17\n"

/* Fills in the thread's top anchor. x16: the address of its block; clobbered, and so is x17. */
#define FILL_IN                                                                                                        \
    "    ldr x16, [x16, #24]\n"                                                                                        \
    "    mov x17, sp\n"                                                                                                \
    "    stp x17, x29, [x16]\n"                                                                                        \
    "    str x30, [x16, #16]\n"

#define KEEP_REGISTERS(function)                                                                                       \
    "    adrp x16, " function "\n"                                                                                     \
    "    add x16, x16, :lo12:" function "\n"                                                                           \
    "    bl tn__gc_keep_registers\n"

/* In stress mode the function gets a copy of its arguments in memory: of all between the stack pointer and the caller's
 * frame record, up to a limit that no argument list reaches. */
__asm__(FUNCTION("tn__gc_call_native") BLOCK /* */
        "    ldr w17, [x16, #16]\n"
        "    tbnz w17, #1, 1f\n" FILL_IN /* */
        "    mov x16, x15\n"
        "    br x16\n"
        "1:  str xzr, [x16, #72]\n" FILL_IN FRAME("64") /* */
        "    str x15, [sp, #16]\n"
        "    stp x9, x10, [sp, #32]\n"
        "    stp x11, x12, [sp, #48]\n"
        "    add x9, x29, #64\n"
        "    ldr x10, [x29]\n"
        "    sub x10, x10, x9\n"
        "    mov x11, #65536\n"
        "    cmp x10, x11\n"
        "    csel x10, x10, x11, lo\n"
        "    and x10, x10, #-16\n"
        "    sub sp, sp, x10\n"
        "    mov x12, sp\n"
        "2:  cbz x10, 3f\n"
        "    sub x10, x10, #16\n"
        "    ldp x16, x17, [x9], #16\n"
        "    stp x16, x17, [x12], #16\n"
        "    b 2b\n"
        "3:  ldp x9, x10, [x29, #32]\n"
        "    ldp x11, x12, [x29, #48]\n"
        "    blr x15\n" KEEP_REGISTERS("tn__gc_after_call") RETURN("64") END("tn__gc_call_native"));

__asm__(FUNCTION("tn__gc_call_twice") BLOCK FILL_IN /* */
        "    mov x16, x15\n"
        "    br x16\n" END("tn__gc_call_twice"));

/* The stack continues below the abandoned frames. x20 keeps the return address, because unwinders find nothing at its
 * usual place there. */
__asm__(FUNCTION("tn__gc_return_twice") BLOCK /* */
        "    ldr x16, [x16, #24]\n"
        "    ldar x17, [x16]\n"
        "    tbnz x17, #0, 1f\n"
        "    ret\n"
        "1:  mov x16, sp\n"
        "    and x17, x17, #-16\n"
        "    cmp x17, x16\n"
        "    csel x17, x17, x16, lo\n"
        "    .cfi_def_cfa x16, 0\n"
        "    mov sp, x17\n"
        "    stp x19, x20, [sp, #-16]!\n"
        "    .cfi_undefined x19\n"
        "    .cfi_undefined x20\n"
        "    mov x20, x30\n"
        "    .cfi_register x30, x20\n"
        "    mov x19, x16\n"
        "    .cfi_def_cfa x19, 0\n"
        "    bl tn__gc_after_jump\n"
        "    mov x30, x20\n"
        "    .cfi_restore x30\n"
        "    mov x16, x19\n"
        "    .cfi_def_cfa x16, 0\n"
        "    ldp x19, x20, [sp]\n"
        "    .cfi_restore x19\n"
        "    .cfi_restore x20\n"
        "    mov sp, x16\n"
        "    .cfi_def_cfa sp, 0\n"
        "    ret\n" END("tn__gc_return_twice"));

/* ---- transitions ---- */

#define PERSONALITY "    .cfi_personality 0x1b, tn__gc_unwind\n"

/* x19: the thread's block; x20: the stack pointer at the call, by which the level is known; x21: the function. The
 * anchor's `sp` is stored last, with release order: then a collector may read the frames. */
#define LEAVE                                                                                                          \
    FRAME("48")                                                                                                        \
    "    stp x19, x20, [sp, #16]\n"                                                                                    \
    "    .cfi_offset x19, -32\n"                                                                                       \
    "    .cfi_offset x20, -24\n"                                                                                       \
    "    str x21, [sp, #32]\n"                                                                                         \
    "    .cfi_offset x21, -16\n" BLOCK "    mov x19, x16\n"                                                            \
    "    add x20, x29, #48\n"                                                                                          \
    "    mov x21, x15\n"                                                                                               \
    "    ldr x16, [x19, #24]\n"                                                                                        \
    "    ldr x17, [x29]\n"                                                                                             \
    "    stp x17, x30, [x16, #8]\n"                                                                                    \
    "    add x17, x20, #1\n"                                                                                           \
    "    stlr x17, [x16]\n"                                                                                            \
    "    ldr w17, [x19, #16]\n"                                                                                        \
    "    tbz w17, #1, 1f\n" KEEP_REGISTERS("tn__gc_begin_transition") "1:\n"

/* The load of `poll` acquires: if no collection is asked for any more, its work is seen. The processor does not
 * exchange it and the store before it, because that releases (Arm ARM, B2.3.11, "Load-Acquire, Load-AcquirePC, and
 * Store-Release"): so `fences` is for compiled code only. */
#define COME_BACK                                                                                                      \
    "    ldr x16, [x19, #24]\n"                                                                                        \
    "    ldr x17, [x16]\n"                                                                                             \
    "    and x17, x17, #-8\n"                                                                                          \
    "    cmp x17, x20\n"                                                                                               \
    "    b.ne 3f\n"                                                                                                    \
    "2:  stlr x20, [x16]\n"                                                                                            \
    "    add x16, x19, #16\n"                                                                                          \
    "    ldar w17, [x16]\n"                                                                                            \
    "    cbz w17, 1f\n" KEEP_REGISTERS("tn__gc_end_transition") "1:  .cfi_remember_state\n"                            \
                                                                "    ldp x19, x20, [x29, #16]\n"                       \
                                                                "    .cfi_restore x19\n"                               \
                                                                "    .cfi_restore x20\n"                               \
                                                                "    ldr x21, [x29, #32]\n"                            \
                                                                "    .cfi_restore x21\n" RETURN(                       \
                                                                    "48") "    .cfi_restore_state\n"                   \
                                                                          "3:  sub x16, x16, #24\n"                    \
                                                                          "    ldr x17, [x16]\n"                       \
                                                                          "    and x17, x17, #-8\n"                    \
                                                                          "    cmp x17, x20\n"                         \
                                                                          "    b.eq 4f\n"                              \
                                                                          "    cmn x17, #8\n"                          \
                                                                          "    b.ne 3b\n"                              \
                                                                          "    mov x0, x20\n"                          \
                                                                          "    bl tn__gc_lost_level\n"                 \
                                                                          "4:\n"                                       \
                                                                          "    add x17, x19, #24\n"                    \
                                                                          "    stlr x16, [x17]\n"                      \
                                                                          "    b 2b\n"

__asm__(FUNCTION("tn__gc_call_outside") PERSONALITY LEAVE /* */
        "    blr x21\n" COME_BACK END("tn__gc_call_outside"));

__asm__(FUNCTION("tn__gc_call_outside_memory") PERSONALITY LEAVE /* */
        "    ldr x17, [x19, #40]\n"
        "    sub x16, sp, x17\n"
        "    and sp, x16, #-16\n"
        "    cbz x17, 5f\n"
        "4:  sub x17, x17, #8\n"
        "    ldr x16, [x20, x17]\n"
        "    str x16, [sp, x17]\n"
        "    cbnz x17, 4b\n"
        "5:  blr x21\n" COME_BACK END("tn__gc_call_outside_memory"));

/* ---- registers ---- */

static uint8_t has_sve __asm__("tn__gc_has_sve") __attribute__((used));

int tn__gc_look_at_machine(struct tn_error *err)
{
    __atomic_store_n(&has_sve, (getauxval(AT_HWCAP) & HWCAP_SVE) != 0, __ATOMIC_RELAXED);
    (void)err;
    return 0;
}

#define VECTORS(op)                                                                                                    \
    "    .irp n, 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30\n"                                                         \
    "    " op " q\\n, [sp, #16*\\n]\n"                                                                                 \
    "    .endr\n"                                                                                                      \
    "    .irp n, 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31\n"                                                         \
    "    " op " q\\n, [sp, #16*\\n]\n"                                                                                 \
    "    .endr\n"

/* Predicates first, because each is an eighth of a vector. */
#define SCALABLE(op)                                                                                                   \
    "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"                                                              \
    "    " op " p\\n, [sp, #\\n, mul vl]\n"                                                                            \
    "    .endr\n"                                                                                                      \
    "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"              \
    "    " op " z\\n, [sp, #\\n + 2, mul vl]\n"                                                                        \
    "    .endr\n"

#define GENERAL(op)                                                                                                    \
    "    " op " x0, x1, [x29, #16]\n"                                                                                  \
    "    " op " x2, x3, [x29, #32]\n"                                                                                  \
    "    " op " x4, x5, [x29, #48]\n"                                                                                  \
    "    " op " x6, x7, [x29, #64]\n"                                                                                  \
    "    " op " x8, x9, [x29, #80]\n"                                                                                  \
    "    " op " x10, x11, [x29, #96]\n"                                                                                \
    "    " op " x12, x13, [x29, #112]\n"                                                                               \
    "    " op " x14, x15, [x29, #128]\n"

/* Calls the function in x16 with the result registers x0-x7 in memory, and preserves every register that may hold an
 * argument or a result, in full. */
__asm__(FUNCTION("tn__gc_keep_registers") FRAME("144") GENERAL("stp") /* */
        "    add x0, x29, #16\n"
        "    adrp x17, tn__gc_has_sve\n"
        "    ldrb w17, [x17, :lo12:tn__gc_has_sve]\n"
        "    cbnz w17, 1f\n"
        "    sub sp, sp, #512\n" VECTORS("str") /* */
        "    blr x16\n" VECTORS("ldr")          /* */
        "    b 2f\n"
        "1:  addvl sp, sp, #-17\n"
        "    addvl sp, sp, #-17\n" SCALABLE("str")            /* */
        "    blr x16\n" SCALABLE("ldr") "2:\n" GENERAL("ldp") /* */
        RETURN("144") END("tn__gc_keep_registers"));

/* ---- the barrier ---- */

/* LLVM's preserve_most: x9-x15 are preserved too. */
__asm__(FUNCTION("tn__gc_log") /* */
        "    cbz x1, 1f\n"
        "    ldurb w16, [x0, #-8]\n"
        "    tbnz w16, #0, 1f\n" BLOCK /* */
        "    ldr x16, [x16, #64]\n"
        "    cbz x16, 1f\n"
        "    ldp x17, x3, [x16]\n"
        "    cmp x17, x3\n"
        "    b.hs 1f\n"
        "    str x1, [x17], #8\n"
        "    str x17, [x16]\n"
        "    ret\n"
        "1:\n" FRAME("80") /* */
        "    stp x9, x10, [sp, #16]\n"
        "    stp x11, x12, [sp, #32]\n"
        "    stp x13, x14, [sp, #48]\n"
        "    str x15, [sp, #64]\n"
        "    bl tn__gc_log_here\n"
        "    ldp x9, x10, [sp, #16]\n"
        "    ldp x11, x12, [sp, #32]\n"
        "    ldp x13, x14, [sp, #48]\n"
        "    ldr x15, [sp, #64]\n" RETURN("80") END("tn__gc_log"));
