/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the phases of the linker share. Data flows one way:
 *
 *     add      bytes -> neutral object, its definitions entered in the library's table      add.c, symtab.c
 *     resolve  which objects belong to this link, archive members pulled in, host symbols   resolve.c
 *     bind     what each symbol of them stands for                                          bind.c
 *     scan     relocations checked, GOT slots and stubs counted                             relocate.c
 *     layout   sections, GOT and stubs placed in code memory                                layout.c
 *     apply    bytes copied, rows applied                                                   layout.c, relocate.c
 *     publish  protected, unwind tables registered, symbols get their addresses             link.c
 *
 * Resolve, bind and publish hold the session's lock, and so does taking memory between layout and apply; the rest is done
 * without it. So threads link different objects side by side. A link whose objects need one that another link is working
 * on steps back and waits until that link has ended. Until publish nothing outside the link sees it, so an error undoes it. */

#ifndef TENON_LINK_H
#define TENON_LINK_H

#include "reloc.h"
#include "session.h"

#pragma GCC visibility push(hidden)

/* ---- one link ---- */

enum { TN__LINK_RESOLVE, TN__LINK_LAYOUT, TN__LINK_COPY, TN__LINK_APPLY, TN__LINK_PUBLISH, TN__LINK_PHASES };

/* What resolving answers when another link is working on something that this one needs. */
enum { TN__BUSY = 1 };

/* What a link answers when it needs symbols that are only promised: see promise.h. */
enum { TN__WAIT = 2 };

/* What it answers if nothing is open any more, and it was only to find that out. */
enum { TN__EXPLORED = 3 };

struct tn__needs;
struct tn__request;

/* How a symbol is needed: a weak reference is satisfied by what is there, but pulls no member in (gABI, archive files);
 * for a thread-local one nobody is asked who could answer for one thread only. */
enum { TN__NEED_WEAK = 1, TN__NEED_TLS = 2 };

/* What a link must not lose; the rest is stripped: see strip.c, which only those programs contain that ask for it. */
struct tn__roots {
    const char *const *names;
    size_t count;
    int (*strip)(struct tn__link *link);
    void (*unstrip)(struct tn__link *link); /* if the link fails */
};

struct tn__link {
    struct tn_library *library;
    struct tn_session *session;
    bool building;   /* it works without the lock: what it defines stays as it is, and it may still be undone */
    bool low_window; /* there was one below 2 GiB when this link was resolved */
    uint64_t number; /* no two links of a session have the same */
    const struct tn__request *request;
    struct tn__needs *needs;     /* filled if it steps back */
    struct tn__object **objects; /* all that become callable together */
    size_t count, capacity;
    struct tn__journal journal;
    struct tn__arena arena;
    struct tn__list members;         /* of archives, loaded by this link */
    struct tn__unwind_table *tables; /* ready to be registered */
    struct tn__bound *bounds;
    struct tn__gathering *gatherings;
    uint64_t ns[TN__LINK_PHASES];
    size_t undefined; /* references reported so far */
    struct tn_error *err;
};

/* Links what is asked for and all it needs. Under the lock, which is given up for a while. TN__WAIT: `needs` says for what;
 * nothing was linked. */
int tn__link_run(const struct tn__request *request, struct tn__needs *needs, struct tn_error *err);

/* resolve.c */
int tn__link_resolve(struct tn__link *link);

/* search.c */
int tn__library_add_resolver(struct tn_library *library, tn_resolver *function, void *context,
                             void (*close)(void *context), struct tn_error *err);
/* True if a resolver of the library knows the entry's name; the entry has its address then. */
bool tn__resolvers_ask(const struct tn_library *library, struct tn__entry *entry);
/* Finds out who defines an entry that its library says nothing about: its resolvers and generators, then the other libraries
 * of its search order; the entry leads there afterwards. Names for generators are noted in the link's needs. `first` is where
 * following aliases began that led to it. TN_ENOMEM. */
int tn__link_search(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, unsigned how,
                    const struct tn__entry *first);

/* gather.c */
/* A name of this link that stands for where the sections called `section` begin or end. */
struct tn__bound {
    struct tn__bound *next;
    struct tn_library *library;
    struct tn__entry *entry;
    const char *section;
    bool is_end;
    uint64_t address; /* once gathered */
};
/* Takes note of a name that nobody defines, if it is one of those; *noted tells. TN_ENOMEM. */
int tn__link_note_bound(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, bool *noted);
/* Asks the resolvers for those whose sections no object of the link has. */
void tn__link_settle_bounds(struct tn__link *link);
bool tn__section_is_gathered(const struct tn__section *section, const char *name);
/* The name of the sections that an entry of kind TN__ENTRY_BOUND frames, */
const char *tn__bound_section(const struct tn__link *link, const struct tn__entry *entry);
/* and where they begin or end. */
uint64_t tn__bound_address(const struct tn__link *link, const struct tn__entry *entry);
/* At the end of resolving: the next link has bounds of its own. */
void tn__link_forget_bounds(struct tn__link *link);
/* The phases for the sections that are framed: which they are and how large, their memory (under the lock), addresses, bytes. */
int tn__link_gather(struct tn__link *link);
int tn__link_take_gathered(struct tn__link *link);
void tn__link_place_gathered(struct tn__link *link);
void tn__link_copy_gathered(const struct tn__link *link);
int tn__link_protect_gathered(struct tn__link *link);
void tn__object_leave_gathered(struct tn__object *object);

/* bind.c */
/* Under the lock: makes the object's plan, with what is known of its global symbols before anything is placed. TN_ENOMEM. */
int tn__object_bind(struct tn__link *link, struct tn__object *object);
/* The same for the rest of them, which needs no lock. */
void tn__object_bind_locals(struct tn__link *link, struct tn__object *object);
/* Undoes both. */
void tn__object_unbind(struct tn__object *object);
/* Finds the address of every symbol; all objects of the link are placed. */
void tn__object_find_addresses(struct tn__link *link, struct tn__object *object);

/* relocate.c */
int tn__object_scan(struct tn__link *link, struct tn__object *object);
/* Reports a symbol of it that nobody defines, and `place`, which needs it. Without the lock. */
void tn__link_report_undefined(struct tn__link *link, struct tn__object *object, uint32_t symbol, const char *place);
/* Counts stubs for branches to other objects, when some of them lie in another window. */
int tn__object_scan_branches(struct tn__link *link, struct tn__object *object);
int tn__object_apply(struct tn__link *link, struct tn__object *object);
/* Asks the resolvers of its indirect functions, which have to be executable by now, for the addresses to jump to. */
void tn__object_fill_ifuncs(const struct tn__object *object);

/* layout.c */
/* Arranges what an object takes in each zone; then, under the lock, takes the memory; then tells each section its place. */
int tn__object_layout(struct tn__link *link, struct tn__object *object);
int tn__object_take(struct tn__link *link, struct tn__object *object);
int tn__object_place(struct tn__link *link, struct tn__object *object);
int tn__object_copy(struct tn__link *link, struct tn__object *object);
void tn__object_give_back(struct tn__object *object);

/* exits.c: atexit and __cxa_atexit as loaded code sees them. 0, or -1: memory is out, or it is nobody's. */
int tn__atexit(void (*function)(void));
int tn__cxa_atexit(void (*function)(void *argument), void *argument, void *handle);
/* Runs what the tracker's objects have registered (NULL: all of the library's), the newest first. Without the lock. */
void tn__exits_run(struct tn_library *library, const struct tn_tracker *owner);
void tn__exits_drop(struct tn__exits *exits, const struct tn__object *object);

/* init.c */
void tn__calls_add(struct tn__calls_list *list, const struct tn__object *object, const struct tn__section *section,
                   uint32_t sequence);
void tn__calls_drop(struct tn__calls_list *list, const struct tn__object *object);
/* Under the lock: takes the finalizers of a tracker's objects out of their list. False when memory is out. */
bool tn__calls_take(const struct tn_tracker *owner, struct tn__calls_list *taken);
/* Runs them, without it, and frees their list. */
void tn__calls_run(struct tn__calls_list *taken);

/* Where code lies that is to be removed; sorted, without overlaps. */
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
