/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy stubs of RISC-V.
 *
 * The entry preserves every register that a calling convention passes arguments in or has callees preserve, where the
 * ordinary one does not: the general registers but t1 and t3, which linkers use between caller and callee, all
 * floating-point registers, and the vector registers, where there are any (RISC-V ELF psABI, "Standard Vector Calling
 * Convention Variant"). */

#include <sys/auxv.h>

#include "link/redirect/cell.h"

/* ---- stubs ---- */

enum { STUB_SIZE = 16 };

/* auipc t3, %pcrel_hi(slot); ld t3, %pcrel_lo(t3); fence r, rw; jalr t1, (t3). The fence acquires: what was written
 * before the slot is seen by the code that it leads to. The jump leaves the address behind the stub in t1, from which
 * the entry finds the slot. */
static void write_stub(uint8_t *out, uint64_t stub, uint64_t slot)
{
    uint32_t distance = (uint32_t)(slot - stub);
    tn__put32(out, 0x00000e17 | ((distance + 0x800) & 0xfffff000));
    tn__put32(out + 4, 0x000e3e03 | distance << 20);
    tn__put32(out + 8, 0x0230000f);
    tn__put32(out + 12, 0x000e0367);
}

/* Version 1, no augmentation, code alignment 1, data alignment -8, return address in column 1; DW_CFA_def_cfa sp, 0: as
 * at the first instruction of any function. */
static const uint8_t unwind[] = {1, 0, 1, 0x78, 1, 0x0c, 2, 0};

/* ---- the entry ---- */

/* The struct tn__lazy_frame lies below the arguments in memory, whose address is in s0. */
_Static_assert(offsetof(struct tn__lazy_frame, cell) == 8, "");
_Static_assert(offsetof(struct tn__lazy_frame, managed_registers) == 16, "");
_Static_assert(offsetof(struct tn__lazy_frame, managed_stack) == 24, "");
_Static_assert(offsetof(struct tn__lazy_frame, registers) == 32, "");
_Static_assert(offsetof(struct tn__lazy_frame, frame_pointer) == 176, "");
_Static_assert(offsetof(struct tn__lazy_frame, stack) == 192, "");
_Static_assert(TN__LAZY_REGISTERS >= 13, "a0-a7 t2 t0 t4 t5 t6");

#define GENERAL(op)                                                                                                    \
    "    " op " a0, 32(sp)\n"                                                                                          \
    "    " op " a1, 40(sp)\n"                                                                                          \
    "    " op " a2, 48(sp)\n"                                                                                          \
    "    " op " a3, 56(sp)\n"                                                                                          \
    "    " op " a4, 64(sp)\n"                                                                                          \
    "    " op " a5, 72(sp)\n"                                                                                          \
    "    " op " a6, 80(sp)\n"                                                                                          \
    "    " op " a7, 88(sp)\n"                                                                                          \
    "    " op " t2, 96(sp)\n"                                                                                          \
    "    " op " t0, 104(sp)\n"                                                                                         \
    "    " op " t4, 112(sp)\n"                                                                                         \
    "    " op " t5, 120(sp)\n"                                                                                         \
    "    " op " t6, 128(sp)\n"

#define FLOATS(op)                                                                                                     \
    "    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"              \
    "    " op " f\\n, 8*\\n(sp)\n"                                                                                     \
    "    .endr\n"

/* Groups of 8 registers: `op` g, address in t0, then that of the next group; t1: bytes of a group. */
#define VECTORS(op)                                                                                                    \
    "    csrr t1, 0xc22\n" /* vlenb */                                                                                 \
    "    slli t1, t1, 3\n"                                                                                             \
    "    mv t0, sp\n"                                                                                                  \
    "    " op " v0, (t0)\n"                                                                                            \
    "    add t0, t0, t1\n"                                                                                             \
    "    " op " v8, (t0)\n"                                                                                            \
    "    add t0, t0, t1\n"                                                                                             \
    "    " op " v16, (t0)\n"                                                                                           \
    "    add t0, t0, t1\n"                                                                                             \
    "    " op " v24, (t0)\n"

#define ROOM_FOR_VECTORS                                                                                               \
    "    csrr t1, 0xc22\n"                                                                                             \
    "    slli t1, t1, 5\n"                                                                                             \
    "    sub sp, sp, t1\n"

/* The slot's address is in the first two instructions of the stub: t3 = t1 - 16 + high + low, low with its sign.
 * `save`, `restore`: of vector registers. */
#define ENTRY(name, save, restore)                                                                                     \
    __asm__(".pushsection .text." #name ",\"ax\",@progbits\n"                                                          \
            ".option push\n"                                                                                           \
            ".option arch, +v\n"                                                                                       \
            ".globl " #name "\n"                                                                                       \
            ".hidden " #name "\n"                                                                                      \
            ".type " #name ",@function\n"                                                                              \
            ".balign 16\n" #name ":\n"                                                                                 \
            "    .cfi_startproc\n"                                                                                     \
            "    addi sp, sp, -16\n"                                                                                   \
            "    .cfi_def_cfa_offset 16\n"                                                                             \
            "    sd s0, 0(sp)\n"                                                                                       \
            "    .cfi_offset s0, -16\n"                                                                                \
            "    sd ra, 8(sp)\n"                                                                                       \
            "    .cfi_offset ra, -8\n"                                                                                 \
            "    addi s0, sp, 16\n"                                                                                    \
            "    .cfi_def_cfa s0, 0\n"                                                                                 \
            "    addi sp, sp, -176\n" GENERAL("sd") /* */                                                              \
            "    addi t3, t1, -16\n"                                                                                   \
            "    lw t4, -16(t1)\n"                                                                                     \
            "    srai t4, t4, 12\n"                                                                                    \
            "    slli t4, t4, 12\n"                                                                                    \
            "    add t3, t3, t4\n"                                                                                     \
            "    lw t4, -12(t1)\n"                                                                                     \
            "    srai t4, t4, 20\n"                                                                                    \
            "    add t3, t3, t4\n"                                                                                     \
            "    sd zero, 0(sp)\n"                                                                                     \
            "    sd t3, 8(sp)\n"                                                                                       \
            "    sd zero, 16(sp)\n"                                                                                    \
            "    sd zero, 24(sp)\n"                                                                                    \
            "    mv a0, sp\n"                                                                                          \
            "    addi sp, sp, -256\n" FLOATS("fsd") save /* */                                                         \
            "    call tn__lazy_resolve\n"                                                                              \
            "    mv t3, a0\n" restore "    addi sp, s0, -448\n" FLOATS("fld") /* */                                    \
            "    addi sp, s0, -192\n" GENERAL("ld")                           /* */                                    \
            "    addi sp, s0, -16\n"                                                                                   \
            "    ld ra, 8(sp)\n"                                                                                       \
            "    ld s0, 0(sp)\n"                                                                                       \
            "    .cfi_def_cfa sp, 16\n"                                                                                \
            "    .cfi_restore s0\n"                                                                                    \
            "    .cfi_restore ra\n"                                                                                    \
            "    addi sp, sp, 16\n"                                                                                    \
            "    .cfi_def_cfa_offset 0\n"                                                                              \
            "    jr t3\n"                                                                                              \
            "    .cfi_endproc\n"                                                                                       \
            ".size " #name ", .-" #name "\n"                                                                           \
            ".option pop\n"                                                                                            \
            ".popsection\n")

ENTRY(tn__lazy_entry_floats, "", "");
ENTRY(tn__lazy_entry_vectors, ROOM_FOR_VECTORS VECTORS("vs8r.v"), VECTORS("vl8re8.v"));

__asm__(".pushsection .text.tn__lazy_removed,\"ax\",@progbits\n"
        ".globl tn__lazy_removed\n"
        ".hidden tn__lazy_removed\n"
        ".type tn__lazy_removed,@function\n"
        ".balign 16\n"
        "tn__lazy_removed:\n"
        "    .cfi_startproc\n"
        "    unimp\n"
        "    .cfi_endproc\n"
        ".size tn__lazy_removed, .-tn__lazy_removed\n"
        ".popsection\n");

extern const char tn__lazy_entry_floats[], tn__lazy_entry_vectors[], tn__lazy_removed[];

/* ---- what this processor has ---- */

enum { WITH_FLOATS, WITH_VECTORS, FLOATS_SIZE = 32 * 8 };

static struct tn__lazy_way ways[] = {
    [WITH_FLOATS] = {.size = FLOATS_SIZE, .name = "floats", .entry = tn__lazy_entry_floats},
    [WITH_VECTORS] = {.name = "vectors", .entry = tn__lazy_entry_vectors},
};

static void look(void)
{
    uint64_t bytes;
    if (!(getauxval(AT_HWCAP) >> ('V' - 'A') & 1))
        return;
    __asm__("csrr %0, 0xc22" : "=r"(bytes)); /* vlenb */
    ways[WITH_VECTORS].size = FLOATS_SIZE + 32 * bytes;
}

const struct tn__lazy_machine tn__lazy_machine = {
    .stub_size = STUB_SIZE,
    .write_stub = write_stub,
    .ways = ways,
    .way_count = TN_COUNT(ways),
    .look = look,
    .managed_registers = 0x1ff,
    .removed = tn__lazy_removed,
    .unwind = unwind,
    .unwind_size = sizeof unwind,
};
