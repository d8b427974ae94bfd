/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The JIT: what is compiled, when and by whom, and that it computes what it should. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "llvm_module.h"
#include "support.h"

#include "tenon_cpu.h"

/* CORPUS comes from rules.mk: "folder/name" of each program. */
static const char *const programs[] = {CORPUS};

/* ---- what happened ---- */

static struct {
    pthread_mutex_t lock;
    char compiled[4000]; /* names, each in blanks */
    atomic_int errors, failures;
    char error[2100];
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_compiled(void *context, const struct tn_compiled *function)
{
    (void)context;
    pthread_mutex_lock(&seen.lock);
    size_t length = strlen(seen.compiled);
    snprintf(seen.compiled + length, sizeof seen.compiled - length, " %s%s%s ", function->name,
             function->signature ? ":" : "", function->signature ? function->signature : "");
    pthread_mutex_unlock(&seen.lock);
}

static void note_error(void *context, const struct tn_error *error)
{
    (void)context;
    pthread_mutex_lock(&seen.lock);
    snprintf(seen.error, sizeof seen.error, "%s", error->text);
    pthread_mutex_unlock(&seen.lock);
    seen.errors++;
}

/* Takes the place of functions that could not be compiled. */
static long failed(void)
{
    seen.failures++;
    return -1;
}

static const struct tn_compile_observer observer = {.size = sizeof observer, .compiled = note_compiled};
static const struct tn_compile_options levels[] = {
    {DEFAULTS, .opt_level = 0, .observer = &observer},
    {DEFAULTS, .opt_level = 1, .observer = &observer},
    {DEFAULTS, .opt_level = 2, .observer = &observer},
};

static struct tn_jit *create(bool lazy, size_t threads, int level)
{
    struct tn_jit *jit;
    struct tn_error err;
    struct tn_jit_options options = {.size = sizeof options,
                                     .threads = threads,
                                     .on_error = note_error,
                                     .compile = &levels[level],
                                     .lazy = lazy,
                                     .on_failure = (void (*)(void))failed,
                                     .resolver = tn_resolve_dlsym};
    *seen.compiled = '\0';
    seen.errors = seen.failures = 0;
    if (tn_jit_create(&options, &jit, &err))
        fail_msg("%s", err.text);
    return jit;
}

static int add(struct tn_jit *jit, const char *name, const char *ir, struct tn_error *err)
{
    struct tn_jit_module module = {.size = sizeof module, .name = name, .ir = ir, .length = strlen(ir)};
    return tn_jit_add_module(jit, NULL, &module, err);
}

static void add_good(struct tn_jit *jit, const char *name, const char *ir)
{
    struct tn_error err;
    if (add(jit, name, ir, &err))
        fail_msg("%s", err.text);
}

typedef long function(long);

static function *look_up(struct tn_jit *jit, const char *name)
{
    struct tn_error err;
    void *address;
    if (tn_jit_lookup(jit, name, &address, &err))
        fail_msg("%s", err.text);
    function *f;
    memcpy(&f, &address, sizeof f);
    return f;
}

#define assert_compiled(name)                                                                                          \
    do {                                                                                                               \
        if (!strstr(seen.compiled, " " name " "))                                                                      \
            fail_msg("'%s' was not compiled, but:%s", name, seen.compiled);                                            \
    } while (0)
#define assert_not_compiled(name) assert_null(strstr(seen.compiled, " " name " "))

/* ---- tests ---- */

static void refused(void **state)
{
    (void)state;
    static const struct tn_compile_options assembly = {DEFAULTS, .emit = TN_EMIT_ASM},
                                           level = {DEFAULTS, .opt_level = 4};
    const struct {
        struct tn_jit_options options;
        const char *says;
    } rows[] = {
        {{.size = 0}, "size 0"},
        {{.size = sizeof rows[0].options, .lazy = 1}, "on_failure"},
        {{.size = sizeof rows[0].options, .compile = &assembly}, "objects"},
        {{.size = sizeof rows[0].options, .compile = &level}, "opt_level is 4"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_error err;
        struct tn_jit *jit = (void *)&err;
        assert_int_equal(tn_jit_create(&rows[i].options, &jit, &err), TN_EINVAL);
        assert_contains(err.text, rows[i].says);
        assert_null(jit);
    }
    struct tn_jit *jit = create(false, 0, 0);
    struct tn_error err;
    assert_int_equal(add(jit, "bad.ll", "define i64 @f(", &err), TN_ECOMPILE);
    assert_contains(err.text, "bad.ll");
    struct tn_jit_module nothing = {.size = sizeof nothing};
    assert_int_equal(tn_jit_add_module(jit, NULL, &nothing, &err), TN_EINVAL);
    tn_jit_destroy(jit);
    tn_jit_destroy(NULL);
}

static const char caller[] =
    "@offset = global i64 100\n"
    "declare i64 @callee(i64)\n"
    "define i64 @caller(i64 %x) {\n  %a = call i64 @callee(i64 %x)\n  %o = load i64, ptr @offset\n"
    "  %b = add i64 %a, %o\n  ret i64 %b\n}\n"
    "define i64 @other(i64 %x) {\n  ret i64 %x\n}\n";
static const char callee[] = "define i64 @callee(i64 %x) {\n  %a = mul i64 %x, 3\n  ret i64 %a\n}\n";
static const char unused[] = "define i64 @unused(i64 %x) {\n  ret i64 7\n}\n";

/* A module is compiled when something in it is looked up, with what it needs. */
static void whole_modules_when_needed(void **state)
{
    (void)state;
    for (size_t threads = 0; threads <= 2; threads++) {
        struct tn_jit *jit = create(false, threads, 2);
        add_good(jit, "caller.ll", caller);
        add_good(jit, "callee.ll", callee);
        add_good(jit, "unused.ll", unused);
        assert_string_equal(seen.compiled, "");
        assert_int_equal(look_up(jit, "caller")(5), 115);
        assert_compiled("caller");
        assert_compiled("callee");
        assert_compiled("other");
        assert_not_compiled("unused");
        assert_int_equal(look_up(jit, "unused")(5), 7);
        struct tn_jit_stats stats = {.size = sizeof stats};
        tn_jit_stats(jit, &stats);
        assert_int_equal(stats.modules, 3);
        assert_true(stats.parse_ns == 0 && stats.optimize_ns > 0 && stats.emit_ns > 0 && stats.read_ns > 0);
        tn_jit_destroy(jit);
    }
}

static void functions_when_called(void **state)
{
    (void)state;
    for (size_t threads = 0; threads <= 2; threads++) {
        struct tn_jit *jit = create(true, threads, 0);
        add_good(jit, "caller.ll", caller);
        add_good(jit, "callee.ll", callee);
        function *f = look_up(jit, "caller");
        assert_ptr_equal(f, look_up(jit, "caller"));
        assert_string_equal(seen.compiled, "");
        assert_int_equal(f(5), 115);
        assert_int_equal(f(6), 118);
        assert_string_equal(seen.compiled, " caller  callee ");
        assert_ptr_equal(f, look_up(jit, "caller")); /* its stub stays */
        struct tn_jit_stats stats = {.size = sizeof stats};
        tn_jit_stats(jit, &stats);
        assert_int_equal(stats.functions, 3);
        assert_int_equal(stats.taken, 2);
        tn_jit_destroy(jit);
    }
}

static void failures(void **state)
{
    (void)state;
    struct tn_jit *jit = create(true, 0, 0);
    struct tn_error err;
    void *address;
    add_good(jit, "caller.ll", caller);
    assert_int_equal(look_up(jit, "caller")(5), -1); /* callee is undefined, so caller's body cannot be linked */
    assert_int_equal(seen.failures, 1);
    assert_contains(seen.error, "callee");
    add_good(jit, "callee.ll", callee);
    assert_int_equal(look_up(jit, "caller")(5), 115);
    assert_int_equal(add(jit, "callee2.ll", callee, &err), TN_EDUP);
    assert_contains(err.text, "callee");
    assert_int_equal(tn_jit_lookup(jit, "nowhere", &address, &err), TN_EUNDEF);
    tn_jit_destroy(jit);
}

/* If adding fails in the middle nothing stays: the other names may be defined. */
static void all_or_nothing(void **state)
{
    (void)state;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create(lazy, 0, 0);
        struct tn_error err;
        void *address;
        add_good(jit, "callee.ll", callee);
        char both[500];
        snprintf(both, sizeof both, "%s%s", unused, callee);
        assert_int_equal(add(jit, "both.ll", both, &err), TN_EDUP);
        assert_int_equal(tn_jit_lookup(jit, "unused", &address, &err), TN_EUNDEF);
        add_good(jit, "unused.ll", unused);
        assert_int_equal(look_up(jit, "unused")(1), 7);
        tn_jit_destroy(jit);
    }
}

/* Weak definitions: the first stays, a strong one wins. */
static void weak_functions(void **state)
{
    (void)state;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create(lazy, 0, 0);
        add_good(jit, "1.ll",
                 "define weak i64 @w(i64 %x) {\n  ret i64 1\n}\n"
                 "define linkonce_odr i64 @o(i64 %x) {\n  ret i64 10\n}\n"
                 "define i64 @f(i64 %x) {\n  %a = call i64 @w(i64 0)\n  %b = call i64 @o(i64 0)\n"
                 "  %c = add i64 %a, %b\n  ret i64 %c\n}\n");
        add_good(jit, "2.ll",
                 "define i64 @w(i64 %x) {\n  ret i64 2\n}\n"
                 "define linkonce_odr i64 @o(i64 %x) {\n  ret i64 10\n}\n"
                 "define i64 @g(i64 %x) {\n  %a = call i64 @w(i64 0)\n  %b = call i64 @o(i64 0)\n"
                 "  %c = add i64 %a, %b\n  ret i64 %c\n}\n");
        assert_int_equal(look_up(jit, "f")(0), 12);
        assert_int_equal(look_up(jit, "g")(0), 12);
        tn_jit_destroy(jit);
    }
}

static void removed_and_added_again(void **state)
{
    (void)state;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create(lazy, 0, 0);
        struct tn_tracker *tracker;
        struct tn_error err;
        assert_int_equal(tn_tracker_create(tn_jit_library(jit), &tracker, &err), TN_OK);
        for (int round = 0; round < 20; round++) {
            char ir[200];
            snprintf(ir, sizeof ir,
                     "define i64 @f(i64 %%x) {\n  %%a = add i64 %%x, %d\n  ret i64 %%a\n}\n"
                     "define i64 @never(i64 %%x) {\n  ret i64 %%x\n}\n",
                     round);
            struct tn_jit_module module = {
                .size = sizeof module, .name = "f.ll", .ir = ir, .length = strlen(ir), .owner = tracker};
            if (tn_jit_add_module(jit, NULL, &module, &err))
                fail_msg("%s", err.text);
            if (round % 3) /* or it is removed before it was ever compiled */
                assert_int_equal(look_up(jit, "f")(100), 100 + round);
            assert_int_equal(tn_tracker_remove(tracker, &err), TN_OK);
            void *address;
            assert_int_equal(tn_jit_lookup(jit, "f", &address, &err), TN_EUNDEF);
        }
        tn_tracker_destroy(tracker);
        tn_jit_destroy(jit);
    }
}

static void initializers(void **state)
{
    (void)state;
    static const char *const modules[] = {
        "@order = global i64 0\n"
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @one, ptr "
        "null }]\n"
        "define internal void @one() {\n  %a = load i64, ptr @order\n  %b = mul i64 %a, 10\n  %c = add i64 %b, 1\n"
        "  store i64 %c, ptr @order\n  ret void\n}\n"
        "define i64 @get(i64 %x) {\n  %a = load i64, ptr @order\n  ret i64 %a\n}\n",
        /* nothing that anybody could look up */
        "@order = external global i64\n"
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @two, ptr "
        "null }]\n"
        "define internal void @two() {\n  %a = load i64, ptr @order\n  %b = mul i64 %a, 10\n  %c = add i64 %b, 2\n"
        "  store i64 %c, ptr @order\n  ret void\n}\n",
    };
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create(lazy, 0, 1);
        struct tn_error err;
        add_good(jit, "one.ll", modules[0]);
        add_good(jit, "two.ll", modules[1]);
        for (int again = 0; again <= 1; again++) {
            if (tn_jit_run_initializers(jit, NULL, 0, NULL, NULL, &err))
                fail_msg("%s", err.text);
            long order = look_up(jit, "get")(0);
            assert_true(order == 12 || order == 21);
        }
        tn_jit_destroy(jit);
    }
}

/* A module that the client has built with LLVM's API. */
static void modules_of_llvms(void **state)
{
    (void)state;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create(lazy, 0, 2);
        LLVMContextRef context = LLVMContextCreate();
        LLVMModuleRef module = parse_module(context, callee, sizeof callee - 1);
        struct tn_jit_module given = {.size = sizeof given, .name = "llvm", .llvm_module = module};
        struct tn_error err;
        if (tn_jit_add_module(jit, NULL, &given, &err))
            fail_msg("%s", err.text);
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
        assert_int_equal(look_up(jit, "callee")(4), 12);
        tn_jit_destroy(jit);
    }
}

/* ---- code instances ---- */

static void generic_entry(void)
{
}

static const struct tn_instance_entries entries = {.generic = (void *)generic_entry};

/* The code of an instance, once there is some. */
static struct tn_instance_code wait_for(const struct tn_instance *instance)
{
    enum { MOST_MS = 60000 };
    struct tn_instance_code code = tn_instance_read(instance, 1);
    for (int waited = 0; !code.invoke && waited < MOST_MS; waited++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        code = tn_instance_read(instance, 1);
    }
    assert_true(code.invoke != NULL);
    return code;
}

static void instances_are_published(void **state)
{
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        struct tn_jit *jit = create(mode & 1, mode & 2, 0);
        struct tn_instance good, broken;
        struct tn_error err;
        tn_instance_init(&good, &entries);
        tn_instance_init(&broken, &entries);
        static const char ir[] = "declare i64 @nowhere()\n"
                                 "define i64 @entry(i64 %x) {\n  ret i64 %x\n}\n"
                                 "define i64 @special(i64 %x) {\n  %a = add i64 %x, 1\n  ret i64 %a\n}\n";
        static const char bad[] =
            "declare i64 @nowhere()\ndefine i64 @bad(i64 %x) {\n  %a = call i64 @nowhere()\n  ret i64 %a\n}\n";
        const struct tn_jit_instance maps[] = {{.instance = &good,
                                                .invoke = "entry",
                                                .specialized = "special",
                                                .flags = TN_INSTANCE_SPECSIG,
                                                .signature = "f(Int)"},
                                               {.instance = &broken, .invoke = "bad"}};
        struct tn_jit_module module = {.size = sizeof module,
                                       .name = "i.ll",
                                       .ir = ir,
                                       .length = sizeof ir - 1,
                                       .instances = maps,
                                       .instance_count = 1};
        if (tn_jit_add_module(jit, NULL, &module, &err))
            fail_msg("%s", err.text);
        module = (struct tn_jit_module){.size = sizeof module,
                                        .name = "bad.ll",
                                        .ir = bad,
                                        .length = sizeof bad - 1,
                                        .instances = &maps[1],
                                        .instance_count = 1,
                                        .whole = 1};
        if (tn_jit_add_module(jit, NULL, &module, &err))
            fail_msg("%s", err.text);
        struct tn_instance_code code = wait_for(&good);
        assert_int_equal(code.specsigflags, TN_INSTANCE_SPECSIG | TN_INSTANCE_READY);
        function *f;
        memcpy(&f, &code.invoke, sizeof f);
        assert_int_equal(f(41), 41);
        memcpy(&f, &code.specptr, sizeof f);
        assert_int_equal(f(41), 42);
        assert_non_null(strstr(seen.compiled, " entry:f(Int) "));
        assert_non_null(strstr(seen.compiled, " special:f(Int) "));
        code = wait_for(&broken);
        assert_ptr_equal(code.invoke, entries.generic);
        tn_jit_destroy(jit);
    }
}

/* ---- threads ---- */

enum { THREADS = 8, MODULES = 6 };

struct shared {
    struct tn_jit *jit;
    function *f;
    pthread_barrier_t start;
    atomic_long sum;
};

static void *call_it(void *user)
{
    struct shared *shared = user;
    pthread_barrier_wait(&shared->start);
    shared->sum += shared->f(5);
    return NULL;
}

static void many_threads_one_function(void **state)
{
    (void)state;
    struct shared shared = {.jit = create(true, 0, 2)};
    pthread_t threads[THREADS];
    add_good(shared.jit, "caller.ll", caller);
    add_good(shared.jit, "callee.ll", callee);
    shared.f = look_up(shared.jit, "caller");
    pthread_barrier_init(&shared.start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, call_it, &shared);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(shared.sum, THREADS * 115);
    assert_int_equal(strlen(seen.compiled), strlen(" caller  callee "));
    pthread_barrier_destroy(&shared.start);
    tn_jit_destroy(shared.jit);
}

static void *add_and_call(void *user)
{
    static atomic_int next;
    struct shared *shared = user;
    int first = atomic_fetch_add(&next, MODULES);
    for (int i = first; i < first + MODULES; i++) {
        char ir[300], name[20];
        struct tn_error err;
        snprintf(name, sizeof name, "f%d", i);
        snprintf(ir, sizeof ir,
                 "declare i64 @callee(i64)\ndefine i64 @f%d(i64 %%x) {\n  %%a = call i64 @callee(i64 %%x)\n"
                 "  %%b = add i64 %%a, %d\n  ret i64 %%b\n}\n",
                 i, i);
        void *address;
        function *f;
        if (add(shared->jit, name, ir, &err) || tn_jit_lookup(shared->jit, name, &address, &err))
            continue;
        memcpy(&f, &address, sizeof f);
        shared->sum += f(2) == 6 + i;
    }
    return NULL;
}

static void many_threads_many_modules(void **state)
{
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        struct shared shared = {.jit = create(mode & 1, mode & 2, 0)};
        pthread_t threads[THREADS];
        add_good(shared.jit, "callee.ll", callee);
        for (int i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, add_and_call, &shared);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        assert_int_equal(shared.sum, THREADS * MODULES);
        tn_jit_destroy(shared.jit);
    }
}

/* ---- whole programs ---- */

static uint64_t run_program(const void *ir, size_t length, bool lazy, size_t threads, int level)
{
    struct tn_jit *jit = create(lazy, threads, level);
    struct tn_jit_module module = {.size = sizeof module, .name = "program", .ir = ir, .length = length};
    struct tn_error err;
    if (tn_jit_add_module(jit, NULL, &module, &err) || tn_jit_run_initializers(jit, NULL, 0, NULL, NULL, &err))
        fail_msg("%s", err.text);
    uint64_t result = (uint64_t)look_up(jit, "run")(0);
    assert_int_equal(seen.errors, 0);
    tn_jit_destroy(jit);
    return result;
}

static void check_program(const char *path, const void *bytes, size_t length)
{
    (void)path;
    uint64_t expected = run_program(bytes, length, false, 0, 0);
    assert_int_equal(run_program(bytes, length, true, 0, 0), expected);
    assert_int_equal(run_program(bytes, length, true, 2, 2), expected);
}

/* What code asks about the CPU tells apart what it was compiled for. */
static void compiles_for_the_cpu_that_it_is_given(void **state)
{
    static const char ir[] = "declare i1 @julia.cpu.have_fma.f64()\n"
                             "define i64 @ask(i64 %unused) {\n"
                             "  %yes = call i1 @julia.cpu.have_fma.f64()\n"
                             "  %number = zext i1 %yes to i64\n"
                             "  ret i64 %number\n}\n";
    (void)state;
    for (int with_fma = 0; with_fma < 2; with_fma++) {
        struct tn_cpu cpu = cpu_named(with_fma ? "x86-64-v3" : "x86-64-v2");
        struct tn_compile_options compile = {X86, .native = &cpu};
        struct tn_jit_options options = {.size = sizeof options, .compile = &compile};
        struct tn_jit *jit;
        assert_int_equal(tn_jit_create(&options, &jit, NULL), 0);
        add_good(jit, "ask.ll", ir);
        assert_int_equal(look_up(jit, "ask")(0), with_fma);
        tn_jit_destroy(jit);
    }
}

/* What the options point to is copied: it may hold something else when a module is compiled. */
static void options_are_copied(void **state)
{
    (void)state;
    static const char ask[] = "declare i1 @julia.cpu.have_fma.f64()\n"
                              "define i64 @ask(i64 %unused) {\n"
                              "  %yes = call i1 @julia.cpu.have_fma.f64()\n"
                              "  %number = zext i1 %yes to i64\n"
                              "  ret i64 %number\n}\n";
    enum { BY_NAME, BY_NATIVE, WITH_PASSES, WAYS };
    for (int way = 0; way < WAYS; way++) {
        struct {
            struct tn_jit_options options;
            struct tn_compile_options compile;
            struct tn_compile_observer observer;
            struct tn_cpu native;
            char triple[40], cpu[40], features[40], passes[40];
        } *given = malloc(sizeof *given);
        struct tn_jit *jit;
        assert_non_null(given);
        given->observer = observer;
        given->native = cpu_named("x86-64-v3");
        strcpy(given->triple, "x86_64-linux-gnu");
        strcpy(given->cpu, "x86-64");
        strcpy(given->features, "+avx2,+fma");
        strcpy(given->passes, *tn_codegen_passes());
        given->compile = (struct tn_compile_options){.size = sizeof given->compile,
                                                     .triple = given->triple,
                                                     .cpu = way == BY_NAME ? given->cpu : NULL,
                                                     .features = way == BY_NAME ? given->features : NULL,
                                                     .passes = way == WITH_PASSES ? given->passes : NULL,
                                                     .observer = &given->observer,
                                                     .native = way == BY_NATIVE ? &given->native : NULL};
        given->options = (struct tn_jit_options){.size = sizeof given->options, .compile = &given->compile};
        *seen.compiled = '\0';
        assert_int_equal(tn_jit_create(&given->options, &jit, NULL), 0);
        memset(given, 0x5a, sizeof *given);
        if (way == WITH_PASSES) {
            add_good(jit, "callee.ll", callee);
            assert_int_equal(look_up(jit, "callee")(5), 15);
            assert_compiled("callee");
        } else {
            add_good(jit, "ask.ll", ask);
            assert_int_equal(look_up(jit, "ask")(0), 1);
            assert_compiled("ask");
        }
        free(given);
        tn_jit_destroy(jit);
    }
}

static void undefined_symbols_ask_for_a_resolver(void **state)
{
    (void)state;
    struct tn_jit_options options = {.size = sizeof options};
    struct tn_jit *jit;
    struct tn_error err;
    void *address;
    assert_int_equal(tn_jit_create(&options, &jit, NULL), 0);
    add_good(jit, "calls.ll",
             "declare i64 @labs(i64)\ndefine i64 @f(i64 %x) {\n  %y = call i64 @labs(i64 %x)\n  ret i64 %y\n}\n");
    assert_int_equal(tn_jit_lookup(jit, "f", &address, &err), TN_EUNDEF);
    assert_contains(err.text, "'labs' needed by calls.ll");
    assert_contains(err.text,
                    "nothing of the program is visible to library main, which has no resolver (tn_add_resolver)");
    /* That is all it takes. */
    assert_int_equal(tn_add_resolver(tn_jit_library(jit), tn_resolve_dlsym, NULL, NULL), 0);
    assert_int_equal(look_up(jit, "f")(-5), 5);
    tn_jit_destroy(jit);
}

static void lazy_programs_compute_the_same(void **state)
{
    (void)state;
    for_each_program(programs, COUNT(programs), check_program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),
        cmocka_unit_test(whole_modules_when_needed),
        cmocka_unit_test(functions_when_called),
        cmocka_unit_test(failures),
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(weak_functions),
        cmocka_unit_test(removed_and_added_again),
        cmocka_unit_test(initializers),
        cmocka_unit_test(modules_of_llvms),
        cmocka_unit_test(instances_are_published),
        cmocka_unit_test(many_threads_one_function),
        cmocka_unit_test(many_threads_many_modules),
        cmocka_unit_test(compiles_for_the_cpu_that_it_is_given),
        cmocka_unit_test(options_are_copied),
        cmocka_unit_test(undefined_symbols_ask_for_a_resolver),
        cmocka_unit_test(lazy_programs_compute_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
