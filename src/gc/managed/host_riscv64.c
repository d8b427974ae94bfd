/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Entries that compiled RISC-V code calls with special calling conventions. The offsets are those of tenon_gc.h; the
 * assertions of managed.h keep them in step. Without comments of their own, functions are as in host_x86_64.c.
 *
 * A call leaves the return address in ra, so anchors hold it in `ra`, and their `sp` is the stack pointer itself, which
 * is where the caller's arguments in memory begin. The frame pointer s0 is the stack pointer at the function's entry;
 * the frame record lies below it. t2 is the register of `nest` arguments. Only t1 and t3 are free: all others may hold
 * arguments, or be preserved by conventions such as preserve_most. */

#include <sys/auxv.h>

#include "gc/managed/managed.h"

const struct tn__transition_frame tn__transition_frame = {.unwind_register = 8, .to_sp = 0};

#define FUNCTION(name)                                                                                                 \
    ".pushsection .text." name ",\"ax\",@progbits\n"                                                                   \
    ".option push\n"                                                                                                   \
    ".option arch, +v\n"                                                                                               \
    ".globl " name "\n"                                                                                                \
    ".hidden " name "\n"                                                                                               \
    ".type " name ",@function\n"                                                                                       \
    ".balign 4\n" name ":\n"                                                                                           \
    "    .cfi_startproc\n"
#define END(name)                                                                                                      \
    "    .cfi_endproc\n"                                                                                               \
    ".size " name ", .-" name "\n"                                                                                     \
    ".option pop\n"                                                                                                    \
    ".popsection\n"

/* `size`: of the frame, whose record lies at its upper end. */
#define FRAME(size)                                                                                                    \
    "    addi sp, sp, -" size "\n"                                                                                     \
    "    .cfi_def_cfa_offset " size "\n"                                                                               \
    "    sd ra, " size " - 8(sp)\n"                                                                                    \
    "    .cfi_offset ra, -8\n"                                                                                         \
    "    sd s0, " size " - 16(sp)\n"                                                                                   \
    "    .cfi_offset s0, -16\n"                                                                                        \
    "    addi s0, sp, " size "\n"                                                                                      \
    "    .cfi_def_cfa s0, 0\n"
#define RETURN(size)                                                                                                   \
    "    addi sp, s0, -" size "\n"                                                                                     \
    "    ld ra, " size " - 8(sp)\n"                                                                                    \
    "    ld s0, " size " - 16(sp)\n"                                                                                   \
    "    .cfi_def_cfa sp, " size "\n"                                                                                  \
    "    .cfi_restore ra\n"                                                                                            \
    "    .cfi_restore s0\n"                                                                                            \
    "    addi sp, sp, " size "\n"                                                                                      \
    "    .cfi_def_cfa_offset 0\n"                                                                                      \
    "    ret\n"

/* t3: the address of the thread's block. */
#define BLOCK                                                                                                          \
    "    la.tls.ie t3, tn__gc_block\n"                                                                                 \
    "    add t3, t3, tp\n"

/* Fills in the thread's top anchor. t3: the address of its block; clobbered. */
#define FILL_IN                                                                                                        \
    "    ld t3, 24(t3)\n"                                                                                              \
    "    sd sp, 0(t3)\n"                                                                                               \
    "    sd s0, 8(t3)\n"                                                                                               \
    "    sd ra, 16(t3)\n"

#define KEEP_REGISTERS(function)                                                                                       \
    "    lla t3, " function "\n"                                                                                       \
    "    call tn__gc_keep_registers\n"

/* In stress mode the function gets a copy of its arguments in memory: of all between the stack pointer and the caller's
 * frame record, up to a limit that no argument list reaches. */
__asm__(FUNCTION("tn__gc_call_native") BLOCK /* */
        "    lw t1, 16(t3)\n"
        "    andi t1, t1, 2\n"
        "    bnez t1, 1f\n" FILL_IN /* */
        "    jr t2\n"
        "1:  sd zero, 72(t3)\n" FILL_IN FRAME("48") /* */
        "    sd t2, 0(sp)\n"
        "    sd t0, 8(sp)\n"
        "    sd t4, 16(sp)\n"
        "    sd t5, 24(sp)\n"
        "    ld t3, -16(s0)\n"
        "    addi t3, t3, -16\n"
        "    sub t3, t3, s0\n"
        "    li t1, 65536\n"
        "    bltu t3, t1, 2f\n"
        "    mv t3, t1\n"
        "2:  andi t3, t3, -16\n"
        "    sub sp, sp, t3\n"
        "    mv t0, s0\n"
        "    mv t4, sp\n"
        "3:  beqz t3, 4f\n"
        "    ld t5, 0(t0)\n"
        "    sd t5, 0(t4)\n"
        "    addi t0, t0, 8\n"
        "    addi t4, t4, 8\n"
        "    addi t3, t3, -8\n"
        "    j 3b\n"
        "4:  ld t0, -40(s0)\n"
        "    ld t4, -32(s0)\n"
        "    ld t5, -24(s0)\n"
        "    jalr t2\n" KEEP_REGISTERS("tn__gc_after_call") RETURN("48") END("tn__gc_call_native"));

__asm__(FUNCTION("tn__gc_call_twice") BLOCK FILL_IN /* */
        "    jr t2\n" END("tn__gc_call_twice"));

/* The stack continues below the abandoned frames. s2 keeps the return address, because unwinders find nothing at its
 * usual place there. */
__asm__(FUNCTION("tn__gc_return_twice") BLOCK /* */
        "    ld t3, 24(t3)\n"
        "    ld t3, 0(t3)\n"
        "    fence r, rw\n"
        "    andi t1, t3, 1\n"
        "    bnez t1, 1f\n"
        "    ret\n"
        "1:  mv t1, sp\n"
        "    .cfi_def_cfa t1, 0\n"
        "    andi t3, t3, -16\n"
        "    bgeu t3, sp, 2f\n"
        "    mv sp, t3\n"
        "2:  addi sp, sp, -16\n"
        "    sd s1, 0(sp)\n"
        "    .cfi_undefined s1\n"
        "    sd s2, 8(sp)\n"
        "    .cfi_undefined s2\n"
        "    mv s2, ra\n"
        "    .cfi_register ra, s2\n"
        "    mv s1, t1\n"
        "    .cfi_def_cfa s1, 0\n"
        "    call tn__gc_after_jump\n"
        "    mv ra, s2\n"
        "    .cfi_restore ra\n"
        "    mv t1, s1\n"
        "    .cfi_def_cfa t1, 0\n"
        "    ld s1, 0(sp)\n"
        "    .cfi_restore s1\n"
        "    ld s2, 8(sp)\n"
        "    .cfi_restore s2\n"
        "    mv sp, t1\n"
        "    .cfi_def_cfa sp, 0\n"
        "    ret\n" END("tn__gc_return_twice"));

/* ---- transitions ---- */

#define PERSONALITY "    .cfi_personality 0x1b, tn__gc_unwind\n"

/* s1: the thread's block; s0: the stack pointer at the call, by which the level is known; s2: the function. The
 * anchor's `sp` is stored last, with release order: then a collector may read the frames. */
#define LEAVE                                                                                                          \
    FRAME("32")                                                                                                        \
    "    sd s1, 8(sp)\n"                                                                                               \
    "    .cfi_offset s1, -24\n"                                                                                        \
    "    sd s2, 0(sp)\n"                                                                                               \
    "    .cfi_offset s2, -32\n" BLOCK "    mv s1, t3\n"                                                                \
    "    mv s2, t2\n"                                                                                                  \
    "    ld t3, 24(s1)\n"                                                                                              \
    "    ld t1, -16(s0)\n"                                                                                             \
    "    sd t1, 8(t3)\n"                                                                                               \
    "    sd ra, 16(t3)\n"                                                                                              \
    "    addi t1, s0, 1\n"                                                                                             \
    "    fence rw, w\n"                                                                                                \
    "    sd t1, 0(t3)\n"                                                                                               \
    "    lw t1, 16(s1)\n"                                                                                              \
    "    andi t1, t1, 2\n"                                                                                             \
    "    beqz t1, 1f\n" KEEP_REGISTERS("tn__gc_begin_transition") "1:\n"

/* The processor may exchange the store of `sp` and the load of `poll` and `fences`, which the collector's
 * tn__os_fence_threads makes up for. The load acquires: if no collection is asked for any more, its work is seen. */
#define COME_BACK                                                                                                      \
    "    ld t3, 24(s1)\n"                                                                                              \
    "    ld t1, 0(t3)\n"                                                                                               \
    "    andi t1, t1, -8\n"                                                                                            \
    "    bne t1, s0, 3f\n"                                                                                             \
    "2:  fence rw, w\n"                                                                                                \
    "    sd s0, 0(t3)\n"                                                                                               \
    "    ld t1, 16(s1)\n"                                                                                              \
    "    fence r, rw\n"                                                                                                \
    "    beqz t1, 1f\n"                                                                                                \
    "    fence rw, rw\n"                                                                                               \
    "    lw t1, 16(s1)\n"                                                                                              \
    "    fence r, rw\n"                                                                                                \
    "    beqz t1, 1f\n" KEEP_REGISTERS("tn__gc_end_transition") "1:  .cfi_remember_state\n"                            \
                                                                "    ld s1, -24(s0)\n"                                 \
                                                                "    .cfi_restore s1\n"                                \
                                                                "    ld s2, -32(s0)\n"                                 \
                                                                "    .cfi_restore s2\n" RETURN(                        \
                                                                    "32") "    .cfi_restore_state\n"                   \
                                                                          "3:  addi t3, t3, -24\n"                     \
                                                                          "    ld t1, 0(t3)\n"                         \
                                                                          "    andi t1, t1, -8\n"                      \
                                                                          "    beq t1, s0, 4f\n"                       \
                                                                          "    addi t1, t1, 8\n"                       \
                                                                          "    bnez t1, 3b\n"                          \
                                                                          "    mv a0, s0\n"                            \
                                                                          "    call tn__gc_lost_level\n"               \
                                                                          "4:\n"                                       \
                                                                          "    fence rw, w\n"                          \
                                                                          "    sd t3, 24(s1)\n"                        \
                                                                          "    j 2b\n"

__asm__(FUNCTION("tn__gc_call_outside") PERSONALITY LEAVE /* */
        "    jalr s2\n" COME_BACK END("tn__gc_call_outside"));

/* Copied downwards: each word from s0 + n to sp + n. */
__asm__(FUNCTION("tn__gc_call_outside_memory") PERSONALITY LEAVE /* */
        "    addi sp, sp, -16\n"
        "    sd t0, 0(sp)\n"
        "    sd t4, 8(sp)\n"
        "    mv t0, sp\n"
        "    ld t3, 40(s1)\n"
        "    sub sp, sp, t3\n"
        "    andi sp, sp, -16\n"
        "    beqz t3, 5f\n"
        "4:  addi t3, t3, -8\n"
        "    add t1, s0, t3\n"
        "    ld t4, 0(t1)\n"
        "    add t1, sp, t3\n"
        "    sd t4, 0(t1)\n"
        "    bnez t3, 4b\n"
        "5:  ld t4, 8(t0)\n"
        "    ld t0, 0(t0)\n"
        "    jalr s2\n" COME_BACK END("tn__gc_call_outside_memory"));

/* ---- registers ---- */

static uint8_t has_vectors __asm__("tn__gc_has_vectors") __attribute__((used));

int tn__gc_look_at_machine(struct tn_error *err)
{
    __atomic_store_n(&has_vectors, getauxval(AT_HWCAP) >> ('V' - 'A') & 1, __ATOMIC_RELAXED);
    (void)err;
    return 0;
}

#define GENERAL(op)                                                                                                    \
    "    " op " a0, 0(sp)\n"                                                                                           \
    "    " op " a1, 8(sp)\n"                                                                                           \
    "    " op " a2, 16(sp)\n"                                                                                          \
    "    " op " a3, 24(sp)\n"                                                                                          \
    "    " op " a4, 32(sp)\n"                                                                                          \
    "    " op " a5, 40(sp)\n"                                                                                          \
    "    " op " a6, 48(sp)\n"                                                                                          \
    "    " op " a7, 56(sp)\n"                                                                                          \
    "    " op " t2, 64(sp)\n"                                                                                          \
    "    " op " t0, 72(sp)\n"                                                                                          \
    "    " op " t4, 80(sp)\n"                                                                                          \
    "    " op " t5, 88(sp)\n"                                                                                          \
    "    " op " t6, 96(sp)\n"

#define FLOATS(op)                                                                                                     \
    "    .irp n, 0,1,2,3,4,5,6,7,10,11,12,13,14,15,16,17,28,29,30,31\n"                                                \
    "    " op " f\\n, 112 + 8*\\n(sp)\n"                                                                               \
    "    .endr\n"

/* Groups of 8 registers; t1: the address, t2: bytes of a group. */
#define VECTORS(op)                                                                                                    \
    "    csrr t2, 0xc22\n" /* vlenb */                                                                                 \
    "    slli t2, t2, 3\n"                                                                                             \
    "    mv t1, sp\n"                                                                                                  \
    "    " op " v0, (t1)\n"                                                                                            \
    "    add t1, t1, t2\n"                                                                                             \
    "    " op " v8, (t1)\n"                                                                                            \
    "    add t1, t1, t2\n"                                                                                             \
    "    " op " v16, (t1)\n"                                                                                           \
    "    add t1, t1, t2\n"                                                                                             \
    "    " op " v24, (t1)\n"

/* Calls the function in t3 with the result registers a0 and a1 in memory, and preserves every register that may hold an
 * argument or a result, in full. The words behind the results are other arguments, which are sifted like them. */
__asm__(FUNCTION("tn__gc_keep_registers") FRAME("400") GENERAL("sd") FLOATS("fsd") /* */
        "    mv a0, sp\n"
        "    lbu t1, tn__gc_has_vectors\n"
        "    bnez t1, 1f\n"
        "    jalr t3\n"
        "    j 2f\n"
        "1:  csrr t1, 0xc22\n"
        "    slli t1, t1, 5\n"
        "    sub sp, sp, t1\n" VECTORS("vs8r.v") /* */
        "    jalr t3\n" VECTORS("vl8re8.v")      /* */
        "2:  addi sp, s0, -400\n" FLOATS("fld") GENERAL("ld") RETURN("400") END("tn__gc_keep_registers"));

/* ---- the barrier ---- */

/* LLVM's preserve_most: all but t1, t2, t3 and the floating-point registers are preserved. */
__asm__(FUNCTION("tn__gc_log") /* */
        "    beqz a1, 1f\n"
        "    lbu t3, -8(a0)\n"
        "    andi t3, t3, 1\n"
        "    bnez t3, 1f\n" BLOCK /* */
        "    ld t3, 64(t3)\n"
        "    beqz t3, 1f\n"
        "    addi sp, sp, -16\n"
        "    .cfi_def_cfa_offset 16\n"
        "    sd t2, 0(sp)\n"
        "    ld t1, 0(t3)\n"
        "    ld t2, 8(t3)\n"
        "    bgeu t1, t2, 2f\n"
        "    sd a1, 0(t1)\n"
        "    addi t1, t1, 8\n"
        "    sd t1, 0(t3)\n"
        "    ld t2, 0(sp)\n"
        "    addi sp, sp, 16\n"
        "    .cfi_remember_state\n"
        "    .cfi_def_cfa_offset 0\n"
        "    ret\n"
        "    .cfi_restore_state\n"
        "2:  ld t2, 0(sp)\n"
        "    addi sp, sp, 16\n"
        "    .cfi_def_cfa_offset 0\n"
        "1:\n" FRAME("128") GENERAL("sd") /* */
        "    call tn__gc_log_here\n"
        "    addi sp, s0, -128\n" GENERAL("ld") RETURN("128") END("tn__gc_log"));
