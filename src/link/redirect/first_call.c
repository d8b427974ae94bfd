/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls of functions that have not been looked up, which the entry hands over. Each looks its function up, leads the
 * cell there unless that leads elsewhere by now, and goes on where it leads. */

#include "base/float_env.h"
#include "base/kept_errno.h"
#include "base/shown_name.h"
#include "link/demand/promise.h"
#include "link/redirect/cell.h"
#include "link/process/process.h"

void tn__lazy_free_batch(struct tn__lazy_batch *batch)
{
    struct tn_library *library = batch->library, *targets = batch->targets;
    for (size_t i = 0; i < batch->count; i++)
        if (tn__cell_has_later_name(&batch->facts[i]))
            tn__free(library->session->allocator, (void *)batch->facts[i].looks_up);
    tn__free(library->session->allocator, batch);
    tn__library_release(library);
    if (targets)
        tn__library_release(targets);
}

static void end_call(struct tn__lazy_batch *batch) TN__LOCKED
{
    if (--batch->calls || !batch->removed)
        return;
    tn__list_remove(&batch->owned);
    tn__lazy_free_batch(batch);
}

/* The names of a removed library may be gone before its stubs. */
static const char *name_of(const struct tn__cell_facts *facts) TN__LOCKED
{
    const char *own = facts->batch->hidden ? "a removed function" : facts->entry->name;
    return facts->looks_up ? facts->looks_up : own;
}

static struct tn_wanted wanted_by(const struct tn__lazy_batch *batch, const char *name)
{
    return (struct tn_wanted){name, batch->of_object ? TN_WANTED_HIDDEN : 0, NULL};
}

/* What is there already takes no query. */
static bool look_up_at_once(const struct tn__cell_facts *facts, uint64_t *address) TN__LOCKED
{
    struct tn_wanted wanted = wanted_by(facts->batch, facts->looks_up);
    if (!facts->looks_up || !tn__query_answer_at_once(facts->batch->targets, &wanted))
        return false;
    *address = (uintptr_t)wanted.address;
    return true;
}

static int look_up(const struct tn__lazy_batch *batch, const char *name, uint64_t *address, struct tn_error *err)
{
    struct tn_wanted wanted = wanted_by(batch, name);
    int code = name ? tn_lookup_all(batch->targets, &wanted, 1, err) : tn__fail(err, TN_EUNDEF, "it leads nowhere yet");
    if (!code) /* by a thread that makes something, too, because it is going to run the function */
        code = tn__library_initialize(batch->targets, 0, err);
    if (!code)
        *address = (uintptr_t)wanted.address;
    return code;
}

/* Releases the lock meanwhile. */
static int find_target(const struct tn__cell_facts *facts, uint64_t *address, struct tn_error *err) TN__LOCKED
{
    struct tn_session *session = facts->batch->library->session;
    const char *name;
    int code;
    if (look_up_at_once(facts, address))
        return 0;
    do { /* again if there is another body by now, and this one is being retired */
        name = facts->looks_up;
        tn__session_unlock(session);
        code = look_up(facts->batch, name, address, err);
        tn__session_lock(session);
    } while (facts->looks_up != name);
    return code;
}

/* Leads the cell to what a lookup that answered `code` has found, unless it leads elsewhere by now. *address is where
 * the call continues. */
static int lead(struct tn__cell *cell, const struct tn__lazy_batch *batch, int code, uint64_t *address,
                struct tn_error *err) TN__LOCKED
{
    if (batch->removed) /* its stub may have another function by now; this call still has the one it was meant for */
        return code;
    if (tn__cell_word(cell) == tn__lazy_pool_of(batch->library->session)->entry)
        return code ? code : tn__cell_lead(cell, *address, TN__CLAIM_FIRST, err);
    *address = tn__cell_word(cell);
    return 0;
}

static uint64_t resolve(struct tn__cell *cell) TN__LOCKED;

/* Where a call goes on whose function cannot be had. Releases the lock meanwhile. */
static uint64_t go_on_below(struct tn__cell *cell, const struct tn__cell_facts *facts, struct tn_error *err) TN__LOCKED
{
    const struct tn__lazy_batch *batch = facts->batch;
    struct tn_session *session = batch->library->session;
    tn__append(err, ", for a call of '%.*s'", (int)tn__shown_length(name_of(facts)), name_of(facts));
    tn__session_unlock(session);
    tn__session_report(session, err);
    tn__session_lock(session);
    struct tn__cell *below = batch->removed ? NULL : tn__cell_fail(cell);
    return below ? resolve(below) : batch->on_failure;
}

/* Where a call of this function goes on. Releases the lock meanwhile. */
static uint64_t resolve(struct tn__cell *cell)
{
    const struct tn__cell_facts *facts = cell->facts;
    struct tn__lazy_batch *batch = facts->batch;
    struct tn_error err;
    uint64_t address = tn__cell_word(cell);
    if (address != tn__lazy_pool_of(batch->library->session)->entry)
        return address;
    batch->calls++;
    int code = find_target(facts, &address, &err);
    code = lead(cell, batch, code, &address, &err);
    if (code)
        address = go_on_below(cell, facts, &err);
    end_call(batch);
    return address;
}

static uint64_t resolve_call(struct tn__lazy_frame *frame)
{
    const struct tn__cell_facts *facts = frame->cell->facts;
    TN__KEEP_ERRNO; /* the function that was called may want to know */
    TN__KEEP_FLOAT_ENV;
    frame->managed_registers = facts->managed_registers;
    frame->managed_stack = facts->managed_stack;
    const struct tn__lazy_watch *watch = __atomic_load_n(&tn__lazy_watch, __ATOMIC_ACQUIRE);
    bool watched = watch && watch->begin(frame); /* without a lock, because the collector may run then */
    struct tn_session *session = facts->batch->library->session;
    tn__session_lock(session);
    uint64_t address = resolve(frame->cell);
    tn__session_unlock(session);
    if (watched)
        watch->end(frame);
    return address;
}

uint64_t tn__lazy_resolve(struct tn__lazy_frame *frame)
{
    /* The stub's load acquires, on every machine; this one lets ThreadSanitizer see that. */
    (void)atomic_load_explicit(&frame->cell->word, memory_order_acquire);
    const struct tn__signals *signals = frame->cell->facts->batch->library->session->signals;
    bool defers = signals && signals->defer();
    int type, state; /* the caller does not expect its thread to end in here */
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    uint64_t address = resolve_call(frame);
    pthread_setcancelstate(state, NULL);
    if (type != PTHREAD_CANCEL_DEFERRED) /* this one ends a thread that was cancelled meanwhile with PTHREAD_CANCELED */
        pthread_setcanceltype(type, NULL);
    if (defers)
        signals->deliver(); /* last: handlers may not come back */
    return address;
}
