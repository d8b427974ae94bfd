/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* lazy LOOPS.o: what lazy stubs cost.
 *
 *     call     a call through a stub after the first one, against a direct call and one through a pointer in memory;
 *              the loops are loaded code (lazy_loops.s)
 *     first    the first call of a function that is linked already: saving registers, looking it up, patching
 *     define   100,000 lazy functions, 1,000 at a time and one by one: time, memory, mappings */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <tenon.h>

#include "measure.h"

enum { ROUNDS = 31, CALLS = 2000000, STUBS = 100000, AT_ONCE = 1000 };

typedef void loop(long times);
typedef void function(void);

struct world {
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error error;
};

static int fail(const char *text)
{
    fprintf(stderr, "lazy: %s\n", text);
    return 1;
}

/* ---- the session's memory, counted ---- */

static size_t in_use;

static void *reallocate(void *context, void *block, size_t size)
{
    (void)context;
    size_t *header = block ? (size_t *)block - 2 : NULL;
    size_t before = header ? *header : 0;
    header = realloc(header, size + 16);
    if (!header)
        return NULL;
    in_use += size - before;
    *header = size;
    return header + 2;
}

static void *allocate(void *context, size_t size)
{
    return reallocate(context, NULL, size);
}

static void release(void *context, void *block)
{
    (void)context;
    if (block) {
        in_use -= ((size_t *)block)[-2];
        free((size_t *)block - 2);
    }
}

static const struct tn_allocator counting = {.allocate = allocate, .reallocate = reallocate, .release = release};

static bool create(struct world *world, const struct tn_allocator *allocator)
{
    const struct tn_session_options options = {.size = sizeof options, .allocator = allocator};
    return !tn_session_create(&options, &world->session, &world->error) &&
           !tn_library_create(world->session, "lazy", &world->library, &world->error);
}

/* ---- calls ---- */

static void no_function(void)
{
    exit(fail("a lazy function was not found"));
}

static const struct tn_stub_options options = {.size = sizeof options, .on_failure = no_function};

static double time_calls(loop *run)
{
    uint64_t start = now_ns();
    run(CALLS);
    return (double)(now_ns() - start) / CALLS;
}

static int measure_calls(struct world *world)
{
    static const char *const names[] = {"call_directly", "call_pointer", "call_stub"};
    static double ns[3][ROUNDS];
    loop *loops[3];
    for (int i = 0; i < 3; i++) {
        void *address;
        if (tn_lookup(world->library, names[i], &address, &world->error))
            return fail(world->error.text);
        loops[i] = (loop *)address;
        loops[i](1000);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 3; i++)
            ns[i][round] = time_calls(loops[i]);
    for (int i = 0; i < 3; i++)
        printf("%s ns %.2f\n", names[i], median(ns[i], ROUNDS));
    return 0;
}

/* ---- definitions ---- */

static char names[STUBS][16];
static struct tn_lazy_symbol symbols[STUBS];

/* Answers ns per function, or a negative number. */
static double define(struct world *world, size_t at_once)
{
    for (size_t i = 0; i < STUBS; i++) {
        snprintf(names[i], sizeof names[i], "f%07zu", i);
        symbols[i] = (struct tn_lazy_symbol){.name = names[i], .target = "body"};
    }
    uint64_t start = now_ns();
    for (size_t done = 0; done < STUBS; done += at_once)
        if (tn_define_lazy(world->library, symbols + done, at_once, world->library, &options, &world->error))
            return -fail(world->error.text);
    return (double)(now_ns() - start) / STUBS;
}

static struct tn_stats stats_of(const struct world *world)
{
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(world->session, &stats);
    return stats;
}

static int measure_definitions(const char *how, size_t at_once)
{
    struct world world;
    if (!create(&world, &counting))
        return fail(world.error.text);
    size_t heap = in_use;
    struct tn_stats before = stats_of(&world);
    double ns = define(&world, at_once);
    if (ns < 0)
        return 1;
    struct tn_stats after = stats_of(&world);
    uint64_t pages = after.code_bytes + after.data_bytes - before.code_bytes - before.data_bytes;
    printf("%s ns %.0f\n", how, ns);
    printf("%s heap_bytes %.0f\n", how, (double)(in_use - heap) / STUBS);
    printf("%s code_and_data_bytes %.0f\n", how, (double)pages / STUBS);
    printf("%s mappings %llu\n", how, (unsigned long long)(after.mappings - before.mappings));
    tn_session_destroy(world.session);
    return 0;
}

static int measure_first_calls(struct world *world)
{
    static double ns[STUBS];
    if (define(world, AT_ONCE) < 0)
        return 1;
    for (size_t i = 0; i < STUBS; i++) {
        void *stub;
        if (tn_lookup(world->library, names[i], &stub, &world->error))
            return fail(world->error.text);
        uint64_t start = now_ns();
        ((function *)stub)();
        ns[i] = (double)(now_ns() - start);
    }
    printf("first_call ns %.0f\n", median(ns, STUBS));
    return 0;
}

int main(int argc, char **argv)
{
    const struct tn_lazy_symbol stub = {.name = "stub", .target = "body"};
    struct world world;
    if (argc != 2)
        return fail("usage: lazy LOOPS.o");
    if (!create(&world, NULL) || tn_add_file(world.library, argv[1], &world.error) ||
        tn_define_lazy(world.library, &stub, 1, world.library, &options, &world.error))
        return fail(world.error.text);
    int failed = measure_calls(&world) || measure_first_calls(&world) || measure_definitions("define_many", AT_ONCE) ||
                 measure_definitions("define_one", 1);
    tn_session_destroy(world.session);
    return failed;
}
