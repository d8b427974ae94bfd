/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the phases of one link share. The table of phases is in link.c, with who holds the session's lock.
 *
 * Most phases run without the lock, so threads link different objects in parallel. A link that needs an object which
 * another link is working on backs out and waits until that link has ended. Nothing outside sees a link before it is
 * published, so after an error it is undone. */

#ifndef TENON_LINK_H
#define TENON_LINK_H

#include "link/arch/reloc.h"
#include "link/model/session.h"

#pragma GCC visibility push(hidden)

/* ---- one link ---- */

enum { TN__LINK_RESOLVE, TN__LINK_LAYOUT, TN__LINK_COPY, TN__LINK_APPLY, TN__LINK_PUBLISH, TN__LINK_PHASES };

/* What resolving comes to besides success (0) and errors (negative). */
enum tn__outcome {
    TN__BUSY = 1, /* another link is working on something that this one needs */
    TN__WAIT,     /* it needs symbols that are only promised; see demand/promise.h */
    TN__EXPLORED, /* it was only to follow open references, and none is left; nothing was linked */
    TN__FAILED,   /* a promise that it needs has failed: that of `needs->failed` */
};

/* How a symbol is needed: a weak reference uses what is there, but loads no archive member (gABI, archive files); for a
 * thread-local symbol no resolver is asked, because that would return the address in one thread only. */
enum { TN__NEED_WEAK = 1, TN__NEED_TLS = 2 };

struct tn__link;

/* What a link must keep. The rest is stripped, by a function of strip.c, which only programs that use it contain. */
struct tn__roots {
    const char *const *names;
    size_t count;
    int (*strip)(struct tn__link *link);
};

/* A name that a link needs and that a generator has to be asked for. */
struct tn__missing {
    struct tn_library *library;
    struct tn__entry *entry;
};

/* An open reference: one that a link could not follow to its end. */
struct tn__open {
    struct tn_library *library;
    struct tn__entry *entry;
    unsigned how;
};

/* What a link backed out for. The next round starts with the open references and skips objects that the query has
 * explored before, so that a chain of promises takes linear, not quadratic time. Only when nothing is open any more is
 * everything resolved again and linked. */
struct tn__needs {
    uint64_t query;                /* its number */
    const struct tn__open *resume; /* start with these and link nothing; NULL: start with the request */
    size_t resume_count;
    struct tn__open *open;
    size_t open_count, open_capacity;
    struct tn__promise **promises;
    size_t promise_count, promise_capacity;
    struct tn__missing *missing;
    size_t missing_count, missing_capacity;
    const struct tn__entry *failed;
};

/* What a query wants, all of it in one link: `roots` alone, or any of the others. */
struct tn__request {
    struct tn_library *library;
    struct tn_wanted *symbols; /* these symbols */
    size_t count;
    bool everything;               /* every object of the library */
    bool initializers;             /* every object with initializers that a promise has brought */
    const struct tn__roots *roots; /* every object, stripped of what these do not need */
    uint64_t deadline;             /* in ns of tn__os_now_ns: it does not wait any longer; 0: without a limit */
};

static inline bool tn__wanted_sees(const struct tn_wanted *wanted, const struct tn__entry *entry)
{
    return !entry->hidden || wanted->flags & TN_WANTED_HIDDEN;
}

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
    struct tn__list members;         /* archive members loaded by this link, */
    struct tn__tree *loaded;         /* and the addresses of their headers; */
    struct tn__archive *archives;    /* those that it wants, or has wanted, members of, */
    struct tn__archive *scanned;     /* the one that it loads members of, */
    uint64_t reached;                /* the last of those that it has loaded members of, */
    size_t wanted_members;           /* and how many it still has to load */
    struct tn__unwind_table *tables; /* to be registered */
    struct tn__bound *bounds;
    struct tn__bound **bounds_by_entry; /* once they are settled */
    size_t bound_count;
    struct tn__named_section *named; /* if there are bounds or groups: all sections, by name */
    size_t named_count;
    struct tn__gathering *gatherings;
    struct tn__run runs[TN__WINDOWS][TN_ZONES];
    bool large; /* its code and constants have TN__LARGE_LINK bytes or more */
    uint64_t ns[TN__LINK_PHASES];
    uint32_t variant;                        /* of its code and that before, as far as it has to be the same, */
    const char *variant_of;                  /* and whose that is; NULL: of none (agree.c) */
    size_t undefined;                        /* references reported so far */
    const struct tn__dynamic_steps *dynamic; /* the session's, when the link began */
    const char *direct_tls; /* an object that has the distance of a variable with an initial value in it; NULL: none */
    struct tn_error *err;
};

/* Links what is requested and everything it needs. Releases the lock meanwhile. TN__WAIT: nothing was linked, and
 * `needs` says what for. */
int tn__link_run(const struct tn__request *request, struct tn__needs *needs, struct tn_error *err) TN__LOCKED;

/* resolve.c */
int tn__link_resolve(struct tn__link *link) TN__LOCKED;
/* The link has to contain the object; what the entry leads to, for a reference of these flags (TN__NEED_...). Errors of
 * tn__link_run. */
int tn__link_need_object(struct tn__link *link, struct tn__object *object) TN__LOCKED;
int tn__link_need_entry(struct tn__link *link, struct tn_library *library, struct tn__entry *entry,
                        unsigned how) TN__LOCKED;
/* TN_EUNDEF with all names of the request that are hidden or not defined, except those for which `needs` has a
 * generator. Called before anything is linked for the other names. */
int tn__request_check(const struct tn__request *request, const struct tn__needs *needs,
                      struct tn_error *err) TN__LOCKED;

/* members.c */
/* If the link has loaded the member that the entry, of kind LAZY, stands for, the archive's index has promised what the
 * member does not define. Then the entry stands for the next member that is promised to define it, in this archive
 * or one behind it; without one it becomes undefined. TN_EFORMAT, TN_EIO, TN_ENOMEM. */
int tn__link_pass_members(struct tn__link *link, struct tn_library *library, struct tn__entry *entry) TN__LOCKED;
/* True for a definition in a COMDAT group of an object that is not linked: a member may have the copy that counts. */
bool tn__entry_is_copy(const struct tn__entry *entry); /* enter.c */
/* Such an entry's member has to be loaded, for the reference `open` that has led to it. TN_ENOMEM. */
int tn__link_want_member(struct tn__link *link, const struct tn__open *open, struct tn_library *library,
                         struct tn__entry *entry) TN__LOCKED;
/* Wants the members that come before what defines a symbol of the object so far, in the archives behind it: for a
 * common symbol those with a value, for a reference those that stand before a definition that is not strong, or that
 * would only be in an archive before the object. *any: there may be some, and the entry is looked at again after them.
 * TN_EFORMAT, TN_EIO, TN_ENOMEM. */
int tn__link_want_before(struct tn__link *link, const struct tn__object *object, struct tn__entry *entry,
                         bool *any) TN__LOCKED;
/* True if members come before the object's references: it is of a later input than their archive. */
bool tn__link_members_are_due(const struct tn__link *link, const struct tn__object *object) TN__LOCKED;
/* Loads the next member that is wanted, if it still is, ahead of the link's object number `at`, and goes on with the
 * references that wanted it. Errors of tn__link_run. */
int tn__link_load_member_before(struct tn__link *link, size_t at) TN__LOCKED;

/* The generator to be asked next for a name; NULL if none is left, or one is being asked. */
struct tn__supplier *tn__generator_for(const struct tn__missing *missing);
/* Looks up an entry that its library does not define: in its resolvers and generators, then in the libraries of its
 * search order, and makes the entry lead there. Names that generators have to be asked for are added to the link's
 * needs. `first` is the entry from which aliases led here. TN_ENOMEM. */
int tn__link_search(struct tn__link *link, struct tn_library *library, struct tn__entry *entry, unsigned how,
                    const struct tn__entry *first) TN__LOCKED;

/* gather.c */
enum {
    TN__GATHER_SECTION, /* those of the name */
    TN__GATHER_SEGMENT, /* those whose names begin so */
    TN__GATHER_GROUP,   /* those of the name, and those that have a $ behind it; all are `grouped` */
};
/* Which sections lie together. */
struct tn__gather_pattern {
    const char *name; /* need not end with a NUL */
    size_t length;
    uint8_t reach;
    bool may_lack; /* without any, both bounds are one address */
};
/* A section of an object of the link. */
struct tn__named_section {
    struct tn__object *object;
    struct tn__input_section *section;
    size_t place; /* in link order */
};
/* A symbol of this link that stands for the start or end of sections. */
struct tn__bound {
    struct tn__bound *next;
    struct tn_library *library;
    struct tn__entry *entry;
    struct tn__gather_pattern wanted;
    bool is_end;
    uint64_t address; /* once gathered */
    bool kept;        /* the sections are, see strip.c */
};
/* If an undefined name is such a symbol, records it and sets *noted. TN_ENOMEM. */
int tn__link_note_bound(struct tn__link *link, struct tn_library *library, struct tn__entry *entry,
                        bool *noted) TN__LOCKED;
/* Asks the resolvers for those whose sections occur in no object of the link. */
int tn__link_settle_bounds(struct tn__link *link) TN__LOCKED;
/* Calls `visit` for these sections by name, those of a name in link order. */
typedef void tn__visit_gathered(void *context, const struct tn__object *object, struct tn__input_section *section);
void tn__each_gathered(const struct tn__link *link, const struct tn__gather_pattern *wanted, tn__visit_gathered *visit,
                       void *context);
/* For format/coff/steps.c. Makes link->named. TN_EFORMAT, TN_ENOMEM. */
int tn__link_index_sections(struct tn__link *link);
/* Gathers these sections, unless that has been done already, with them or with more. What is allocated here belongs to
 * the objects that take part, and is freed with them. */
int tn__link_gather_wanted(struct tn__link *link, const struct tn__gather_pattern *wanted);
static inline bool tn__section_may_be_gathered(const struct tn__input_section *section)
{
    return tn__section_is_loaded(section) && !tn__section_is_tls(section);
}
/* What an entry of kind TN__ENTRY_BOUND stands for. */
struct tn__bound *tn__find_bound(const struct tn__link *link, const struct tn__entry *entry);
/* At the end of resolving: resets their entries, because the next link has bounds of its own. */
void tn__link_forget_bounds(struct tn__link *link) TN__LOCKED;
/* One range of gathered sections. The objects share it. */
struct tn__gathering {
    struct tn__gathering *next;       /* in the link that made it */
    struct tn__gather_pattern wanted; /* during that link */
    struct tn__window *window;
    enum tn_zone zone;
    struct tn__mem_range *range;
    bool low; /* one of the objects has to be below 2 GiB */
    size_t size, alignment;
    size_t users;
};
/* What the phases do for gathered sections: find them with their sizes; give them addresses; make the gaps zero. The
 * rest is done range by range, in link.c. */
int tn__link_gather(struct tn__link *link);
void tn__link_place_gathered(struct tn__link *link);
/* The same again, when sections of code have become shorter. */
void tn__link_place_gathered_code(struct tn__link *link);
void tn__link_clear_gathered(const struct tn__link *link);
void tn__object_leave_gathered(struct tn__object *object) TN__LOCKED;
/* Steps through the shared ranges of an object, from object->gathered to NULL. */
const struct tn__gathering *tn__gathered_next(const struct tn__gathered **next);

/* bind.c */
/* Creates the object's plan with everything known about its global symbols before placement. TN_ENOMEM. */
int tn__object_bind(struct tn__link *link, struct tn__object *object) TN__LOCKED;
/* Does the same for its local symbols; needs no lock. */
void tn__object_bind_locals(struct tn__link *link, struct tn__object *object);
/* Undoes both. */
void tn__object_unbind(struct tn__object *object) TN__LOCKED;
/* Computes the address of every symbol, once all objects of the link are placed. */
void tn__object_find_addresses(struct tn__link *link, struct tn__object *object);

/* scan.c, apply.c */
int tn__object_scan(struct tn__link *link, struct tn__object *object);
/* Finds space in the object's GOT for a slot of a symbol, once per symbol and kind. */
int tn__object_need_slot(struct tn__link *link, struct tn__object *object, enum tn__slot kind, uint32_t symbol);
/* Counts stubs for branches to other objects, for links with objects in different windows. */
int tn__object_scan_branches(struct tn__link *link, struct tn__object *object);
int tn__object_apply(struct tn__link *link, struct tn__object *object);
/* Calls the resolvers of its indirect functions, which must be executable by now, and stores their results. */
void tn__object_fill_ifuncs(const struct tn__object *object);

/* layout.c */
/* The steps of layout, in this order. They compute what an object occupies in each zone; take the memory; set the
 * places of sections; and copy their bytes, also those of pinned ones. tn__object_give_back gives the memory back. */
int tn__object_layout(struct tn__link *link, struct tn__object *object);
int tn__object_take(struct tn__link *link, struct tn__object *object) TN__LOCKED;
int tn__object_place(struct tn__link *link, struct tn__object *object);
/* Places its code and stubs again, when sections of code have become shorter. */
void tn__object_place_code(struct tn__object *object);
void tn__object_copy(struct tn__object *object);
void tn__object_give_back(struct tn__object *object) TN__LOCKED;
/* Counts a gap ahead of a section. TN_ENOTSUP: they are out of proportion to the object's file. */
int tn__object_count_gap(struct tn__link *link, const struct tn__object *object,
                         const struct tn__input_section *section, uint64_t gap);

#pragma GCC visibility pop
#endif
