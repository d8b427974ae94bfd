/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Real code of a code instance is replaced again and again while 64 threads call it. Each generation returns its
 * number, and reuses the memory of a removed one. */

#include "elf_builder.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { THREADS = 64, GENERATIONS = 120, FROM_GENERIC = 0 };

typedef int entry(const struct tn_instance *instance);
typedef int body(void);

static uint32_t stop, calls, wrong;

static int generic(const struct tn_instance *instance)
{
    (void)instance;
    return FROM_GENERIC;
}

static int call_body(const struct tn_instance *instance)
{
    void *address = __atomic_load_n(&instance->specptr, __ATOMIC_ACQUIRE);
    body *function;
    memcpy(&function, &address, sizeof function);
    return function();
}

static void *address_of(entry *function)
{
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

/* ---- callers ---- */

static int call_instance(const struct tn_instance *instance)
{
    struct tn_instance_code code = tn_instance_read(instance, 0);
    if (code.specptr && code.specsigflags & TN_INSTANCE_SPECSIG) {
        body *function;
        memcpy(&function, &code.specptr, sizeof function);
        return function();
    }
    entry *function;
    memcpy(&function, &code.invoke, sizeof function);
    return function(instance);
}

static void *call_often(void *instance)
{
    int newest = 1;
    tn_thread_attach();
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        int answer = call_instance(instance);
        if (answer != FROM_GENERIC && (answer < newest || answer > GENERATIONS))
            __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
        else if (answer != FROM_GENERIC) {
            newest = answer; /* older code never returns */
            __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
        }
        tn_thread_quiescent();
        sched_yield();
    }
    tn_thread_detach();
    return NULL;
}

/* ---- compiler ---- */

static struct bytes object_of(int generation)
{
    static struct elf elf;
    uint8_t code[16] = {0};
    memset(&elf, 0, sizeof elf);
    put_answer(code, (uint32_t)generation);
    elf_function(&elf, "answer", elf_code(&elf, code, sizeof code), 0);
    return elf_finish(&elf);
}

static void compile(const struct fixture *f, struct tn_instance *instance, int generation, struct tn_tracker *tracker)
{
    struct bytes object = object_of(generation);
    struct tn_input input = {
        .size = sizeof input, .name = "answer.o", .bytes = object.at, .length = object.size, .owner = tracker};
    struct tn_error err;
    assert_ok(tn_add_object(f->library, &input, &err), &err);
    const struct tn_instance_code code = {address_of(call_body), lookup(f, "answer"),
                                          generation % 2 ? TN_INSTANCE_SPECSIG : 0};
    assert_ok(tn_instance_publish(instance, &code, tracker, &err), &err);
    free(object.at);
}

static void await_calls(void)
{
    uint32_t before = __atomic_load_n(&calls, __ATOMIC_RELAXED);
    while (__atomic_load_n(&calls, __ATOMIC_RELAXED) == before && !__atomic_load_n(&wrong, __ATOMIC_RELAXED))
        sched_yield();
}

static void replaced_while_64_threads_call(void **state)
{
    const struct tn_instance_entries entries = {address_of(generic), NULL};
    struct tn_instance instance = {.entries = &entries};
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *tracker;
    struct tn_error err;
    pthread_t threads[THREADS];
    (void)state;
    tn_instance_fall_back(&instance);
    assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &instance), 0);
    struct tn_stats first, last;
    for (int generation = 1; generation <= GENERATIONS; generation++) {
        compile(&f, &instance, generation, tracker);
        last = stats_of(&f);
        if (generation == 1)
            first = last;
        await_calls();
        assert_ok(tn_tracker_remove(tracker, &err), &err);
        assert_int_equal(call_instance(&instance), FROM_GENERIC);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_false(wrong);
    assert_int_equal(last.code_bytes, first.code_bytes); /* removed code was freed */
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(replaced_while_64_threads_call)};
    return cmocka_run_group_tests_name("link/instance_calls", tests, NULL, NULL);
}
