/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Relocations are data: a row says which value is computed, which field it is stored in and what is checked. The
 * generic loops in passes/scan.c and passes/apply.c do the rest; only encoding bits into instructions is code. */

#ifndef TENON_RELOC_H
#define TENON_RELOC_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Letters as in the psABIs: S symbol, A addend, P place, G address of the symbol's GOT slot, GOT address of the
 * object's GOT, Z symbol size, F what the field holds so far, Page(x) the 4 KiB page of an address. */
enum tn__value {
    TN__V_UNKNOWN = 0, /* no such type */
    TN__V_UNSUPPORTED, /* known, but refused with its name */
    TN__V_NONE,        /* nothing to do */
    TN__V_S_A,
    TN__V_S_A_P,
    TN__V_S_A_GOT,
    TN__V_G_A_P,   /* G + A - P */
    TN__V_G_A_GOT, /* G + A - GOT */
    TN__V_GOT_A_P, /* GOT + A - P */
    TN__V_Z_A,
    /* The values after this one, and fields that are not whole bytes, occur only in formats with steps of their own
     * (passes/steps.h): */
    TN__V_LAST_COMMON = TN__V_Z_A,
    TN__V_BRANCH,       /* S + A - P; to the next instruction (4) if S is an undefined weak symbol */
    TN__V_G_A,          /* G + A */
    TN__V_PAGE_S_A_P,   /* Page(S + A) - Page(P) */
    TN__V_PAGE_G_A_P,   /* Page(G + A) - Page(P) */
    TN__V_G_A_PAGE_GOT, /* G + A - Page(GOT) */
    TN__V_F_S_A,        /* F + S + A, and */
    TN__V_F_MINUS,      /* F - (S + A): two relocations of one field make a difference of two symbols */
    TN__V_S_A_BASE,     /* S + A - the base from which the object's format counts addresses */
    TN__V_S_A_SECTION,  /* S + A - the beginning of the section that S lies in, of the same object */
    TN__V_SECTION_A,    /* the number of that section + A */
    /* Of pairs of relocations: */
    TN__V_AT_S,     /* the value of the one that stands at S, plus A: the second half of a pair of instructions */
    TN__V_MINUEND,  /* nothing yet, but S + A for the next one, which stands at the same place and is */
    TN__V_SUBTRACT, /* that less S + A */
    TN__VALUES,
};

/* What the GOT slot of a row holds. */
enum tn__slot {
    TN__SLOT_NONE = 0,
    TN__SLOT_ADDRESS,   /* S */
    TN__SLOT_TLS_INDEX, /* two words for __tls_get_addr: 1, S - tls_index_bias */
    TN__SLOT_TLS_BASE,  /* the same for the beginning of all thread-local storage; one per object */
    TN__SLOT_TLS_DESC,  /* two words: a function, S */
    TN__SLOTS,
};

static inline uint32_t tn__slot_words(enum tn__slot slot)
{
    return slot <= TN__SLOT_ADDRESS ? 1 : 2;
}

/* Where a value is stored: in whole bytes, least significant first, or in the ULEB128 that is there, with as many bytes
 * as that has, or, from TN__FIELDS on, by the architecture's encoder of that number. */
enum tn__field { TN__F_LE8 = 0, TN__F_LE16, TN__F_LE32, TN__F_LE64, TN__F_ULEB128, TN__FIELDS };

/* Where the bits of a value, which has been checked to fit, go in an instruction of 32 bits: one run of them or two,
 * each brought to its place by rotating the value to the right. Or, where that does not do, a function. */
struct tn__encoder {
    _Alignas(64) const char *name;            /* so that finding one by its number is no multiplication */
    bool (*put)(uint8_t *at, uint64_t value); /* see tn__encode; NULL: */
    uint32_t clears;                          /* bits of the instruction that are replaced */
    uint32_t masks[2];                        /* by the bits under these masks */
    uint8_t rotations[2];
    uint16_t plus;  /* is added first */
    uint32_t zeros; /* low bits of the value that have to be 0: it is a multiple of this plus 1, */
    uint32_t (*unit_of)(const uint8_t *at); /* with `put`, if it is not NULL: and of what the instruction says */
    /* Of linear rows: values from -reach to reach - 1, `plus` added, need no other check, whichever row it is. 0: they
     * do. */
    uint64_t reach;
};

#define TN__ANY_VALUE (UINT64_C(1) << 63)

/* `bits` bits of the value from bit `from` on, at bit `to` of the instruction. */
#define TN__BITS(from, to, bits)      .clears = TN__MASK(to, bits), TN__BITS_KEPT(from, to, bits)
#define TN__BITS_KEPT(from, to, bits) .masks = {TN__MASK(to, bits)}, .rotations = {((from) - (to)) & 63}
#define TN__MASK(to, bits)            ((uint32_t)(((UINT64_C(1) << (bits)) - 1) << (to)))
/* Two runs. */
#define TN__BITS2(from, to, bits, from2, to2, bits2)                                                                   \
    .clears = TN__MASK(to, bits) | TN__MASK(to2, bits2), .masks = {TN__MASK(to, bits), TN__MASK(to2, bits2)},          \
    .rotations = {((from) - (to)) & 63, ((from2) - (to2)) & 63}

static inline uint64_t tn__rotated(uint64_t value, unsigned by)
{
    return value >> (by & 63) | value << (-by & 63);
}

static inline void tn__encode_runs(const struct tn__encoder *encoder, uint8_t *at, uint64_t value)
{
    value += encoder->plus;
    uint64_t bits = (tn__rotated(value, encoder->rotations[0]) & encoder->masks[0]) |
                    (tn__rotated(value, encoder->rotations[1]) & encoder->masks[1]);
    tn__put32(at, (tn__get32(at) & ~encoder->clears) | (uint32_t)bits);
}

/* False: the value is no multiple of what the instruction counts in. */
static inline bool tn__encode(const struct tn__encoder *encoder, uint8_t *at, uint64_t value)
{
    if (value & encoder->zeros)
        return false;
    if (__builtin_expect(encoder->put != NULL, 0))
        return encoder->put(at, value);
    tn__encode_runs(encoder, at, value);
    return true;
}

struct tn__arch;
struct tn__row;

/* Stores a value in the ULEB128 that begins at `at`; `left` bytes follow in the section. False, without a change, if it
 * does not end there or has too few bytes (field.c). */
bool tn__field_put_uleb(uint8_t *at, uint64_t left, uint64_t value);

enum {
    TN__R_SIGNED = 1,   /* has to fit in `bits` as a signed number, */
    TN__R_UNSIGNED = 2, /* as an unsigned one; both: as either; neither: the low bits are stored */
    TN__R_STUB = 4,     /* a branch: may go through a stub if the target is out of range */
    TN__R_LOW = 8,      /* the object has to be below 2 GiB */
    TN__R_TLS = 16,     /* S is a distance from the thread pointer */
    TN__R_PROGRAM = 32, /* the code relies on being part of the program at its start */
    TN__R_ROUNDED = 64, /* has to fit once 0x800 is added: 12 signed bits in another instruction complete it */
};

/* One relocation type of a file format. */
struct tn__row {
    const char *name;
    uint8_t value, field, bits, flags, slot;
    uint8_t relax;  /* a form that the architecture may be able to rewrite or shorten, by its number; 0: it is none */
    uint8_t size;   /* of the field in bytes */
    bool plain : 1; /* derived from the other members, see below */
    bool displacement : 1;
    bool direct : 1;
    bool linear : 1;
    bool relative : 1; /* of linear rows: less P; of pages */
    bool paged : 1;
};

/* A row; tables define shorter names for what most of their rows have in common. */
#define TN__ROW(name, value, field, size, bits, flags, slot, relax)                                                    \
    {                                                                                                                  \
        name, value, field, bits, flags, slot, relax, size, TN__ROW_IS_PLAIN(value, bits, flags, slot),                \
            TN__ROW_IS_DISPLACEMENT(value, field, bits, flags), TN__ROW_IS_DIRECT(value, slot, relax),                 \
            TN__ROW_IS_LINEAR(value, field, flags, slot, relax), (value) != TN__V_S_A, (value) == TN__V_PAGE_S_A_P     \
    }

/* Branches with fewer bits may be unable to reach other objects of the window, so those get a stub for each function
 * there. */
#define TN__FAR_BRANCH                   26
#define TN__IS_SHORT_BRANCH(flags, bits) ((flags)&TN__R_STUB && (bits) < TN__FAR_BRANCH)

/* True if the scan only has to check that the field lies in its section. */
#define TN__ROW_IS_PLAIN(value, bits, flags, slot)                                                                     \
    ((value) > TN__V_NONE && (value) != TN__V_Z_A && (value) != TN__V_S_A_SECTION && (value) != TN__V_SECTION_A &&     \
     !((flags) & (TN__R_LOW | TN__R_TLS)) && !(TN__IS_SHORT_BRANCH(flags, bits)) && (slot) == TN__SLOT_NONE)

/* True for S + A - P in 32 signed bits, for which the loop that applies relocations has a fast path. */
#define TN__ROW_IS_DISPLACEMENT(value, field, bits, flags)                                                             \
    ((value) == TN__V_S_A_P && (int)(field) == TN__F_LE32 && (bits) == 32 && ((flags) & ~TN__R_STUB) == TN__R_SIGNED)

/* True if there is a value to store, unless the symbol is unusual. */
#define TN__ROW_IS_DIRECT(value, slot, relax)                                                                          \
    ((value) > TN__V_NONE && (value) < TN__V_AT_S && (slot) != TN__SLOT_TLS_DESC &&                                    \
     ((int)(relax) == 0 || (int)(relax) >= TN__FORM_TRAILS))

/* True for what most instructions hold: S + A, less P or not, or the same of pages. */
#define TN__ROW_IS_LINEAR(value, field, flags, slot, relax)                                                            \
    (TN__ROW_IS_DIRECT(value, slot, relax) && (int)(field) >= TN__FIELDS && !((flags)&TN__R_UNSIGNED) &&               \
     ((value) == TN__V_S_A || (value) == TN__V_S_A_P || (value) == TN__V_BRANCH || (value) == TN__V_PAGE_S_A_P))

/* Words of a linked file that depend on where it is loaded. */
enum tn__dynamic {
    TN__DYNAMIC_RELATIVE,   /* an address in the file: add the load bias */
    TN__DYNAMIC_SLOT,       /* in a GOT: the address of an import */
    TN__DYNAMIC_IMPORT,     /* the same in data, with an addend */
    TN__DYNAMIC_TLS_MODULE, /* the module number of the file's thread-local storage, for __tls_get_addr */
    TN__DYNAMIC_TLS_OFFSET, /* the addend is an offset in that storage: store its distance from the thread pointer */
    TN__DYNAMIC_TLS_IMPORT, /* in a GOT: the distance of an imported variable from the thread pointer */
    TN__DYNAMIC_TLS_DESC,   /* two words: a TLS descriptor; the addend is an offset in the file's storage */
    TN__DYNAMIC_TLS_DESC_IMPORT, /* the same of an imported variable */
    TN__DYNAMIC_INDIRECT,        /* what the function at the addend, an address in the file, returns */
    TN__DYNAMIC_KINDS,
};

/* Forms from LEADS on are rewritten together with the next one or not at all (see struct tn__sequence). Those from
 * TRAILS on are not rewritten themselves: they complete what another one begins, or are for struct tn__shortener. Those
 * from FAR on are rewritten if the value does not fit the field. PERMITS changes nothing: it allows an instruction
 * to become shorter. */
enum { TN__FORM_LEADS = 64, TN__FORM_TRAILS = 128, TN__FORM_FAR = 192, TN__FORM_PERMITS = 255 };

/* Bytes of code that may become fewer: those of an instruction, or of two, or padding for an alignment. */
struct tn__short {
    uint32_t form, type;  /* of its relocation and its row */
    bool permitted;       /* by TN__FORM_PERMITS; padding needs no permission */
    uint32_t variant;     /* see struct tn__object_data */
    const uint8_t *bytes; /* from its place to the end of the section */
    uint64_t left;        /* how many these are */
    uint64_t S, P;        /* as things are: other code may become shorter too, or longer again */
    int64_t A;
    uint64_t span, size; /* results: how many bytes it has had, and keeps */
};

/* Shortens code (format/elf/shrink.c). */
struct tn__shortener {
    uint32_t padding, last; /* forms: that of padding, and the last one that may become shorter, or be part of such */
    /* Sets span and size; span depends on nothing but the relocation. False: it is malformed. */
    bool (*measure)(struct tn__short *code);
    /* Writes `size` bytes, and answers the type of the relocation that they still need, in the architecture's only
     * format; 0: none. */
    uint32_t (*write)(const struct tn__short *code, uint8_t *out);
};

/* Instructions that may be rewritten: that at the field of a relocation whose row names a form, and its neighbours. */
struct tn__sequence {
    uint32_t form;
    uint32_t next;  /* the form of the next relocation, if it stands 4 bytes behind, for the same symbol and addend */
    uint32_t notes; /* about the section: see tn__arch.note */
    uint8_t *field;
    uint64_t before, after; /* bytes of the section before the field, and from its beginning on */
    uint64_t S, P;
    int64_t A;
};

/* Bits of an object's variant that say how its code calls other code. */
struct tn__convention {
    uint32_t bits;        /* they are neighbours; 0: the table ends */
    const char *what;     /* "floating-point ABI" */
    const char *names[4]; /* by their value */
};

struct tn__arch {
    const char *name;
    const char *triple;                 /* LLVM's name, for objects that do not say more */
    uint16_t elf_machine;               /* its number in ELF files, by which debuggers and profilers know it too */
    const struct tn__encoder *encoders; /* NULL: all fields are whole bytes */
    /* Relocations that a dynamic linker applies, by kind: their types in ELF files. */
    uint32_t dynamic_types[TN__DYNAMIC_KINDS];
    uint64_t branch_reach; /* how far branches lead that may go through a stub, less what rounding takes */
    /* Where thread-local data of a program lies (Drepper, "ELF Handling For Thread-Local Storage", 3): it ends at the
     * thread pointer, or begins `tls_gap` bytes above it. */
    bool tls_above;
    uint8_t tls_gap;
    uint16_t tls_index_bias; /* what __tls_get_addr adds to the second word of a slot */
    /* Rewrites instructions so that they need no GOT slot. Returns how many bytes from the field on are final then; 0,
     * without any change, if it cannot or the values do not fit. */
    uint64_t (*relax)(const struct tn__sequence *code);
    /* Called for each of them in a section before any is rewritten. What it notes, 0 at first, relax finds in
     * code->notes. NULL: relax asks for neither that nor code->next. */
    void (*note)(const struct tn__sequence *code, uint32_t *notes);
    const struct tn__shortener *shortener; /* NULL: code keeps its size */
    /* What must be the same in all objects with code of a process (format/elf/agree.c). NULL: they may be mixed. */
    const struct tn__convention *conventions;
    size_t stub_size;
    /* Writes a jump through the pointer at `slot`, to be executed at `address`. */
    void (*write_stub)(uint8_t *out, uint64_t address, uint64_t slot);
};

/* Nearly all fields of whole bytes have 4 or 8 of them: for these, a store takes the place of a call. */
static inline void tn__put_bytes(uint8_t *at, unsigned size, uint64_t value)
{
    if (size == 4)
        tn__put32(at, (uint32_t)value);
    else if (size == 8)
        tn__put64(at, value);
    else
        memcpy(at, &value, size);
}

/* Stores a value, which has been checked to fit, in a row's field that begins at `at` and is no ULEB128. */
static inline void tn__field_put(const struct tn__arch *arch, const struct tn__row *row, uint8_t *at, uint64_t value)
{
    if (row->field < TN__FIELDS)
        tn__put_bytes(at, row->size, value);
    else
        tn__encode(&arch->encoders[row->field - TN__FIELDS], at, value);
}

extern const struct tn__arch tn__arch_x86_64, tn__arch_aarch64, tn__arch_riscv64;

/* The architecture of this process, and the conventions of its code, as in struct tn__object_data. */
extern const struct tn__arch *const tn__arch_host;
extern const uint32_t tn__variant_host;

#pragma GCC visibility pop
#endif
