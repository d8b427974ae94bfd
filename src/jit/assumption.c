/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Assumptions that modules rest on, and that are broken at most once. Breaking one marks each module that rests on it,
 * which keeps what is under way from being published, and then leads away what has been published.
 *
 * Releasing the lock of a session may end promises, and with them modules that rest on something. So no function of a
 * session is called under the lock here. */

#include <stdio.h>

#include "base/fork.h"
#include "jit/assumption.h"
#include "jit/jit.h"
#include "link/model/session.h"
#include "link/process/process.h"

#define RESTS "tenon.rests."

/* One for all: of the lists, and of what is noted of code instances. */
static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_ASSUMPTIONS);

static void take_lock(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock};
    tn__forks_watch(TN__LEVEL_ASSUMPTIONS, &hooks);
    tn__mutex_lock(&lock);
}

static void give_lock(void)
{
    tn__mutex_unlock(&lock);
}

static void drop_assumption(struct tn_assumption *assumption)
{
    if (atomic_fetch_sub(&assumption->users, 1) == 1)
        tn__free(NULL, assumption);
}

/* ---- what rests on them ---- */

static void use(struct tn__resting *r)
{
    atomic_fetch_add(&r->users, 1);
}

static void release_library(struct tn_library *library)
{
    struct tn_session *session = library->session;
    tn__session_lock(session);
    tn__library_release(library);
    tn__session_unlock(session);
}

static void drop(struct tn__resting *r)
{
    if (atomic_fetch_sub(&r->users, 1) != 1)
        return;
    for (size_t i = 0; i < r->count; i++)
        drop_assumption(r->on[i].assumption);
    release_library(r->library);
    release_library(r->shown);
    tn__jit_release(r->jit);
    tn__free(NULL, r);
}

static void leave(struct tn__resting *r)
{
    take_lock();
    for (size_t i = 0; i < r->count; i++)
        tn__list_remove(&r->on[i].listed);
    give_lock();
}

static int check(const struct tn_jit *jit, const struct tn_jit_module *module, struct tn_error *err)
{
    for (size_t i = 0; i < module->assumption_count; i++)
        if (!module->assumptions[i] || module->assumptions[i]->session != jit->session)
            return tn__fail(err, TN_EINVAL, "%s: assumption %zu is none of this session",
                            module->name ? module->name : "<memory>", i);
    return 0;
}

static int fail_broken(const char *name, struct tn_error *err)
{
    return tn__fail(err, TN_ECANCELLED, "%s rests on an assumption that was broken", name);
}

static struct tn__resting *make(struct tn_jit *jit, struct tn_library *library, struct tn_library *shown,
                                const struct tn_jit_module *module, void (*broken)(struct tn__resting *rests))
{
    size_t on = module->assumption_count * sizeof(struct tn__rest);
    struct tn__resting *r = tn__alloc_zeroed(NULL, 1, sizeof *r + on + 2 * module->instance_count * sizeof *r->entries);
    if (!r)
        return NULL;
    r->hooks = module->assumptions[0]->hooks;
    r->users = 1;
    r->jit = jit;
    r->library = library;
    r->shown = shown;
    r->broken = broken;
    r->count = module->assumption_count;
    r->entries = (const void **)(void *)&r->on[r->count];
    return r;
}

/* Under the lock. */
static bool enter(struct tn__resting *r, struct tn_assumption *const *assumptions)
{
    for (size_t i = 0; i < r->count; i++)
        if (assumptions[i]->is_broken)
            return false;
    for (size_t i = 0; i < r->count; i++) {
        r->on[i] = (struct tn__rest){.of = r, .assumption = assumptions[i]};
        tn__list_append(&assumptions[i]->resting, &r->on[i].listed);
        atomic_fetch_add(&assumptions[i]->users, 1);
    }
    tn__jit_use(r->jit);
    tn__library_use(r->library);
    tn__library_use(r->shown);
    return true;
}

static int rest(struct tn_jit *jit, struct tn_library *library, struct tn_library *shown,
                const struct tn_jit_module *module, void (*broken)(struct tn__resting *rests), struct tn__resting **out,
                struct tn_error *err)
{
    const char *name = module->name ? module->name : "<memory>";
    int code = check(jit, module, err);
    if (code)
        return code;
    struct tn__resting *r = make(jit, library, shown, module, broken);
    if (!r)
        return tn__no_memory(err, name);
    take_lock();
    const bool entered = enter(r, module->assumptions);
    give_lock();
    if (!entered) {
        tn__free(NULL, r);
        return fail_broken(name, err);
    }
    *out = r;
    return 0;
}

/* ---- the end of a module ---- */

static void end(void *context)
{
    leave(context);
    drop(context);
}

static int promise(struct tn__resting *r, struct tn_tracker *owner, struct tn_error *err)
{
    static atomic_ulong numbers;
    char name[sizeof RESTS "18446744073709551615"];
    const struct tn__jit_marker marker = {.symbol = name, .module = r->library->name, .end = end, .context = r};
    snprintf(name, sizeof name, RESTS "%lu", atomic_fetch_add(&numbers, 1));
    use(r);
    int code = tn__jit_add_marker(r->library, &marker, owner, err);
    if (code)
        drop(r);
    return code;
}

/* ---- code instances ---- */

static int publish(struct tn__resting *r, struct tn_instance *instance, const struct tn_instance_code *code,
                   bool owns_invoke, struct tn_tracker *owner, struct tn_error *err)
{
    take_lock();
    int result =
        tn__is_broken(r) ? fail_broken(r->library->name, err) : tn_instance_publish(instance, code, owner, err);
    if (result == 0 && code->specptr)
        r->entries[r->entry_count++] = code->specptr;
    if (result == 0 && owns_invoke)
        r->entries[r->entry_count++] = code->invoke;
    give_lock();
    return result;
}

static void withdraw_instances(const struct tn__resting *r)
{
    if (!r->entry_count)
        return;
    tn__session_lock(r->library->session);
    for (struct tn_tracker *owner = NULL; (owner = tn__library_next_tracker(r->library, owner));)
        tn__instances()->withdraw_entries(owner, r->entries, r->entry_count);
    tn__session_unlock(r->library->session);
}

/* ---- breaking ---- */

/* One that is not done yet, with a use; NULL: all are. */
static struct tn__resting *find_next(struct tn_assumption *assumption)
{
    struct tn__resting *next = NULL;
    take_lock();
    for (TN_EACH(struct tn__rest, rest, &assumption->resting, listed))
        if (!rest->is_done)
            next = rest->of;
    if (next)
        use(next);
    give_lock();
    return next;
}

static void lead_away(struct tn__resting *r)
{
    if (r->broken)
        r->broken(r);
    withdraw_instances(r);
    take_lock();
    for (size_t i = 0; i < r->count; i++)
        r->on[i].is_done = true;
    give_lock();
}

/* If a second thread breaks the same assumption, it does what the first one has not done yet, and repeats what the
 * first one is doing. So when either returns, all is done. */
int tn_assumption_break(struct tn_assumption *assumption, struct tn_error *err)
{
    if (!assumption)
        return tn__no_argument(err);
    take_lock();
    assumption->is_broken = true;
    for (TN_EACH(struct tn__rest, rest, &assumption->resting, listed))
        atomic_store(&rest->of->is_broken, true);
    give_lock();
    for (struct tn__resting *r; (r = find_next(assumption));) {
        lead_away(r);
        drop(r);
    }
    return 0;
}

/* ---- creating ---- */

int tn_assumption_create(struct tn_session *session, struct tn_assumption **out, struct tn_error *err)
{
    static const struct tn__assumption_hooks hooks = {rest, promise, publish, leave, use, drop};
    if (!session || !out)
        return tn__no_argument(err);
    struct tn_assumption *assumption = tn__alloc_zeroed(NULL, 1, sizeof *assumption);
    if (!assumption)
        return tn__no_memory(err, NULL);
    assumption->hooks = &hooks;
    assumption->session = session;
    assumption->users = 1;
    tn__list_init(&assumption->resting);
    *out = assumption;
    return 0;
}

void tn_assumption_destroy(struct tn_assumption *assumption)
{
    if (assumption)
        drop_assumption(assumption);
}
