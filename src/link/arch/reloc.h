/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Relocations are data: a row says which value is computed, which field it is stored in and what is checked. The generic
 * loops in relocate.c do the rest; only encoding bits into instructions is code. */

#ifndef TENON_RELOC_H
#define TENON_RELOC_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Letters as in the psABIs: S symbol, A addend, P place, G address of the symbol's GOT slot, GOT address of the object's
 * GOT, Z symbol size. */
enum tn__value {
    TN__V_UNKNOWN = 0, /* no such type */
    TN__V_UNSUPPORTED, /* known, but refused with its name */
    TN__V_NONE,        /* nothing to do */
    TN__V_S_A,
    TN__V_S_A_P,
    TN__V_S_A_GOT,
    TN__V_G_A,     /* G + A */
    TN__V_G_A_P,   /* G + A - P */
    TN__V_G_A_GOT, /* G + A - GOT */
    TN__V_GOT_A_P, /* GOT + A - P */
    TN__V_Z_A,
};

/* What the GOT slot of a row holds. */
enum tn__slot {
    TN__SLOT_NONE = 0,
    TN__SLOT_ADDRESS,   /* S */
    TN__SLOT_TLS_INDEX, /* two words for __tls_get_addr: 1, S */
    TN__SLOT_TLS_BASE,  /* the same for the beginning of all thread-local storage; one per object */
    TN__SLOT_TLS_DESC,  /* two words: a function, S */
    TN__SLOTS,
};

static inline uint32_t tn__slot_words(enum tn__slot slot)
{
    return slot <= TN__SLOT_ADDRESS ? 1 : 2;
}

enum tn__field { TN__F_LE8 = 0, TN__F_LE16, TN__F_LE32, TN__F_LE64, TN__FIELDS };

static inline size_t tn__field_size(uint8_t field)
{
    static const uint8_t sizes[TN__FIELDS] = {[TN__F_LE8] = 1, [TN__F_LE16] = 2, [TN__F_LE32] = 4, [TN__F_LE64] = 8};
    return sizes[field];
}

enum {
    TN__R_SIGNED = 1,   /* has to fit in `bits` as a signed number, */
    TN__R_UNSIGNED = 2, /* as an unsigned one; both: as either; neither: the low bits are stored */
    TN__R_STUB = 4,     /* a branch: may go through a stub if the target is out of range */
    TN__R_LOW = 8,      /* the object has to be below 2 GiB */
    TN__R_TLS = 16,     /* S is a distance from the thread pointer */
    TN__R_RELAX = 32,   /* loads from the GOT: the architecture may be able to rewrite the instruction */
    TN__R_PROGRAM = 64, /* the code relies on being part of the program at its start */
};

struct tn__row {
    const char *name;
    uint8_t value, field, bits, flags, slot;
    bool plain, displacement; /* derived from the other members, see below */
};

/* True if the scan only has to check that the field lies in its section. */
#define TN__ROW_IS_PLAIN(value, flags, slot)                                                                           \
    ((value) > TN__V_NONE && (value) != TN__V_Z_A && !((flags) & (TN__R_LOW | TN__R_TLS)) && (slot) == TN__SLOT_NONE)

/* True for S + A - P in 32 signed bits, for which the loop that applies relocations has a fast path. */
#define TN__ROW_IS_DISPLACEMENT(value, field, bits, flags)                                                             \
    ((value) == TN__V_S_A_P && (field) == TN__F_LE32 && (bits) == 32 && ((flags) & ~TN__R_STUB) == TN__R_SIGNED)

struct tn__arch {
    const char *name;
    const char *triple; /* LLVM's name, for objects that do not say more */
    uint16_t elf_machine;
    const struct tn__row *rows;
    uint32_t row_count;
    /* Rewrites the instruction around a field whose row has TN__R_RELAX so that it needs no GOT slot; `before` is the number of
     * bytes in the section before the field. False, without any change, if it cannot or the values do not fit. */
    bool (*relax)(uint32_t type, uint8_t *field, uint64_t before, uint64_t S, int64_t A, uint64_t P);
    size_t stub_size;
    /* Writes a jump through the pointer at `slot`, to be executed at `address`. */
    void (*write_stub)(uint8_t *out, uint64_t address, uint64_t slot);
};

extern const struct tn__arch tn__arch_x86_64;

/* That of this process. */
extern const struct tn__arch *const tn__arch_host;

/* NULL after the last one. */
const struct tn__arch *tn__arch_at(size_t index);

/* NULL if there is none. */
const struct tn__arch *tn__arch_of_elf(uint16_t machine);

#pragma GCC visibility pop
#endif
