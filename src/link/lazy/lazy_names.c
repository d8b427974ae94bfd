/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Describes stubs to observers: adjacent stubs of one definition are an object with functions NAME@stub. Nothing is
 * stored here: the facts of cells have their addresses. */

#include "link/lazy/lazy.h"
#include "link/observe/observer.h"

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
                struct tn__arena *arena, struct tn_error *err)
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

int tn__lazy_tell_defined(const struct tn_library *library, const struct tn__cell_facts *facts, size_t count,
                          struct tn_error *err)
{
    if (!library->session->observers.count)
        return 0;
    struct tn__arena arena = {.from = library->session->allocator};
    int code = tell(library, facts, count, &arena, err);
    tn__arena_free(&arena);
    return code;
}

/* In portions, because removal must not allocate memory. */
void tn__lazy_tell_removed(const struct tn_library *library, const struct tn__cell_facts *facts, size_t count)
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
