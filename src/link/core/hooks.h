/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The ways up: what core and session rooms call in rooms above them. A session reaches each through a pointer that the
 * first use sets, so a program that names none of a room contains none of it. */

#ifndef TENON_HOOKS_H
#define TENON_HOOKS_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct tn__detached;
struct tn__entry;
struct tn__link;
struct tn__object;
struct tn__pin;
struct tn__plan;

/* ---- observers (observe/observer.c) ---- */

/* What a session with observers calls, under its lock. */
struct tn__watch {
    int (*linked)(struct tn__link *link); /* everything is in place; its failure is the link's */
    void (*removed)(struct tn_tracker *owner);
    /* The same for code that belongs to no object: who defines it describes it. */
    int (*tell)(struct tn_session *session, const struct tn_linked_object *const *all, size_t count,
                struct tn_error *err);
    void (*tell_removed)(struct tn_session *session, const struct tn_linked_object *const *all, size_t count);
    void (*closed)(struct tn_session *session);
};

/* ---- lazy and redirectable functions (lazy/lazy.c) ---- */

/* The places of code to be removed; sorted, without overlaps. */
struct tn__places {
    struct tn_range *items;
    size_t count;
};

typedef void tn__lazy_name(void *context, struct tn__entry *entry);

struct tn__lazy_hooks {
    void (*forget)(struct tn_tracker *owner); /* what it owns is no longer defined */
    void (*hide)(struct tn_tracker *owner);   /* nor is this, but its stubs still work */
    /* Lets what leads to these places, or to stubs that are hidden, lead to where it led at first. True if something
     * did. */
    bool (*lead_away)(struct tn_session *session, const struct tn__places *places);
    /* Calls `visit` for the names that definitions of this library, and calls of theirs that go on, still look at. */
    void (*each_name)(struct tn_library *library, tn__lazy_name *visit, void *context);
    void (*close)(struct tn_session *session); /* frees the pool */
};

/* ---- code instances (instance/instance.c) ---- */

/* These functions take their own locks; session locks may be held. */
struct tn__instances {
    /* The first step of a removal: points every instance with code of the tracker at its generic entry. True if there
     * are or were such instances: then tn_quiesce and `clear` must follow before the code is freed. */
    bool (*withdraw)(struct tn_tracker *tracker);
    /* The last step, once no thread can be running the code: allows the instances to get other code. */
    void (*clear)(struct tn_tracker *tracker);
    /* Moves the instances of one tracker to another. */
    void (*move)(struct tn_tracker *from, struct tn_tracker *to);
};

/* ---- linking for another address space (file/detached.c) ---- */

/* What such a session does differently. Reached through pointers, so that programs which link only for themselves
 * contain none of it. */
struct tn__elsewhere {
    /* Gives pinned sections their addresses, and memory for their bytes that lasts as long as the link. TN_ENOMEM. */
    int (*pin)(struct tn__link *link, struct tn__object *object);
    /* Allocates thread-local storage for an object. */
    void (*take_tls)(struct tn__detached *where, struct tn__plan *plan);
    /* May be NULL. Lays out all objects of the link at once instead of packing each into the window's zones: afterwards
     * every section, GOT, stub and common symbol has its place and its bytes. */
    int (*arrange)(struct tn__link *link);
    /* Called after that with all relocations applied. */
    int (*finish)(struct tn__link *link);
};

struct tn__detached {
    uint64_t address; /* of the window */
    size_t size, page_size;
    const struct tn__pin *pins; /* see file/detached.h */
    size_t pin_count;
    uint64_t tls_size;               /* handed out so far */
    const struct tn__elsewhere *how; /* NULL: as for this process, except for pins */
};

#pragma GCC visibility pop
#endif
