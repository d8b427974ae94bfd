/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Adding a module: what it defines is promised to the library, by one materializer for a whole module or by one for
 * each part of a module that was taken apart. Functions of the latter have stubs under their names; the parts promise
 * the bodies. */

#include <inttypes.h>
#include <stdio.h>

#include "base/os.h"
#include "base/shown_name.h"
#include "jit/assumption.h"
#include "jit/background.h"
#include "jit/jit.h"
#include "link/lazy/lazy.h"
#include "link/session/contents.h"

/* ---- compiling ---- */

static void release_object(void *context, const void *bytes, size_t length)
{
    (void)context;
    tn_buffer_free(&(struct tn_buffer){.data = (void *)bytes, .size = length});
}

const struct tn_module_symbol *tn__jit_symbols(const struct tn__added_module *m, size_t part, size_t *count)
{
    const struct tn__description *d = &m->description;
    *count = d->first[part + 1] - d->first[part];
    return d->symbols + d->first[part];
}

static bool is(const struct tn__added_module *m, uint32_t flag)
{
    return m->description.flags & flag;
}

/* Where an object goes to. */
struct destination {
    struct tn_responsibility *responsibility; /* NULL: to the library */
    struct tn_library *library;
    struct tn_tracker *owner;
};

void tn__jit_name_part(const struct tn__added_module *m, size_t part, char name[TN__JIT_NAME_SIZE])
{
    size_t count;
    const char *function = part == 0 ? "data" : tn__jit_symbols(m, part, &count)[0].name;
    if (is(m, TN__DESCRIBED_WHOLE))
        snprintf(name, TN__JIT_NAME_SIZE, "%s", m->name);
    else
        snprintf(name, TN__JIT_NAME_SIZE, "%s(%.*s)", m->name, (int)tn__shown_length(function), function);
}

/* Finds what the object of a whole module may leave out, but must not this time, because only this object can define
 * it. */
static int find_needed(const struct tn__added_module *m, struct tn_responsibility *responsibility,
                       struct tn__arena *arena, struct tn__jit_how *how, struct tn_error *err)
{
    size_t count;
    const struct tn_module_symbol *symbols = tn__jit_symbols(m, 0, &count);
    how->needed_count = 0;
    if (!is(m, TN__DESCRIBED_WHOLE) || !responsibility)
        return 0;
    how->needed = tn__arena_array(arena, count, sizeof *how->needed);
    for (size_t i = 0; how->needed && i < count; i++)
        if (symbols[i].flags & TN__SYMBOL_DISCARDABLE && tn__responsibility_needs(responsibility, symbols[i].name))
            how->needed[how->needed_count++] = symbols[i].name;
    return how->needed ? 0 : tn__no_memory(err, m->name);
}

/* Tries an object that an earlier run has made. What is wrong with it shows then. */
static int try(struct tn_responsibility *responsibility, const struct tn__jit_how *how, struct tn_error *err)
{
    for (size_t i = 0; i < how->needed_count; i++)
        if (!tn__responsibility_has_staged(responsibility, how->needed[i])) {
            tn__promise_unstage(responsibility);
            return tn__fail(err, TN_EUNDEF, "'%s' was left out", how->needed[i]);
        }
    return tn_responsibility_try(responsibility, err);
}

/* Adds an object, or releases it. One that was not made now may define something else than what was promised. */
static int add(const struct destination *to, const struct tn_input *input, struct tn__jit_how *how,
               struct tn_error *err)
{
    how->is_refused = false;
    int code = to->responsibility ? tn__responsibility_add_object(to->responsibility, input, &how->is_refused, err)
                                  : tn__library_add_object(to->library, input,
                                                           (struct tn__input_bytes){.refused = &how->is_refused}, err);
    if (code)
        input->release(input->context, input->bytes, input->length);
    else if (how->was_kept && to->responsibility)
        code = try(to->responsibility, how, err);
    return code;
}

/* For the request of a compilation that may be stopped between passes. */
struct stop {
    bool (*is_over)(void);
    int cancelled;
};

static bool is_stopped(void *context)
{
    struct stop *stop = context;
    if (stop->is_over())
        __atomic_store_n(&stop->cancelled, 1, __ATOMIC_RELAXED);
    return stop->cancelled;
}

static int the_program_ends(const char *name, struct tn_error *err)
{
    return tn__fail(err, TN_ECANCELLED, "%s: the program ends", name);
}

static int call_compiler(const struct tn__added_module *m, const struct tn_part_request *request,
                         struct tn_buffer *object, struct tn_error *err)
{
    if (!tn__compiler_enter())
        return the_program_ends(request->name, err);
    int code = m->jit->compiler.compile(m->module, request, object, err);
    tn__compiler_leave();
    return code;
}

/* Compiles a part, or the whole, and adds the object. */
static int make(const struct tn__added_module *m, size_t part, const struct destination *to, struct tn__jit_how *how,
                struct tn_error *err)
{
    char name[TN__JIT_NAME_SIZE];
    struct tn_jit *jit = m->jit;
    const struct tn__ahead_hooks *ahead = m->ahead && !how->is_higher ? tn__ahead_hooks_of(jit) : NULL;
    uint64_t begin = ahead ? tn__os_now_ns() : 0;
    struct stop stop = {how->is_over, 0};
    struct tn__jit_watch watch = {
        .jit = jit, .module = m, .is_cancelled = how->is_over ? is_stopped : NULL, .context = &stop};
    struct tn_compile_observer observer;
    struct tn_compile_stats stats = {.size = sizeof stats};
    struct tn_buffer object = {0};
    struct tn_input input = {.size = sizeof input};
    const struct tn_part_request request = {.size = sizeof request,
                                            .part = part,
                                            .name = name,
                                            .observer = &observer,
                                            .stats = &stats,
                                            .kept = &input,
                                            .anew = how->was_kept,
                                            .opt_level = how->opt_level,
                                            .is_higher = how->is_higher,
                                            .counters = how->counters,
                                            .is_idle = how->is_idle,
                                            .cancelled = how->is_over ? &stop.cancelled : NULL,
                                            .needed = how->needed,
                                            .needed_count = how->needed_count};
    tn__jit_name_part(m, part, name);
    tn__jit_watch(&watch, &observer);
    bool is_ready = ahead && !how->was_kept && !how->needed_count && ahead->take(m->ahead, part, &object);
    int code = is_ready ? 0 : call_compiler(m, &request, &object, err);
    tn__jit_count(jit, &stats);
    if (!code && part > 0 && (stats.functions || is_ready) && !how->is_higher) /* now, not long ago */
        tn__count(&jit->counters.taken, 1);
    if (code)
        return code;
    how->was_kept = input.release != NULL;
    if (!how->was_kept) {
        input.bytes = object.data;
        input.length = object.size;
        input.release = release_object;
    }
    how->bytes = input.length;
    input.name = name;
    input.owner = to->owner;
    if (ahead)
        ahead->made(m->ahead, part, is_ready ? NULL : &input, begin);
    return add(to, &input, how, err);
}

/* An object of an earlier run that is of no use is compiled anew. One that the client refuses was of use: the client
 * would have to refuse the new one too. */
static int compile(const struct tn__added_module *m, size_t part, const struct destination *to, struct tn__jit_how *how,
                   struct tn_error *err)
{
    uint64_t begin = tn__os_now_ns();
    struct tn__arena names = {0};
    int code = find_needed(m, to->responsibility, &names, how, err);
    if (!code)
        code = make(m, part, to, how, err);
    if (how->was_kept && code && !how->is_refused && code != TN_ENOMEM && code != TN_EREMOVED)
        code = make(m, part, to, how, err);
    how->needed_count = 0;
    tn__arena_free(&names);
    how->ns = tn__os_now_ns() - begin;
    return code;
}

struct tn__jit_how tn__jit_first(const struct tn_jit *jit, const struct tn__description *d, size_t part,
                                 const char *tag)
{
    struct tn__jit_how how = {.opt_level = jit->compile.opt_level};
    if (jit->tiering && part > 0)
        jit->tiering->begin(jit->tiers, d, part, tag, &how);
    return how;
}

int tn__jit_make(const struct tn__added_module *m, size_t part, struct tn__jit_how *how,
                 struct tn_responsibility *responsibility, struct tn_error *err)
{
    return compile(m, part, &(struct destination){.responsibility = responsibility}, how, err);
}

static int materialize(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    const struct tn__jit_part *part = context;
    const struct tn__added_module *m = part->owner;
    const size_t number = (size_t)(part - m->parts);
    struct tn__jit_how how = tn__jit_first(m->jit, &m->description, number, m->tag);
    int code = tn__jit_make(m, number, &how, responsibility, err);
    if (m->tiered && !code)
        m->jit->tiering->end(m, number, &how);
    return code;
}

/* ---- the module's life ---- */

void tn__jit_hold(struct tn__added_module *m, bool makes)
{
    atomic_fetch_add(&m->users, 1);
    atomic_fetch_add(&m->makers, makes);
}

void tn__jit_drop(struct tn__added_module *m, bool makes)
{
    if (makes && atomic_fetch_sub(&m->makers, 1) == 1 && tn__compiler_enter()) {
        m->jit->compiler.close(m->module);
        tn__compiler_leave();
    }
    if (atomic_fetch_sub(&m->users, 1) != 1)
        return;
    if (m->ahead)
        tn__ahead_hooks_of(m->jit)->closing(m->ahead);
    tn__description_drop(&m->description);
    tn__resting_drop(m->rests);
    tn__jit_release(m->jit);
    tn__free(NULL, m->tiered);
    tn__free(NULL, m);
}

static void destroy_part(void *context)
{
    tn__jit_drop(((struct tn__jit_part *)context)->owner, true);
}

/* The struct, its parts and its instances in one piece. It takes over what `opened` has. */
static struct tn__added_module *create(struct tn_jit *jit, const struct tn__added_module *opened,
                                       const struct tn_jit_module *given)
{
    size_t count = opened->description.parts, name_size = strlen(given->name) + 1;
    size_t parts = sizeof(struct tn__added_module) + count * sizeof(struct tn__jit_part);
    size_t instances = given->instance_count * sizeof(struct tn_jit_instance);
    struct tn__added_module *m = tn__alloc_zeroed(NULL, parts + instances + name_size, 1);
    if (!m)
        return NULL;
    memcpy(m, opened, sizeof *m);
    m->users = m->makers = 1;
    m->jit = jit;
    tn__jit_use(jit);
    tn__resting_use(m->rests);
    for (size_t i = 0; i < count; i++)
        m->parts[i].owner = m;
    if (instances)
        memcpy((char *)m + parts, given->instances, instances);
    m->instances = (const struct tn_jit_instance *)(const void *)((char *)m + parts);
    m->instance_count = given->instance_count;
    m->name = memcpy((char *)m + parts + instances, given->name, name_size);
    return m;
}

/* ---- promising ---- */

struct adding {
    struct tn__added_module *m;
    struct tn_library *library;
    struct tn_tracker *owner;
    struct tn__handover handover; /* of a responsibility whose symbols the module defines */
    char initializer[48];         /* see struct tn__jit_initializer; "": the module has none, or is compiled now */
    struct tn__arena arena;
    struct tn_error *err;
};

static uint64_t flags_of(const struct tn_module_symbol *symbol)
{
    return (symbol->flags & TN__SYMBOL_WEAK ? TN_SYMBOL_WEAK : 0) |
           (symbol->flags & TN__SYMBOL_HIDDEN ? TN_SYMBOL_HIDDEN : 0) |
           (symbol->flags & TN__SYMBOL_DISCARDABLE ? TN_SYMBOL_DISCARDABLE : 0);
}

/* A promise, which nothing else would tell of that it is a function. */
static uint64_t promised_flags_of(const struct tn_module_symbol *symbol)
{
    return flags_of(symbol) | (symbol->flags & TN__SYMBOL_CALLABLE ? TN_SYMBOL_CALLABLE : 0);
}

static int promise(struct adding *a, size_t part)
{
    size_t count, used = 0;
    const struct tn_module_symbol *symbols = tn__jit_symbols(a->m, part, &count);
    struct tn_promised *promised = tn__arena_array(&a->arena, count + 2, sizeof *promised);
    if (!promised)
        return tn__no_memory(a->err, a->m->name);
    for (const struct tn_module_symbol *s = symbols; s < symbols + count; s++) /* what the part's object will define */
        if (!s->of)
            promised[used++] =
                s->body ? (struct tn_promised){s->body, 0} : (struct tn_promised){s->name, promised_flags_of(s)};
    bool has_initializers = part == 0 && is(a->m, TN__DESCRIBED_INITIALIZERS);
    /* What no lookup could name, or the linker has to see, is compiled now. */
    if (is(a->m, TN__DESCRIBED_OPAQUE) || (!used && has_initializers)) {
        struct tn__jit_how how = tn__jit_first(a->m->jit, &a->m->description, part, a->m->tag);
        return compile(a->m, part, &(struct destination){NULL, a->library, a->owner}, &how, a->err);
    }
    if (!used)
        return 0;
    if (part == 0 && *a->initializer)
        promised[used++] = (struct tn_promised){a->initializer, TN_SYMBOL_HIDDEN | TN_SYMBOL_DISCARDABLE};
    struct tn_materializer materializer = {.size = sizeof materializer,
                                           .name = a->m->name,
                                           .context = &a->m->parts[part],
                                           .symbols = promised,
                                           .count = used,
                                           .materialize = materialize,
                                           .destroy = destroy_part,
                                           .owner = a->owner};
    tn__jit_hold(a->m, true);
    int code = tn_add_materializer(a->library, &materializer, a->err);
    if (code)
        tn__jit_drop(a->m, true);
    return code;
}

/* ---- stubs ---- */

/* For the names that do not stand for what a part's object defines. */
static int define_stubs(struct adding *a)
{
    if (is(a->m, TN__DESCRIBED_WHOLE))
        return 0;
    size_t parts = a->m->description.parts, all = a->m->description.count, count;
    struct tn_lazy_symbol *stubs = tn__arena_array(&a->arena, all + 1, sizeof *stubs);
    struct tn_reexport *others = tn__arena_array(&a->arena, all + 1, sizeof *others); /* further names of functions */
    size_t stub_count = 0, other_count = 0;
    if (!stubs || !others)
        return tn__no_memory(a->err, a->m->name);
    for (size_t part = 0; part < parts; part++) {
        const struct tn_module_symbol *symbols = tn__jit_symbols(a->m, part, &count);
        for (const struct tn_module_symbol *s = symbols; s < symbols + count; s++)
            if (s->of)
                others[other_count++] = (struct tn_reexport){s->name, s->of, flags_of(s)};
            else if (s->body)
                stubs[stub_count++] = (struct tn_lazy_symbol){.name = s->name,
                                                              .target = s->body,
                                                              .flags = flags_of(s),
                                                              .managed_registers = s->managed_registers,
                                                              .managed_stack = s->managed_stack};
    }
    struct tn_stub_options options = {.size = sizeof options, .owner = a->owner, .on_failure = a->m->jit->on_failure};
    int code = 0;
    if (stub_count)
        code = tn__lazy_define_for(a->m, a->library, stubs, stub_count, a->library, &options, a->err);
    if (!code && other_count)
        code = tn_reexport(a->library, others, other_count, a->library, a->owner, a->err);
    tn__count(&a->m->jit->counters.functions, parts - 1);
    return code;
}

/* ---- adding ---- */

/* Notes the initializers for tn_jit_run_initializers. The module's own symbols may give way to those of other modules.
 * */
static int note_initializers(struct adding *a)
{
    static uint64_t notes; /* atomic */
    size_t count, own = 0;
    const struct tn_module_symbol *symbols = tn__jit_symbols(a->m, 0, &count);
    if (!is(a->m, TN__DESCRIBED_INITIALIZERS))
        return 0;
    for (size_t i = 0; i < count; i++)
        own += !symbols[i].of;
    if (own && !is(a->m, TN__DESCRIBED_OPAQUE))
        snprintf(a->initializer, sizeof a->initializer, "tenon.initializers.%" PRIu64,
                 __atomic_add_fetch(&notes, 1, __ATOMIC_RELAXED));
    size_t size = strlen(a->initializer) + 1;
    struct tn__jit_initializer *note = tn__alloc(NULL, sizeof *note + size);
    if (!note)
        return tn__no_memory(a->err, a->m->name);
    struct tn_jit *jit = a->m->jit;
    note->library = tn_library_number(a->library);
    memcpy(note->symbol, a->initializer, size);
    tn__jit_lock();
    note->next = jit->initializers;
    jit->initializers = note;
    tn__jit_unlock();
    return 0;
}

static int enter_types(struct adding *a)
{
    return tn__jit_enter_types(a->library, a->m, a->owner, a->err);
}

static int promise_assumptions(struct adding *a)
{
    struct tn__resting *rests = a->m->rests;
    return rests ? rests->hooks->promise(rests, a->owner, a->err) : 0;
}

static int promise_parts(struct adding *a)
{
    int code = 0;
    for (size_t part = 0; part < a->m->description.parts && !code; part++)
        code = promise(a, part);
    return code;
}

/* Before anything can be called. */
static int promise_tiers(struct adding *a)
{
    const struct tn_tiering *tiering = is(a->m, TN__DESCRIBED_WHOLE) ? NULL : a->m->jit->tiering;
    return tiering ? tiering->promise(a->m, a->library, a->owner, a->err) : 0;
}

/* The steps of adding a module. What they add belongs to one owner, by which all of it is undone. */
static int (*const phases[])(struct adding *a) = {
    enter_types, promise_assumptions, note_initializers, promise_parts, promise_tiers, define_stubs,
};

static int promise_all(struct adding *a)
{
    int code = 0;
    for (size_t i = 0; i < TN_COUNT(phases) && !code; i++)
        code = phases[i](a);
    return code;
}

/* Several steps, undone together if one fails: all that is added belongs to a tracker of its own until the end. */
static int add_in_steps(struct adding *a, struct tn_tracker *owner)
{
    int code = tn_tracker_create(a->library, &a->owner, a->err);
    if (code)
        return code;
    code = promise_all(a);
    if (!code && a->handover.promise && !owner)
        code = tn__handover_give(&a->handover, a->owner, a->err);
    else if (!code)
        code = tn_tracker_transfer(a->owner, owner ? owner : tn_library_tracker(a->library), a->err);
    if (code)
        tn__handover_undo(&a->handover, a->owner, NULL);
    tn_tracker_destroy(a->owner);
    return code;
}

/* ---- reading ---- */

/* A module that is being added, and what tells it apart from others. */
struct given {
    struct tn_jit *jit;
    struct tn_library *library;
    struct tn_jit_module module;
    struct tn__jit_tagged tag;
    struct tn__added_module opened;
};

static void close_opened(struct given *g)
{
    if (g->opened.ahead)
        tn__ahead_hooks_of(g->jit)->closing(g->opened.ahead);
    if (g->opened.module && tn__compiler_enter()) {
        g->jit->compiler.close(g->opened.module);
        tn__compiler_leave();
    }
    tn__description_drop(&g->opened.description);
}

static int call_open(struct given *g, const struct tn_ir *ir, const struct tn_module_description **described,
                     struct tn_error *err)
{
    const struct tn_jit *jit = g->jit;
    if (!tn__compiler_enter())
        return the_program_ends(ir->name, err);
    int code = jit->compiler.open(jit->compiler.context, ir, &jit->compile, &g->opened.module, described, err);
    tn__compiler_leave();
    return code;
}

/* Only parts have names that tags become part of. */
static int read_module(struct given *g, struct tn_error *err)
{
    const struct tn_jit_module *given = &g->module;
    struct tn__added_module *opened = &g->opened;
    struct tn_ir ir = {.size = sizeof ir,
                       .name = given->name,
                       .bytes = given->ir,
                       .length = given->length,
                       .whole = !g->jit->lazy || given->whole,
                       .digest = g->tag.digest,
                       .stays = given->stays && !given->llvm_module};
    tn__sha256_of(given->key ? given->key : given->ir, given->key ? given->key_length : given->length, g->tag.digest);
    g->tag.is_tagged = !ir.whole && tn__jit_tag(g->jit, g->library, g->tag.digest, &g->tag.copy);
    if (!ir.whole && !g->tag.is_tagged)
        return tn__no_memory(err, given->name);
    ir.copy = g->tag.copy;
    tn__tag_write(g->tag.digest, g->tag.copy, opened->tag);
    const struct tn_module_description *described;
    int code = call_open(g, &ir, &described, err);
    if (!code)
        code = tn__description_copy(described, &opened->description, err);
    if (code)
        close_opened(g);
    else if (g->jit->ahead)
        opened->ahead = tn__ahead_hooks_of(g->jit)->added(g->jit, opened, &ir);
    return code;
}

static int write_module(const struct tn_jit *jit, const struct tn_jit_module *given, struct tn_buffer *out,
                        struct tn_error *err)
{
    if (!jit->compiler.write)
        return tn__fail(err, TN_ENOTSUP, "%s: this compiler takes no modules in memory", given->name);
    if (!tn__compiler_enter())
        return the_program_ends(given->name, err);
    int code = jit->compiler.write(jit->compiler.context, given->llvm_module, out, err);
    tn__compiler_leave();
    return code;
}

static struct tn__jit_kept *copy_ir(const struct tn_jit_module *module)
{
    size_t name_size = strlen(module->name) + 1;
    struct tn__jit_kept *kept = tn__alloc(NULL, sizeof *kept + module->length + name_size);
    if (!kept)
        return NULL;
    kept->length = module->length;
    kept->whole = module->whole != 0;
    kept->name = memcpy(kept->ir + module->length, module->name, name_size);
    memcpy(kept->ir, module->ir, module->length);
    return kept;
}

/* *kept: a copy of the IR, if the JIT keeps such. */
static int open_module(struct given *g, struct tn__jit_kept **kept, struct tn_error *err)
{
    struct tn_jit *jit = g->jit;
    struct tn_jit_module *given = &g->module;
    uint64_t begin = tn__os_now_ns();
    struct tn_buffer copy = {0};
    int code = given->llvm_module ? write_module(jit, given, &copy, err) : 0;
    tn__count(&jit->counters.modules, 1);
    if (given->llvm_module) {
        given->ir = copy.data;
        given->length = copy.size;
    }
    const bool keeps = jit->keeps_ir && !g->opened.rests; /* an image cannot tell whether assumptions hold */
    *kept = !code && keeps ? copy_ir(given) : NULL;
    if (code == TN_ENOMEM || (!code && keeps && !*kept))
        code = tn__fail(err, TN_ENOMEM, "%s: no memory for a copy", given->name);
    if (!code)
        code = read_module(g, err);
    tn_buffer_free(&copy);
    tn__count(&jit->counters.read_ns, tn__os_now_ns() - begin);
    return code;
}

/* ---- adding ---- */

static int add_module(struct given *g, struct tn_error *err)
{
    struct tn__added_module *m = create(g->jit, &g->opened, &g->module);
    if (!m) {
        close_opened(g);
        return tn__no_memory(err, g->module.name);
    }
    struct adding a = {.m = m, .library = g->library, .owner = g->module.owner, .err = err};
    struct tn_responsibility *responsibility = g->module.responsibility;
    int code = responsibility ? tn__handover_begin(&a.handover, responsibility, a.library, err) : 0;
    bool is_one_step = is(m, TN__DESCRIBED_WHOLE) && !m->description.types_size && !m->rests && !responsibility;
    if (!code)
        code = is_one_step ? promise_all(&a) : add_in_steps(&a, g->module.owner);
    tn__handover_end(&a.handover, code != 0);
    tn__arena_free(&a.arena);
    tn__jit_drop(m, true);
    return code;
}

int tn__jit_add(struct tn_jit *jit, struct tn_library *library, const struct tn_library *shown,
                struct tn_jit_module *module, struct tn__resting *rests, struct tn__jit_tagged *tagged,
                struct tn_error *err)
{
    struct tn__jit_kept *kept;
    struct given g = {.jit = jit, .library = library, .module = *module, .opened.rests = rests};
    if (!module->llvm_module == !module->ir || (module->instance_count && !module->instances) ||
        (!module->key && module->key_length))
        return tn__fail(err, TN_EINVAL, "a module is either IR or a module in memory, and has instances if counted");
    g.module.name = module->name ? module->name : "<memory>";
    int code = open_module(&g, &kept, err);
    if (!code)
        code = add_module(&g, err);
    if (!code && kept) {
        kept->library = tn_library_number(shown);
        tn__jit_lock();
        kept->next = jit->kept;
        jit->kept = kept;
        tn__jit_unlock();
    } else {
        tn__free(NULL, kept);
    }
    if (code)
        tn__jit_untag(jit, library, &g.tag);
    else if (tagged)
        *tagged = g.tag;
    for (size_t i = 0; i < module->instance_count && !code; i++)
        tn__jit_publish(library, &g.module, &module->instances[i], rests);
    return code;
}

/* Other code calls its functions directly, so an assumption can be broken only if there is something else to call: the
 * generic entries of instances, or with tn_jit_replace, other code of the functions. */
static int add_resting(struct tn_jit *jit, struct tn_library *library, struct tn_jit_module *module,
                       struct tn_error *err)
{
    struct tn__resting *rests;
    if (module->assumption_count && !module->instance_count)
        return tn__fail(err, TN_EINVAL, "a module with assumptions has instances, or is added by tn_jit_replace");
    int code = tn__jit_rest(jit, library, library, module, NULL, &rests, err);
    if (code)
        return code;
    code = tn__jit_add(jit, library, library, module, rests, NULL, err);
    tn__resting_end(rests, code);
    return code;
}

int tn_jit_add_module(struct tn_jit *jit, struct tn_library *library, const struct tn_jit_module *given,
                      struct tn_error *err)
{
    struct tn_jit_module module;
    if (!jit)
        return tn__fail(err, TN_EINVAL, "no JIT given");
    library = library ? library : jit->library;
    int code = tn__take_options(&module, sizeof module, given, "struct tn_jit_module", err);
    if (!code && !module.responsibility)
        module.responsibility = tn__responsibility_current(library);
    return code ? code : add_resting(jit, library, &module, err);
}
