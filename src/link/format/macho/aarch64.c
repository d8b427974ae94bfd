/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Mach-O for AArch64 (arm64): the relocation types that Apple's <mach-o/arm64/reloc.h> describes.
 *
 * Addends of instructions are in records of their own. PAGEOFF12 does not say how many bytes a load or store moves; the
 * instruction does. Fields of pointers to the GOT hold what assemblers leave there. Thread-local variables have
 * descriptors, whose addresses are loaded from the GOT. */

#include "link/arch/aarch64/aarch64.h"
#include "link/format/macho/reader.h"
#include "link/passes/steps.h"

enum {
    UNSIGNED,
    SUBTRACTOR,
    BRANCH26,
    PAGE21,
    PAGEOFF12,
    GOT_LOAD_PAGE21,
    GOT_LOAD_PAGEOFF12,
    POINTER_TO_GOT,
    TLVP_LOAD_PAGE21,
    TLVP_LOAD_PAGEOFF12,
    ADDEND,
    AUTHENTICATED_POINTER,
};

#define ROW(type, length, relative, value, field, bits, flags, slot, relax)                                            \
    [TN__MACHO_ROW(type, length, relative)] =                                                                          \
        TN__ROW("ARM64_RELOC_" #type, TN__V_##value, field, 1 << (length), bits, flags, TN__SLOT_##slot, relax)
#define D(type, length, relative, value, field, flags, slot)                                                           \
    ROW(type, length, relative, value, TN__F_##field, 8 << (length), flags, slot, 0)
#define I(type, relative, value, field, bits, flags, slot)                                                             \
    ROW(type, 2, relative, value, TN__AARCH64_##field, bits, flags, slot, 0)
#define X(type, relative, value, field, bits, flags, relax)                                                            \
    ROW(type, 2, relative, value, TN__AARCH64_##field, bits, flags, ADDRESS, TN__AARCH64_##relax)

/* type; length as a power of two (of instructions: 4 bytes); PC-relative; value, field, bits (of data: all), flags, GOT
 * slot; D: in data, I: in an instruction, X: in one that is rewritten if it can do without the GOT */
static const struct tn__row rows[TN__MACHO_ROWS] = {
    D(UNSIGNED, 2, 0, S_A, LE32, TN__R_UNSIGNED | TN__R_LOW, NONE),
    D(UNSIGNED, 3, 0, S_A, LE64, 0, NONE),
    D(SUBTRACTOR, 2, 0, F_MINUS, LE32, 0, NONE),
    D(SUBTRACTOR, 3, 0, F_MINUS, LE64, 0, NONE),
    I(BRANCH26, 1, BRANCH, BRANCH26, 28, TN__R_SIGNED | TN__R_STUB, NONE),
    I(PAGE21, 1, PAGE_S_A_P, ADRP, 33, TN__R_SIGNED, NONE),
    I(PAGEOFF12, 0, S_A, LO12_ANY, 12, 0, NONE),
    X(GOT_LOAD_PAGE21, 1, PAGE_G_A_P, ADRP, 33, TN__R_SIGNED, GOT_PAGE),
    X(GOT_LOAD_PAGEOFF12, 0, G_A, LO12_8, 12, 0, GOT_LO12),
    D(POINTER_TO_GOT, 2, 1, G_A_P, LE32, TN__R_SIGNED, ADDRESS),
    D(POINTER_TO_GOT, 3, 0, G_A, LE64, 0, ADDRESS),
    X(TLVP_LOAD_PAGE21, 1, PAGE_G_A_P, ADRP, 33, TN__R_SIGNED, GOT_PAGE),
    X(TLVP_LOAD_PAGEOFF12, 0, G_A, LO12_8, 12, 0, GOT_LO12),
    D(AUTHENTICATED_POINTER, 3, 0, UNSUPPORTED, LE64, 0, NONE),
    TN__MACHO_OWN_ROWS,
};

/* ---- compact unwind encodings, as Apple's <mach-o/compact_unwind_encoding.h> describes them ---- */

enum { NONE = 0, FRAMELESS = 2, DWARF, FRAME };
enum { X19 = 19, FP = 29, LR, SP, D8 = 64 + 8 };

/* Pairs of registers, by the bit that says that they are saved. */
static const uint8_t pairs[] = {X19, X19 + 2, X19 + 4, X19 + 6, X19 + 8, 0, 0, 0, D8, D8 + 2, D8 + 4, D8 + 6};

static void save(struct tn__macho_frame *frame, unsigned number, unsigned depth)
{
    frame->saved[frame->count].number = (uint8_t)number;
    frame->saved[frame->count++].depth = (uint16_t)depth;
}

/* With a frame pointer, it and the return address are the first pair. Without one the return address is in its
 * register. Pairs follow downwards, as compilers store them. */
static enum tn__macho_encoded decode(uint32_t encoding, const uint8_t *code, uint64_t size,
                                     struct tn__macho_frame *frame)
{
    (void)code, (void)size;
    unsigned mode = encoding >> 24 & 15, depth = 0;
    if (mode == NONE || mode == DWARF)
        return TN__MACHO_NOTHING;
    if (mode != FRAME && mode != FRAMELESS)
        return TN__MACHO_UNDEFINED_ENCODING;
    frame->base = mode == FRAME ? FP : SP;
    frame->distance = mode == FRAME ? 16 : 16 * (uint64_t)(encoding >> 12 & 0xfff);
    if (mode == FRAME) {
        save(frame, LR, ++depth);
        save(frame, FP, ++depth);
    }
    for (unsigned left = encoding & ((1U << TN_COUNT(pairs)) - 1); left; left &= left - 1) {
        unsigned bit = (unsigned)__builtin_ctz(left);
        if (!pairs[bit])
            return TN__MACHO_UNDEFINED_ENCODING;
        save(frame, pairs[bit], ++depth);
        save(frame, pairs[bit] + 1U, ++depth);
    }
    bool fits = mode == FRAME || 8 * (uint64_t)depth <= frame->distance;
    return fits ? TN__MACHO_FRAME : TN__MACHO_UNDEFINED_ENCODING;
}

static const struct tn__macho_machine machine = {
    .kinds = {[UNSIGNED] = {TN__MACHO_IN_PLACE, 0, 0},
              [SUBTRACTOR] = {TN__MACHO_MINUS, 0, 0},
              [BRANCH26] = {TN__MACHO_IN_INSTRUCTION, 0, 0},
              [PAGE21] = {TN__MACHO_IN_INSTRUCTION, 0, 0},
              [PAGEOFF12] = {TN__MACHO_IN_INSTRUCTION, 0, 0},
              [GOT_LOAD_PAGE21] = {TN__MACHO_IN_INSTRUCTION, 0, 0},
              [GOT_LOAD_PAGEOFF12] = {TN__MACHO_IN_INSTRUCTION, 0, 0},
              [POINTER_TO_GOT] = {TN__MACHO_IN_INSTRUCTION, 0, 0},
              [TLVP_LOAD_PAGE21] = {TN__MACHO_IN_INSTRUCTION, 0, 0},
              [TLVP_LOAD_PAGEOFF12] = {TN__MACHO_IN_INSTRUCTION, 0, 0},
              [ADDEND] = {TN__MACHO_ADDEND, 0, 0},
              [AUTHENTICATED_POINTER] = {TN__MACHO_IN_PLACE, 0, 0}},
    .plain = UNSIGNED,
    .slot = TN__MACHO_ROW(POINTER_TO_GOT, 2, 1),
    .return_register = LR,
    .decode = decode,
};

const struct tn_format tn_format_macho_aarch64 = {
    .name = "macho-aarch64",
    .reader = &tn__reader_macho,
    .arch = &tn__arch_aarch64,
    .machine = TN__MACHO_ARM64,
    .rows = rows,
    .row_count = TN__MACHO_ROWS,
    .details = &machine,
    .steps = &tn__steps_macho,
};
