/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions and what is in them: libraries with their symbol tables, objects, archives, trackers. */

#ifndef TENON_SESSION_H
#define TENON_SESSION_H

#include <pthread.h>

#include "codemem.h"
#include "object.h"
#include "unwind.h"

#pragma GCC visibility push(hidden)

/* ---- symbol table of a library (symtab.c) ---- */

enum tn__entry_kind {
    TN__ENTRY_UNDEFINED = 0, /* only referred to so far */
    TN__ENTRY_HOST,          /* a resolver answered */
    TN__ENTRY_LAZY,          /* an archive member would define it */
    TN__ENTRY_OBJECT,        /* defined by an object that is not linked yet */
    TN__ENTRY_LINKED,        /* has its final address */
    TN__ENTRY_ABSOLUTE,      /* defined by the client */
    TN__ENTRY_ALIAS,         /* another name of `target`; without strength: found there, following the search order */
    TN__ENTRY_PROMISED,      /* a materializer would define it; without strength: a generator is being asked */
    TN__ENTRY_FAILED,        /* it has failed to */
    TN__ENTRY_BOUND,         /* while a link is planned: where sections of one name begin or end; see gather.c */
    TN__ENTRY_GOT,           /* stands for the GOT of the object that mentions it */
    TN__ENTRY_HANDLE,        /* stands for the library: a place in the window of the object that mentions it */
};

/* Which definition wins; equal strong ones clash. */
enum tn__strength { TN__STRENGTH_NONE = 0, TN__STRENGTH_WEAK, TN__STRENGTH_COMMON, TN__STRENGTH_STRONG };

/* True for names that every library defines by itself (session.c). */
bool tn__is_own_name(const char *name);

/* One per name that any object of the library mentions. */
struct tn__entry {
    const char *name;
    uint64_t key; /* tn__name_key(name) */
    uint8_t kind, strength;
    uint8_t common_shift; /* OBJECT, LINKED with TN__STRENGTH_COMMON: alignment, as a power of two, */
    bool hidden;
    bool thread_local;         /* OBJECT, LINKED, ABSOLUTE: its address is a distance from the thread pointer */
    bool wanted : 1;           /* PROMISED: somebody needs it */
    bool in_use : 1;           /* while the table is swept: something points here */
    bool aliased : 1;          /* some alias leads here, or has led here */
    bool contested : 1;        /* some definition, or copy of the group, has given way to the one that is taken */
    uint16_t asked;            /* UNDEFINED: generators that did not know it, while a query goes on */
    uint32_t symbol;           /* OBJECT: its number in `object` */
    struct tn__object *object; /* OBJECT, LINKED: who defines it; ABSOLUTE, ALIAS: who owns it, may be NULL */
    union {
        uint64_t address;                  /* HOST, LINKED, ABSOLUTE */
        uint64_t member;                   /* LAZY: the member's offset in `archive` */
        struct tn__entry *target;          /* ALIAS; it never leads back here */
        struct tn_responsibility *promise; /* PROMISED, FAILED */
        uint64_t noted;                    /* UNDEFINED: the link that wants a generator asked for it */
    };
    union {
        struct tn__archive *archive; /* LAZY */
        struct tn_library *library;  /* ALIAS: the target's */
        uint64_t common_size;        /* and size */
    };
    struct tn__object *group_owner; /* whose copy of the COMDAT group of this name is kept */
};

enum {
    TN__SYMTAB_CLASSES = 48, /* sizes of entries with their names, see symtab.c */
    TN__SWEEP_LEAST = 1024,  /* entries that are worth sweeping */
};

struct tn__symtab {
    struct tn__entry **slots;
    size_t mask, count;
    size_t sweep_at;         /* so many entries, */
    uint64_t swept_revision; /* and definitions have gone since the session had this revision: see sweep.c */
    struct tn__arena arena;
    struct tn__entry *unused[TN__SYMTAB_CLASSES]; /* by size, linked by `target` */
};

/* Old values of entries, so that a failed addition or link can be undone. */
struct tn__journal {
    struct tn__arena arena;
    struct tn__journal_record {
        struct tn__journal_record *before;
        struct tn__entry *entry, old;
    } * last;
};

/* Hash and length of a name: what a table wants to know of it, found out before the lock is taken. 0: too long for any. */
uint64_t tn__name_key(const char *name);
/* The same for all names that an object will enter. */
void tn__object_find_keys(struct tn__object_data *data);

/* The entry of a name, made if it is new. NULL when memory is out. */
struct tn__entry *tn__symtab_intern(struct tn__symtab *table, const char *name);
struct tn__entry *tn__symtab_intern_key(struct tn__symtab *table, const char *name, uint64_t key);
struct tn__entry *tn__symtab_find(const struct tn__symtab *table, const char *name);
struct tn__entry *tn__symtab_find_key(const struct tn__symtab *table, const char *name, uint64_t key);
/* Takes out the entries of which this is true, to be used for new names. If memory is out, it is only called for all. */
void tn__symtab_filter(struct tn__symtab *table, bool (*is_unused)(struct tn__entry *));
void tn__symtab_free(struct tn__symtab *table);

/* True if it was found in another library's table, and says nothing itself. */
static inline bool tn__entry_is_found(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_ALIAS && entry->strength == TN__STRENGTH_NONE;
}

/* True while a generator is asked for it. */
static inline bool tn__entry_is_generated(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_PROMISED && entry->strength == TN__STRENGTH_NONE;
}

/* True if a query that came by may have gone on from here to other names. */
static inline bool tn__entry_leads_on(const struct tn__entry *entry)
{
    return entry->kind == TN__ENTRY_OBJECT || entry->kind == TN__ENTRY_ALIAS || entry->kind == TN__ENTRY_LAZY;
}

/* It says nothing; a definition that gave way to one of this name is none of its business. */
static inline void tn__entry_reset(struct tn__entry *entry)
{
    entry->kind = TN__ENTRY_UNDEFINED;
    entry->noted = 0;
}

/* Makes an alias lead to a name of `library`. */
void tn__entry_lead(struct tn__entry *alias, struct tn_library *library, struct tn__entry *target);

/* True if `alias` leads to `entry`, which says nothing yet: a circle. Not by what was found in another library earlier: that
 * is forgotten, to be looked for anew, unless it was found on the way from `first` (NULL: nowhere) to `entry`. */
bool tn__entry_leads_to(struct tn__entry *alias, const struct tn__entry *entry, const struct tn__entry *first);

/* What an entry stands for: itself, unless it is an alias. */
static inline struct tn__entry *tn__entry_target(struct tn__entry *entry)
{
    while (entry->kind == TN__ENTRY_ALIAS)
        entry = entry->target;
    return entry;
}

/* True of what was found in another library earlier, if that may have been hidden since, or finds the name elsewhere itself,
 * which is none of others' business. */
static inline bool tn__entry_is_astray(const struct tn__entry *entry)
{
    return tn__entry_is_found(entry) && (entry->target->hidden || tn__entry_is_found(entry->target));
}

/* The same, or if it leads nowhere. */
static inline bool tn__entry_is_stale(struct tn__entry *entry)
{
    return tn__entry_is_astray(entry) ||
           (tn__entry_is_found(entry) && tn__entry_target(entry)->kind == TN__ENTRY_UNDEFINED);
}

/* Call before changing an entry. False when memory is out. */
bool tn__journal_note(struct tn__journal *journal, struct tn__entry *entry);
void tn__journal_undo(struct tn__journal *journal);
void tn__journal_free(struct tn__journal *journal);

/* ---- objects, archives, libraries (add.c, library.c, tracker.c) ---- */

/* What an object takes: a range in each zone, and one of the reserve for thread-local data. */
enum { TN__PART_TLS = TN_ZONES, TN__PARTS };

/* What a link makes of an object, from scan to publish. */
struct tn__plan {
    const struct tn_library *library; /* the object's: without the lock its owner may change */
    uint8_t *symbol_flags;            /* TN__SYMBOL_..., by symbol */
    uint32_t *slots[TN__SLOTS]; /* by symbol: first word of its GOT slot of each kind, from 1; NULL if there are none */
    uint32_t *stub_index;       /* by symbol: number of its stub, from 1; NULL if there are none */
    uint32_t *ifunc_index;      /* the same for the pointer of an indirect function */
    uint64_t *addresses;        /* by symbol */
    uint64_t *common_offset;    /* by symbol, in the data zone's range; NULL if there are none */
    uint32_t got_words, stub_count, ifunc_count;
    uint8_t *tls_image;  /* initial values of its thread-local data */
    uint64_t tls_offset; /* where that lies, from the thread pointer */
    bool low;            /* wants to be below 2 GiB */
    bool has_ifuncs;     /* it has symbols of indirect functions */
    size_t sizes[TN__PARTS], alignments[TN__PARTS];
    struct tn__backing backings[TN_ZONES];
    size_t zero_offset, tls_zero_offset;              /* where data without bytes in the file begins */
    uint64_t got_offset, stub_offset, ifunc_offset;   /* in the range of read-only data, code, data */
    uint64_t got_address, stub_address, data_address; /* data: of commons and pointers of indirect functions */
    uint8_t *got_write, *stub_write, *data_write;     /* where the bytes at these addresses are written */
    bool
        tls_apart; /* where its thread-local data will be, seen from the thread pointer, is only known when it is loaded */
};

/* Pending while it is in no link and still has its data; linked once that is gone. Without data from the start it only owns
 * entries of the client's. */
struct tn__object {
    const char *name;             /* "file.o", "archive.a(member.o)"; behind this struct */
    struct tn__object_data *data; /* NULL once it is linked */
    struct tn_tracker *owner;
    struct tn__list owned;  /* in the owner's objects */
    struct tn__list queued; /* pending: in the library's queue; new members of archives: in the link's list */
    bool has_calls;         /* initializers or finalizers of it may be in the library's lists */
    struct tn__unwind_table *unwind;
    uint32_t entry_count;
    struct tn__entry **entries; /* that it defined or whose group it claimed when it was added; behind this struct */

    /* From layout on. */
    struct tn__window *window;
    struct tn__range *ranges[TN__PARTS];
    struct tn__gathered *gathered; /* its parts in ranges that it shares */

    struct tn__link *link; /* that it is part of right now */
    uint64_t explored;     /* the query that has followed its references */
    struct tn__plan *plan; /* what that link makes of it; in the link's arena */
};

/* Where a symbol's GOT slot of a kind is; the slot exists. */
static inline uint64_t tn__got_slot(const struct tn__object *object, enum tn__slot kind, uint32_t symbol)
{
    return object->plan->got_address + (uint64_t)(object->plan->slots[kind][symbol] - 1) * 8;
}

/* Where the stub of a symbol is; it exists. */
static inline uint64_t tn__stub_address(const struct tn__object *object, uint32_t symbol)
{
    return object->plan->stub_address +
           (uint64_t)(object->plan->stub_index[symbol] - 1) * object->data->arch->stub_size;
}

enum {
    TN__SYMBOL_UNRESOLVED = 1, /* nobody defines it */
    TN__SYMBOL_DISCARDED = 2,  /* local, in a section that is not loaded */
    TN__SYMBOL_FAR = 4,        /* known to be out of reach of the window: branches need a stub */
    TN__SYMBOL_TLS = 8,        /* thread-local */
    TN__SYMBOL_UNUSUAL = 15,   /* any of these */
    TN__SYMBOL_ELSEWHERE = 16, /* defined by another object, whose window may differ */
    TN__SYMBOL_OWN = 32,       /* this object's definition is the one taken; all local ones */
    TN__SYMBOL_GIVEN = 64,     /* lies outside of the link: its address is known from the beginning */
    TN__SYMBOL_BOUND = 128,    /* begin or end of gathered sections, see gather.c */
};

struct tn__archive {
    const struct tn_allocator *from;
    struct tn__archive *next;
    struct tn_input input;
    char *name;
    bool thin;
    struct tn__archive_names {
        const char *text; /* the GNU table of long names */
        size_t size;
    } long_names;
};

struct tn__resolver {
    struct tn__resolver *next;
    tn_resolver *function;
    void *context;
    void (*close)(void *context); /* when the library goes; may be NULL */
};

/* A published array of functions to call. */
struct tn__calls {
    const struct tn__object *object;
    uint64_t address; /* of the array */
    uint64_t count;
    uint32_t priority, sequence;
    bool reversed;
};

struct tn__calls_list {
    const struct tn_allocator *from;
    struct tn__calls *items;
    size_t count, capacity;
    size_t reserved; /* that a link is about to add */
};

struct tn__generator {
    struct tn__generator *next;
    tn_generate *function;
    void *context;
};

/* What loaded code wants called at its end. */
struct tn__exit {
    const struct tn__object *object; /* whose it is */
    void (*function)(void *argument);
    void *argument;
};

struct tn__exits {
    struct tn__exit *items;
    size_t count, capacity;
};

/* Owns objects and promises. */
struct tn_tracker {
    struct tn_library *library;
    struct tn__list listed; /* in the library's trackers */
    struct tn__list objects;
    struct tn__list lazy; /* functions with stubs: see lazy.c */
    struct tn__list promises;
    /* Code instances that have code of it, and whether one ever had; see instance.c, whose lock guards them. */
    struct tn_instance *instances[2];
    bool has_published;
};

struct tn_library {
    struct tn_session *session;
    struct tn_library *next;
    char *name;
    bool removed; /* nothing but this struct and its trackers are left */
    bool is_being_removed;
    uint32_t readers;     /* who looks at names or generators of it without the lock: these stay until then */
    bool found_by_others; /* entries of other libraries may lead here */
    bool bereft;          /* definitions went that others had given way to: tn__library_fall_back is due */
    struct tn__symtab symtab;
    struct tn_search *search; /* the other libraries to look into */
    size_t search_count;
    struct tn__generator *generators, **generators_end;
    struct tn_tracker own;    /* owns what nobody else does */
    struct tn__list trackers; /* the client's */
    struct tn__list queue;    /* objects added and not linked yet, members of archives apart */
    uint32_t building;        /* objects of it that links without the lock are working on */
    struct tn__archive *archives;
    struct tn__resolver *resolvers, **resolvers_end;
    struct tn__calls_list initializers; /* still to run */
    struct tn__calls_list finalizers;   /* of what was initialised */
    struct tn__calls_list waiting;      /* finalizers of what was not */
    struct tn__exits exits;
    uint32_t number;   /* in the session */
    uint32_t sequence; /* numbers linked arrays */
};

struct tn__detached;
struct tn__lazy_pool;
struct tn__pool;
struct tn__watch;

struct tn_session {
    pthread_mutex_t lock;
    pthread_cond_t idle;                  /* a link has ended */
    struct tn__list listed;               /* among all sessions of the process */
    uint32_t building;                    /* links that are working without the lock */
    const struct tn_allocator *allocator; /* the source of everything that hangs on the session */
    struct tn__codemem memory;
    struct tn_library *libraries;
    uint32_t library_count;
    struct tn__unwind unwind;
    struct tn_stats stats;
    bool timings;
    bool closing; /* it is being destroyed */
    void (*on_undefined)(void *context, const char *symbol, const char *needed_by);
    void (*on_error)(void *context, const struct tn_error *error);
    void (*dispatch)(void *context, struct tn_task *task);
    void *context;
    struct tn__pool *pool;    /* NULL: no threads of its own */
    struct tn__list queries;  /* those with a callback */
    struct tn__list runnable; /* queries that nothing holds back any more */
    struct tn__list unused;   /* promises that nobody holds any more */
    struct tn__list removed;  /* promises that were removed while they were being made */
    uint64_t links;           /* begun so far */
    uint64_t visits;          /* searches for cycles so far */
    uint64_t revision;        /* definitions taken away or overridden so far, and maybe followed by queries before */
    struct tn__detached *detached; /* NULL: no place of a section is chosen one by one; see detached.h */
    /* May be NULL. Called under the lock for each object when nothing can fail any more and all arrays are still there. */
    void (*on_linked)(void *context, const struct tn_library *library, const struct tn__object *object);
    void *on_linked_context;
    const struct tn__watch *watch; /* NULL: nobody observes */
    struct tn__lazy_pool *lazy;    /* NULL: no function has a stub; see lazy.h */
};

/* The time, if the session measures times. */
static inline uint64_t tn__session_clock(const struct tn_session *session)
{
    return session->timings ? tn__os_now_ns() : 0;
}

/* True if what it links belongs to another address space: nothing of that runs or is read in this one. */
static inline bool tn__session_is_elsewhere(const struct tn_session *session)
{
    return session->memory.windows[TN__WINDOW_NEAR].elsewhere;
}

/* TN_ENOTSUP if it does; `what` is plural. */
int tn__session_check_here(const struct tn_session *session, const char *what, struct tn_error *err);

/* Tells the client of a failure that nobody waits for. Without the lock. */
void tn__session_report(const struct tn_session *session, const struct tn_error *error);
/* Takes the lock. It is held for microseconds at a time, and a thread that sleeps takes longer than that to wake up: so it
 * is tried for a while first. */
void tn__session_lock(struct tn_session *session);
/* Gives the lock back, and tells the materializers that are not needed any more. */
void tn__session_unlock(struct tn_session *session);

/* All sessions of the process, under a lock that comes before theirs. NULL begins, and ends. */
void tn__sessions_lock(void);
void tn__sessions_unlock(void);
struct tn_session *tn__sessions_next(const struct tn_session *session);

/* Adds the time since `start` to *ns; the time now. */
static inline uint64_t tn__session_spent(const struct tn_session *session, uint64_t *ns, uint64_t start)
{
    uint64_t now = tn__session_clock(session);
    *ns += now - start;
    return now;
}

/* Makes an object of what was read and enters its definitions; changes are noted in `journal`. It belongs to `owner` and
 * stands at the end of `queue`. `keeps` may be a promise that its definitions keep. On an error `data` is freed and nothing
 * but journalled entries has changed. */
int tn__library_add(struct tn_tracker *owner, struct tn__object_data *data, struct tn__list *queue,
                    const struct tn_responsibility *keeps, struct tn__journal *journal, struct tn_error *err);
/* True if a link that works without the lock holds on to a definition or group that `data` has too; wait for session->idle. */
bool tn__library_is_held(const struct tn_library *library, const struct tn__object_data *data);
/* The same for one entry. */
bool tn__entry_is_held(const struct tn__entry *entry);
/* Whether a definition of this strength takes an entry; among equals the first does. TN_EDUP, where both are strong or it is
 * too late; `by` tells who defines it. */
int tn__entry_yields(struct tn__entry *entry, uint8_t strength, const char *by, bool *yields, struct tn_error *err);
/* Copies and checks what a client says of an input. */
int tn__library_take_input(const struct tn_library *library, const struct tn_input *given, struct tn_input *input,
                           struct tn_error *err);
/* Fills `data` from an input; needs no lock. */
int tn__library_read(const struct tn_library *library, const struct tn_input *input, struct tn__object_data *data,
                     struct tn_error *err);
/* Under the lock: TN_EREMOVED, if the library was. */
int tn__library_check(const struct tn_library *library, struct tn_error *err);
/* Enters what was read, once no link at work holds what it defines; takes the lock. */
int tn__library_enter(struct tn_library *library, struct tn__object_data *data, struct tn_error *err);
/* Gives back what the library's table holds for names that are not used any more. Under the lock, by a thread that holds on to
 * no entry of it. */
void tn__library_sweep(struct tn_library *library);

static inline void tn__library_sweep_if_due(struct tn_library *library)
{
    const struct tn__symtab *table = &library->symtab;
    if (table->count >= table->sweep_at && table->swept_revision != library->session->revision)
        tn__library_sweep(library);
}

/* Nobody defines it any more. */
void tn__entry_forget(struct tn_library *library, struct tn__entry *entry);
/* After definitions were taken away: those of pending objects that had given way to them take their places, and copies of
 * groups those of the copies that were kept. Cannot fail; costs a test of a flag if there were none. */
void tn__library_fall_back(struct tn_library *library);
/* Makes a name that no link holds an absolute symbol, whose address is to be filled in. Not *taken: it is weak, and there is
 * a definition already. TN_EDUP, TN_ENOMEM. */
int tn__entry_define(struct tn__entry *entry, uint64_t flags, struct tn__journal *journal, bool *taken,
                     struct tn_error *err);
/* Makes an object of absolute symbols, and of references to others that they need (inject.c). */
int tn__inject_addresses(const struct tn_library *library, const char *name, const struct tn_definition *definitions,
                         size_t count, const char *const *needs, size_t need_count, struct tn__object_data *data,
                         struct tn_error *err);
/* Frees the neutral object and gives its bytes back. */
void tn__object_release_data(struct tn__object *object);
/* Takes an object out of everything it is in, and frees it and its memory. What it defined is undefined again. */
void tn__object_remove(struct tn__object *object);
/* The first half of that: its definitions are gone, its code and data are still in use. */
void tn__object_hide(struct tn__object *object);
void tn__tracker_init(struct tn_tracker *tracker, struct tn_library *library);
/* True if an object of it is part of a link. */
bool tn__tracker_is_busy(const struct tn_tracker *tracker);
/* Waits until none is; the lock is given up meanwhile, and has not been given up since the last look. */
void tn__tracker_wait(struct tn_tracker *tracker);
/* Makes its objects and stubs another's. */
void tn__tracker_give(struct tn_tracker *from, struct tn_tracker *to);
void tn__tracker_empty(struct tn_tracker *tracker);
/* The trackers of a library one by one, its own first; NULL begins, and ends. */
struct tn_tracker *tn__library_next_tracker(struct tn_library *library, const struct tn_tracker *tracker);

/* Takes everything out of a library that is not the library itself, at the end of its session. */
void tn__library_empty(struct tn_library *library);
/* Under the lock: the names of the library's entries and its generators outlive its removal until it is dropped again. */
void tn__library_hold(struct tn_library *library);
void tn__library_drop(struct tn_library *library);
void tn__library_free(struct tn_library *library);

/* ---- archives (archive.c) ---- */

struct tn__member {
    const char *name; /* not terminated */
    size_t name_length;
    const uint8_t *bytes; /* NULL in a thin archive */
    size_t size;
    uint64_t offset, next; /* of this member's header and of the one behind it */
};

bool tn__archive_claims(const uint8_t *bytes, size_t size);
/* Checks the magic and finds the table of long names. TN_EFORMAT. */
int tn__archive_open(struct tn__archive *archive, struct tn_error *err);
/* Reads the member whose header is at `offset`; offset 0 is the first one. `*end` tells that there is none. */
int tn__archive_member(const struct tn__archive *archive, uint64_t offset, struct tn__member *member, bool *end,
                       struct tn_error *err);
/* True of the archive's own tables: symbols, long names. */
bool tn__archive_is_table(const struct tn__member *member);
/* Calls `define` for every symbol of the archive's index, or, without one, for every definition of every member. */
typedef int tn__archive_define(void *context, const char *symbol, uint64_t member, struct tn_error *err);
int tn__archive_symbols(const struct tn__archive *archive, tn__archive_define *define, void *context,
                        struct tn_error *err);
/* "archive.a(member.o)", which belongs to the caller; NULL when memory is out. */
char *tn__archive_member_name(const struct tn_allocator *from, const char *archive, const struct tn__member *member);
/* Bytes and full name of a member. `input->release` frees what had to be mapped; the name is
 * allocated and belongs to the caller. */
int tn__archive_load(const struct tn__archive *archive, uint64_t offset, struct tn_input *input, char **name,
                     struct tn_error *err);

#pragma GCC visibility pop
#endif
