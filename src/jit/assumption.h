/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The assumptions that a module rests on (doc/TIERS.md, "Assumptions"): all of its code rests on them, at every tier.
 * When one of them is broken, calls from elsewhere are led away from the module: stubs to code that tn_jit_replace has
 * found below it (replace.c), code instances to their generic entries.
 *
 * Only assumption.c creates assumptions, and all of its functions are reached through these: a program that does not
 * call tn_assumption_create has none of it. */

#ifndef TENON_JIT_ASSUMPTION_H
#define TENON_JIT_ASSUMPTION_H

#include <stdatomic.h>

#include "base/base.h"
#include "tenon_jit.h"

#pragma GCC visibility push(hidden)

struct tn__resting;

struct tn__assumption_hooks {
    /* Notes that a module of `library`, whose functions `shown` shows to others, rests on its assumptions. `broken`,
     * which may be NULL, leads such functions away; it is called with no lock held, once or several times. The caller
     * gets a use of *out, and calls `leave` if the module is not added. TN_EINVAL, TN_ECANCELLED (one is broken),
     * TN_ENOMEM. */
    int (*rest)(struct tn_jit *jit, struct tn_library *library, struct tn_library *shown,
                const struct tn_jit_module *module, void (*broken)(struct tn__resting *rests), struct tn__resting **out,
                struct tn_error *err);
    /* It leaves when what `owner` has of the module goes. TN_ENOMEM, TN_EREMOVED. */
    int (*promise)(struct tn__resting *rests, struct tn_tracker *owner, struct tn_error *err);
    /* tn_instance_publish, unless an assumption was broken: TN_ECANCELLED. The invoke entry may be the module's, or the
     * client's. */
    int (*publish)(struct tn__resting *rests, struct tn_instance *instance, const struct tn_instance_code *code,
                   bool owns_invoke, struct tn_tracker *owner, struct tn_error *err);
    void (*leave)(struct tn__resting *rests); /* nothing of the module can be called any more */
    void (*use)(struct tn__resting *rests);
    void (*drop)(struct tn__resting *rests);
};

struct tn_assumption {
    const struct tn__assumption_hooks *hooks;
    const struct tn_session *session; /* to compare with */
    atomic_size_t users;              /* the client, and what rests on it */
    bool is_broken;                   /* these two: under the lock of assumption.c */
    struct tn__list resting;          /* struct tn__rest */
};

/* What is known of a module that rests on assumptions. It uses the JIT, the libraries and the assumptions. */
struct tn__resting {
    const struct tn__assumption_hooks *hooks;
    atomic_size_t users;
    atomic_bool is_broken; /* nothing of the module is published from now on */
    struct tn_jit *jit;
    struct tn_library *library, *shown;
    void (*broken)(struct tn__resting *rests);
    const void **entries; /* of published code instances; behind `on`; until it is broken, under the lock, as is */
    size_t entry_count;
    size_t count;
    struct tn__rest {
        struct tn__list listed;
        struct tn__resting *of;
        struct tn_assumption *assumption;
        bool is_done; /* what leads to the module was led away */
    } on[];
};

/* NULL: it rests on nothing. */
static inline bool tn__is_broken(struct tn__resting *rests)
{
    return rests && atomic_load(&rests->is_broken);
}

/* As above; NULL if the module lists no assumptions. */
static inline int tn__jit_rest(struct tn_jit *jit, struct tn_library *library, struct tn_library *shown,
                               const struct tn_jit_module *module, void (*broken)(struct tn__resting *rests),
                               struct tn__resting **out, struct tn_error *err)
{
    *out = NULL;
    if (!module->assumption_count)
        return 0;
    if (!module->assumptions || !module->assumptions[0])
        return tn__fail(err, TN_EINVAL, "a module lists assumptions that are not there");
    return module->assumptions[0]->hooks->rest(jit, library, shown, module, broken, out, err);
}

/* These three take NULL, for a module that rests on nothing. */
static inline void tn__resting_use(struct tn__resting *rests)
{
    if (rests)
        rests->hooks->use(rests);
}

static inline void tn__resting_drop(struct tn__resting *rests)
{
    if (rests)
        rests->hooks->drop(rests);
}

/* The end of the use that tn__jit_rest gave; `code`: of adding the module. */
static inline void tn__resting_end(struct tn__resting *rests, int code)
{
    if (rests && code)
        rests->hooks->leave(rests);
    tn__resting_drop(rests);
}

#pragma GCC visibility pop
#endif
