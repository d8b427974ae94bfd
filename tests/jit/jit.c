/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The JIT with a compiler that is not LLVM, with a cache in front of it, and with a cache alone. */

#include "link/model/session.h"
#include "toy.h"

static struct toy toy;
static struct tn_compiler compiler;

static int create(struct tn_jit **jit, const struct tn_compiler *with, bool lazy, struct tn_error *err)
{
    struct tn_jit_options options = toy_options(with, lazy);
    return tn_jit_create(&options, jit, err);
}

static int prepare(void **state)
{
    (void)state;
    toy = (struct toy){0};
    compiler = toy_compiler(&toy);
    toy_reported = 0;
    return 0;
}

static void function_by_function(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_jit_module module = toy_module("program");
    check(create(&jit, &compiler, true, &err), &err);
    check(tn_jit_add_module(jit, NULL, &module, &err), &err);
    assert_true(toy.opens == 1 && toy.compiles == 0);
    void *address;
    check(tn_jit_lookup(jit, "second", &address, &err), &err);
    assert_int_equal(toy.compiles, 0); /* this is the stub */
    assert_int_equal(call_first(jit, 1), 42);
    assert_int_equal(toy.compiles, TOY_PARTS);
    assert_int_equal(call_first(jit, 2), 44);
    assert_int_equal(toy.compiles, TOY_PARTS);
    struct tn_jit_stats stats = {.size = sizeof stats};
    tn_jit_stats(jit, &stats);
    assert_true(stats.modules == 1 && stats.functions == 2);
    tn_jit_destroy(jit);
    assert_int_equal(toy.opens, toy.closes);
}

static void in_one_piece(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_jit_module module = toy_module("program");
    for (int lazy = 0; lazy < 2; lazy++) {
        prepare(NULL);
        module.whole = lazy;
        check(create(&jit, &compiler, lazy, &err), &err);
        check(tn_jit_add_module(jit, NULL, &module, &err), &err);
        assert_int_equal(toy.compiles, 0);
        assert_int_equal(call_first(jit, 1), 42);
        assert_int_equal(toy.compiles, 1);
        tn_jit_destroy(jit);
        assert_int_equal(toy.opens, toy.closes);
    }
}

/* ---- compilers ---- */

static void compilers_that_are_refused(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    assert_int_equal(tn_jit_create(NULL, &jit, &err), TN_EINVAL);
    assert_int_equal(create(&jit, NULL, false, &err), TN_EINVAL);
    assert_non_null(strstr(err.text, "needs a compiler"));
    const struct tn_compiler complete = compiler;
    compiler.open = NULL;
    assert_int_equal(create(&jit, &compiler, false, &err), TN_EINVAL);
    compiler = complete;
    compiler.compile = NULL;
    assert_int_equal(create(&jit, &compiler, false, &err), TN_EINVAL);
    compiler = complete;
    compiler.close = NULL;
    assert_int_equal(create(&jit, &compiler, false, &err), TN_EINVAL);
    compiler = complete;
    compiler.size = 0;
    assert_int_equal(create(&jit, &compiler, false, &err), TN_EINVAL);
    compiler = complete;
    toy.refuses = TN_ENOTSUP;
    assert_int_equal(create(&jit, &compiler, false, &err), TN_ENOTSUP);
    assert_null(jit);
}

/* ---- sessions ---- */

static struct tn_library *enabled;
static int enables;

static int enable(struct tn_library *library, struct tn_error *err)
{
    enabled = library;
    return err->code = enables;
}

/* Its own session has what the options say; one that it was given has what its creator said. */
static void options_of_the_session(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_session *session;
    const struct tn_jit_options with[] = {{.threads = 1},
                                          {.on_error = toy_options(&compiler, false).on_error},
                                          {.session_flags = TN_SESSION_TIMINGS},
                                          {.managed = enable}};
    struct tn_jit_options options = toy_options(&compiler, false);
    options.session_flags = TN_SESSION_OWN_THREADS;
    options.managed = enable;
    check(tn_jit_create(&options, &jit, &err), &err);
    assert_true(enabled == tn_jit_library(jit) && !tn_jit_session(jit)->any_threads);
    tn_jit_destroy(jit);
    enables = TN_ENOTSUP;
    assert_int_equal(tn_jit_create(&options, &jit, &err), TN_ENOTSUP);
    assert_null(jit);
    options.session_flags = UINT64_C(1) << 63;
    assert_int_equal(tn_jit_create(&options, &jit, &err), TN_EINVAL);
    check(tn_session_create(NULL, &session, &err), &err);
    for (size_t i = 0; i < sizeof with / sizeof with[0]; i++) {
        options = with[i];
        options.size = sizeof options;
        options.compiler = &compiler;
        options.session = session;
        assert_int_equal(tn_jit_create(&options, &jit, &err), TN_EINVAL);
        assert_non_null(strstr(err.text, "belong to the session"));
    }
    tn_session_destroy(session);
}

/* One compiled with a header that had no `check` and no `write`. */
static void older_compilers(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_jit_module module = toy_module("program"), in_memory = module;
    in_memory.llvm_module = (void *)"program";
    in_memory.ir = NULL;
    toy.refuses = TN_EINVAL; /* is not asked */
    compiler.size = offsetof(struct tn_compiler, check);
    check(create(&jit, &compiler, true, &err), &err);
    memset(&compiler, 0, sizeof compiler); /* the struct was copied */
    assert_int_equal(tn_jit_add_module(jit, NULL, &in_memory, &err), TN_ENOTSUP);
    check(tn_jit_add_module(jit, NULL, &module, &err), &err);
    assert_int_equal(call_first(jit, 1), 42);
    tn_jit_destroy(jit);
    assert_true(toy.writes == 0 && toy.opens == toy.closes);
}

static void modules_in_memory(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_jit_module module = toy_module("program");
    module.llvm_module = (void *)"program";
    check(create(&jit, &compiler, true, &err), &err);
    assert_int_equal(tn_jit_add_module(jit, NULL, &module, &err), TN_EINVAL); /* one of both */
    module.ir = NULL;
    check(tn_jit_add_module(jit, NULL, &module, &err), &err);
    assert_int_equal(call_first(jit, 1), 42);
    assert_int_equal(toy.writes, 1);
    tn_jit_destroy(jit);
}

/* ---- failures ---- */

static void failures(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_jit_module bad = toy_module("bad"), failing = toy_module("fails"), good = toy_module("program");
    check(create(&jit, &compiler, true, &err), &err);
    assert_int_equal(tn_jit_add_module(jit, NULL, &bad, &err), TN_ECOMPILE);
    check(tn_jit_add_module(jit, NULL, &failing, &err), &err);
    assert_int_equal(call_first(jit, 1), -1);
    assert_int_equal(toy_reported, TN_ECOMPILE);
    assert_int_equal(tn_jit_add_module(jit, NULL, &good, &err), TN_EDUP);
    check(tn_library_clear(tn_jit_library(jit), &err), &err);
    check(tn_jit_add_module(jit, NULL, &good, &err), &err); /* nothing was left behind */
    assert_int_equal(call_first(jit, 1), 42);
    tn_jit_destroy(jit);
    assert_int_equal(toy.opens, toy.closes);
}

static int attempt(bool lazy, int number)
{
    struct tn_error err = {0};
    struct tn_jit *jit = NULL;
    struct tn_jit_module module = toy_module("program");
    char plan[16];
    void *address;
    snprintf(plan, sizeof plan, "a%d", number);
    assert_int_equal(tn__os_set_faults(plan), 0);
    int code = create(&jit, &compiler, lazy, &err);
    if (!code)
        code = tn_jit_add_module(jit, NULL, &module, &err);
    if (!code)
        code = tn_jit_lookup(jit, lazy ? "first$body" : "first", &address, &err);
    tn__os_set_faults(NULL);
    tn_jit_destroy(jit);
    assert_int_equal(toy.opens, toy.closes);
    if (code && (code != TN_ENOMEM || err.code != code))
        fail_msg("allocation %d: %s: %s", number, tn_error_name(code), err.text);
    return code;
}

static void allocations_refused(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        int refused = 0;
        for (int number = 1, granted = 0; granted < 4; number++) { /* some are made once, or not needed */
            int code = attempt(lazy, number);
            refused += code != 0;
            granted = code ? 0 : granted + 1;
        }
        assert_true(refused > 15);
    }
}

/* ---- caches ---- */

/* The client's store: one pack, in memory. */
static struct tn_buffer pack;

static int get(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], struct tn_buffer *out)
{
    (void)context;
    if (!pack.size || memcmp((const char *)pack.data + 8, key, TN_CACHE_KEY_SIZE) != 0)
        return TN_EUNDEF;
    return tn__buffer_fill(out, pack.data, pack.size) ? 0 : TN_ENOMEM;
}

static int put(void *context, const unsigned char key[TN_CACHE_KEY_SIZE], const void *bytes, size_t length)
{
    (void)context, (void)key;
    tn_buffer_free(&pack);
    return tn__buffer_fill(&pack, bytes, length) ? 0 : TN_ENOMEM;
}

static const struct tn_store store = {.size = sizeof store, .get = get, .put = put};

static struct tn_compiler *open_cache(bool alone)
{
    const struct tn_store *stores[] = {&store};
    struct tn_error err;
    struct tn_compiler *cache;
    struct tn_cache_options options = {.size = sizeof options,
                                       .stores = (struct tn_store *const *)stores,
                                       .store_count = 1,
                                       .compiler = alone ? NULL : &compiler,
                                       .identity = alone ? "toy" : NULL};
    check(tn_cache_create(&options, &cache, &err), &err);
    return cache;
}

/* A first run fills the store. A second one, in a product without any compiler, runs from it; the IR is not needed if
 * the client has a key for it. */
static void from_the_cache_alone(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    for (int lazy = 0; lazy < 2; lazy++) {
        struct tn_jit_module module = toy_module("program");
        module.key = "program 1";
        module.key_length = 9;
        struct tn_compiler *cache = open_cache(false);
        memset(&compiler, 0, sizeof compiler); /* the struct was copied */
        check(create(&jit, cache, lazy, &err), &err);
        check(tn_jit_add_module(jit, NULL, &module, &err), &err);
        assert_int_equal(call_first(jit, 1), 42);
        tn_jit_destroy(jit);
        tn_cache_destroy(cache);
        int compiles = toy.compiles;
        assert_int_equal(compiles, lazy ? TOY_PARTS : 1);

        cache = open_cache(true);
        check(create(&jit, cache, lazy, &err), &err);
        module.ir = "";
        module.length = 0;
        check(tn_jit_add_module(jit, NULL, &module, &err), &err);
        assert_int_equal(call_first(jit, 1), 42);
        struct tn_jit_module other = toy_module("program, another"), in_memory = toy_module("program");
        assert_int_equal(tn_jit_add_module(jit, NULL, &other, &err), TN_ENOTSUP);
        in_memory.llvm_module = (void *)in_memory.ir;
        in_memory.ir = NULL;
        assert_int_equal(tn_jit_add_module(jit, NULL, &in_memory, &err), TN_ENOTSUP);
        tn_jit_destroy(jit);
        tn_cache_destroy(cache);
        assert_true(toy.compiles == compiles && toy.opens == toy.closes);
        tn_buffer_free(&pack);
        prepare(NULL);
    }
}

/* What the compiler behind refuses, the cache refuses too; modules in memory reach the compiler. */
static void through_the_cache(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit;
    struct tn_jit_module module = toy_module("program");
    module.llvm_module = (void *)module.ir;
    module.ir = NULL;
    struct tn_compiler *cache = open_cache(false);
    toy.refuses = TN_EINVAL;
    assert_int_equal(create(&jit, cache, true, &err), TN_EINVAL);
    toy.refuses = 0;
    check(create(&jit, cache, true, &err), &err);
    check(tn_jit_add_module(jit, NULL, &module, &err), &err);
    assert_int_equal(call_first(jit, 1), 42);
    assert_int_equal(toy.writes, 1);
    tn_jit_destroy(jit);
    tn_cache_destroy(cache);
    tn_buffer_free(&pack);
}

/* ---- clients that refuse objects ---- */

static int seen;
static const char *unwanted;

static int refuse(void *context, struct tn_input *object, struct tn_error *err)
{
    (void)context;
    bool is_it = unwanted && strcmp(object->name, unwanted) == 0;
    seen += is_it;
    return is_it ? tn__fail(err, TN_EPERM, "not this one") : 0;
}

/* The outcome of adding the module, or else of looking `name` up. */
static int run_cached(const char *ir, const char *name, bool lazy, struct tn_cache_stats *stats, struct tn_error *err)
{
    const struct tn_session_options in_session = {.size = sizeof in_session, .on_object = refuse};
    struct tn_compiler *cache = open_cache(false);
    struct tn_jit_options options = toy_options(cache, lazy);
    struct tn_jit_module module = toy_module(ir);
    struct tn_session *session;
    struct tn_jit *jit;
    void *address;
    check(tn_session_create(&in_session, &session, err), err);
    options.session = session;
    options.on_error = NULL; /* it would be the session's */
    check(tn_jit_create(&options, &jit, err), err);
    if (strcmp(ir, "opaque") == 0) /* it needs this */
        check(tn_define(tn_jit_library(jit), "second", (const void *)no_function, err), err);
    int code = tn_jit_add_module(jit, NULL, &module, err);
    if (!code)
        code = tn_jit_lookup(jit, name, &address, err);
    *stats = (struct tn_cache_stats){.size = sizeof *stats};
    tn_jit_destroy(jit);
    tn_session_destroy(session);
    tn_cache_stats(cache, stats);
    tn_cache_destroy(cache);
    return code;
}

/* What is refused was not damaged: it is neither compiled anew nor shown again, and stays in the cache. */
static void objects_refused_by_the_client(void **state)
{
    (void)state;
    static const struct {
        const char *ir, *name, *object;
        bool lazy;
    } cases[] = {{"program", "first$body", "toy(first)", true},
                 {"program", "first", "toy", false},
                 {"opaque", "first", "toy", false}};
    struct tn_error err;
    struct tn_cache_stats stats;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        prepare(NULL);
        unwanted = NULL;
        check(run_cached(cases[i].ir, cases[i].name, cases[i].lazy, &stats, &err), &err);
        int compiles = toy.compiles;
        unwanted = cases[i].object;
        seen = 0;
        assert_int_equal(run_cached(cases[i].ir, cases[i].name, cases[i].lazy, &stats, &err), TN_EPERM);
        assert_non_null(strstr(err.text, "not this one"));
        assert_true(seen == 1 && toy.compiles == compiles);
        assert_true(stats.damaged == 0 && stats.found_objects == stats.objects && stats.objects > 0);
        unwanted = NULL;
        check(run_cached(cases[i].ir, cases[i].name, cases[i].lazy, &stats, &err), &err);
        assert_int_equal(toy.compiles, compiles);
        tn_buffer_free(&pack);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(function_by_function, prepare),
        cmocka_unit_test_setup(in_one_piece, prepare),
        cmocka_unit_test_setup(compilers_that_are_refused, prepare),
        cmocka_unit_test_setup(options_of_the_session, prepare),
        cmocka_unit_test_setup(older_compilers, prepare),
        cmocka_unit_test_setup(modules_in_memory, prepare),
        cmocka_unit_test_setup(failures, prepare),
        cmocka_unit_test_setup(allocations_refused, prepare),
        cmocka_unit_test_setup(from_the_cache_alone, prepare),
        cmocka_unit_test_setup(through_the_cache, prepare),
        cmocka_unit_test(objects_refused_by_the_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
