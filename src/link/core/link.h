/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the phases of the linker share. Data flows one way:
 *
 *     add      bytes -> neutral object, its definitions entered in the library's table      add.c, symtab.c
 *     resolve  which objects belong to this link, archive members loaded, host symbols      resolve.c
 *     bind     what each symbol of them stands for                                          bind.c
 *     scan     relocations checked, GOT slots and stubs counted                             relocate.c
 *     layout   sections, GOT and stubs placed in code memory                                layout.c
 *     apply    bytes copied, rows applied                                                   layout.c, relocate.c
 *     publish  protected, unwind tables registered, symbols get their addresses             link.c
 *
 * Resolve, bind and publish hold the session's lock, and so does taking memory between layout and apply; everything else is
 * done without it, so threads link different objects in parallel. A link that needs an object which another link is working
 * on backs out and waits until that link has ended. Nothing outside sees a link before it is published, so after an error
 * it is undone. */

#ifndef TENON_LINK_H
#define TENON_LINK_H

#include "link/arch/reloc.h"
#include "link/core/session.h"

#pragma GCC visibility push(hidden)

/* ---- one link ---- */

enum { TN__LINK_RESOLVE, TN__LINK_LAYOUT, TN__LINK_COPY, TN__LINK_APPLY, TN__LINK_PUBLISH, TN__LINK_PHASES };

/* Result of resolving if another link is working on something that this one needs. */
enum { TN__BUSY = 1 };

/* Result of a link that needs symbols which are only promised; see promise.h. */
enum { TN__WAIT = 2 };

/* Result of a link that was only to find out whether any references are still open, if none are. */
enum { TN__EXPLORED = 3 };

struct tn__needs;
struct tn__request;

/* How a symbol is needed: a weak reference uses what is there, but loads no archive member (gABI, archive files); for a
 * thread-local symbol no resolver is asked, because that would return the address in one thread only. */
enum { TN__NEED_WEAK = 1, TN__NEED_TLS = 2 };

/* What a link must keep; the rest is stripped. The functions are those of strip.c, which only programs that use it contain. */
struct tn__roots {
    const char *const *names;
    size_t count;
    int (*strip)(struct tn__link *link);
    void (*unstrip)(struct tn__link *link); /* if the link fails */
};

struct tn__link {
    struct tn_library *library;
    struct tn_session *session;
    bool building;   /* it works without the lock: what it defines must not change, and it may still be undone */
    bool low_window; /* a window below 2 GiB existed when this link was resolved */
    uint64_t number; /* unique within the session */
    const struct tn__request *request;
    struct tn__needs *needs;     /* filled in if it backs out */
    struct tn__object **objects; /* the objects that become callable together */
    size_t count, capacity;
    struct tn__journal journal;
    struct tn__arena arena;
    struct tn__list members;         /* archive members loaded by this link */
    struct tn__unwind_table *tables; /* to be registered */
    struct tn__bound *bounds;
    struct tn__bound **bounds_by_entry; /* once they are settled */
    size_t bound_count;
    struct tn__named_section *named; /* if there are bounds: all sections, by name */
    size_t named_count;
    struct tn__gathering *gatherings;
    struct tn__run runs[TN__WINDOWS][TN_ZONES];
    bool large; /* its code and constants have TN__LARGE_LINK bytes or more */
    uint64_t ns[TN__LINK_PHASES];
    size_t undefined; /* references reported so far */
    struct tn_error *err;
};

/* Links what is requested and everything it needs. Under the lock, which is released meanwhile. TN__WAIT: nothing was
 * linked, and `needs` says what for. */
int tn__link_run(const struct tn__request *request, struct tn__needs *needs, struct tn_error *err);

/* resolve.c */
int tn__link_resolve(struct tn__link *link);

/* search.c */
int tn__library_add_resolver(struct tn_library *library, tn_resolver *function, void *context,
                             void (*close)(void *context), struct tn_error *err);
/* True if a resolver of the library knows the entry's name; the entry then has the address. */
bool tn__resolvers_ask(const struct tn_library *library, struct tn__entry *entry);
/* Looks up an entry that its library does not define: in its resolvers and generators, then in the libraries of its search
 * order, and makes the entry lead there. Names that generators have to be asked for are added to the link's needs. `first`
 * is the entry from which aliases led here. TN_ENOMEM. */
int tn__link_search(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, unsigned how,
                    const struct tn__entry *first);

/* gather.c */
/* A symbol of this link that stands for the start or end of the sections called `section`. */
struct tn__bound {
    struct tn__bound *next;
    struct tn_library *library;
    struct tn__entry *entry;
    const char *section;
    bool is_end;
    uint64_t address; /* once gathered */
};
/* If an undefined name is such a symbol, records it and sets *noted. TN_ENOMEM. */
int tn__link_note_bound(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, bool *noted);
/* Asks the resolvers for those whose sections occur in no object of the link. */
int tn__link_settle_bounds(struct tn__link *link);
/* Calls `visit` for the sections of the name that bounds delimit, in link order. */
typedef void tn__visit_gathered(void *context, const struct tn__object *object, struct tn__section *section);
void tn__each_gathered(const struct tn__link *link, const char *name, tn__visit_gathered *visit, void *context);
/* The name of the sections that an entry of kind TN__ENTRY_BOUND delimits, */
const char *tn__bound_section(const struct tn__link *link, const struct tn__entry *entry);
/* and its address. */
uint64_t tn__bound_address(const struct tn__link *link, const struct tn__entry *entry);
/* At the end of resolving: resets their entries, because the next link has bounds of its own. */
void tn__link_forget_bounds(struct tn__link *link);
/* The phases for gathered sections: which they are and their sizes; memory (under the lock); addresses; bytes; protection; the end
 * of writing (under the lock). */
int tn__link_gather(struct tn__link *link);
typedef void tn__note_size(void *context, bool low, int zone, size_t size, size_t alignment);
void tn__link_size_gathered(const struct tn__link *link, tn__note_size *note, void *context);
int tn__link_take_gathered(struct tn__link *link);
void tn__link_place_gathered(struct tn__link *link);
void tn__link_copy_gathered(const struct tn__link *link);
int tn__link_protect_gathered(struct tn__link *link);
int tn__link_settle_gathered(struct tn__link *link);
void tn__object_leave_gathered(struct tn__object *object);

/* bind.c */
/* Under the lock: creates the object's plan with everything known about its global symbols before placement. TN_ENOMEM. */
int tn__object_bind(struct tn__link *link, struct tn__object *object);
/* Does the same for its local symbols; needs no lock. */
void tn__object_bind_locals(struct tn__link *link, struct tn__object *object);
/* Undoes both. */
void tn__object_unbind(struct tn__object *object);
/* Computes the address of every symbol, once all objects of the link are placed. */
void tn__object_find_addresses(struct tn__link *link, struct tn__object *object);

/* relocate.c */
int tn__object_scan(struct tn__link *link, struct tn__object *object);
/* Reports an undefined symbol of the object, needed by `place`. Called without the lock. */
void tn__link_report_undefined(struct tn__link *link, struct tn__object *object, uint32_t symbol, const char *place);
/* Counts stubs for branches to other objects, for links with objects in different windows. */
int tn__object_scan_branches(struct tn__link *link, struct tn__object *object);
int tn__object_apply(struct tn__link *link, struct tn__object *object);
/* Calls the resolvers of its indirect functions, which must be executable by now, and stores their results. */
void tn__object_fill_ifuncs(const struct tn__object *object);

/* layout.c */
/* In this order: computes what an object occupies in each zone; takes the memory, under the lock; sets the places of
 * sections; copies their bytes. Or gives the memory back. */
int tn__object_layout(struct tn__link *link, struct tn__object *object);
int tn__object_take(struct tn__link *link, struct tn__object *object);
int tn__object_place(struct tn__link *link, struct tn__object *object);
void tn__object_copy(struct tn__object *object);
void tn__object_give_back(struct tn__object *object);
/* Counts a gap ahead of a section. TN_ENOTSUP: they are out of proportion to the object's file. */
int tn__object_count_gap(struct tn__link *link, const struct tn__object *object, const struct tn__section *section,
                         uint64_t gap);

/* exits.c: atexit and __cxa_atexit as seen by loaded code. Return 0, or -1 if memory is out or no object contains the
 * function. */
int tn__atexit(void (*function)(void));
int tn__cxa_atexit(void (*function)(void *argument), void *argument, void *handle);
/* Runs the functions registered by the tracker's objects (NULL: by all of the library), newest first. Called without the
 * lock. */
void tn__exits_run(struct tn_library *library, const struct tn_tracker *owner);
void tn__exits_drop(struct tn__exits *exits, const struct tn__object *object);
/* Keeps what loaded code has registered with its object, which is that of `handle` or, if that is none, of the function or the
 * argument. `of_thread`: until the calling thread ends. Returns 0 or -1 as above. */
int tn__exit_keep(const struct tn__exit *what, const void *handle, bool of_thread);

/* thread_exits.c: destructors of loaded code's thread_local objects. Registering one returns 0 or -1 as above. */
int tn__cxa_thread_atexit(void (*function)(void *argument), void *argument, void *handle);
int tn__object_add_thread_exit(struct tn__object *object, const struct tn__exit *what);
void tn__session_init_thread_exits(struct tn_session *session);
/* Runs what the calling thread would run at its end, as tn__exits_run does. */
void tn__thread_exits_run(struct tn_library *library, const struct tn_tracker *owner);
/* The following are called under the session's lock. Moves what a tracker owns to `going` and removes its names and promises, and
 * objects that are not linked. */
void tn__tracker_hide(struct tn_tracker *tracker, struct tn_tracker *going);
/* True if the code of a hidden tracker has to stay until threads have ended; it is freed after that, and `going` with it. */
bool tn__tracker_linger(struct tn_tracker *going);
/* Removes what one tracker, or NULL: any tracker of the library, owns; the code stays if it has to. TN_ENOMEM: nothing has
 * changed. */
int tn__library_dispose(struct tn_library *library, struct tn_tracker *only, struct tn_error *err);
/* Frees what stayed for threads that a fork has left behind. */
void tn__session_sweep_lost(struct tn_session *session);
void tn__session_count_lingering(const struct tn_session *session, struct tn_stats *stats);

/* init.c */
void tn__calls_add(struct tn__calls_list *list, const struct tn__object *object, const struct tn__section *section,
                   uint32_t sequence);
void tn__calls_drop(struct tn__calls_list *list, const struct tn__object *object);
/* Under the lock: moves the finalizers of a tracker's objects to `taken`. False when memory is out. */
bool tn__calls_take(const struct tn_tracker *owner, struct tn__calls_list *taken);
/* Runs them and frees the list. Called without the lock. */
void tn__calls_run(struct tn__calls_list *taken);

/* The places of code to be removed; sorted, without overlaps. */
struct tn__places {
    struct tn_range *items;
    size_t count;
};

static inline bool tn__section_is_loaded(const struct tn__section *section)
{
    return section->kind != TN__SECTION_UNLOADED && !section->discarded;
}

static inline bool tn__section_is_tls(const struct tn__section *section)
{
    return section->kind == TN__SECTION_TLS || section->kind == TN__SECTION_TLS_ZERO;
}

#pragma GCC visibility pop
#endif
