/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A JIT and threads: code instances that are published in the background, threads that call one function for the
 * first time, threads that add modules. */

#include <time.h>

#include "watched_jit.h"

/* ---- code instances ---- */

static void generic_entry(void)
{
}

static const struct tn_instance_entries entries = {.generic = (void *)generic_entry};

/* The code of an instance, once there is some. */
static struct tn_instance_code wait_for(const struct tn_instance *instance)
{
    struct tn_instance_code code = tn_instance_read(instance, 1);
    while (!code.invoke) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        code = tn_instance_read(instance, 1);
    }
    return code;
}

static void instances_are_published(void **state)
{
    (void)state;
    for (int mode = 0; mode < 4; mode++) {
        struct tn_jit *jit = create_jit(mode & 1, mode & 2, 0);
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
    struct shared shared = {.jit = create_jit(true, 0, 2)};
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
        if (add_ir(shared->jit, name, ir, &err) || tn_jit_lookup(shared->jit, name, &address, &err))
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
        struct shared shared = {.jit = create_jit(mode & 1, mode & 2, 0)};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_are_published),
        cmocka_unit_test(many_threads_one_function),
        cmocka_unit_test(many_threads_many_modules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
