/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects of a library, and what a link works out about each: its plan. */

#ifndef TENON_PLAN_H
#define TENON_PLAN_H

#include "base/tree.h"
#include "link/arch/reloc.h"
#include "link/model/symtab.h"
#include "link/memory/codemem.h"
#include "link/unwind/unwind.h"

#pragma GCC visibility push(hidden)

struct tn__link;

static inline bool tn__section_is_loaded(const struct tn__input_section *section)
{
    return section->kind != TN__SECTION_UNLOADED && !section->discarded;
}

/* True if the object is of a file and brings code (agree.c). */
bool tn__object_has_code(const struct tn__object_data *data);

static inline bool tn__section_is_tls(const struct tn__input_section *section)
{
    return section->kind == TN__SECTION_TLS || section->kind == TN__SECTION_TLS_ZERO;
}

/* What an object occupies: a range in each zone, its image, and a range in the reserve for thread-local data. */
enum { TN__PART_IMAGE = TN_ZONES, TN__PLACES, TN__PART_TLS = TN__PLACES, TN__PARTS };

/* Memory of an object's own, in which sections keep their distances. */
struct tn__image {
    struct tn__mem_range range; /* all of it: the object's part */
    void (*unmap)(struct tn__image *image);
    struct tn__late *late; /* once the object is linked; NULL: it has no late definitions */
};

/* What a link knows about an object, from bind to publish. */
struct tn__plan {
    const struct tn_library *library; /* the object's: without the lock its owner may change */
    uint8_t *symbol_flags;            /* TN__SYMBOL_..., by symbol */
    uint32_t *slots[TN__SLOTS];       /* by symbol: the first word of its GOT slot of each kind, from 1; NULL: none */
    uint32_t *stub_index;             /* by symbol: the number of its stub, from 1; NULL: none */
    uint32_t *ifunc_index;            /* the same for the pointers of indirect functions */
    uint64_t *addresses;              /* by symbol */
    uint64_t *common_offset;          /* by symbol, from tn__common_base; NULL: none */
    uint32_t got_words, stub_count, ifunc_count;
    uint8_t *tls_image;  /* initial values of its thread-local data */
    uint64_t tls_offset; /* its place (tls.h): in general a distance from the thread pointer */
    bool tls_is_fixed;   /* that place has to be a distance, because of code that does not ask for it */
    bool low;            /* has to be below 2 GiB */
    size_t sizes[TN__PARTS], alignments[TN__PARTS];
    uint32_t firsts[TN__PARTS], ends[TN__PARTS]; /* numbers between which its sections with bytes are */
    struct tn__backing backings[TN_ZONES];
    uint64_t gaps;                                    /* bytes between sections, for alignment */
    size_t zero_offset, tls_zero_offset;              /* where zero-initialised data begins */
    uint64_t got_offset, stub_offset, ifunc_offset;   /* in the range of read-only data, code, data */
    uint64_t got_address, stub_address, data_address; /* data: of commons and pointers of indirect functions */
    uint8_t *got_write, *stub_write, *data_write;     /* where the bytes at these addresses are written */
    bool may_shrink;                                  /* has relocations that let code become shorter */
    struct tn__shrunk *shrunk;                        /* code that becomes shorter, see shrink.c; NULL: none */
    struct tn__reloc **in_order; /* by section: copies of relocations, see pairs.c; NULL: none so far */
    bool tls_apart;              /* for a file: its distance from the thread pointer is only known when it is loaded */
};

/* Where an object lies, for finding it by addresses. */
struct tn__placed_object {
    struct tn__tree tree;
    struct tn__object *object;
};

/* An object is pending while it has its data, and linked once that is gone. Objects created without data only own
 * entries defined by the client. */
struct tn__object {
    const char *name;             /* "file.o", "archive.a(member.o)"; behind this struct */
    struct tn__object_data *data; /* NULL once it is linked */
    struct tn_tracker *owner;
    struct tn__list owned;  /* in the owner's objects */
    struct tn__list queued; /* pending: in the library's queue; a new archive member: in the link's list; linked: see
                               `unplaced` of the session */
    uint64_t first_call;    /* the sequence of the first of its initializers and finalizers; 0: none */
    uint64_t behind;        /* the number of the last input that its link had looked at when it was loaded: it may be
                               needed by one that comes after its archive */
    struct tn__unwind_table *unwind;
    uint32_t has_calls : 1;     /* the library's lists may contain these */
    uint32_t has_constants : 1; /* to which data that its code has written may point */
    uint32_t is_made : 1;       /* a promise has brought it */
    uint32_t has_lost : 1;      /* copies of its groups, to be dropped (copies.c) */
    uint32_t thread_exits : 28; /* functions that threads will run when they end */
    uint32_t entry_count;

    /* Set by layout. */
    struct tn__window *window;
    struct tn__mem_range *ranges[TN__PARTS];
    struct tn__gathered *gathered;    /* its parts in shared ranges */
    struct tn__placed_object *places; /* by part, in the session's tree; NULL: not there */

    struct tn__link *link;       /* the link that it is currently part of */
    struct tn__plan *plan;       /* of that link, in its arena */
    struct tn__entry *entries[]; /* those it defined, and those of groups it claimed */
};

/* The address of a symbol's GOT slot of a kind; the slot exists. */
static inline uint64_t tn__got_slot(const struct tn__object *object, enum tn__slot kind, uint32_t symbol)
{
    return object->plan->got_address + (uint64_t)(object->plan->slots[kind][symbol] - 1) * 8;
}

/* From where the offsets of common symbols count: its range of data, or for thread-local ones its place in that of all
 * threads. */
static inline uint64_t tn__common_base(const struct tn__plan *plan, const struct tn__symbol *symbol)
{
    return symbol->type == TN__TYPE_TLS ? plan->tls_offset : plan->data_address;
}

/* The address of a symbol's stub; the stub exists. */
static inline uint64_t tn__stub_address(const struct tn__object *object, uint32_t symbol)
{
    return object->plan->stub_address +
           (uint64_t)(object->plan->stub_index[symbol] - 1) * object->data->arch->stub_size;
}

enum {
    TN__SYMBOL_UNRESOLVED = 1, /* not defined */
    TN__SYMBOL_DISCARDED = 2,  /* local, in a section that is not loaded */
    TN__SYMBOL_FAR = 4,        /* out of reach of the window: branches need a stub */
    TN__SYMBOL_TLS = 8,        /* thread-local */
    TN__SYMBOL_UNUSUAL = 15,   /* any of these */
    TN__SYMBOL_ELSEWHERE = 16, /* defined by another object, whose window may differ */
    TN__SYMBOL_OWN = 32,       /* defined by this object, whose definition is the one used; all local symbols */
    TN__SYMBOL_GIVEN = 64,     /* outside of the link: its address is known from the start */
    TN__SYMBOL_BOUND = 128,    /* start or end of gathered sections, see gather.c */
};

#pragma GCC visibility pop
#endif
