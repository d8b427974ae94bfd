/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Locks know their order in checking builds, and cost nothing in others. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/fork.h"

#ifdef TN_CHECKING

/* ThreadSanitizer would find the same mistakes. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "detect_deadlocks=0 report_destroy_locked=0 report_mutex_bugs=0";
}

static struct {
    int count;
    enum tn__level wanted, held;
} found;

static void note(enum tn__level wanted, enum tn__level held)
{
    found.count++;
    found.wanted = wanted;
    found.held = held;
}

static struct tn__mutex heaps = TN__MUTEX(TN__LEVEL_HEAPS), heap = TN__MUTEX(TN__LEVEL_HEAP),
                        other_heap = TN__MUTEX(TN__LEVEL_HEAP), maps = TN__MUTEX(TN__LEVEL_MAPS),
                        last = TN__MUTEX(TN__LEVELS - 1);

static void unlock_both(struct tn__mutex *a, struct tn__mutex *b)
{
    tn__mutex_unlock(a);
    tn__mutex_unlock(b);
}

/* Locks two, and says how many mistakes that was. */
static int mistakes_in(void (*lock)(struct tn__mutex *mutex), struct tn__mutex *first, struct tn__mutex *second)
{
    found.count = 0;
    tn__mutex_lock(first);
    lock(second);
    unlock_both(first, second);
    return found.count;
}

static void try(struct tn__mutex *mutex)
{
    assert_true(tn__mutex_try(mutex));
}

static void lock_at_once(struct tn__mutex *mutex)
{
    assert_true(tn__mutex_lock_at_once(mutex));
}

static void only_later_levels_are_waited_for(void **state)
{
    (void)state;
    assert_int_equal(mistakes_in(tn__mutex_lock, &heap, &maps), 0);
    assert_int_equal(mistakes_in(tn__mutex_lock, &maps, &last), 0);
    assert_int_equal(mistakes_in(tn__mutex_lock, &maps, &heap), 1);
    assert_int_equal(found.wanted, TN__LEVEL_HEAP);
    assert_int_equal(found.held, TN__LEVEL_MAPS);
    assert_int_equal(mistakes_in(tn__mutex_lock, &last, &maps), 1);
    assert_int_equal(mistakes_in(tn__mutex_lock, &heap, &other_heap), 1);
    assert_int_equal(mistakes_in(lock_at_once, &heap, &maps), 0);
    assert_int_equal(mistakes_in(lock_at_once, &maps, &heap), 1); /* it might have waited */
    assert_int_equal(mistakes_in(try, &maps, &heap), 0);
    assert_int_equal(mistakes_in(tn__mutex_lock_unordered, &maps, &heap), 0);
}

/* The lock that was taken without an order counts too. */
static void what_is_held_is_known_however_it_was_taken(void **state)
{
    (void)state;
    tn__mutex_lock(&maps);
    assert_true(tn__mutex_try(&heap));
    tn__mutex_unlock(&maps);
    found.count = 0;
    tn__mutex_lock(&maps);
    assert_int_equal(found.count, 0);
    tn__mutex_unlock(&maps);
    tn__mutex_lock(&heaps);
    assert_int_equal(found.count, 1);
    unlock_both(&heap, &heaps);
}

static void several_of_a_level_are_taken_under_the_lock_of_their_list(void **state)
{
    (void)state;
    assert_int_equal(mistakes_in(tn__mutex_lock, &heap, &other_heap), 1);
    tn__mutex_lock(&heaps);
    assert_int_equal(mistakes_in(tn__mutex_lock, &heap, &other_heap), 0);
    assert_int_equal(mistakes_in(tn__mutex_lock, &maps, &heap), 1);
    tn__mutex_unlock(&heaps);
    tn__mutex_lock(&last);
    assert_int_equal(mistakes_in(tn__mutex_lock, &heap, &other_heap), 2);
    tn__mutex_unlock(&last);
}

static void a_recursive_lock_is_not_waited_for_by_its_holder(void **state)
{
    (void)state;
    struct tn__mutex module, other;
    tn__mutex_init_recursive(&module, TN__LEVEL_MODULE);
    tn__mutex_init_recursive(&other, TN__LEVEL_MODULE);
    assert_int_equal(mistakes_in(tn__mutex_lock, &module, &module), 0);
    assert_int_equal(mistakes_in(tn__mutex_lock, &module, &maps), 1);
    assert_int_equal(mistakes_in(tn__mutex_lock, &module, &other), 1);
    tn__mutex_destroy(&module);
    tn__mutex_destroy(&other);
}

/* Which would hang: it is only checked. */
static void a_lock_is_not_waited_for_by_its_holder(void **state)
{
    (void)state;
    found.count = 0;
    tn__mutex_lock(&heaps);
    tn__mutex_lock(&heap);
    tn__mutex_check(&heap);
    assert_int_equal(found.count, 1);
    unlock_both(&heap, &heaps);
}

/* A wait releases the lock and takes it again. */
static void conditions_are_waited_for_without_later_locks(void **state)
{
    (void)state;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    const struct timespec past = {0, 0};
    found.count = 0;
    tn__mutex_lock(&heap);
    tn__mutex_wait(&heap, &condition, &past);
    tn__mutex_lock(&maps);
    assert_int_equal(found.count, 0);
    tn__mutex_wait(&maps, &condition, &past);
    assert_int_equal(found.count, 0);
    tn__mutex_wait(&heap, &condition, &past);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.held, TN__LEVEL_MAPS);
    unlock_both(&heap, &maps);
}

static void *unlock_here(void *mutex)
{
    tn__mutex_note_given(mutex);
    return NULL;
}

static void only_the_holder_releases_a_lock(void **state)
{
    (void)state;
    pthread_t thread;
    found.count = 0;
    tn__mutex_lock(&maps);
    assert_int_equal(pthread_create(&thread, NULL, unlock_here, &maps), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.wanted, found.held);
    tn__mutex_unlock(&maps);
    assert_int_equal(found.count, 1);
}

/* In the child of a fork. */
static void a_lock_is_made_anew(void **state)
{
    (void)state;
    struct tn__mutex module;
    tn__mutex_init_recursive(&module, TN__LEVEL_MODULE);
    tn__mutex_forget(&module); /* it is free */
    tn__mutex_lock(&module);
    tn__mutex_lock(&module);
    tn__mutex_forget(&module);
    tn__mutex_init_recursive(&module, TN__LEVEL_MODULE);
    found.count = 0;
    tn__mutex_lock(&maps);
    assert_int_equal(found.count, 0);
    tn__mutex_unlock(&maps);
    tn__mutex_destroy(&module);
}

static int watch(void **state)
{
    (void)state;
    tn__on_disorder = note;
    return 0;
}

#define TEST(function) cmocka_unit_test_setup(function, watch)
#else
#define TEST(function) cmocka_unit_test(function)

static void locks_are_those_of_the_system(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct tn__mutex), sizeof(pthread_mutex_t));
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef TN_CHECKING
        TEST(only_later_levels_are_waited_for),
        TEST(what_is_held_is_known_however_it_was_taken),
        TEST(several_of_a_level_are_taken_under_the_lock_of_their_list),
        TEST(a_lock_is_not_waited_for_by_its_holder),
        TEST(a_recursive_lock_is_not_waited_for_by_its_holder),
        TEST(conditions_are_waited_for_without_later_locks),
        TEST(only_the_holder_releases_a_lock),
        TEST(a_lock_is_made_anew),
#else
        TEST(locks_are_those_of_the_system),
#endif
    };
    return cmocka_run_group_tests_name("base/mutex", tests, NULL, NULL);
}
