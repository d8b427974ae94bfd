/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy and redirectable functions: their definition, and its end. */

#include "link/lazy/lazy.h"
#include "link/session/contents.h"
#include "link/observe/observer.h"

/* ---- names ---- */

/* Describes stubs to observers: adjacent stubs of one definition are an object with functions NAME@stub. Nothing is
 * stored here: the facts of cells have their addresses. */

/* Adjacent stubs: those of the facts first ... end - 1. */
struct run {
    size_t first, end, stubs;
};

/* Finds the run after the given one; false if there is none. */
static bool next_run(const struct tn__cell_facts *facts, size_t count, struct run *run)
{
    size_t at = run->end;
    while (at < count && !facts[at].stub)
        at++;
    *run = (struct run){.first = at};
    for (; at < count; at++) {
        if (!facts[at].stub)
            continue;
        if (facts[at].stub != facts[run->first].stub + run->stubs * tn__lazy_machine.stub_size)
            break;
        run->stubs++;
    }
    run->end = at;
    return run->stubs;
}

/* The id of a run is the address of its first stub, which no other object's id can be. */
static struct tn_linked_object describe_run(const struct tn_library *library, const struct tn__cell_facts *facts,
                                            const struct run *run)
{
    uint64_t start = facts[run->first].stub;
    return (struct tn_linked_object){
        .size = sizeof(struct tn_linked_object),
        .id = start,
        .library = library->name,
        .name = "stubs",
        .zones[TN_ZONE_CODE] = {start, run->stubs * tn__lazy_machine.stub_size},
    };
}

/* False when memory is out. */
static bool name_functions(struct tn__arena *arena, const struct tn__cell_facts *facts, const struct run *run,
                           struct tn_linked_object *out)
{
    struct tn_function *functions = tn__arena_array(arena, run->stubs, sizeof *functions);
    for (size_t i = run->first; functions && i < run->end; i++) {
        if (!facts[i].stub)
            continue;
        struct tn_function *function = &functions[out->function_count++];
        *function =
            (struct tn_function){tn__stub_name(arena, facts[i].entry->name), facts[i].stub, tn__lazy_machine.stub_size};
        if (!function->name)
            return false;
    }
    out->functions = functions;
    return functions != NULL;
}

static int tell(const struct tn_library *library, const struct tn__cell_facts *facts, size_t count,
                struct tn__arena *arena, struct tn_error *err) TN__LOCKED
{
    size_t runs = 0;
    for (struct run run = {0}; next_run(facts, count, &run);)
        runs++;
    if (!runs)
        return 0;
    struct tn_linked_object *all = tn__arena_array(arena, runs, sizeof *all);
    const struct tn_linked_object **objects = tn__arena_array(arena, runs, sizeof *objects);
    bool complete = all && objects;
    struct run run = {0};
    for (size_t i = 0; complete && next_run(facts, count, &run); i++) {
        all[i] = describe_run(library, facts, &run);
        objects[i] = &all[i];
        complete = name_functions(arena, facts, &run, &all[i]);
    }
    return complete ? tn__observers_tell(library->session, objects, runs, err) : tn__no_memory(err, NULL);
}

/* Tells observers that stubs have been taken for these functions of one definition. TN_ENOMEM, or what an observer
 * answers; then it is as if none had been told. */
static int lazy_tell_defined(const struct tn_library *library, const struct tn__cell_facts *facts, size_t count,
                             struct tn_error *err) TN__LOCKED
{
    if (!library->session->observers.count)
        return 0;
    struct tn__arena arena = {.from = library->session->allocator};
    int code = tell(library, facts, count, &arena, err);
    tn__arena_free(&arena);
    return code;
}

/* In portions, because removal must not allocate memory. */
static void lazy_tell_removed(const struct tn_library *library, const struct tn__cell_facts *facts,
                              size_t count) TN__LOCKED
{
    enum { PORTION = 16 };
    struct tn_linked_object all[PORTION];
    const struct tn_linked_object *objects[PORTION];
    bool observed = library->session->observers.count;
    size_t told = 0;
    for (struct run run = {0}; observed && next_run(facts, count, &run); told++) {
        if (told == PORTION) {
            tn__observers_tell_removed(library->session, objects, told);
            told = 0;
        }
        all[told] = describe_run(library, facts, &run);
        objects[told] = &all[told];
    }
    if (told)
        tn__observers_tell_removed(library->session, objects, told);
}

/* ---- definitions ---- */

/* Last to first, so that adjacent stubs are adjacent again when they are reused. */
static void return_stubs(struct tn__lazy_pool *pool, struct tn__lazy_batch *batch) TN__LOCKED
{
    tn__cells_forget(batch);
    for (size_t i = batch->count; i--;)
        if (batch->facts[i].stub)
            tn__lazy_give(pool, batch->facts[i].stub);
}

static void forget_batch(struct tn__lazy_pool *pool, struct tn__lazy_batch *batch) TN__LOCKED
{
    lazy_tell_removed(batch->library, batch->facts, batch->count);
    for (size_t i = 0; !batch->hidden && i < batch->count; i++)
        if (tn__lazy_is_defined(&batch->facts[i]))
            tn__entry_forget(batch->library, batch->facts[i].entry);
    return_stubs(pool, batch);
    batch->removed = true;
    tn__list_remove(&batch->owned);
    if (batch->calls)
        tn__list_append(&batch->library->session->later[TN__ACK_FIRST_CALLS], &batch->owned);
    else
        tn__lazy_free_batch(batch);
}

static void forget_stubs(struct tn_tracker *owner) TN__LOCKED
{
    while (!tn__list_is_empty(&owner->lazy))
        forget_batch(tn__lazy_pool_of(owner->library->session),
                     tn__container_of(owner->lazy.next, struct tn__lazy_batch, owned));
}

static const void *best_entry(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, tn__lazy_machine.look);
    size_t best = tn__lazy_machine.way_count - 1;
    while (!tn__lazy_machine.ways[best].size)
        best--;
    return tn__lazy_machine.ways[best].entry;
}

static int open_pool(struct tn_session *session, struct tn_error *err)
{
    if (session->lazy)
        return 0;
    if (!tn__lazy_machine.way_count)
        return tn__fail(err, TN_ENOTSUP, "lazy stubs are not supported on %s yet", tn__arch_host->name);
    struct tn__lazy_pool *pool = tn__arena_array(&session->arena, 1, sizeof *pool);
    if (!pool)
        return tn__no_memory(err, NULL);
    pool->hooks = (struct tn__lazy_hooks){forget_stubs, tn__cells_lead_away, tn__cells_have, tn__cells_owner};
    pool->entry = (uintptr_t)best_entry();
    session->lazy = &pool->hooks;
    tn__cells_announce();
    return 0;
}

static int find_entries(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols,
                        struct tn_error *err) TN__LOCKED
{
    int code = tn__libraries_check(batch->library, batch->targets, err);
    for (size_t i = 0; !code && i < batch->count; i++) {
        batch->facts[i].entry = tn__symtab_intern(&batch->library->symtab, symbols[i].name);
        if (!batch->facts[i].entry)
            code = tn__fail(err, TN_ENOMEM, "'%s': out of memory", symbols[i].name);
    }
    return code;
}

/* Takes the names that are free, all or none; those it has taken are marked with a stub of 1. */
static int take_names(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, struct tn__journal *journal,
                      struct tn_error *err) TN__LOCKED
{
    int code = 0;
    for (size_t i = 0; !code && i < batch->count; i++) {
        bool taken;
        code = tn__entry_define(batch->facts[i].entry, symbols[i].flags, journal, &taken, err);
        batch->facts[i].stub = !code && taken;
    }
    if (code)
        tn__journal_undo(journal);
    return code;
}

/* Observers may refuse; then all is as before. */
static int take_stubs(struct tn__lazy_batch *batch, uint64_t target, struct tn__journal *journal,
                      struct tn_error *err) TN__LOCKED
{
    struct tn__lazy_pool *pool = tn__lazy_pool_of(batch->library->session);
    tn__cell_note_target(batch->library->session, target);
    for (size_t i = 0; i < batch->count; i++) {
        struct tn__cell_facts *facts = &batch->facts[i];
        if (facts->stub)
            facts->stub = facts->entry->address = tn__lazy_take(pool, facts, target ? target : pool->entry);
    }
    int code = lazy_tell_defined(batch->library, batch->facts, batch->count, err);
    if (code) {
        return_stubs(pool, batch);
        tn__journal_undo(journal);
    }
    return code;
}

int tn__lazy_define(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, uint64_t target,
                    struct tn_tracker *owner, struct tn_error *err)
{
    struct tn_session *session = batch->library->session;
    struct tn__journal journal = {.arena.from = session->allocator};
    int code = find_entries(batch, symbols, err);
    if (!code)
        code = tn__entries_wait(batch->library, batch->targets, &batch->facts[0].entry, sizeof batch->facts[0],
                                batch->count, err);
    if (!code)
        code = open_pool(session, err);
    if (!code)
        code = tn__lazy_reserve(session, batch->count, err);
    if (!code)
        code = take_names(batch, symbols, &journal, err);
    if (!code)
        code = take_stubs(batch, target, &journal, err);
    if (!code) {
        batch->owner = owner;
        tn__list_append(&owner->lazy, &batch->owned);
        tn__library_use(batch->library);
        if (batch->targets)
            tn__library_use(batch->targets);
        tn__promises_discard(session, &journal);
    }
    tn__journal_free(&journal);
    return code;
}

/* Enters the batch or frees it. */
static int define_batch(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, uint64_t target,
                        struct tn_tracker *owner, struct tn_error *err)
{
    struct tn_session *session = batch->library->session;
    tn__session_lock(session);
    int code = tn__lazy_define(batch, symbols, target, owner ? owner : &batch->library->own, err);
    tn__session_unlock(session);
    if (code)
        tn__free(session->allocator, batch);
    return code;
}

/* ---- public ---- */

int tn__lazy_take_options(const struct tn_library *library, const struct tn_stub_options *given, bool may_fail,
                          struct tn_stub_options *options, struct tn_error *err)
{
    int code = tn__take_options(options, sizeof *options, given, "struct tn_stub_options", err);
    if (code)
        return code;
    if (options->owner && options->owner->library != library)
        return tn__fail(err, TN_EINVAL, "the tracker belongs to another library");
    if (may_fail && !options->on_failure)
        return tn__fail(err, TN_EINVAL, "no function to call when there is none");
    return tn__session_check_here(library->session, "stubs", err);
}

static int check_symbol(const struct tn_library *library, const struct tn_library *targets,
                        const struct tn_lazy_symbol *symbol, struct tn_error *err)
{
    if (!symbol->name || !*symbol->name || (symbol->target && !*symbol->target))
        return tn__fail(err, TN_EINVAL, "a lazy function without a name");
    if (targets == library && (!symbol->target || !strcmp(symbol->name, symbol->target)))
        return tn__fail(err, TN_EINVAL, "'%s' would lead to itself", symbol->name);
    if (symbol->flags & ~(uint64_t)(TN_SYMBOL_WEAK | TN_SYMBOL_HIDDEN))
        return tn__fail(err, TN_EINVAL, "'%s': unknown flags %#llx", symbol->name, (unsigned long long)symbol->flags);
    if (symbol->managed_registers & ~tn__lazy_machine.managed_registers)
        return tn__fail(err, TN_EINVAL, "'%s': unknown managed registers %#x", symbol->name, symbol->managed_registers);
    return 0;
}

/* With space for the names of targets after the facts. NULL: out of memory. */
static struct tn__lazy_batch *new_batch(struct tn_library *library, const struct tn_stub_options *options, size_t count,
                                        size_t text)
{
    size_t fixed = sizeof(struct tn__lazy_batch) + text, each = sizeof(struct tn__cell_facts);
    if (count > (SIZE_MAX - fixed) / each)
        return NULL;
    struct tn__lazy_batch *batch = tn__alloc_zeroed(library->session->allocator, 1, fixed + count * each);
    if (!batch)
        return NULL;
    batch->library = library;
    batch->on_failure = (uintptr_t)options->on_failure;
    batch->count = count;
    batch->size = fixed + count * each;
    for (size_t i = 0; i < count; i++)
        batch->facts[i].batch = batch;
    return batch;
}

static const char *target_name(const struct tn_lazy_symbol *symbol)
{
    return symbol->target ? symbol->target : symbol->name;
}

static char *copy_symbol(struct tn__cell_facts *facts, const struct tn_lazy_symbol *symbol, char *text)
{
    size_t size = strlen(target_name(symbol)) + 1;
    facts->looks_up = memcpy(text, target_name(symbol), size);
    facts->managed_registers = (uint16_t)symbol->managed_registers;
    facts->managed_stack = symbol->managed_stack;
    return text + size;
}

struct tn__lazy_batch *tn__lazy_new_batch(struct tn_library *library, const struct tn_lazy_symbol *symbols,
                                          size_t count, struct tn_library *targets,
                                          const struct tn_stub_options *options)
{
    size_t text = 0;
    for (size_t i = 0; i < count; i++)
        text += strlen(target_name(&symbols[i])) + 1;
    struct tn__lazy_batch *batch = new_batch(library, options, count, text);
    if (!batch)
        return NULL;
    batch->targets = targets;
    char *at = (char *)&batch->facts[count];
    for (size_t i = 0; i < count; i++)
        at = copy_symbol(&batch->facts[i], &symbols[i], at);
    return batch;
}

int tn__lazy_define_for(const void *maker, struct tn_library *library, const struct tn_lazy_symbol *symbols,
                        size_t count, struct tn_library *targets, const struct tn_stub_options *given,
                        struct tn_error *err)
{
    struct tn_stub_options options;
    if (!library || !targets || (count && !symbols))
        return tn__fail(err, TN_EINVAL, "lazy functions need a library and one with what they lead to");
    if (targets->session != library->session)
        return tn__fail(err, TN_EINVAL, "library %s is of another session", targets->name);
    int code = tn__lazy_take_options(library, given, true, &options, err);
    for (size_t i = 0; !code && i < count; i++)
        code = check_symbol(library, targets, &symbols[i], err);
    if (code || !count)
        return code;
    struct tn__lazy_batch *batch = tn__lazy_new_batch(library, symbols, count, targets, &options);
    if (!batch)
        return tn__no_memory(err, NULL);
    batch->maker = maker;
    return define_batch(batch, symbols, 0, options.owner, err);
}

int tn_define_lazy(struct tn_library *library, const struct tn_lazy_symbol *symbols, size_t count,
                   struct tn_library *targets, const struct tn_stub_options *given, struct tn_error *err)
{
    return tn__lazy_define_for(NULL, library, symbols, count, targets, given, err);
}

int tn_define_redirectable(struct tn_library *library, const char *name, const void *address,
                           const struct tn_stub_options *given, struct tn_error *err)
{
    struct tn_stub_options options;
    if (!library || !name || !*name)
        return tn__fail(err, TN_EINVAL, "a redirectable function needs a library and a name");
    int code = tn__lazy_take_options(library, given, !address, &options, err);
    if (code)
        return code;
    struct tn__lazy_batch *batch = new_batch(library, &options, 1, 0);
    if (!batch)
        return tn__no_memory(err, NULL);
    return define_batch(batch, &(struct tn_lazy_symbol){.name = name}, (uintptr_t)address, options.owner, err);
}
