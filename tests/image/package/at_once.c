/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads and processes that build packages of one folder at the same time. */

#include <pthread.h>
#include <sys/wait.h>

#include "packages.h"

enum { THREADS = 8, KEYS = 6, ROUNDS = 5 };

static struct recipe recipes[KEYS];

static void *use_all(void *context)
{
    const char *wrong = NULL;
    for (uint32_t i = 0; i < KEYS && !wrong; i++)
        wrong = packages_use(context, "package", &recipes[i]);
    return (void *)(uintptr_t)wrong;
}

static void use_at_once(struct packages *p)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_all, p), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        if (wrong)
            fail_msg("%s", (const char *)wrong);
    }
}

/* However many threads want it, each image is built once. */
static void builds_once(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct packages p;
        packages_create(&p);
        for (uint32_t i = 0; i < KEYS; i++)
            recipes[i] = (struct recipe){.value = i + 1};
        use_at_once(&p);
        for (uint32_t i = 0; i < KEYS; i++)
            assert_int_equal(recipes[i].builds, 1);
        assert_int_equal(p.rejections, 0);
        assert_int_equal(packages_count(&p, "package/*"), KEYS);
        packages_destroy(&p);
    }
}

/* The limit makes threads remove what others are about to open. */
static void builds_while_others_trim(void **state)
{
    (void)state;
    struct packages p;
    packages_create(&p);
    p.options.limit = 3 * SAMPLE_SIZE;
    packages_reopen(&p);
    for (uint32_t i = 0; i < KEYS; i++)
        recipes[i] = (struct recipe){.value = i + 1};
    for (int round = 0; round < ROUNDS; round++)
        use_at_once(&p);
    assert_int_equal(p.rejections, 0);
    assert_true(packages_count(&p, "package/*") <= 3);
    packages_destroy(&p);
}

/* A child that a builder has forked has its lock too, until the builder gives it back. */
static pid_t child;
static int ends[2];

static int fork_child(void *context, struct tn_error *err)
{
    (void)context, (void)err;
    char byte;
    child = fork();
    if (child)
        return 0;
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) != 0); /* until the test ends */
}

static void children_keep_no_lock(void **state)
{
    (void)state;
    struct packages p;
    struct recipe recipe = {.value = 7, .meanwhile = fork_child};
    packages_create(&p);
    assert_int_equal(pipe(ends), 0);
    assert_null(packages_use(&p, "package", &recipe));
    assert_int_equal(tn_package_trim(p.cache, 0, NULL), 0);
    recipe.meanwhile = NULL;
    assert_null(packages_use(&p, "package", &recipe));
    assert_int_equal(recipe.builds, 2);
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    packages_destroy(&p);
}

static void killed_builders(void **state)
{
    (void)state;
    packages_kill_builders(50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_once),
        cmocka_unit_test(builds_while_others_trim),
        cmocka_unit_test(children_keep_no_lock),
        cmocka_unit_test(killed_builders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
