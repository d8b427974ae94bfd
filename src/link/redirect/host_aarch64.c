/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy stubs of AArch64.
 *
 * The entry preserves every register that a calling convention passes arguments in or has callees preserve, where the
 * ordinary one does not: the general registers but x16 and x17, which linkers may use between caller and callee, and
 * the vector registers in full, because the vector and SVE conventions count on more of them than the 64 bits of v8-v15
 * (AAPCS64, "SIMD and Floating-Point registers", "Scalable vector registers"). Stubs may not be called in streaming
 * mode. */

#include <sys/auxv.h>

#include "link/redirect/cell.h"

/* ---- stubs ---- */

/* Indirect branches into pages that are guarded have to reach a landing pad. Linkers ask for guarded pages if all of a
 * program is compiled with -mbranch-protection, the runtime too. */
#ifdef __ARM_FEATURE_BTI_DEFAULT
enum { LANDING_PAD = 4, STUB_SIZE = 32 };
#else
enum { LANDING_PAD = 0, STUB_SIZE = 16 };
#endif

/* bti c, as the landing pad; adrp x16, slot; add x16, x16, :lo12:slot; ldar x17, [x16]; br x17 (Arm ARM, C6.2). The
 * load acquires: what was written before the slot is seen by the code that it leads to. A branch through x17 may lead
 * to "bti c". What is left of a stub traps. */
static void write_stub(uint8_t *out, uint64_t stub, uint64_t slot)
{
    uint32_t pages = (uint32_t)((slot >> 12) - (stub >> 12));
    uint8_t *at = out + LANDING_PAD;
    memset(out, 0, STUB_SIZE);
    if (LANDING_PAD)
        tn__put32(out, 0xd503245f);
    tn__put32(at, 0x90000010 | (pages & 3) << 29 | (pages >> 2 & 0x7ffff) << 5);
    tn__put32(at + 4, 0x91000210 | (uint32_t)(slot & 0xfff) << 10);
    tn__put32(at + 8, 0xc8dffe11);
    tn__put32(at + 12, 0xd61f0220);
}

/* Version 1, no augmentation, code alignment 1, data alignment -8, return address in column 30; DW_CFA_def_cfa sp, 0:
 * as at the first instruction of any function. */
static const uint8_t unwind[] = {1, 0, 1, 0x78, 30, 0x0c, 31, 0};

/* ---- the entry ---- */

/* The struct tn__lazy_frame, whose member frame_pointer is where x29 points. */
_Static_assert(offsetof(struct tn__lazy_frame, cell) == 8, "");
_Static_assert(offsetof(struct tn__lazy_frame, managed_registers) == 16, "");
_Static_assert(offsetof(struct tn__lazy_frame, managed_stack) == 24, "");
_Static_assert(offsetof(struct tn__lazy_frame, registers) == 32, "");
_Static_assert(offsetof(struct tn__lazy_frame, frame_pointer) == 176, "");
_Static_assert(offsetof(struct tn__lazy_frame, stack) == 192, "the frame record lies below the arguments in memory");
_Static_assert(TN__LAZY_REGISTERS == 18, "x0-x15, x18, and one that is not used");

#define GENERAL(op)                                                                                                    \
    "    " op " x0, x1, [sp, #32]\n"                                                                                   \
    "    " op " x2, x3, [sp, #48]\n"                                                                                   \
    "    " op " x4, x5, [sp, #64]\n"                                                                                   \
    "    " op " x6, x7, [sp, #80]\n"                                                                                   \
    "    " op " x8, x9, [sp, #96]\n"                                                                                   \
    "    " op " x10, x11, [sp, #112]\n"                                                                                \
    "    " op " x12, x13, [sp, #128]\n"                                                                                \
    "    " op " x14, x15, [sp, #144]\n"

#define VECTORS(op)                                                                                                    \
    "    " op " q0, q1, [sp]\n"                                                                                        \
    "    " op " q2, q3, [sp, #32]\n"                                                                                   \
    "    " op " q4, q5, [sp, #64]\n"                                                                                   \
    "    " op " q6, q7, [sp, #96]\n"                                                                                   \
    "    " op " q8, q9, [sp, #128]\n"                                                                                  \
    "    " op " q10, q11, [sp, #160]\n"                                                                                \
    "    " op " q12, q13, [sp, #192]\n"                                                                                \
    "    " op " q14, q15, [sp, #224]\n"                                                                                \
    "    " op " q16, q17, [sp, #256]\n"                                                                                \
    "    " op " q18, q19, [sp, #288]\n"                                                                                \
    "    " op " q20, q21, [sp, #320]\n"                                                                                \
    "    " op " q22, q23, [sp, #352]\n"                                                                                \
    "    " op " q24, q25, [sp, #384]\n"                                                                                \
    "    " op " q26, q27, [sp, #416]\n"                                                                                \
    "    " op " q28, q29, [sp, #448]\n"                                                                                \
    "    " op " q30, q31, [sp, #480]\n"

/* Predicates first, because each is an eighth of a vector. */
#define SCALABLE(op)                                                                                                   \
    "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"                                                              \
    "    " op " p\\n, [sp, #\\n, mul vl]\n"                                                                            \
    "    .endr\n"                                                                                                      \
    "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"              \
    "    " op " z\\n, [sp, #\\n + 2, mul vl]\n"                                                                        \
    "    .endr\n"

/* `space` and `save`, `restore`: of the vector registers. */
#define ENTRY(name, space, save, restore)                                                                              \
    __asm__(".pushsection .text." #name ",\"ax\",@progbits\n"                                                          \
            ".arch_extension sve\n"                                                                                    \
            ".globl " #name "\n"                                                                                       \
            ".hidden " #name "\n"                                                                                      \
            ".type " #name ",@function\n"                                                                              \
            ".balign 16\n" #name ":\n"                                                                                 \
            "    .cfi_startproc\n"                                                                                     \
            "    hint #34\n" /* bti c */                                                                               \
            "    stp x29, x30, [sp, #-16]!\n"                                                                          \
            "    .cfi_def_cfa_offset 16\n"                                                                             \
            "    .cfi_offset x29, -16\n"                                                                               \
            "    .cfi_offset x30, -8\n"                                                                                \
            "    mov x29, sp\n"                                                                                        \
            "    .cfi_def_cfa_register x29\n"                                                                          \
            "    sub sp, sp, #176\n"                                                                                   \
            "    stp xzr, x16, [sp]\n"                                                                                 \
            "    stp xzr, xzr, [sp, #16]\n" GENERAL("stp") /* */                                                       \
            "    stp x18, xzr, [sp, #160]\n"                                                                           \
            "    mov x0, sp\n" space save /* */                                                                        \
            "    bl tn__lazy_resolve\n"                                                                                \
            "    mov x17, x0\n" restore              /* */                                                             \
            "    sub sp, x29, #176\n" GENERAL("ldp") /* */                                                             \
            "    ldr x18, [sp, #160]\n"                                                                                \
            "    mov sp, x29\n"                                                                                        \
            "    ldp x29, x30, [sp], #16\n"                                                                            \
            "    .cfi_def_cfa sp, 0\n"                                                                                 \
            "    .cfi_restore x29\n"                                                                                   \
            "    .cfi_restore x30\n"                                                                                   \
            "    br x17\n"                                                                                             \
            "    .cfi_endproc\n"                                                                                       \
            ".size " #name ", .-" #name "\n"                                                                           \
            ".popsection\n")

ENTRY(tn__lazy_entry_vectors, "    sub sp, sp, #512\n", VECTORS("stp"), VECTORS("ldp"));
ENTRY(tn__lazy_entry_scalable, "    addvl sp, sp, #-17\n    addvl sp, sp, #-17\n", SCALABLE("str"), SCALABLE("ldr"));

__asm__(".pushsection .text.tn__lazy_removed,\"ax\",@progbits\n"
        ".globl tn__lazy_removed\n"
        ".hidden tn__lazy_removed\n"
        ".type tn__lazy_removed,@function\n"
        ".balign 16\n"
        "tn__lazy_removed:\n"
        "    .cfi_startproc\n"
        "    hint #34\n" /* bti c */
        "    udf #0\n"
        "    .cfi_endproc\n"
        ".size tn__lazy_removed, .-tn__lazy_removed\n"
        ".popsection\n");

extern const char tn__lazy_entry_vectors[], tn__lazy_entry_scalable[], tn__lazy_removed[];

/* ---- what this processor has ---- */

enum { WITH_VECTORS, WITH_SCALABLE, VECTORS_SIZE = 32 * 16 };

static struct tn__lazy_way ways[] = {
    [WITH_VECTORS] = {.size = VECTORS_SIZE, .name = "vectors", .entry = tn__lazy_entry_vectors},
    [WITH_SCALABLE] = {.name = "scalable vectors", .entry = tn__lazy_entry_scalable},
};

/* 32 vectors and 16 predicates of an eighth. The length is that of this thread; each call uses its own thread's. */
static void look(void)
{
    uint64_t bytes;
    if (!(getauxval(AT_HWCAP) & HWCAP_SVE))
        return;
    __asm__(".arch_extension sve\n    rdvl %0, #1" : "=r"(bytes));
    ways[WITH_SCALABLE].size = 34 * bytes;
}

const struct tn__lazy_machine tn__lazy_machine = {
    .stub_size = STUB_SIZE,
    .write_stub = write_stub,
    .ways = ways,
    .way_count = TN_COUNT(ways),
    .look = look,
    .managed_registers = 0x80ff,
    .removed = tn__lazy_removed,
    .unwind = unwind,
    .unwind_size = sizeof unwind,
};
