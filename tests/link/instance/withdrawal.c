/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code that is published while its tracker is being removed, is found by a thread, and has given way to other code
 * before the removal looks again. The thread is attached later than the removal begins to wait, so that wait does not
 * wait for it: another one must. */

#include "support.h"
#include "waits.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

/* Addresses that are never called. */
static char generic[1], early[1], late[1], late_body[1], other[1], other_body[1];

static const struct tn_instance_entries entries = {generic, NULL};

static struct {
    struct fixture f;
    struct tn_tracker *tracker, *other_tracker;
    struct tn_instance first, instance; /* whose code is removed; that of the late code */
    pthread_t remover, finder, withdrawer;
    sem_t found;
    uint32_t removed;
    const struct row *row;
} scene;

static int publish(struct tn_instance *instance, void *invoke, void *specptr, struct tn_tracker *owner)
{
    const struct tn_instance_code code = {invoke, specptr, specptr ? TN_INSTANCE_SPECSIG : 0};
    return tn_instance_publish(instance, &code, owner, NULL);
}

/* ---- how late code comes and goes ---- */

static int nothing(void)
{
    return 0;
}

static int publish_entry(void)
{
    return publish(&scene.instance, late, NULL, scene.tracker);
}

static int publish_pair(void)
{
    return publish(&scene.instance, late, late_body, scene.tracker);
}

static int publish_other(void)
{
    return publish(&scene.instance, other, other_body, scene.other_tracker);
}

static int update_to_late(void)
{
    return tn_instance_update(&scene.instance, other_body, late_body, scene.tracker, NULL);
}

static int update_to_other(void)
{
    return tn_instance_update(&scene.instance, late_body, other_body, scene.other_tracker, NULL);
}

static void *withdraw(void *unused)
{
    struct tn_instance *instance = &scene.instance;
    tn_instances_withdraw(&instance, 1);
    return unused;
}

/* The words stay until the withdrawal has waited for the thread that found them. */
static int begin_to_withdraw(void)
{
    int code = pthread_create(&scene.withdrawer, NULL, withdraw, NULL);
    while (!code && tn_instance_read(&scene.instance, 0).invoke != generic)
        sched_yield();
    return code;
}

static bool is_late_body_kept(void)
{
    return __atomic_load_n(&scene.instance.specptr, __ATOMIC_ACQUIRE) == late_body;
}

/* ---- how the tracker's code is removed ---- */

static int remove_tracker(void)
{
    return tn_tracker_remove(scene.tracker, NULL);
}

static int retire_tracker(void)
{
    return tn_tracker_retire(scene.tracker, NULL);
}

static int clear_library(void)
{
    return tn_library_clear(scene.f.library, NULL);
}

static int remove_library(void)
{
    return tn_library_remove(scene.f.library, NULL);
}

static sem_t done;

static void post_done(void *unused, const struct tn_error *err)
{
    (void)unused;
    (void)err;
    sem_post(&done);
}

static int remove_library_in_steps(void)
{
    sem_init(&done, 0, 0);
    int code = tn_library_remove_start(scene.f.library, post_done, NULL, NULL);
    if (!code)
        sem_wait(&done);
    sem_destroy(&done);
    return code;
}

/* ---- the test ---- */

#define REMOVALS(what, ...)                                                                                            \
    {"tracker removed: " what, remove_tracker, __VA_ARGS__}, {"tracker retired: " what, retire_tracker, __VA_ARGS__},  \
        {"library cleared: " what, clear_library, __VA_ARGS__},                                                        \
        {"library removed: " what, remove_library, __VA_ARGS__},                                                       \
    {                                                                                                                  \
        "library removed in steps: " what, remove_library_in_steps, __VA_ARGS__                                        \
    }

static const struct row {
    const char *name;
    int (*remove)(void);
    int (*before)(void), (*come)(void), (*go)(void);
    bool keeps_body; /* while the thread may be running it */
} rows[] = {
    REMOVALS("other code is published", nothing, publish_entry, publish_other, false),
    REMOVALS("the body is updated", publish_other, update_to_late, update_to_other, false),
    REMOVALS("it is withdrawn", nothing, publish_pair, begin_to_withdraw, true),
};

static void *remove_in_thread(void *unused)
{
    intptr_t code = scene.row->remove();
    __atomic_store_n(&scene.removed, 1, __ATOMIC_RELEASE);
    (void)unused;
    return (void *)code;
}

/* Returns what was wrong, or 0. */
static void *find_late_code(void *unused)
{
    (void)unused;
    tn_thread_attach();
    struct tn_instance_code code = tn_instance_read(&scene.instance, 0);
    intptr_t wrong = code.invoke != late && code.specptr != late_body;
    wrong |= scene.row->go() != 0;
    sem_post(&scene.found);
    for (int i = 0; i < 30 && !__atomic_load_n(&scene.removed, __ATOMIC_ACQUIRE); i++)
        usleep(1000);
    wrong |= __atomic_load_n(&scene.removed, __ATOMIC_ACQUIRE) || (scene.row->keeps_body && !is_late_body_kept());
    tn_thread_detach();
    return (void *)wrong;
}

static void join(pthread_t thread)
{
    void *wrong;
    pthread_join(thread, &wrong);
    assert_null(wrong);
}

static void found_for_a_moment(void **state)
{
    struct tn_error err;
    scene.row = *state;
    scene.f = open_fixture(NULL);
    scene.removed = 0;
    sem_init(&scene.found, 0, 0);
    tn_instance_init(&scene.first, &entries);
    tn_instance_init(&scene.instance, &entries);
    struct tn_library *library;
    assert_ok(tn_library_create(scene.f.session, "other", &library, &err), &err);
    scene.other_tracker = tn_library_tracker(library);
    scene.tracker = tn_library_tracker(scene.f.library);
    assert_int_equal(scene.row->before(), 0);
    assert_int_equal(publish(&scene.first, early, NULL, scene.tracker), 0);

    tn_thread_attach(); /* the removal waits for us */
    assert_int_equal(pthread_create(&scene.remover, NULL, remove_in_thread, NULL), 0);
    while (tn_instance_read(&scene.first, 0).invoke != generic)
        sched_yield();
    await_quiesce();
    assert_int_equal(scene.row->come(), 0);
    assert_int_equal(pthread_create(&scene.finder, NULL, find_late_code, NULL), 0);
    sem_wait(&scene.found);
    tn_thread_detach();

    join(scene.finder);
    join(scene.remover);
    if (scene.row->go == begin_to_withdraw)
        join(scene.withdrawer);
    sem_destroy(&scene.found);
    close_fixture(&scene.f);
}

int main(void)
{
    return RUN_ROWS("link/withdrawal", rows, found_for_a_moment);
}
