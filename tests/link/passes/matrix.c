/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One pair of sources (data/matrix_a.c, matrix_b.c), compiled in all the ways that rules.mk lists. Whatever relocations
 * and sections result, the linked code must work, in both orders and in each place for the window. */

#include "support.h"

static const char *const ways[] = {MATRIX};

static int host(int x)
{
    check_maps();
    return x + 1;
}

static void add_half(const struct fixture *f, char half, const char *way)
{
    char name[256];
    snprintf(name, sizeof name, "matrix_%c.%s.o", half, way);
    add_file(f, name);
}

static void run_pair(const char *first, const char *second, bool swapped, const struct tn_session_options *options)
{
    struct fixture f = open_fixture(options);
    add_half(&f, swapped ? 'b' : 'a', first);
    add_half(&f, swapped ? 'a' : 'b', second);
    void *address = lookup(&f, "run");
    int (*run)(int (*)(int));
    memcpy(&run, &address, sizeof run);
    int line = run(host);
    if (line)
        fail_msg("%s with %s: matrix_a.c:%d", first, second, line);
    struct tn_stats stats = stats_of(&f);
    assert_int_equal(stats.objects, 2);
    assert_true(stats.relocations > 20 && stats.code_bytes > 0);
    close_fixture(&f);
}

static void near_the_program(void **state)
{
    const char *way = *(const char **)*state;
    run_pair(way, way, false, NULL);
    run_pair(way, way, true, NULL);
}

/* Nothing in the program is in reach. */
static void far_from_the_program(void **state)
{
    const char *way = *(const char **)*state;
    const struct tn_session_options options = {.size = sizeof options, .window_near = (uintptr_t)host + (64ULL << 30)};
    run_pair(way, way, false, &options);
}

static bool is_pic(const char *way)
{
    return !strstr(way, "-fno-pic") && !strstr(way, "-fPIE");
}

/* Position-independent halves of different compilers and flags work together. */
static void mixed(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++) {
        size_t k = (i * 7 + 3) % COUNT(ways);
        if (is_pic(ways[i]) && is_pic(ways[k]))
            run_pair(ways[i], ways[k], false, NULL);
    }
}

/* All pairs in one session. */
static void side_by_side(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    for (size_t i = 0; i < COUNT(ways); i++) {
        struct fixture one = {.session = f.session};
        struct tn_error err;
        assert_ok(tn_library_create(f.session, ways[i], &one.library, &err), &err);
        assert_ok(tn_add_resolver(one.library, tn_resolve_dlsym, NULL, &err), &err);
        add_half(&one, 'a', ways[i]);
        add_half(&one, 'b', ways[i]);
        link_all(&one);
        void *address = lookup(&one, "run");
        int (*run)(int (*)(int));
        memcpy(&run, &address, sizeof run);
        assert_int_equal(run(host), 0);
    }
    assert_int_equal(stats_of(&f).objects, 2 * COUNT(ways));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed),
        cmocka_unit_test(side_by_side),
    };
    int failed = cmocka_run_group_tests_name("link/matrix", tests, NULL, NULL);
    failed += run_rows("near", ways, COUNT(ways), sizeof *ways, near_the_program);
    return failed + run_rows("far", ways, COUNT(ways), sizeof *ways, far_from_the_program);
}
