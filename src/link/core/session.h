/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sessions and their contents: libraries with their symbol tables, objects, archives, trackers. */

#ifndef TENON_SESSION_H
#define TENON_SESSION_H

#include <pthread.h>

#include "base/thread_end.h"
#include "link/memory/codemem.h"
#include "link/format/object.h"
#include "link/unwind/unwind.h"

#pragma GCC visibility push(hidden)

/* ---- symbol table of a library (symtab.c) ---- */

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
enum tn__strength { TN__STRENGTH_NONE = 0, TN__STRENGTH_WEAK, TN__STRENGTH_COMMON, TN__STRENGTH_STRONG };

/* True for names that every library has from the beginning (library.c). */
bool tn__is_own_name(const char *name);

/* There is one for each name that any object of the library mentions. */
struct tn__entry {
    const char *name;
    uint64_t key; /* tn__name_key(name) */
    uint8_t kind, strength;
    uint8_t common_shift; /* OBJECT, LINKED with TN__STRENGTH_COMMON: alignment, as a power of two */
    bool hidden;
    bool thread_local;         /* OBJECT, LINKED, ABSOLUTE: its address is a distance from the thread pointer */
    bool wanted : 1;           /* PROMISED: somebody needs it */
    bool in_use : 1;           /* during a sweep of the table: something points here */
    bool aliased : 1;          /* some alias leads or has led here */
    bool contested : 1;        /* some definition, or copy of the group, gave way to the current one */
    uint16_t asked;            /* UNDEFINED, during a query: generators that did not know it */
    uint32_t symbol;           /* OBJECT: its number in `object` */
    struct tn__object *object; /* OBJECT, LINKED: the definer; ABSOLUTE, ALIAS: the owner, may be NULL */
    union {
        uint64_t address;                  /* HOST, LINKED, ABSOLUTE */
        uint64_t member;                   /* LAZY: the member's offset in `archive` */
        struct tn__entry *target;          /* ALIAS; never leads back here */
        struct tn_responsibility *promise; /* PROMISED, FAILED */
        uint64_t noted;                    /* UNDEFINED: the link that wants a generator asked for it */
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
    struct tn__entry **slots;
    size_t mask, count;
    size_t sweep_at;         /* the next sweep is due with so many entries, */
    uint64_t swept_revision; /* and only if definitions have gone since this revision of the session; see sweep.c */
    struct tn__arena arena;
    struct tn__entry *unused[TN__SYMTAB_CLASSES]; /* by size class, linked by `target` */
};

/* Old values of entries, for undoing a failed addition or link. */
struct tn__journal {
    struct tn__arena arena;
    struct tn__journal_record {
        struct tn__journal_record *before;
        struct tn__entry *entry, old;
    } * last;
};

/* Hash and length of a name, computed before the lock is taken. 0: too long for any table. */
uint64_t tn__name_key(const struct tn__seed *seed, const char *name);
/* Computes the keys of all names that an object will enter. False if the names are longer than its file can account for: they share
 * bytes of it, to cost more time and memory than the file is worth. */
bool tn__object_find_keys(struct tn__object_data *data, const struct tn__seed *seed);

/* The entry of a name, created if it is new. NULL when memory is out. */
struct tn__entry *tn__symtab_intern(struct tn__symtab *table, const char *name);
struct tn__entry *tn__symtab_intern_key(struct tn__symtab *table, const char *name, uint64_t key);
struct tn__entry *tn__symtab_find(const struct tn__symtab *table, const char *name);
struct tn__entry *tn__symtab_find_key(const struct tn__symtab *table, const char *name, uint64_t key);
/* Calls `is_unused` for all entries and removes those for which it is true; their memory is reused. Removes none when
 * memory is out. */
void tn__symtab_filter(struct tn__symtab *table, bool (*is_unused)(struct tn__entry *));
void tn__symtab_free(struct tn__symtab *table);

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
 * library does not count: that name is reset, to be looked up again, unless it is on the way from `first` (may be NULL) to
 * `entry`. */
bool tn__entry_leads_to(struct tn__entry *alias, const struct tn__entry *entry, const struct tn__entry *first);

/* The end of a chain of aliases; the entry itself if it is no alias. */
static inline struct tn__entry *tn__entry_target(struct tn__entry *entry)
{
    while (entry->kind == TN__ENTRY_ALIAS)
        entry = entry->target;
    return entry;
}

/* True for a name found earlier in another library if that library now hides it, or only finds it in turn elsewhere, which
 * others must not follow. */
static inline bool tn__entry_is_astray(const struct tn__entry *entry)
{
    return tn__entry_is_found(entry) && (entry->target->hidden || tn__entry_is_found(entry->target));
}

/* The same, or leads nowhere by now. */
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

/* What an object occupies: a range in each zone, and one in the reserve for thread-local data. */
enum { TN__PART_TLS = TN_ZONES, TN__PARTS };

/* What a link knows about an object, from bind to publish. */
struct tn__plan {
    const struct tn_library *library; /* the object's: without the lock its owner may change */
    uint8_t *symbol_flags;            /* TN__SYMBOL_..., by symbol */
    uint32_t *slots[TN__SLOTS];       /* by symbol: the first word of its GOT slot of each kind, from 1; NULL: none */
    uint32_t *stub_index;             /* by symbol: the number of its stub, from 1; NULL: none */
    uint32_t *ifunc_index;            /* the same for the pointers of indirect functions */
    uint64_t *addresses;              /* by symbol */
    uint64_t *common_offset;          /* by symbol, in the range of data; NULL: none */
    uint32_t got_words, stub_count, ifunc_count;
    uint8_t *tls_image;  /* initial values of its thread-local data */
    uint64_t tls_offset; /* its distance from the thread pointer */
    bool low;            /* has to be below 2 GiB */
    bool has_ifuncs;     /* has symbols of indirect functions */
    size_t sizes[TN__PARTS], alignments[TN__PARTS];
    struct tn__backing backings[TN_ZONES];
    uint64_t gaps;                                    /* bytes between sections, for alignment */
    size_t zero_offset, tls_zero_offset;              /* where zero-initialised data begins */
    uint64_t got_offset, stub_offset, ifunc_offset;   /* in the range of read-only data, code, data */
    uint64_t got_address, stub_address, data_address; /* data: of commons and pointers of indirect functions */
    uint8_t *got_write, *stub_write, *data_write;     /* where the bytes at these addresses are written */
    bool tls_apart; /* for a file: its distance from the thread pointer is only known when it is loaded */
};

/* An object is pending while it has its data, and linked once that is gone. Objects created without data only own entries
 * defined by the client. */
struct tn__object {
    const char *name;             /* "file.o", "archive.a(member.o)"; behind this struct */
    struct tn__object_data *data; /* NULL once it is linked */
    struct tn_tracker *owner;
    struct tn__list owned;  /* in the owner's objects */
    struct tn__list queued; /* pending: in the library's queue; a new archive member: in the link's list */
    bool has_calls;         /* the library's lists may contain its initializers or finalizers */
    uint32_t thread_exits;  /* functions that threads will run when they end */
    struct tn__unwind_table *unwind;
    uint32_t entry_count;
    struct tn__entry **entries; /* those it defined, and those of groups it claimed; allocated behind this struct */

    /* Set by layout. */
    struct tn__window *window;
    struct tn__range *ranges[TN__PARTS];
    struct tn__gathered *gathered; /* its parts in shared ranges */

    struct tn__link *link; /* the link that it is currently part of */
    uint64_t explored;     /* the last query that followed its references */
    struct tn__plan *plan; /* of that link, in its arena */
};

/* The address of a symbol's GOT slot of a kind; the slot exists. */
static inline uint64_t tn__got_slot(const struct tn__object *object, enum tn__slot kind, uint32_t symbol)
{
    return object->plan->got_address + (uint64_t)(object->plan->slots[kind][symbol] - 1) * 8;
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

/* Where an input's bytes come from, beyond what clients say. */
struct tn__partial_file;
struct tn__source {
    bool may_change;                  /* they are those of a mapped file */
    struct tn__partial_file *partial; /* they have to be read before they are looked at; NULL: they are there */
};

struct tn__archive {
    const struct tn_allocator *from;
    struct tn__archive *next;
    struct tn_input input;
    struct tn__source source;
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
    void (*close)(void *context); /* called when the library is removed; may be NULL */
};

/* A published array of initializers or finalizers. */
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
    size_t reserved; /* room for what a link is about to add */
};

struct tn__generator {
    struct tn__generator *next;
    tn_generate *function;
    void *context;
};

/* A function that loaded code has registered with atexit or __cxa_atexit. */
struct tn__exit {
    const struct tn__object *object; /* the object it belongs to */
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
    struct tn__list lazy; /* functions with stubs, see lazy.c */
    struct tn__list promises;
    /* Code instances with code of this tracker, and whether there ever were any; guarded by the lock of instance.c. */
    struct tn_instance *instances[2];
    bool has_published;
    /* Not the client's: owns removed objects whose code stays until threads have run this many functions of it. */
    bool lingers;
    uint64_t thread_exits;
};

struct tn_library {
    struct tn_session *session;
    struct tn_library *next;
    char *name;
    bool removed; /* only this struct and its trackers are left */
    bool is_being_removed;
    uint32_t readers;     /* threads that use its names or generators without the lock; until 0, these are kept */
    bool found_by_others; /* entries of other libraries may lead here */
    bool bereft;          /* definitions that others had given way to were removed: tn__library_fall_back is due */
    struct tn__symtab symtab;
    struct tn_search *search; /* the search order */
    size_t search_count;
    struct tn__generator *generators, **generators_end;
    struct tn_tracker own;    /* owns everything that names no tracker */
    struct tn__list trackers; /* created by the client */
    struct tn__list queue;    /* objects added but not linked, except archive members */
    uint32_t building;        /* its objects that links are working on without the lock */
    struct tn__archive *archives;
    struct tn__resolver *resolvers, **resolvers_end;
    struct tn__calls_list initializers; /* still to run */
    struct tn__calls_list finalizers;   /* of initialised objects */
    struct tn__calls_list waiting;      /* finalizers of objects not initialised yet */
    struct tn__exits exits;
    uint32_t number;   /* in the session */
    uint32_t sequence; /* of arrays of initializers and finalizers, in link order */
};

/* Part of something that is freed by calling the client, which must not be done under the lock. */
struct tn__deferred {
    struct tn__deferred *next;
    void (*free)(struct tn__deferred *deferred);
};

struct tn__detached;
struct tn__lazy_pool;
struct tn__pool;
struct tn__watch;

struct tn_session {
    pthread_mutex_t lock;
    pthread_cond_t idle;                  /* a link has ended */
    struct tn__list listed;               /* among all sessions of the process */
    uint32_t building;                    /* links working without the lock */
    struct tn__seed seed;                 /* of its hash tables */
    const struct tn_allocator *allocator; /* for everything that belongs to the session */
    struct tn__codemem memory;
    struct tn_library *libraries;
    uint32_t library_count;
    struct tn__unwind unwind;
    struct tn_stats stats;
    bool timings;
    bool closing; /* being destroyed */
    void (*on_undefined)(void *context, const char *symbol, const char *needed_by);
    void (*on_error)(void *context, const struct tn_error *error);
    void (*dispatch)(void *context, struct tn_task *task);
    tn_on_delay *on_delay;
    void *context;
    struct tn__pool *pool;         /* NULL: no threads of its own */
    struct tn__list queries;       /* those with a callback */
    struct tn__list runnable;      /* queries with a callback that can continue */
    struct tn__deferred *deferred; /* to be freed once the lock is released */
    struct tn__list removed;       /* promises removed while being made */
    uint64_t links;                /* begun so far */
    uint64_t visits;               /* searches for cycles so far */
    uint64_t revision;             /* count of definitions removed or overridden that queries may have followed */
    struct tn__detached *detached; /* NULL unless it links for another address space; see detached.h */
    /* Called under the lock for each linked object, when nothing can fail any more and its data still exists. May be NULL. */
    void (*on_linked)(void *context, const struct tn_library *library, const struct tn__object *object);
    void *on_linked_context;
    bool
        imports_tls; /* what a resolver answers for may be a thread-local variable, which is bound when the output is loaded */
    const struct tn__watch *watch;       /* NULL: no observers */
    struct tn__lazy_pool *lazy;          /* NULL: no function has a stub; see lazy.h */
    struct tn__thread_ends thread_exits; /* as the owner of what threads run at their end */
    bool lost_thread_exits;              /* some of it will not run, because a fork left its threads behind */
};

/* The time, or 0 if the session does not measure times. */
static inline uint64_t tn__session_clock(const struct tn_session *session)
{
    return session->timings ? tn__os_now_ns() : 0;
}

/* True if it links for another address space, so that nothing linked runs or is read in this one. */
static inline bool tn__session_is_elsewhere(const struct tn_session *session)
{
    return session->memory.windows[TN__WINDOW_NEAR].elsewhere;
}

/* TN_ENOTSUP in that case; `what` is a plural noun. */
int tn__session_check_here(const struct tn_session *session, const char *what, struct tn_error *err);

/* Reports a failure that no caller is waiting for to the client. Called without the lock. */
void tn__session_report(const struct tn_session *session, const struct tn_error *error);
/* lock.c */
/* Takes the lock, after retrying for a while: it is held for microseconds at a time, and waking up a sleeping thread takes
 * longer. */
void tn__session_lock(struct tn_session *session);
/* Releases the lock at the end of an operation, and then frees what was deferred until now. */
void tn__session_unlock(struct tn_session *session);
/* Releases the lock in the middle of an operation. Nothing is freed: the client's functions that are told of it might wait for this
 * operation. */
void tn__session_pause(struct tn_session *session);
/* Waits until a link has ended; the lock is released meanwhile. */
void tn__session_wait(struct tn_session *session);
/* Under the lock: has `deferred->free` called once the lock is released. */
void tn__session_defer(struct tn_session *session, struct tn__deferred *deferred);

/* Iterate over all sessions of the process, under a lock that is taken before theirs. NULL starts and ends the iteration. */
/* tn_quiesce for a removal in this session; no lock may be held. */
void tn__session_quiesce(const struct tn_session *session);

void tn__sessions_lock(void);
void tn__sessions_unlock(void);
struct tn_session *tn__sessions_next(const struct tn_session *session);

/* Adds the time since `start` to *ns and returns the current time. */
static inline uint64_t tn__session_spent(const struct tn_session *session, uint64_t *ns, uint64_t start)
{
    uint64_t now = tn__session_clock(session);
    *ns += now - start;
    return now;
}

/* Creates an object from `data` and enters its definitions; changed entries are recorded in `journal`. The object belongs
 * to `owner` and is appended to `queue`. `keeps` may be a promise that its definitions fulfil. On an error `data` is freed,
 * and nothing has changed except the entries in the journal. */
int tn__library_add(struct tn_tracker *owner, struct tn__object_data *data, struct tn__list *queue,
                    const struct tn_responsibility *keeps, struct tn__journal *journal, struct tn_error *err);
/* True if a link working without the lock uses a definition or group that `data` has too; then wait for session->idle. */
bool tn__library_is_held(const struct tn_library *library, const struct tn__object_data *data);
/* The same for one entry. */
bool tn__entry_is_held(const struct tn__entry *entry);
/* Decides whether a new definition of this strength replaces the entry's; of equally strong ones, the first wins. TN_EDUP
 * if both are strong or it is too late; `by` names the new definer. */
int tn__entry_yields(struct tn__entry *entry, uint8_t strength, const char *by, bool *yields, struct tn_error *err);
/* Copies and checks an input given by the client. */
int tn__library_take_input(const struct tn_library *library, const struct tn_input *given, struct tn_input *input,
                           struct tn_error *err);
/* Reads an input into `data`; needs no lock. */
int tn__library_read(const struct tn_library *library, const struct tn_input *input, bool may_change,
                     struct tn__object_data *data, struct tn_error *err);
/* tn_add_object and tn_add_archive. */
int tn__library_add_object(struct tn_library *library, const struct tn_input *input, struct tn__source source,
                           struct tn_error *err);
int tn__library_add_archive(struct tn_library *library, const struct tn_input *input, struct tn__source source,
                            struct tn_error *err);
/* Under the lock: TN_EREMOVED if the library was removed. */
int tn__library_check(const struct tn_library *library, struct tn_error *err);
/* Enters what was read, once no link uses the names that it defines. Takes the lock. */
int tn__library_enter(struct tn_library *library, struct tn__object_data *data, struct tn_error *err);
/* Removes unused names from the library's table. Under the lock, by a thread that holds no pointers to its entries. */
void tn__library_sweep(struct tn_library *library);

static inline void tn__library_sweep_if_due(struct tn_library *library)
{
    const struct tn__symtab *table = &library->symtab;
    if (table->count >= table->sweep_at && table->swept_revision != library->session->revision)
        tn__library_sweep(library);
}

/* Makes the entry undefined. */
void tn__entry_forget(struct tn_library *library, struct tn__entry *entry);
/* After definitions were removed: definitions and group copies of pending objects that had given way to them take their places.
 * Cannot fail; only tests a flag if there were none. */
void tn__library_fall_back(struct tn_library *library);
/* Makes a name that no link uses an absolute symbol, whose address the caller fills in. *taken is false if it is weak and
 * there is another definition. TN_EDUP, TN_ENOMEM. */
int tn__entry_define(struct tn__entry *entry, uint64_t flags, struct tn__journal *journal, bool *taken,
                     struct tn_error *err);
/* Creates an object of absolute symbols, with references to the symbols they need (inject.c). */
int tn__inject_addresses(const struct tn_library *library, const char *name, const struct tn_definition *definitions,
                         size_t count, const char *const *needs, size_t need_count, struct tn__object_data *data,
                         struct tn_error *err);
/* Frees the neutral object and releases its bytes. */
void tn__object_release_data(struct tn__object *object);
/* Removes and frees an object with its memory. What it defined is undefined again. */
void tn__object_remove(struct tn__object *object);
/* The first half of that: removes its definitions, while its code and data may still be in use. */
void tn__object_hide(struct tn__object *object);
void tn__tracker_init(struct tn_tracker *tracker, struct tn_library *library);
/* A new tracker of the library; NULL when memory is out. */
struct tn_tracker *tn__tracker_make(struct tn_library *library);
/* True if an object of it is part of a link. */
bool tn__tracker_is_busy(const struct tn_tracker *tracker);
/* Waits until none is; the lock is given up meanwhile, and has not been given up since the last look. */
void tn__tracker_wait(struct tn_tracker *tracker);
/* Moves its objects and stubs to another tracker. */
void tn__tracker_give(struct tn_tracker *from, struct tn_tracker *to);
void tn__tracker_empty(struct tn_tracker *tracker);
/* Iterates over the trackers of a library, its own first. NULL starts and ends the iteration. */
struct tn_tracker *tn__library_next_tracker(struct tn_library *library, const struct tn_tracker *tracker);

/* Removes the contents of a library at the end of its session. */
void tn__library_empty(struct tn_library *library);
/* Under the lock: keeps the names of the library's entries and its generators, even if it is removed, until it is dropped. */
void tn__library_hold(struct tn_library *library);
void tn__library_drop(struct tn_library *library);
void tn__library_free(struct tn_library *library);

/* ---- archives (archive.c) ---- */

struct tn__member {
    const char *name; /* not terminated */
    size_t name_length;
    const uint8_t *bytes; /* NULL in a thin archive */
    size_t size;
    uint64_t offset, next; /* of this member's header and of the next one */
};

bool tn__archive_claims(const uint8_t *bytes, size_t size);
/* Checks the magic and finds the table of long names. TN_EFORMAT. */
int tn__archive_open(struct tn__archive *archive, struct tn_error *err);
/* Reads the member whose header is at `offset`; 0: the first one. Sets *end if there is none. */
int tn__archive_member(const struct tn__archive *archive, uint64_t offset, struct tn__member *member, bool *end,
                       struct tn_error *err);
/* True for the archive's own tables: symbols, long names. */
bool tn__archive_is_table(const struct tn__member *member);
/* Calls `define` for every symbol of the archive's index or, without an index, for every definition of every member. */
typedef int tn__archive_define(void *context, const char *symbol, uint64_t member, struct tn_error *err);
int tn__archive_symbols(const struct tn__archive *archive, tn__archive_define *define, void *context,
                        struct tn_error *err);
/* "archive.a(member.o)", which belongs to the caller; NULL when memory is out. */
char *tn__archive_member_name(const struct tn_allocator *from, const char *archive, const struct tn__member *member);
/* Loads the bytes and full name of a member. `input->release`, if set, unmaps the bytes; the name belongs to the caller. */
int tn__archive_load(const struct tn__archive *archive, uint64_t offset, struct tn_input *input, char **name,
                     struct tn_error *err);

#pragma GCC visibility pop
#endif
