/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The symbol table of a library: one entry for each name, and journals that undo changes to entries. */

#ifndef TENON_SYMTAB_H
#define TENON_SYMTAB_H

#include <pthread.h>

#include "base/base.h"
#include "base/locked.h"
#include "link/model/object.h"

#pragma GCC visibility push(hidden)

enum tn__entry_kind {
    TN__ENTRY_UNDEFINED = 0, /* only referenced so far */
    TN__ENTRY_HOST,          /* a resolver knows it */
    TN__ENTRY_LAZY,          /* an archive member would define it */
    TN__ENTRY_OBJECT,        /* defined by an object that is not linked yet */
    TN__ENTRY_LINKED,        /* has its final address */
    TN__ENTRY_ABSOLUTE,      /* defined by the client */
    TN__ENTRY_ALIAS,         /* an alias of `target`; without strength: found there by the search order */
    TN__ENTRY_PROMISED,      /* a materializer will define it; without strength: a generator is being asked */
    TN__ENTRY_FAILED,        /* that materializer has failed */
    TN__ENTRY_BOUND,         /* during a link: where sections of one name begin or end; see gather.c */
    TN__ENTRY_GOT,           /* stands for the GOT of the object that mentions it */
    TN__ENTRY_HANDLE,        /* stands for the library: an address in the window of the object that mentions it */
};

/* Which definition wins; two strong ones clash. */
enum tn__strength {
    TN__STRENGTH_NONE = 0,
    TN__STRENGTH_TENTATIVE, /* of common symbols, where these give way to weak ones */
    TN__STRENGTH_WEAK,
    TN__STRENGTH_COMMON,
    TN__STRENGTH_STRONG,
};

static inline bool tn__strength_is_common(uint8_t strength)
{
    return strength == TN__STRENGTH_COMMON || strength == TN__STRENGTH_TENTATIVE;
}

/* The strength of a client's definition, by its TN_SYMBOL_... flags. */
static inline uint8_t tn__strength_of_flags(uint64_t flags)
{
    return flags & TN_SYMBOL_WEAK ? TN__STRENGTH_WEAK : TN__STRENGTH_STRONG;
}

enum tn__promise_state {
    TN__PROMISE_NEW = 0, /* not needed yet */
    TN__PROMISE_RUNNING, /* its materializer has been, or is about to be, called */
    TN__PROMISE_KEPT,    /* fulfilled, or removed meanwhile */
    TN__PROMISE_FAILED,  /* its symbols remain failed until its tracker is removed */
};

/* What a link sees of a promise; all of it is struct tn_responsibility (demand/promise.h). */
struct tn__promise {
    char *name;
    uint8_t state;
    uint64_t noted; /* the last link that has it in its list */
    /* While its holder adds what defines its symbols to the library itself: this thread's definitions take their
     * place. */
    bool is_handed_over;
    pthread_t taker;
    uint64_t input; /* what it makes has this number in the order of the library's inputs */
};

/* There is one for each name that any object of the library mentions. */
struct tn__entry {
    const char *name;
    uint64_t key; /* tn__name_key(name) */
    uint8_t kind, strength;
    uint8_t common_shift; /* OBJECT, LINKED, of common symbols: alignment, as a power of two */
    bool hidden;
    bool thread_local : 1; /* OBJECT, LINKED, ABSOLUTE: its address is a distance from the thread pointer */
    bool wanted : 1;       /* PROMISED: a lookup or a link needs it */
    bool discardable : 1;  /* PROMISED: the materializer may leave it out */
    bool in_use : 1;       /* during a sweep of the table: something points here */
    bool aliased : 1;      /* some alias leads or has led here */
    bool callable : 1;     /* OBJECT, LINKED, ABSOLUTE, PROMISED, FAILED: an address that is declared as a function */
    bool overrides : 1;    /* some definition, or copy of the group, gave way to the current one */
    uint8_t selection : 3; /* with `group_owner`: the group's (enum tn__selection) */
    uint16_t asked;        /* UNDEFINED, during a query: number of the last generator that did not know it */
    union {
        uint32_t symbol; /* OBJECT: its number in `object` */
        uint32_t size;   /* LINKED: of the symbol, or the largest number; 0: not known */
    };
    uint32_t measure;          /* with `group_owner`: the group's */
    struct tn__object *object; /* OBJECT, LINKED: the definer; ABSOLUTE, ALIAS: the owner, may be NULL */
    union {
        uint64_t address;            /* HOST, LINKED, ABSOLUTE */
        uint64_t member;             /* LAZY: the member's offset in `archive` */
        struct tn__entry *target;    /* ALIAS; never leads back here */
        struct tn__promise *promise; /* PROMISED, FAILED */
        uint64_t noted;              /* UNDEFINED: the link that wants a generator asked for it */
    };
    union {
        struct tn__archive *archive; /* LAZY */
        struct tn_library *library;  /* ALIAS: the target's */
        uint64_t common_size;        /* as common_shift: the size */
    };
    struct tn__object *group_owner; /* the object whose copy of the COMDAT group of this name is kept */
};

enum {
    TN__SYMTAB_CLASSES = 48, /* size classes of entries with their names, see symtab.c */
    TN__SWEEP_LEAST = 1024,  /* the least number of entries worth sweeping */
};

/* Secret numbers, so that names cannot be chosen to have one hash. All tables of a session have the same. */
struct tn__seed {
    uint64_t numbers[2];
};

struct tn__symtab {
    struct tn__seed seed;
    struct tn__late *late; /* late.h; NULL: none */
    struct tn__entry **slots;
    size_t mask, count;
    size_t sweep_at;         /* the next sweep is due with so many entries, */
    uint64_t swept_revision; /* and only if definitions have gone since this revision of the session; see sweep.c */
    struct tn__arena arena;
    struct tn__entry *unused[TN__SYMTAB_CLASSES]; /* by size class, linked by `target` */
};

/* Old values of entries, for undoing a failed addition or link. Most entries had none: these share one `old`. An entry
 * keeps its name and its key. */
struct tn__journal {
    struct tn__arena arena;
    struct tn__journal_record {
        struct tn__journal_record *before;
        struct tn__entry *entry;
        const struct tn__entry *old;
    } * last;
};

/* Hash and length of a name, computed before the lock is taken. 0: too long for any table. */
uint64_t tn__name_key(const struct tn__seed *seed, const char *name);
/* Computes the keys of all names that an object will enter at once. False if the names are longer than its file can
 * account for: they share bytes of it, to cost more time and memory than the file is worth. */
bool tn__object_find_keys(struct tn__object_data *data, const struct tn__seed *seed);

/* All definitions of the object will be entered at once. Comes before tn__object_find_keys. */
void tn__object_enter_all(struct tn__object_data *data);

/* Makes space for so many new names at once. False when memory is out. */
bool tn__symtab_reserve(struct tn__symtab *table, size_t count);
/* The entry of a name, created if it is new. NULL when memory is out. */
struct tn__entry *tn__symtab_intern(struct tn__symtab *table, const char *name);
struct tn__entry *tn__symtab_intern_key(struct tn__symtab *table, const char *name, uint64_t key);
/* NULL: it has no entry, or memory for that of a late definition is out. */
struct tn__entry *tn__symtab_find(const struct tn__symtab *table, const char *name) TN__LOCKED;
struct tn__entry *tn__symtab_find_key(const struct tn__symtab *table, const char *name, uint64_t key) TN__LOCKED;
/* Calls `is_unused` for all entries and removes those for which it is true; their memory is reused. Removes none when
 * memory is out. */
void tn__symtab_filter(struct tn__symtab *table, bool (*is_unused)(struct tn__entry *));
void tn__symtab_free(struct tn__symtab *table);

/* The symbol that the entry stands for has this entry, which is in its object's list. */
static inline void tn__symbol_take_entry(struct tn__object_data *data, struct tn__entry *entry)
{
    data->symbols[entry->symbol].entry = entry;
    data->symbols[entry->symbol].listed = true;
    data->late_first = 0;
}

/* True for an entry that defines nothing itself but was found in another library. */
static inline bool tn__entry_is_found(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_ALIAS && entry->strength == TN__STRENGTH_NONE;
}

/* True while a generator is being asked for it. */
static inline bool tn__entry_is_generated(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_PROMISED && entry->strength == TN__STRENGTH_NONE;
}

/* True if a query may have continued from this entry to other names. */
static inline bool tn__entry_leads_on(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_OBJECT || entry->kind == TN__ENTRY_ALIAS || entry->kind == TN__ENTRY_LAZY;
}

/* Makes the entry undefined, but unlike tn__entry_forget not for the definitions that had given way to it. */
static inline void tn__entry_reset(struct tn__entry *entry)
{
    entry->kind = TN__ENTRY_UNDEFINED;
    entry->noted = 0;
}

/* Makes an alias lead to an entry of `library`. */
void tn__entry_lead(struct tn__entry *alias, struct tn_library *library, struct tn__entry *target);

/* True if `alias` leads to `entry`, which is undefined so far: a cycle. A cycle through a name found earlier in another
 * library does not count: that name is reset, to be looked up again, unless it is on the way from `first` (may be NULL)
 * to `entry`. */
bool tn__entry_leads_to(struct tn__entry *alias, const struct tn__entry *entry, const struct tn__entry *first);

/* The end of a chain of aliases; the entry itself if it is no alias. */
static inline struct tn__entry *tn__entry_target(struct tn__entry *entry)
{
    while (entry->kind == TN__ENTRY_ALIAS)
        entry = entry->target;
    return entry;
}

/* True for a name found earlier in another library if that library now hides it, or has itself only found it in a third
 * one: aliases of others do not lead there. */
static inline bool tn__entry_is_outdated(const struct tn__entry *entry)
{
    return tn__entry_is_found(entry) && (entry->target->hidden || tn__entry_is_found(entry->target));
}

/* True for these, and for a name found earlier that is not defined any more. */
static inline bool tn__entry_is_stale(struct tn__entry *entry)
{
    return tn__entry_is_outdated(entry) ||
           (tn__entry_is_found(entry) && tn__entry_target(entry)->kind == TN__ENTRY_UNDEFINED);
}

/* Call before changing an entry. False when memory is out. */
bool tn__journal_note(struct tn__journal *journal, struct tn__entry *entry) TN__LOCKED;
void tn__journal_undo(struct tn__journal *journal) TN__LOCKED;
void tn__journal_free(struct tn__journal *journal);

#pragma GCC visibility pop
#endif
