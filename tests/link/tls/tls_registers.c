/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A thread that is older than an object asks for its variable by a descriptor: the initial value is there, and every
 * register but that of the answer is as before, the first time and later. */

#include "dumped.h"

#include <dlfcn.h>
#include <pthread.h>

TN_TLS_RESERVE(4096);

enum { INITIAL = 0x1234567890 };

typedef void caller(const void *function, const struct registers *in, int level);

static pthread_barrier_t barrier;
static caller *call_with_registers;
static const void *ask;
static uint64_t initial_value;

static bool spoils;

/* In place of the C library's, which a thread takes before it copies initial values: destroys every register that a
 * function may. */
int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int (*function)(pthread_mutex_t *) = NULL;
    *(void **)&function = dlsym(RTLD_NEXT, "pthread_mutex_lock");
    int error = function(mutex);
    if (spoils)
        spoil_registers(dump_level);
    return error;
}

static void check_once(void)
{
    const struct registers in = different_registers();
    memset(&dump_area, 0, sizeof dump_area);
    initial_value = 0;
    spoils = true;
    call_with_registers(ask, &in, dump_level);
    spoils = false;
    assert_int_equal(initial_value, INITIAL);
    check_registers(&in, dump_level);
}

static void *older(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier); /* linked */
    check_once();
    check_once();
    return NULL;
}

/* Objects that fill the reserve, each with a session of its own. */
static size_t fill_reserve(struct fixture *objects, size_t count)
{
    struct tn_error err;
    for (size_t i = 0; i < count; i++) {
        objects[i] = open_fixture(NULL);
        add_dump(objects[i].library);
        define(&objects[i], "initial_value", &initial_value);
        define(&objects[i], "witness", &initial_value);
        add_file(&objects[i], "tls_asks.o");
        if (tn_link(objects[i].library, &err)) {
            assert_error(TN_ENOMEM, TN_ENOMEM, &err, "TN_TLS_RESERVE");
            return i + 1;
        }
    }
    fail_msg("the reserve is not full");
    return count;
}

static void check_in_older_thread(struct fixture *f)
{
    pthread_t thread;
    struct tn_error err;
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, older, NULL), 0);
    pthread_barrier_wait(&barrier);
    dump_level = vector_level();
    add_dump(f->library);
    assert_ok(tn_define(f->library, "initial_value", &initial_value, &err), &err);
    assert_ok(tn_define(f->library, "witness", &initial_value, &err), &err); /* of lazy functions */
    add_file(f, "lazy_registers.o");
    add_file(f, "tls_asks.o");
    *(void **)&call_with_registers = lookup(f, "call_with_registers");
    ask = lookup(f, "ask");
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
}

static void every_register(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    check_in_older_thread(&f);
    close_fixture(&f);
}

/* Memory is requested as well then. */
static void every_register_beyond_the_reserve(void **state)
{
    (void)state;
#ifdef __x86_64__
    struct fixture objects[16], f = open_fixture(NULL);
    struct tn_error err;
    size_t count = fill_reserve(objects, COUNT(objects));
    assert_ok(tn_library_open(f.library, 0, &err), &err);
    check_in_older_thread(&f);
    assert_ok(tn_library_close(f.library, &err), &err);
    close_fixture(&f);
    while (count)
        close_fixture(&objects[--count]);
#else
    (void)fill_reserve;
    skip(); /* descriptors know the reserve alone */
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_register),
                                       cmocka_unit_test(every_register_beyond_the_reserve)};
    return cmocka_run_group_tests_name("link/tls_registers", tests, NULL, NULL);
}
