/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stack maps byte by byte: well-formed ones are found by return address, malformed ones are an error that leaves
 * nothing behind. */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/os.h"
#include "gc/object/object.h"

/* A function at `code` bytes from its map, with one variable in memory and two safepoints: at 16, with two references
 * and a pointer derived from the second one, and at 32, that of an entry. */
#define FUNCTION(code)                                                                                                 \
    code, 0, 0, 0, 2, 0, 0x10, 0, 0xf0, 0xff,                        /* 2 safepoints, 1 root at -16 */                 \
        16, 0, 0, 0, 2, 1, 0xfe, 0xff, 0xfd, 0xff, 0xfc, 0xff, 1, 0, /* bases -2 and -3, -4 derived from the second */ \
        32, 0, 0, 0x80, 0, 0

static const uint8_t good[] = {FUNCTION(64), FUNCTION(128)};
enum { SECOND = 30 };

static struct tn_error err;

static struct tn_range code_of(const uint8_t *section)
{
    return (struct tn_range){(uintptr_t)section, 4096};
}

static const struct tn__map *find(uint64_t address)
{
    tn__maps_lock();
    const struct tn__map *map = tn__maps_find(address);
    tn__maps_unlock();
    return map;
}

static void found_and_removed(void **state)
{
    (void)state;
    uint64_t start = (uintptr_t)good + 64, second = (uintptr_t)good + SECOND + 128;
    assert_null(find(start + 16));
    assert_int_equal(tn__maps_add(good, sizeof good, code_of(good), &err), 0);
    const struct tn__map *map = find(start + 16);
    assert_non_null(map);
    struct tn__frame_map frame = tn__map_decode(map);
    assert_false(frame.wide || frame.entry || frame.pinned_count);
    assert_int_equal(frame.root_count, 1);
    assert_int_equal(tn__map_slot(&frame, frame.roots, 0), -16);
    assert_int_equal(frame.base_count, 2);
    assert_int_equal(tn__map_slot(&frame, frame.bases, 1), -3);
    assert_int_equal(frame.derived_count, 1);
    assert_int_equal(tn__map_slot(&frame, frame.derived, 0), -4);
    assert_true(tn__map_decode(find(start + 32)).entry);
    assert_non_null(find(second + 16));
    assert_null(find(start + 17));
    assert_null(find(0));
    tn__maps_remove(good, sizeof good, code_of(good));
    assert_null(find(start + 16));
    assert_null(find(second + 32));
}

static int nothing(void *context, const struct tn__map *map)
{
    (void)context, (void)map;
    return 0;
}

/* Truncated anywhere: an error or, at the end of a function, fewer functions. */
static void every_length(void **state)
{
    (void)state;
    for (size_t size = 0; size <= sizeof good; size++) {
        uint8_t *copy = malloc(size ? size : 1);
        memcpy(copy, good, size);
        bool whole = size % SECOND == 0;
        int code = tn__maps_read(copy, size, code_of(copy), nothing, NULL, &err);
        assert_int_equal(code, whole ? 0 : TN_EFORMAT);
        free(copy);
    }
}

static const struct {
    const char *what, *text;
    size_t at;
    uint8_t byte;
} bad[] = {
    {"the first base there is none of", "a derived pointer names a base that there is none of", 22, 2},
    {"a second safepoint at the first", "return addresses do not ascend", 24, 16},
    {"a safepoint at the function's start", "return addresses do not ascend", 10, 0},
    {"no safepoints", "a function has no safepoints", 4, 0},
    {"one safepoint more than there are", "a function is cut off", 4, 3},
    {"code far before", "a function lies outside of the code", 3, 0xff},
    {"code far behind", "a function lies outside of the code", 2, 1},
    {"a return address far behind", "a return address lies outside of the code", 25, 0x20},
    {"no safepoints in the second function", "a function has no safepoints", 34, 0},
};

static void malformed_maps_are_errors(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT(bad); i++) {
        uint8_t copy[sizeof good];
        memcpy(copy, good, sizeof good);
        copy[bad[i].at] = bad[i].byte;
        int code = tn__maps_add(copy, sizeof copy, code_of(copy), &err);
        if (code != TN_EFORMAT || !strstr(err.text, bad[i].text))
            fail_msg("%s: %d, %s", bad[i].what, code, err.text);
        assert_null(find((uintptr_t)copy + 64 + 16));
    }
}

/* Thousands of sections are added and removed in different orders; no lookup misses one. */
static void many_sections(void **state)
{
    enum { COUNT = 5000 };
    (void)state;
    uint8_t(*all)[sizeof good] = malloc(sizeof *all * COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        memcpy(all[i], good, sizeof good);
        assert_int_equal(tn__maps_add(all[i], sizeof good, code_of(all[i]), &err), 0);
    }
    for (size_t gone = 0; gone < COUNT; gone++) {
        size_t victim = gone * 1237 % COUNT;
        tn__maps_remove(all[victim], sizeof good, code_of(all[victim]));
        assert_null(find((uintptr_t)all[victim] + 64 + 32));
        size_t other = (gone + 1) * 1237 % COUNT;
        if (gone + 1 < COUNT)
            assert_non_null(find((uintptr_t)all[other] + 64 + 32));
    }
    free(all);
}

static bool is_over;

static void *change_others(void *unused)
{
    enum { ROUNDS = 300 };
    uint8_t copies[200][sizeof good];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < TN_COUNT(copies); i++) {
            memcpy(copies[i], good, sizeof good);
            tn__maps_add(copies[i], sizeof good, code_of(copies[i]), NULL);
            tn__maps_add(good, sizeof good, code_of(good), NULL); /* takes the old ones out */
        }
        for (size_t i = 0; i < TN_COUNT(copies); i++)
            tn__maps_remove(copies[i], sizeof good, code_of(copies[i]));
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    return unused;
}

/* As a signal handler does: also under the lock, and while the table changes. */
static void found_without_the_lock(void **state)
{
    struct tn__map map;
    pthread_t thread;
    uint64_t start = (uintptr_t)good + 64;
    (void)state;
    assert_false(tn__maps_peek(start + 16, &map));
    assert_int_equal(tn__maps_add(good, sizeof good, code_of(good), &err), 0);
    tn__maps_lock();
    assert_true(tn__maps_peek(start + 32, &map));
    assert_true(tn__map_decode(&map).entry);
    tn__maps_unlock();
    assert_false(tn__maps_peek(start + 17, &map));
    assert_false(tn__maps_peek(0, &map));
    assert_int_equal(pthread_create(&thread, NULL, change_others, NULL), 0);
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        assert_true(tn__maps_peek(start + 16, &map));
        assert_int_equal(map.address, start + 16);
        assert_false(tn__maps_peek(start + 17, &map));
    }
    pthread_join(thread, NULL);
    tn__maps_remove(good, sizeof good, code_of(good));
    assert_false(tn__maps_peek(start + 16, &map));
}

static void *peek_always(void *found)
{
    struct tn__map map;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED))
        if (tn__maps_peek((uintptr_t)good + 64 + 16, &map))
            __atomic_store_n((bool *)found, true, __ATOMIC_RELAXED);
    return NULL;
}

/* The thread that peeks does not go on in the child. */
static void changed_in_the_child_of_a_fork(void **state)
{
    enum { FORKS = 50 };
    pthread_t thread;
    bool found = false;
    (void)state;
    assert_int_equal(tn__maps_add(good, sizeof good, code_of(good), &err), 0);
    __atomic_store_n(&is_over, false, __ATOMIC_RELAXED);
    assert_int_equal(pthread_create(&thread, NULL, peek_always, &found), 0);
    while (!__atomic_load_n(&found, __ATOMIC_RELAXED))
        sched_yield();
    for (int i = 0; i < FORKS; i++) {
        int status;
        pid_t child = fork();
        if (!child) {
            tn__maps_remove(good, sizeof good, code_of(good));
            _exit(find((uintptr_t)good + 64 + 16) != NULL);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    tn__maps_remove(good, sizeof good, code_of(good));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_and_removed),         cmocka_unit_test(every_length),
        cmocka_unit_test(malformed_maps_are_errors), cmocka_unit_test(many_sections),
        cmocka_unit_test(found_without_the_lock),    cmocka_unit_test(changed_in_the_child_of_a_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
