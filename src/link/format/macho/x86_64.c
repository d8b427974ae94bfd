/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Mach-O for x86-64: the relocation types that Apple's <mach-o/x86_64/reloc.h> describes.
 *
 * A PC-relative field holds its addend and counts from its own end. SIGNED_1, _2 and _4 say that so many bytes of the
 * instruction follow; the addend accounts for them already, except where the field holds the distance itself because
 * the target is given as a section. Loads from the GOT and of the addresses of TLV descriptors are rewritten where the
 * instruction allows it. */

#include "link/arch/x86_64/x86_64.h"
#include "link/format/macho/reader.h"
#include "link/passes/steps.h"

enum { UNSIGNED, SIGNED, BRANCH, GOT_LOAD, GOT, SUBTRACTOR, SIGNED_1, SIGNED_2, SIGNED_4, TLV };

#define ROW(type, length, relative, value, field, flags, slot, relax)                                                  \
    [TN__MACHO_ROW(type, length, relative)] = TN__ROW("X86_64_RELOC_" #type, TN__V_##value, TN__F_##field,             \
                                                      1 << (length), 8 << (length), flags, TN__SLOT_##slot, relax)
#define PC(type, flags)  ROW(type, 2, 1, S_A_P, LE32, TN__R_SIGNED | (flags), NONE, 0)
#define SLOT(type, form) ROW(type, 2, 1, G_A_P, LE32, TN__R_SIGNED, ADDRESS, form)

/* type, length as a power of two, PC-relative, value, field, flags, GOT slot, form for relax.c */
static const struct tn__row rows[TN__MACHO_ROWS] = {
    ROW(UNSIGNED, 2, 0, S_A, LE32, TN__R_UNSIGNED | TN__R_LOW, NONE, 0),
    ROW(UNSIGNED, 3, 0, S_A, LE64, 0, NONE, 0),
    PC(SIGNED, 0),
    PC(BRANCH, TN__R_STUB),
    SLOT(GOT_LOAD, TN__X86_64_GOT_REX),
    SLOT(GOT, 0),
    ROW(SUBTRACTOR, 2, 0, F_MINUS, LE32, 0, NONE, 0),
    ROW(SUBTRACTOR, 3, 0, F_MINUS, LE64, 0, NONE, 0),
    PC(SIGNED_1, 0),
    PC(SIGNED_2, 0),
    PC(SIGNED_4, 0),
    SLOT(TLV, TN__X86_64_GOT_REX),
    TN__MACHO_OWN_ROWS,
};

/* ---- compact unwind encodings, as Apple's <mach-o/compact_unwind_encoding.h> describes them ---- */

enum { NONE, RBP_FRAME, STACK_IMMEDIATE, STACK_INDIRECT, DWARF };
enum { RBX = 3, RBP = 6, RSP = 7, R12 = 12, RETURN = 16 };
enum { REGISTERS = 6 };

/* Which register is meant by 1 to 6. */
static const uint8_t registers[REGISTERS + 1] = {0, RBX, R12, R12 + 1, R12 + 2, R12 + 3, RBP};

static void save(struct tn__macho_frame *frame, unsigned number, unsigned depth)
{
    frame->saved[frame->count].number = registers[number];
    frame->saved[frame->count++].depth = (uint16_t)depth;
}

/* Registers are saved one after the other, from a number of words below %rbp on. Three bits say which register each one
 * is. */
static enum tn__macho_encoded decode_rbp(uint32_t encoding, struct tn__macho_frame *frame)
{
    enum { FIELDS = 5, WORDS = 2 }; /* the return address and %rbp */
    unsigned words = encoding >> 16 & 0xff;
    frame->base = RBP;
    frame->distance = WORDS * 8;
    save(frame, REGISTERS, WORDS);
    for (unsigned i = 0; i < FIELDS; i++) {
        unsigned number = encoding >> 3 * i & 7;
        if (number >= REGISTERS || (number && words <= i))
            return TN__MACHO_UNDEFINED_ENCODING;
        if (number)
            save(frame, number, WORDS + words - i);
    }
    return TN__MACHO_FRAME;
}

/* `number` is that of a permutation: it says which registers are saved, and in which order. Each digit is an index into
 * the registers that are left. */
static bool decode_permutation(uint32_t number, unsigned count, struct tn__macho_frame *frame)
{
    bool used[REGISTERS + 1] = {false};
    for (unsigned i = 0; i < count; i++) {
        uint32_t weight = 1;
        for (unsigned j = i + 1; j < count; j++)
            weight *= REGISTERS - j;
        uint32_t digit = number / weight;
        number %= weight;
        unsigned which = 1;
        for (; which <= REGISTERS && (used[which] || digit); which++)
            digit -= !used[which];
        if (which > REGISTERS)
            return false;
        used[which] = true;
        save(frame, which, 1 + count - i);
    }
    return true;
}

/* The size of the frame includes the return address. A large one is in the instruction that makes the frame. */
static enum tn__macho_encoded decode_frameless(uint32_t encoding, bool indirect, const uint8_t *code, uint64_t size,
                                               struct tn__macho_frame *frame)
{
    unsigned field = encoding >> 16 & 0xff, count = encoding >> 10 & 7;
    if (count > REGISTERS || (indirect && (!code || !tn__inside(field, 4, size))))
        return TN__MACHO_UNDEFINED_ENCODING;
    frame->base = RSP;
    frame->distance = indirect ? tn__get32(code + field) + 8 * (uint64_t)(encoding >> 13 & 7) : field * 8;
    bool fits = frame->distance >= 8 * (1 + count) && frame->distance % 8 == 0;
    bool sound = fits && decode_permutation(encoding & 0x3ff, count, frame);
    return sound ? TN__MACHO_FRAME : TN__MACHO_UNDEFINED_ENCODING;
}

static enum tn__macho_encoded decode(uint32_t encoding, const uint8_t *code, uint64_t size,
                                     struct tn__macho_frame *frame)
{
    unsigned mode = encoding >> 24 & 15;
    switch (mode) {
    case NONE:
    case DWARF:
        return TN__MACHO_NOTHING;
    case RBP_FRAME:
        return decode_rbp(encoding, frame);
    case STACK_IMMEDIATE:
    case STACK_INDIRECT:
        return decode_frameless(encoding, mode == STACK_INDIRECT, code, size, frame);
    default:
        return TN__MACHO_UNDEFINED_ENCODING;
    }
}

static const struct tn__macho_machine machine = {
    .kinds = {[UNSIGNED] = {TN__MACHO_IN_PLACE, 0, 0},
              [SIGNED] = {TN__MACHO_IN_PLACE, 4, 0},
              [BRANCH] = {TN__MACHO_IN_PLACE, 4, 0},
              [GOT_LOAD] = {TN__MACHO_IN_PLACE, 4, 0},
              [GOT] = {TN__MACHO_IN_PLACE, 4, 0},
              [SUBTRACTOR] = {TN__MACHO_MINUS, 0, 0},
              [SIGNED_1] = {TN__MACHO_IN_PLACE, 4, 1},
              [SIGNED_2] = {TN__MACHO_IN_PLACE, 4, 2},
              [SIGNED_4] = {TN__MACHO_IN_PLACE, 4, 4},
              [TLV] = {TN__MACHO_IN_PLACE, 4, 0}},
    .plain = UNSIGNED,
    .slot = TN__MACHO_ROW(GOT, 2, 1),
    .return_register = RETURN,
    .pushes_return = true,
    .decode = decode,
};

const struct tn_format tn_format_macho_x86_64 = {
    .name = "macho-x86-64",
    .reader = &tn__reader_macho,
    .arch = &tn__arch_x86_64,
    .machine = TN__MACHO_X86_64,
    .rows = rows,
    .row_count = TN__MACHO_ROWS,
    .details = &machine,
    .steps = &tn__steps_macho,
};
