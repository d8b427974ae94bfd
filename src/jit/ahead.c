/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the JIT tells, what is compiled ahead, and when. */

#include <stdlib.h>

#include "base/os.h"
#include "cache/compiler.h"
#include "jit/ahead.h"
#include "jit/background.h"
#include "link/model/session.h"

struct tn__ahead_object tn__ahead_taken;

enum { PARTS = 256, BYTES = 64 << 20 };

/* The gap, in its units: its upper bound; what it grows by when a caller overtakes a part; what it shrinks by when a
 * part was not overtaken. */
enum { GAP_MOST = 48 * TN__AHEAD_GAP_UNIT, GAP_MORE = 4 * TN__AHEAD_GAP_UNIT, GAP_LESS = 1 };

static void run(void *context, int is_cancelled);

/* ---- events ---- */

/* In the child of a fork, the idle task may have been stopped anywhere. */
static bool is_over(const struct tn__ahead *ahead)
{
    return atomic_load(&ahead->ended) || ahead->process != tn__os_process_id();
}

/* A task that cannot be had is tried again with the next event. */
static void start(struct tn__ahead *ahead)
{
    tn__jit_use(ahead->jit);
    if (tn_session_run_idle(ahead->jit->session, run, ahead, NULL) == 0)
        return;
    atomic_store(&ahead->work, 0);
    tn__jit_release(ahead->jit);
}

/* Without memory for an event, less is compiled ahead. */
static struct tn__ahead_event *make_event(struct tn__ahead_module *module, int kind)
{
    struct tn__ahead_event *event = tn__alloc_zeroed(NULL, 1, sizeof *event);
    if (event) {
        event->kind = kind;
        event->module = module;
    }
    return event;
}

static void push(struct tn__ahead *ahead, struct tn__ahead_event *event)
{
    if (!event)
        return;
    event->next = atomic_load(&ahead->events);
    while (!atomic_compare_exchange_weak(&ahead->events, &event->next, event))
        ;
    if (!atomic_exchange(&ahead->work, 2))
        start(ahead);
}

/* All events so far, the oldest first. */
static struct tn__ahead_event *take_events(struct tn__ahead *ahead)
{
    struct tn__ahead_event *newest = atomic_exchange(&ahead->events, NULL), *oldest = NULL, *next;
    for (; newest; newest = next) {
        next = newest->next;
        newest->next = oldest;
        oldest = newest;
    }
    return oldest;
}

static void free_event(struct tn__ahead_event *event)
{
    tn__ahead_release(event->handle);
    tn_buffer_free(&event->bytes);
    tn__free(NULL, event);
}

/* ---- modules ---- */

/* What was compiled ahead waits for a call, or does not wait any more. */
static void count_waiting(struct tn__ahead *ahead, const struct tn__ahead_object *object)
{
    atomic_fetch_add(&ahead->waiting_parts, 1);
    atomic_fetch_add(&ahead->waiting_bytes, object->bytes.size);
    atomic_fetch_add(&ahead->waiting_ns, object->ns);
}

static void discount_waiting(struct tn__ahead *ahead, const struct tn__ahead_object *object)
{
    atomic_fetch_sub(&ahead->waiting_parts, 1);
    atomic_fetch_sub(&ahead->waiting_bytes, object->bytes.size);
    atomic_fetch_sub(&ahead->waiting_ns, object->ns);
}

/* It is not used any more, or was never made known. */
static void free_module(struct tn__ahead_module *m)
{
    struct tn__ahead *ahead = m->ahead;
    for (uint32_t i = 0; i < m->description.parts; i++) {
        struct tn__ahead_object *object = atomic_exchange(&m->parts[i].ready, &tn__ahead_taken);
        if (object && object != &tn__ahead_taken) {
            tn__count(&ahead->counters.unused, 1);
            discount_waiting(ahead, object);
            tn_buffer_free(&object->bytes);
            tn__free(NULL, object);
        }
        tn__free(NULL, m->parts[i].callees);
    }
    if (m->module && tn__compiler_enter()) {
        ahead->jit->compiler.close(m->module);
        tn__compiler_leave();
    }
    tn_buffer_free(&m->last_order);
    tn__description_drop(&m->description);
    tn__free(NULL, m->text);
    tn__free(NULL, m->names);
    tn__free(NULL, m->order);
    tn__free(NULL, m);
}

static int compare_names(const void *a, const void *b)
{
    const struct tn__ahead_name *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

/* The JIT's module may end earlier. */
static bool take_description(struct tn__ahead_module *m, const struct tn__added_module *of)
{
    m->description = tn__description_share(&of->description);
    const struct tn__description *d = &m->description;
    m->names = tn__alloc(NULL, (d->count + 1) * sizeof *m->names);
    m->order = tn__alloc(NULL, (size_t)d->parts * sizeof *m->order);
    if (!m->names || !m->order)
        return false;
    for (size_t i = 0; i < d->count; i++)
        m->names[i] = (struct tn__ahead_name){tn__jit_hash(0, d->symbols[i].name), d->symbols[i].part,
                                              d->symbols[i].flags & TN__SYMBOL_HIDDEN};
    qsort(m->names, d->count, sizeof *m->names, compare_names);
    return true;
}

static bool copy_ir(struct tn__ahead_module *m, const struct tn_ir *ir)
{
    size_t length = ir->stays ? 0 : ir->length, name = strlen(ir->name) + 1;
    m->text = tn__alloc(NULL, length + name);
    if (!m->text)
        return false;
    m->ir = *ir;
    m->ir.digest = memcpy(m->digest, ir->digest, sizeof m->digest);
    m->ir.name = memcpy(m->text + length, ir->name, name);
    if (!ir->stays)
        m->ir.bytes = memcpy(m->text, ir->bytes, length);
    m->ir.stays = 1;
    return true;
}

static struct tn__ahead_module *added(struct tn_jit *jit, const struct tn__added_module *of, const struct tn_ir *ir)
{
    struct tn__ahead *ahead = jit->ahead;
    size_t parts = of->description.parts;
    if (is_over(ahead))
        return NULL;
    struct tn__ahead_module *m = tn__alloc_zeroed(NULL, 1, sizeof *m + parts * sizeof *m->parts);
    if (!m)
        return NULL;
    m->ahead = ahead;
    memcpy(m->tag, of->tag, sizeof m->tag);
    struct tn__ahead_event *event = make_event(m, TN__AHEAD_ADDED);
    if (event && take_description(m, of) && copy_ir(m, ir)) {
        push(ahead, event);
        return m;
    }
    tn__free(NULL, event);
    free_module(m);
    return NULL;
}

/* ---- calls ---- */

static bool take(struct tn__ahead_module *m, size_t part, struct tn_buffer *bytes)
{
    struct tn__ahead *ahead = m->ahead;
    struct tn__ahead_object *object = atomic_exchange(&m->parts[part].ready, &tn__ahead_taken);
    if (!object || object == &tn__ahead_taken)
        return false;
    *bytes = object->bytes;
    tn__count(&ahead->counters.used, 1);
    tn__count(&ahead->counters.used_ns, object->ns);
    discount_waiting(ahead, object);
    tn__free(NULL, object);
    return true;
}

static void made(struct tn__ahead_module *m, size_t part, const struct tn_input *object, uint64_t begin)
{
    struct tn__ahead *ahead = m->ahead;
    struct tn__ahead_event *event = is_over(ahead) ? NULL : make_event(m, TN__AHEAD_CALLED);
    if (event) {
        event->part = part;
        if (object && ahead->options.callees && !tn__buffer_fill(&event->bytes, object->bytes, object->length))
            event->bytes = (struct tn_buffer){0};
    }
    push(ahead, event);
    tn__count(&ahead->counters.waited_ns, tn__os_now_ns() - begin);
}

/* Without memory for the event, the module stays until the JIT ends. */
static void closing(struct tn__ahead_module *m)
{
    atomic_store(&m->gone, true);
    if (!is_over(m->ahead))
        push(m->ahead, make_event(m, TN__AHEAD_CLOSED));
}

/* ---- compiling ---- */

struct compilation {
    const struct tn__ahead_candidate *candidate;
    int cancelled; /* as struct tn_part_request has it */
    bool overtaken;
};

/* Between passes: whether the result is still of use. */
static bool is_cancelled(void *context)
{
    struct compilation *c = context;
    const struct tn__ahead_module *m = c->candidate->module;
    c->overtaken = atomic_load(&m->parts[c->candidate->part].ready) == &tn__ahead_taken;
    if (c->overtaken || is_over(m->ahead) || tn__background_is_over() || atomic_load(&m->gone) ||
        (c->candidate->handle && atomic_load(&c->candidate->handle->cancelled)))
        __atomic_store_n(&c->cancelled, 1, __ATOMIC_RELAXED);
    return c->cancelled;
}

static bool open_again(struct tn__ahead_module *m)
{
    const struct tn_jit *jit = m->ahead->jit;
    const struct tn_module_description *unused;
    if (!m->module && !m->is_broken && tn__compiler_enter()) {
        m->is_broken = jit->compiler.open(jit->compiler.context, &m->ir, &jit->compile, &m->module, &unused, NULL) != 0;
        tn__compiler_leave();
    }
    return m->module && !m->is_broken;
}

/* Hands an object over. False: a call has compiled it meanwhile, or memory is out. */
static bool publish(struct tn__ahead_module *m, uint32_t part, const struct tn_buffer *bytes, uint64_t ns)
{
    struct tn__ahead *ahead = m->ahead;
    struct tn__ahead_object *object = tn__alloc(NULL, sizeof *object), *none = NULL;
    if (!object)
        return false;
    *object = (struct tn__ahead_object){*bytes, ns};
    count_waiting(ahead, object);
    if (atomic_compare_exchange_strong(&m->parts[part].ready, &none, object))
        return true;
    discount_waiting(ahead, object);
    tn__free(NULL, object);
    return false;
}

/* Errors are silent: a call that needs the part has its own. */
static int compile(struct compilation *c, struct tn_buffer *bytes, struct tn_input *kept)
{
    const struct tn__ahead_module *m = c->candidate->module;
    const struct tn__added_module shown = {.jit = m->ahead->jit, .description = m->description, .name = m->ir.name};
    struct tn__jit_watch watch = {.jit = m->ahead->jit, .module = &shown, .is_cancelled = is_cancelled, .context = c};
    struct tn_compile_observer observer;
    struct tn_compile_stats stats = {.size = sizeof stats};
    char name[TN__JIT_NAME_SIZE];
    const struct tn__jit_how how = tn__jit_first(m->ahead->jit, &m->description, c->candidate->part, m->tag);
    const struct tn_part_request request = {.size = sizeof request,
                                            .part = c->candidate->part,
                                            .name = name,
                                            .observer = &observer,
                                            .stats = &stats,
                                            .kept = kept,
                                            .opt_level = how.opt_level,
                                            .counters = how.counters,
                                            .cancelled = &c->cancelled};
    tn__jit_name_part(&shown, c->candidate->part, name);
    tn__jit_watch(&watch, &observer);
    if (!tn__compiler_enter())
        return TN_ECANCELLED;
    int code = m->ahead->jit->compiler.compile(m->module, &request, bytes, NULL);
    tn__compiler_leave();
    tn__jit_count(m->ahead->jit, &stats);
    return code;
}

static void finish(struct compilation *c, int code, struct tn_buffer *bytes, uint64_t ns)
{
    struct tn__ahead_module *m = c->candidate->module;
    struct tn__ahead *ahead = m->ahead;
    struct tn__ahead_part *part = &m->parts[c->candidate->part];
    if (code) {
        part->has_failed = code != TN_ECANCELLED;
        tn__count(code == TN_ECANCELLED ? &ahead->counters.cancelled : &ahead->counters.failed, 1);
        tn__count(&ahead->counters.overtaken, code == TN_ECANCELLED && c->overtaken);
    } else if (publish(m, c->candidate->part, bytes, ns)) {
        tn__count(&ahead->counters.compiled, 1);
        ahead->gap -= ahead->gap < GAP_LESS ? ahead->gap : GAP_LESS;
        return;
    } else {
        c->overtaken = atomic_load(&part->ready) == &tn__ahead_taken;
        tn__count(&ahead->counters.cancelled, 1);
        tn__count(&ahead->counters.overtaken, c->overtaken);
    }
    if (c->overtaken)
        ahead->gap = ahead->gap + GAP_MORE < GAP_MOST ? ahead->gap + GAP_MORE : GAP_MOST;
    tn_buffer_free(bytes);
}

static void compile_candidate(struct tn__ahead *ahead, const struct tn__ahead_candidate *candidate)
{
    struct compilation c = {.candidate = candidate};
    struct tn__ahead_module *m = candidate->module;
    struct tn_buffer bytes = {0};
    struct tn_input kept = {.size = sizeof kept};
    uint64_t begin = tn__os_thread_ns();
    if (is_cancelled(&c) || m->parts[candidate->part].has_failed || !open_again(m))
        return;
    int code = compile(&c, &bytes, &kept);
    uint64_t ns = tn__os_thread_ns() - begin;
    if (!code && ahead->options.callees)
        tn__ahead_look(m, candidate->part, kept.release ? kept.bytes : bytes.data,
                       kept.release ? kept.length : bytes.size);
    if (!code && kept.release) { /* so a call will find it, too */
        tn__count(&ahead->counters.found, 1);
        kept.release(kept.context, kept.bytes, kept.length);
    } else {
        tn__count(&ahead->counters.spent_ns, ns);
        finish(&c, code, &bytes, ns);
    }
    if (!code && candidate->generation)
        tn__ahead_guess(ahead, m, candidate->part, candidate->generation + 1);
}

/* ---- the idle task ---- */

/* A module that has ended is removed from the list, with what waits of it. */
static void remove_module(struct tn__ahead *ahead, struct tn__ahead_module *m)
{
    struct tn__ahead_module **at = &ahead->modules;
    while (*at && *at != m)
        at = &(*at)->next;
    if (*at)
        *at = m->next;
    tn__ahead_forget(ahead, m);
    if (!atomic_load(&ahead->written))
        tn__ahead_write_order(m);
    free_module(m);
}

static void handle(struct tn__ahead *ahead, struct tn__ahead_event *event)
{
    struct tn__ahead_module *m = event->module;
    switch (event->kind) {
    case TN__AHEAD_ADDED:
        m->next = ahead->modules;
        ahead->modules = m;
        tn__ahead_read_order(m);
        tn__ahead_follow(ahead, m);
        break;
    case TN__AHEAD_CALLED:
        tn__ahead_called(ahead, m, (uint32_t)event->part, &event->bytes);
        break;
    case TN__AHEAD_CLOSED:
        remove_module(ahead, m);
        break;
    case TN__AHEAD_PREFETCH:
        tn__ahead_prefetch(ahead, &event->bytes, event->handle);
        break;
    }
    free_event(event);
}

static void handle_events(struct tn__ahead *ahead)
{
    struct tn__ahead_event *next;
    for (struct tn__ahead_event *event = take_events(ahead); event; event = next) {
        next = event->next;
        handle(ahead, event);
    }
}

/* One candidate for each task, so that demanded tasks and other idle ones have their turn. */
static void run(void *context, int is_cancelled_now)
{
    struct tn__ahead *ahead = context;
    struct tn_jit *jit = ahead->jit;
    struct tn__ahead_candidate next;
    bool found = false;
    int one = 1;
    atomic_fetch_add(&ahead->running, 1); /* before it looks whether it may */
    if (!is_cancelled_now && !is_over(ahead) && tn__background_begin()) {
        atomic_store(&ahead->work, 1);
        handle_events(ahead);
        found = tn__ahead_next(ahead, &next);
        if (found) {
            compile_candidate(ahead, &next);
            tn__ahead_release(next.handle);
        }
        if (found || !atomic_compare_exchange_strong(&ahead->work, &one, 0))
            start(ahead);
        tn__background_end();
    }
    atomic_fetch_sub(&ahead->running, 1); /* the next one may be at work already */
    tn__jit_release(jit);
}

/* ---- the end ---- */

static void end(struct tn__ahead *ahead)
{
    atomic_store(&ahead->ended, true);
}

/* Called by the last user of the JIT, when no task is under way. */
static void free_ahead(struct tn__ahead *ahead)
{
    if (ahead->process != tn__os_process_id())
        return;
    handle_events(ahead);
    tn__ahead_forget(ahead, NULL);
    while (ahead->modules)
        remove_module(ahead, ahead->modules);
    tn__free(NULL, ahead->waiting);
    tn__free(NULL, ahead);
}

/* ---- the client's ---- */

int tn_jit_compile_ahead(struct tn_jit *jit, const struct tn_ahead_options *given, struct tn_error *err)
{
    struct tn_ahead_options options;
    if (!jit)
        return tn__no_argument(err);
    int code = tn__take_options(&options, sizeof options, given, "struct tn_ahead_options", err);
    if (code)
        return code;
    if (jit->ahead)
        return tn__fail(err, TN_EINVAL, "tn_jit_compile_ahead: the JIT compiles ahead already");
    if (options.orders && !options.orders->get)
        return tn__fail(err, TN_EINVAL, "tn_jit_compile_ahead: the store is not complete");
    if (!tn__session_has_threads(jit->session))
        return tn__fail(err, TN_ENOTSUP, "tn_jit_compile_ahead: the session has no threads");
    struct tn__ahead *ahead = tn__alloc_zeroed(NULL, 1, sizeof *ahead);
    if (!ahead)
        return tn__no_memory(err, NULL);
    ahead->hooks = (struct tn__ahead_hooks){added, take, made, closing, end, free_ahead};
    ahead->jit = jit;
    ahead->options = options;
    ahead->options.parts = options.parts ? options.parts : PARTS;
    ahead->options.bytes = options.bytes ? options.bytes : BYTES;
    ahead->process = tn__os_process_id();
    jit->ahead = ahead;
    return 0;
}

int tn_jit_prefetch(struct tn_jit *jit, const char *const *names, size_t count, struct tn_prefetch **out,
                    struct tn_error *err)
{
    if (out)
        *out = NULL;
    if (!jit || (count && !names))
        return tn__no_argument(err);
    if (!jit->ahead)
        return tn__fail(err, TN_EINVAL, "tn_jit_prefetch: the JIT does not compile ahead");
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        if (!names[i])
            return tn__no_argument(err);
        size += strlen(names[i]) + 1;
    }
    struct tn_prefetch *handle = tn__alloc_zeroed(NULL, 1, sizeof *handle);
    struct tn__ahead_event *event = make_event(NULL, TN__AHEAD_PREFETCH);
    char *texts = tn__alloc(NULL, size + 1);
    bool good = handle && event && texts;
    for (size_t i = 0, at = 0; i < count && good; at += strlen(names[i]) + 1, i++)
        memcpy(texts + at, names[i], strlen(names[i]) + 1);
    good = good && tn__buffer_fill(&event->bytes, texts, size);
    tn__free(NULL, texts);
    if (!good) {
        tn__free(NULL, event);
        tn__free(NULL, handle);
        return tn__no_memory(err, NULL);
    }
    handle->users = 1 + (out != NULL);
    event->handle = handle;
    if (out)
        *out = handle;
    if (is_over(jit->ahead))
        free_event(event);
    else
        push(jit->ahead, event);
    return 0;
}

void tn__ahead_release(struct tn_prefetch *handle)
{
    if (handle && atomic_fetch_sub(&handle->users, 1) == 1)
        tn__free(NULL, handle);
}

void tn_prefetch_cancel(struct tn_prefetch *handle)
{
    if (handle)
        atomic_store(&handle->cancelled, true);
    tn__ahead_release(handle);
}

void tn_prefetch_keep(struct tn_prefetch *handle)
{
    tn__ahead_release(handle);
}

void tn_jit_end_ahead(struct tn_jit *jit)
{
    enum { MILLISECOND = 1000000 };
    struct tn__ahead *ahead = jit ? jit->ahead : NULL;
    const uint32_t word = 0;
    if (!ahead || ahead->process != tn__os_process_id() || atomic_exchange(&ahead->ended, true))
        return;
    while (atomic_load(&ahead->running))
        tn__os_wait(&word, 0, MILLISECOND);
    handle_events(ahead);
    for (struct tn__ahead_module *m = ahead->modules; m; m = m->next)
        tn__ahead_write_order(m);
    atomic_store(&ahead->written, true);
}

void tn_ahead_stats(const struct tn_jit *jit, struct tn_ahead_stats *stats)
{
    struct tn_ahead_stats now = {0};
    if (jit && jit->ahead) {
        struct tn__ahead *ahead = jit->ahead;
        now.size = sizeof now;
        tn__give_counters(&now, sizeof now, &ahead->counters);
        now.unused += atomic_load(&ahead->waiting_parts);
    }
    tn__give_counters(stats, sizeof now, &now);
}
