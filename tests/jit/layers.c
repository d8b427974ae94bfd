/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Layers of a client in front of the JIT: its materializers promise functions, and add the modules that define them
 * when these are needed. In each kind of JIT. */

#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "assume.h"

/* ---- kinds of JITs ---- */

static const struct kind {
    const char *name;
    bool lazy, tiers, cached, whole;
    int threads;
} kinds[] = {
    {"eager", .lazy = false},
    {"eager, threads", .threads = 2},
    {"eager, cache", .cached = true},
    {"lazy", .lazy = true},
    {"lazy, whole", .lazy = true, .whole = true},
    {"lazy, threads", .lazy = true, .threads = 2},
    {"lazy, cache", .lazy = true, .cached = true},
    {"tiers", .lazy = true, .tiers = true},
    {"tiers, cache, threads", .lazy = true, .tiers = true, .cached = true, .threads = 2},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct toy toy;
static struct tn_compiler compiler;
static struct tn_store *store;
static struct tn_compiler *cache;
static const struct kind *kind;
static struct tn_error err;

static struct tn_jit *begin(const struct kind *of, const char *folder)
{
    static const struct tn_tier tiers[] = {{0, 1000, 0}, {2, 0, 0}};
    const struct tn_compiler *front = &compiler;
    struct tn_jit *jit;
    kind = of;
    toy = (struct toy){.has_levels = of->tiers};
    compiler = toy_compiler(&toy);
    cache = NULL;
    toy_reported = 0;
    if (of->cached) {
        const struct tn_folder_options in = {.size = sizeof in, .path = folder};
        check(tn_store_open_folder(&in, &store, &err), &err);
        const struct tn_cache_options options = {
            .size = sizeof options, .stores = &store, .store_count = 1, .compiler = &compiler};
        check(tn_cache_create(&options, &cache, &err), &err);
        front = cache;
    }
    struct tn_jit_options options = toy_options(front, of->lazy);
    options.threads = (size_t)of->threads;
    if (of->tiers) {
        options.tiers = tiers;
        options.tier_count = 2;
        options.tiering = tn_jit_tiering();
    }
    check(tn_jit_create(&options, &jit, &err), &err);
    return jit;
}

static void finish(struct tn_jit *jit)
{
    tn_jit_destroy(jit);
    if (cache) {
        tn_cache_destroy(cache);
        tn_store_close_folder(store);
    }
    assert_int_equal(toy.opens, toy.closes);
}

/* ---- a layer ---- */

struct layer {
    struct tn_jit *jit;
    const char *program;          /* its IR */
    struct tn_responsibility *of; /* named instead of that of the thread */
    const char *other;            /* NULL, or a symbol that it stages itself, */
    const void *address;          /* with this address */
    int made, code;               /* calls so far; what adding the module has returned last */
    bool later, instead, early;   /* another thread ends it; failures are mended by staging `other`; it ends at once */
    const char *faults;           /* NULL, or a plan of them while the module is added */
    unsigned adding;              /* odd: while the module is added; atomic */
    pthread_t thread;
};

static int add_module(struct layer *layer, struct tn_error *error)
{
    struct tn_jit_module module = toy_module(layer->program);
    module.whole = kind->whole;
    module.responsibility = layer->of;
    __atomic_add_fetch(&layer->adding, 1, __ATOMIC_SEQ_CST);
    tn__os_set_faults(layer->faults);
    layer->code = tn_jit_add_module(layer->jit, NULL, &module, error);
    tn__os_set_faults(NULL);
    __atomic_add_fetch(&layer->adding, 1, __ATOMIC_SEQ_CST);
    return layer->code;
}

static void *make_later(void *context)
{
    struct layer *layer = context;
    struct tn_error error;
    if (add_module(layer, &error) == 0)
        tn_responsibility_ready(layer->of, NULL);
    else
        tn_responsibility_fail(layer->of, &error);
    return NULL;
}

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *error)
{
    struct layer *layer = context;
    __atomic_fetch_add(&layer->made, 1, __ATOMIC_RELAXED);
    if (layer->later) {
        layer->of = responsibility;
        return pthread_create(&layer->thread, NULL, make_later, layer) ? TN_ENOMEM : TN_LATER;
    }
    if (layer->early) {
        const struct tn_definition address = {"first", layer->address, 0};
        tn_responsibility_define(responsibility, &address, 1, NULL, 0, NULL);
        tn_responsibility_ready(responsibility, NULL);
    }
    int code = add_module(layer, error);
    if ((code && !layer->instead) || !layer->other || (!code && layer->instead))
        return code;
    const struct tn_definition other = {layer->other, layer->address, TN_SYMBOL_CALLABLE};
    return tn_responsibility_define(responsibility, &other, 1, NULL, 0, error);
}

static void put(struct layer *layer, const struct tn_promised *symbols, size_t count, struct tn_tracker *owner)
{
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "the client's layer",
                                                 .context = layer,
                                                 .symbols = symbols,
                                                 .count = count,
                                                 .materialize = make,
                                                 .owner = owner};
    check(tn_add_materializer(tn_jit_library(layer->jit), &materializer, &err), &err);
}

static uint64_t flags_of(struct tn_jit *jit, const char *name)
{
    struct tn_known known = {name, 0};
    check(tn_lookup_flags(tn_jit_library(jit), &known, 1, &err), &err);
    return known.flags;
}

static const struct tn_promised both[] = {{"first", TN_SYMBOL_CALLABLE}, {"second", TN_SYMBOL_CALLABLE}},
                                third[] = {{"third", TN_SYMBOL_CALLABLE}, {"first", TN_SYMBOL_CALLABLE}};

static long three_times(long x)
{
    return 3 * x;
}

/* ---- what they do ---- */

static void modules_are_added_when_needed(struct tn_jit *jit)
{
    struct layer layer = {.jit = jit, .program = "program"};
    put(&layer, both, 2, NULL);
    assert_int_equal(flags_of(jit, "first"), TN_KNOWN_DEFINED | TN_KNOWN_PROMISED | TN_KNOWN_CALLABLE);
    assert_true(layer.made == 0 && toy.opens == 0);
    assert_int_equal(call_first(jit, 1), 42);
    assert_int_equal(call(find(jit, "second"), 1), call(find(jit, "second"), 1));
    assert_int_equal(layer.made, 1);
    assert_true(flags_of(jit, "second") & TN_KNOWN_CALLABLE);
    assert_false(flags_of(jit, "second") & TN_KNOWN_PROMISED);
    if (kind->tiers) {
        check(tn_jit_request_tier(jit, "first", 1, &err), &err);
        while (call_first(jit, 1) < 1000)
            tn__os_relax();
    }
}

static void another_thread_adds_them(struct tn_jit *jit)
{
    struct layer layer = {.jit = jit, .program = "program", .later = true};
    put(&layer, both, 2, NULL);
    assert_int_equal(call_first(jit, 1), 42);
    pthread_join(layer.thread, NULL);
    assert_int_equal(layer.made, 1);
}

static void the_rest_is_staged(struct tn_jit *jit)
{
    struct layer layer = {.jit = jit, .program = "program", .other = "third"};
    long (*function)(long) = three_times;
    memcpy(&layer.address, &function, sizeof function);
    put(&layer, third, 2, NULL);
    assert_int_equal(call(find(jit, "third"), 2), 6);
    assert_int_equal(call_first(jit, 1), 42);
    assert_true(flags_of(jit, "third") & TN_KNOWN_CALLABLE);
    assert_int_equal(layer.made, 1);
}

static void what_is_missing_is_named(struct tn_jit *jit)
{
    struct layer layer = {.jit = jit, .program = "program"};
    void *address;
    put(&layer, third, 2, NULL);
    assert_int_equal(tn_jit_lookup(jit, "third", &address, &err), TN_EUNDEF);
    assert_non_null(strstr(err.text, "promised, and did not define: 'third'"));
    assert_int_equal(call_first(jit, 1), 42); /* which the module has */
}

/* The IR is bad, or the library defines one of the names: nothing of the module stays, and everything is owed. */
static void failures_change_nothing(struct tn_jit *jit)
{
    long (*function)(long) = three_times;
    struct layer bad = {.jit = jit, .program = "bad", .other = "first", .instead = true};
    memcpy(&bad.address, &function, sizeof function);
    put(&bad, both, 1, NULL);
    assert_int_equal(call_first(jit, 2), 6);
    assert_int_equal(bad.code, TN_ECOMPILE);
    check(tn_library_clear(tn_jit_library(jit), &err), &err);
    struct layer twice = {.jit = jit, .program = "program", .other = "first", .instead = true};
    twice.address = bad.address;
    check(tn_define(tn_jit_library(jit), "second", bad.address, &err), &err);
    put(&twice, both, 1, NULL);
    assert_int_equal(call_first(jit, 3), 9);
    assert_int_equal(twice.code, TN_EDUP);
    assert_int_equal(flags_of(jit, "total"), 0);
    assert_int_equal(twice.made, 1);
}

/* Each allocation of adding fails in turn: then the client makes the function in another way. */
static void memory_runs_out(struct tn_jit *jit)
{
    long (*function)(long) = three_times;
    int failed = -1;
    struct layer layer = {.jit = jit, .program = "program", .other = "first", .code = TN_ENOMEM};
    memcpy(&layer.address, &function, sizeof function);
    if (kind->threads)
        return; /* they would meet the faults */
    for (int i = 1; layer.code; i++, failed++) {
        char plan[20];
        struct tn_tracker *owner;
        layer.faults = plan;
        snprintf(plan, sizeof plan, "a%d", i);
        check(tn_tracker_create(tn_jit_library(jit), &owner, &err), &err);
        layer.instead = true;
        put(&layer, both, 1, owner);
        call_first(jit, 5);
        assert_true(!layer.code || layer.code == TN_ENOMEM);
        if (layer.code)
            assert_true(call_first(jit, 5) == 15 && !flags_of(jit, "second") && !flags_of(jit, "total"));
        check(tn_tracker_remove(owner, &err), &err);
        tn_tracker_destroy(owner);
    }
    assert_true(failed > 0);
}

/* What the layer has promised is there all the while, also when a module that took its place is removed again. */
static void *watch_total(void *context)
{
    struct layer *layer = context;
    struct tn_library *library = tn_jit_library(layer->jit);
    const char *wrong = NULL;
    for (unsigned before; (before = __atomic_load_n(&layer->adding, __ATOMIC_SEQ_CST)) != UINT_MAX;) {
        struct tn_known total = {"total", 0};
        if (tn_lookup_flags(library, &total, 1, NULL))
            wrong = "no flags";
        unsigned after = __atomic_load_n(&layer->adding, __ATOMIC_SEQ_CST);
        if (before & 1 && before == after && !(total.flags & TN_KNOWN_DEFINED))
            wrong = "the symbol was gone";
    }
    return (void *)wrong;
}

static void others_look_while_it_fails(struct tn_jit *jit)
{
    enum { TIMES = 300 };
    static const struct tn_promised total = {"total", 0};
    struct layer layer = {.jit = jit, .program = "program"};
    pthread_t watcher;
    void *wrong, *address;
    check(tn_define(tn_jit_library(jit), "second", &layer, &err), &err);
    assert_int_equal(pthread_create(&watcher, NULL, watch_total, &layer), 0);
    for (int i = 0; i < TIMES; i++) {
        struct tn_tracker *owner;
        check(tn_tracker_create(tn_jit_library(jit), &owner, &err), &err);
        put(&layer, &total, 1, owner);
        assert_int_equal(tn_jit_lookup(jit, "total", &address, &err), TN_EDUP);
        check(tn_tracker_remove(owner, &err), &err);
        tn_tracker_destroy(owner);
    }
    __atomic_store_n(&layer.adding, UINT_MAX, __ATOMIC_SEQ_CST);
    pthread_join(watcher, &wrong);
    if (wrong)
        fail_msg("%s", (const char *)wrong);
}

static void compilations_fail_as_ever(struct tn_jit *jit)
{
    struct layer layer = {.jit = jit, .program = "fails"};
    void *address;
    put(&layer, both, 2, NULL);
    int code = tn_jit_lookup(jit, "first", &address, &err);
    if (!code)
        assert_int_equal(call(address, 1), -1); /* a stub */
    else
        assert_int_equal(code, TN_ECOMPILE);
    assert_int_equal(layer.code, 0);
    assert_int_equal(layer.made, 1);
}

/* The module belongs to the owner of the promise. */
static void they_go_with_the_owner(struct tn_jit *jit)
{
    struct layer layer = {.jit = jit, .program = "program"};
    struct tn_tracker *owner;
    for (int round = 1; round <= 3; round++) {
        check(tn_tracker_create(tn_jit_library(jit), &owner, &err), &err);
        put(&layer, both, 2, owner);
        assert_int_equal(call_first(jit, 1), 42);
        assert_int_equal(layer.made, round);
        check(tn_tracker_remove(owner, &err), &err);
        tn_tracker_destroy(owner);
        assert_true(!flags_of(jit, "first") && !flags_of(jit, "second") && !flags_of(jit, "total"));
    }
}

/* ---- many threads ---- */

enum { CALLERS = 4 };

static void *find_and_call(void *context)
{
    struct tn_jit *jit = context;
    void *address;
    struct tn_error error;
    if (tn_jit_lookup(jit, "first", &address, &error))
        return "no such function";
    return call(address, 1) % 1000 == 42 ? NULL : "another result";
}

static void many_threads_need_them(struct tn_jit *jit)
{
    struct layer layer = {.jit = jit, .program = "program"};
    pthread_t threads[CALLERS];
    put(&layer, both, 2, NULL);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, find_and_call, jit), 0);
    for (int i = 0; i < CALLERS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        if (wrong)
            fail_msg("%s", (const char *)wrong);
    }
    assert_int_equal(layer.made, 1);
}

/* ---- what is not taken over ---- */

/* What a materializer adds after the end is like what others add. */
static void ends_are_ends(struct tn_jit *jit)
{
    struct layer layer = {.jit = jit, .program = "program", .early = true};
    long (*function)(long) = three_times;
    memcpy(&layer.address, &function, sizeof function);
    put(&layer, both, 1, NULL);
    assert_int_equal(call_first(jit, 4), 12);
    assert_int_equal(layer.code, TN_EDUP);
    layer.program = "data";
    check(add_module(&layer, &err), &err);
    assert_true(flags_of(jit, "total") & TN_KNOWN_DEFINED);
}

static int make_mistakes(void *context, struct tn_responsibility *responsibility, struct tn_error *error)
{
    struct layer *layer = context;
    struct tn_library *other;
    struct tn_jit_module module = toy_module("program");
    module.responsibility = responsibility;
    assert_int_equal(tn_library_create(tn_jit_session(layer->jit), "other", &other, error), 0);
    assert_int_equal(tn_jit_add_module(layer->jit, other, &module, error), TN_EINVAL);
    assert_non_null(strstr(error->text, "the responsibility is another library's"));
    assert_int_equal(tn_jit_replace(layer->jit, NULL, &module, error), TN_EINVAL);
    assert_non_null(strstr(error->text, "no responsibility"));
    module.responsibility = NULL;
    assert_int_equal(tn_jit_add_module(layer->jit, other, &module, error), 0);
    return tn_jit_add_module(layer->jit, NULL, &module, error);
}

static void mistakes_are_refused(struct tn_jit *jit)
{
    struct layer layer = {.jit = jit};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "mistakes",
                                                 .context = &layer,
                                                 .symbols = both,
                                                 .count = 2,
                                                 .materialize = make_mistakes};
    check(tn_add_materializer(tn_jit_library(jit), &materializer, &err), &err);
    assert_int_equal(call_first(jit, 1), 42);
}

static void (*const cases[])(struct tn_jit *jit) = {
    modules_are_added_when_needed,
    another_thread_adds_them,
    the_rest_is_staged,
    what_is_missing_is_named,
    failures_change_nothing,
    memory_runs_out,
    others_look_while_it_fails,
    compilations_fail_as_ever,
    they_go_with_the_owner,
    many_threads_need_them,
    ends_are_ends,
    mistakes_are_refused,
};

static void in_each_jit(void **state)
{
    char folder[] = "/tmp/layers-XXXXXX", remove[100];
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (int again = 0; again < 2; again++) /* the second time, caches have everything */
        for (size_t k = 0; k < KINDS; k++)
            for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
                struct tn_jit *jit = begin(&kinds[k], folder);
                cases[i](jit);
                finish(jit);
            }
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    assert_int_equal(system(remove), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(in_each_jit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
