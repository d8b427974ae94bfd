/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Libraries and what they consist of: objects owned by trackers, archives, resolvers and generators, arrays of
 * functions to call. */

#ifndef TENON_LIBRARY_H
#define TENON_LIBRARY_H

#include "link/model/plan.h"
#include "link/model/archive.h"
#include "link/model/lock.h"

#pragma GCC visibility push(hidden)

/* Supplies names that nothing in the library defines. A resolver answers with an address, a generator adds
 * definitions. */
struct tn__supplier {
    struct tn__supplier *next;
    union {
        tn_resolver *resolve;
        tn_generate *generate;
    };
    void *context;
    void (*close)(void *context); /* called last; may be NULL */
    /* Generators only: larger than that of the one before, and how many promises ask it, or will. */
    uint16_t number;
    bool removed; /* by the client: it is in no list, and goes with the last of these promises */
    uint32_t users;
};

/* In the order in which they are asked. */
struct tn__suppliers {
    struct tn__supplier *first, **end;
};

/* A published array of initializers or finalizers. */
struct tn__calls {
    const struct tn__object *object; /* NULL: dropped */
    uint64_t address;                /* of the array */
    uint64_t count, sequence, input;
    uint32_t priority;
    bool reversed, backwards;
};

/* In order of their sequence, so those of one object stand together and are found without a search through all. */
struct tn__calls_list {
    const struct tn_allocator *from;
    struct tn__calls *items;
    size_t count, capacity;
    size_t reserved; /* space for what a link is about to add */
    size_t dropped;  /* of `count`; at most half of them */
};

/* Where a library stands among those that one needs (demand/initialize.c). */
struct tn__library_order {
    uint64_t visited;
    struct tn_library *from, *next;
    size_t at;
};

/* Initializers that run together. */
struct tn__round {
    struct tn__list listed;        /* in the session's rounds */
    struct tn_library **libraries; /* whose they are, behind the items */
    size_t library_count, count, at;
    uint64_t function;        /* the next one of the array at `at` */
    struct tn__calls items[]; /* in order */
};

/* A function that loaded code has registered with atexit, __cxa_atexit or on_exit (process/exits.c). */
struct tn__exit {
    void (*function)(void *argument);
    void *argument;
    bool takes_status;               /* it is a void (*)(int status, void *argument) */
    struct tn_tracker *const *owner; /* that of the object, or of the stubs, that it belongs to */
    uint64_t number;                 /* newer ones have larger numbers */
    struct tn__list listed;          /* among all of the library, oldest first */
    struct tn__exit *left, *right;   /* in the heap of the owner */
    size_t rank;
};

/* What is known of a function with a stub (redirect/cell.h). */
struct tn__cell_facts {
    struct tn__lazy_batch *batch; /* that it was defined with */
    struct tn__entry *entry;
    uint64_t stub;         /* 0: weak, and there was a definition already */
    const char *looks_up;  /* the name of what it leads to at first; NULL: there is no name */
    struct tn__claim *top; /* the highest of those that are stored */
    uint32_t managed_stack;
    uint16_t managed_registers;
    uint8_t led_by;            /* enum tn__claim_kind */
    uint8_t body;              /* which of its bodies it looks up; 0: the first one */
    struct tn__claim *arrives; /* the first of those on other cells that lead to this stub */
};

/* Functions that were defined together. */
struct tn__lazy_batch {
    struct tn__list owned; /* in the owner's list; once removed, in TN__ACK_FIRST_CALLS */
    struct tn_tracker *owner;
    struct tn_library *library, *targets;
    const void *maker; /* whose functions these are, if they may get better bodies; NULL: they may not */
    uint64_t on_failure;
    size_t calls; /* that are looking one of its functions up */
    /* Of this struct with the names that its functions were defined to look up; later names are freed with it. */
    size_t size;
    bool removed;
    bool hidden;    /* the names are gone, but the stubs still work */
    bool of_object; /* the targets are an object's, and may be hidden (lazy_object.c) */
    size_t count;
    struct tn__cell_facts facts[];
};

/* False if the name has another definition by now, because this one was weak. */
static inline bool tn__lazy_is_defined(const struct tn__cell_facts *facts)
{
    return facts->stub && facts->entry->kind == TN__ENTRY_ABSOLUTE && facts->entry->address == facts->stub;
}

/* Owns objects and promises. */
struct tn_tracker {
    struct tn_library *library;
    struct tn__list listed; /* in the library's trackers */
    struct tn__list objects;
    struct tn__list lazy; /* struct tn__lazy_batch */
    struct tn__list promises;
    struct tn__exit *exits;    /* of its objects and stubs: the newest one, below which lie the others */
    struct tn__list callbacks; /* of these too (process/callbacks.c) */
    /* Code instances with code of this tracker, and the number of the last publication;
     * 0: there never was one. Guarded by the lock of instance.c. */
    struct tn_instance *instances[2];
    uint64_t last_published;
    struct tn__list retirements; /* that are under way and have hidden what it owned (session.h) */
    bool hidden; /* not the client's: owns removed objects whose code may still be running; no removal takes these */
    /* Hidden: they stay until threads have run this many functions of them. */
    struct tn__list lingering; /* in the session's list of such */
    uint64_t thread_exits;
};

/* What opening and closing know of a library (dl/open.c). */
struct tn__opened {
    uint64_t count;  /* by clients and loaded code, */
    bool is_open;    /* or because an open library needs it */
    bool is_kept;    /* until the session ends */
    bool is_closing; /* its finalizers run, or it is about to be removed */
    bool is_loaded;  /* its handle is the session's (load.c) */
    bool is_asked;   /* a library that is being loaded may come to need it */
    char *called;    /* NULL, or the name by which other shared libraries need it */
    uint64_t global; /* larger than that of a global one that was opened before; 0: it is not global */
};

struct tn_library {
    struct tn_session *session;
    struct tn_library *next;
    const char *name; /* behind the struct */
    bool removed;     /* only this struct and its trackers are left */
    bool is_being_removed;
    bool is_left;     /* a thread has ended while it ran what the library runs at its end (process/ending.c) */
    uint32_t readers; /* threads that use its names or generators without the lock; until 0, these are kept */
    uint32_t users;   /* atomic: the client's handle, and what leads to this struct and may outlive the contents */
    struct tn__deferred deferred; /* without users it is freed */
    bool found_by_others;         /* entries of other libraries may lead here */
    bool fall_back_due; /* definitions that others had given way to were removed: tn__library_fall_back is due */
    struct tn__symtab symtab;
    struct tn_search *search; /* the search order */
    size_t search_count;
    struct tn__suppliers resolvers, generators;
    struct tn_tracker own;    /* owns everything that names no tracker */
    struct tn__list trackers; /* created by the client */
    struct tn__list queue;    /* objects added but not linked, except archive members */
    uint32_t building;        /* its objects that links are working on without the lock */
    struct tn__archive *archives;
    struct tn__calls_list initializers; /* still to run */
    struct tn__calls_list finalizers;   /* of initialised objects */
    struct tn__calls_list waiting;      /* finalizers of objects not initialised yet */
    bool is_pending;                    /* one of these two lists is not empty */
    uint32_t rounds;                    /* of initializers that are under way, and have some of this library's */
    struct tn__library_order order;
    struct tn_library **sources; /* libraries that symbols of this one are re-exported from */
    size_t source_count, source_capacity;
    struct tn__opened opened;
    struct tn__list exits;
    uint64_t exit_count; /* so far; atomic */
    uint32_t number;     /* in the session */
    uint64_t sequence;   /* of arrays of initializers and finalizers, in link order */
    uint64_t inputs;     /* so many were added: objects, archives, promises */
    /* tn__drop_lost, if what promises and archives bring may come later than its place among the inputs. NULL: each
     * object is the next input, and the program need not contain copies.c. */
    int (*drop_lost)(struct tn_library *library, const struct tn__list *members, struct tn__journal *journal,
                     struct tn_error *err);
};

/* Iterates over the trackers of a library, its own first. NULL starts and ends the iteration. */
static inline struct tn_tracker *tn__library_next_tracker(struct tn_library *library, const struct tn_tracker *tracker)
{
    if (!tracker)
        return &library->own;
    struct tn__list *next = tracker == &library->own ? library->trackers.next : tracker->listed.next;
    return next == &library->trackers ? NULL : tn__container_of(next, struct tn_tracker, listed);
}

/* ---- enter.c ---- */

/* Reads an input into `data`; needs no lock. On an error, only data->is_refused says anything. */
int tn__library_read(const struct tn_library *library, const struct tn_input *input, struct tn__input_bytes source,
                     struct tn__object_data *data, struct tn_error *err);
/* Lets all definitions of `data` be entered at once, if the table has another definition of one of their names, or may
 * have. TN_EFORMAT. */
int tn__library_settle_late(const struct tn_library *library, struct tn__object_data *data,
                            struct tn_error *err) TN__LOCKED;
/* What an object comes with: its number among the library's inputs, 0 if it is the next one; and a promise that its
 * definitions fulfil, which may be NULL. */
struct tn__origin {
    uint64_t input;
    const struct tn__promise *keeps;
};
/* Creates an object from `data` and enters its definitions; changed entries are recorded in `journal`. The object
 * belongs to `owner` and is appended to `queue`. On an error nothing has changed except the entries in the journal. */
int tn__library_add(struct tn_tracker *owner, struct tn__object_data *data, struct tn__list *queue,
                    struct tn__origin origin, struct tn__journal *journal, struct tn_error *err) TN__LOCKED;
/* The number of an input that brings objects later (copies.c). */
uint64_t tn__library_number_input(struct tn_library *library) TN__LOCKED;
/* True for a definition that is not strong, or such a promise, of a later input than this one, on which no link depends
 * yet. Of weak ones, that of the first input counts, however late it comes. */
bool tn__entry_is_later(const struct tn__entry *entry, uint64_t input, const struct tn__journal *journal);
/* Decides whether a new definition of this strength replaces the entry's; of equally strong ones, the first wins.
 * TN_EDUP if both are strong or it is too late; `by` names the new definer. */
int tn__entry_yields(struct tn__entry *entry, uint8_t strength, const char *by, bool *yields,
                     struct tn_error *err) TN__LOCKED;
/* After definitions were removed: definitions and group copies of pending objects that had given way to them take their
 * places. Cannot fail; only tests a flag if there were none. */
void tn__library_fall_back(struct tn_library *library) TN__LOCKED;
/* Enters one definition, of which the entry is known; for steps.c. TN_EDUP, TN_EFORMAT, TN_ENOMEM. */
int tn__object_define(struct tn__object *object, uint32_t index, const struct tn__promise *keeps,
                      struct tn__journal *journal, struct tn_error *err) TN__LOCKED;
/* For copies.c. Keeps this object's copy of each group whose kept copy was removed, and then decides again which
 * sections are discarded: those of groups of which another object's copy is kept, and those that follow a discarded
 * section. */
void tn__object_reclaim_groups(const struct tn_library *library, struct tn__object *object) TN__LOCKED;
/* A definition in a section that is not loaded is a reference to that of the copy that is. False: it is none. */
bool tn__object_drop_discarded(const struct tn__object_data *data, struct tn__symbol *symbol);

/* ---- remove.c ---- */

/* Makes the entry undefined. */
void tn__entry_forget(struct tn_library *library, struct tn__entry *entry) TN__LOCKED;
/* Frees the neutral object and releases its bytes. */
void tn__object_release_data(struct tn__object *object);
/* The first half of that: removes its definitions, while its code and data may still be in use. */
void tn__object_hide(struct tn__object *object) TN__LOCKED;
/* Removes and frees an object with its memory. What it defined is undefined again. */
void tn__object_remove(struct tn__object *object) TN__LOCKED;

/* ---- held.c ---- */

/* True if a link working without the lock uses this entry; then wait with tn__session_wait. */
bool tn__entry_is_held(const struct tn__entry *entry) TN__LOCKED;
/* The same for any definition or group that `data` has. */
bool tn__library_is_held(const struct tn_library *library, const struct tn__object_data *data) TN__LOCKED;
/* TN_EREMOVED if the library, or the other one (may be NULL), was removed. */
int tn__library_check(const struct tn_library *library, struct tn_error *err) TN__LOCKED;
int tn__libraries_check(const struct tn_library *library, const struct tn_library *other,
                        struct tn_error *err) TN__LOCKED;
/* Waits until no link holds any of `count` entries of these libraries. Pointers to them are at equal distances in an
 * array. The lock is released meanwhile, but not after the last look. TN_EREMOVED. */
int tn__entries_wait(struct tn_library *library, struct tn_library *other, struct tn__entry *const *first,
                     size_t distance, size_t count, struct tn_error *err) TN__LOCKED;
/* Keeps the names of the library's entries and its generators, even if it is removed, until it is dropped. */
void tn__library_hold(struct tn_library *library) TN__LOCKED;
void tn__library_drop(struct tn_library *library) TN__LOCKED;
/* Something leads to the struct, or does not lead there any more. The last one frees it, once the lock is released. */
void tn__library_use(struct tn_library *library);
void tn__library_release(struct tn_library *library) TN__LOCKED;
/* Frees the names and generators of a library that no thread holds. */
void tn__library_free_names(struct tn_library *library);

/* ---- calls.c ---- */

void tn__calls_add(struct tn__calls_list *list, const struct tn__object *object,
                   const struct tn__input_section *section, uint64_t sequence) TN__LOCKED;
/* Makes space for `count` more, on top of what was reserved since the list's `reserved` was 0. False when memory is
 * out. */
bool tn__calls_reserve(struct tn__calls_list *list, size_t count) TN__LOCKED;
struct tn__calls *tn__calls_of(const struct tn__calls_list *list, const struct tn__object *object,
                               size_t *count) TN__LOCKED;
void tn__calls_drop(struct tn__calls_list *list, const struct tn__object *object) TN__LOCKED;
/* Drops what was not initialised yet of an object of the library. */
void tn__calls_forget(struct tn_library *library, const struct tn__object *object) TN__LOCKED;
/* Compares two by priority, then by the inputs that they came with, and then by their places in their link. */
int tn__calls_compare(const struct tn__calls *a, const struct tn__calls *b);
/* The function with this number, in the order in which they run; 0: there is none. */
uint64_t tn__calls_function(const struct tn__calls *calls, uint64_t number);
void tn__call_initializer(uint64_t function, int argc, char **argv, char **envp);

/* ---- search.c ---- */

/* Appends to one of the library's lists. Takes the lock. TN_EREMOVED, TN_ENOMEM. */
int tn__library_add_supplier(struct tn_library *library, struct tn__suppliers *list, struct tn__supplier supplier,
                             struct tn_error *err) TN__UNLOCKED;
void tn__suppliers_free(const struct tn_allocator *from, struct tn__supplier *first) TN__UNLOCKED;
/* A promise does not need the generator any more. Returns the generator if it has to be freed, without the lock. */
struct tn__supplier *tn__generator_drop(struct tn__supplier *generator) TN__LOCKED;
/* The address that a resolver of the library has for this name; NULL: none. */
void *tn__resolvers_find(const struct tn_library *library, const char *name);
/* True if a resolver of the library knows the entry's name; the entry then has the address. */
bool tn__resolvers_ask(const struct tn_library *library, struct tn__entry *entry) TN__LOCKED;
/* True if a library with `search` in its search order may use this entry of the other one, when it needs it like `how`
 * (TN__NEED_...). */
bool tn__entry_is_offered(const struct tn__entry *entry, const struct tn_search *search, unsigned how);

#pragma GCC visibility pop
#endif
