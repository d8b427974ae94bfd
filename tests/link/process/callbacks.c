/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that loaded code registers for forks and for quick_exit go with their owner. (In every kind of program, and
 * in the order of ordinary programs: tests/hosts/runtime_callbacks.sh.) */

#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"

/* ---- the code ---- */

enum { NOTED = 9 };

static char heard[256];
static bool is_over;
static sem_t holding, go;

static void note(const char *text)
{
    if (is_over)
        _exit(NOTED);
    strcat(strcat(heard, text), " ");
}

static void hold(void)
{
    sem_post(&holding);
    sem_wait(&go);
}

static struct tn_tracker *load(struct fixture *f)
{
    struct bytes object = read_bytes(data_file("callbacks.o"));
    struct tn_error err;
    *f = open_fixture(NULL);
    define(f, "note", note);
    define(f, "hold", hold);
    struct tn_tracker *tracker = new_tracker(f);
    const struct tn_input input = {
        .size = sizeof input, .name = "callbacks.o", .bytes = object.at, .length = object.size, .owner = tracker};
    assert_ok(tn_add_object(f->library, &input, &err), &err);
    link_all(f);
    free(object.at);
    heard[0] = 0;
    return tracker;
}

/* ---- what calls them ---- */

static void fork_once(void)
{
    pid_t child = fork();
    if (!child)
        _exit(strstr(heard, "child") != NULL);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WEXITSTATUS(status))
        note("and child");
}

/* Ends with NOTED if a function of loaded code is called. */
static void exit_quickly(void **state)
{
    (void)state;
    is_over = true;
    quick_exit(0);
}

/* ---- removals ---- */

static struct tn_error err;

static void remove_tracker(struct fixture *f, struct tn_tracker *tracker)
{
    (void)f;
    assert_ok(tn_tracker_remove(tracker, &err), &err);
}

static void retire_tracker(struct fixture *f, struct tn_tracker *tracker)
{
    (void)f;
    assert_ok(tn_tracker_retire(tracker, &err), &err);
}

static void destroy_tracker(struct fixture *f, struct tn_tracker *tracker)
{
    tn_tracker_destroy(tracker);
    fork_once();
    assert_string_equal(heard, "prepare parent and child "); /* they are the library's now */
    assert_ok(tn_tracker_remove(tn_library_tracker(f->library), &err), &err);
}

static void clear_library(struct fixture *f, struct tn_tracker *tracker)
{
    (void)tracker;
    assert_ok(tn_library_clear(f->library, &err), &err);
}

static void remove_library(struct fixture *f, struct tn_tracker *tracker)
{
    (void)tracker;
    assert_ok(tn_library_remove(f->library, &err), &err);
}

static void destroy_session(struct fixture *f, struct tn_tracker *tracker)
{
    (void)tracker;
    close_fixture(f);
    f->session = NULL;
}

static const struct row {
    const char *name;
    void (*remove)(struct fixture *f, struct tn_tracker *tracker);
} rows[] = {
    {"tracker removed", remove_tracker},
    {"tracker retired", retire_tracker},
    {"tracker destroyed, library's removed", destroy_tracker},
    {"library cleared", clear_library},
    {"library removed", remove_library},
    {"session destroyed", destroy_session},
};

static void gone_with_their_owner(void **state)
{
    const struct row *row = *state;
    struct fixture f;
    struct tn_tracker *tracker = load(&f);
    assert_int_equal(call(&f, "enter"), 0);
    fork_once();
    assert_string_equal(heard, "prepare parent and child ");
    assert_int_equal(in_child(exit_quickly, NULL), NOTED);
    heard[0] = 0;
    row->remove(&f, tracker);
    heard[0] = 0;
    fork_once();
    assert_string_equal(heard, "");
    assert_int_equal(in_child(exit_quickly, NULL), 0);
    if (f.session)
        close_fixture(&f);
}

/* ---- while one runs ---- */

static atomic_bool removed;
static atomic_int remover;
static struct tn_tracker *to_remove;

static void *remove_it(void *unused)
{
    (void)unused;
    atomic_store(&remover, gettid());
    assert_int_equal(tn_tracker_remove(to_remove, NULL), 0);
    atomic_store(&removed, true);
    note("removed");
    return NULL;
}

static void *fork_there(void *unused)
{
    fork_once();
    return unused;
}

/* proc_pid_stat(5): the state follows the name, which is in parentheses. */
static bool sleeps(int thread)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[length > 0 ? length : 0] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[2] == 'S';
}

static void removal_waits(void **state)
{
    (void)state;
    struct fixture f;
    pthread_t forking, removing;
    to_remove = load(&f);
    removed = false;
    remover = 0;
    assert_int_equal(call(&f, "enter_holder"), 0);
    pthread_create(&forking, NULL, fork_there, NULL);
    sem_wait(&holding);
    pthread_create(&removing, NULL, remove_it, NULL);
    while (!atomic_load(&removed) && !(atomic_load(&remover) && sleeps(atomic_load(&remover))))
        sched_yield();
    assert_false(atomic_load(&removed));
    sem_post(&go);
    pthread_join(removing, NULL);
    pthread_join(forking, NULL);
    assert_string_equal(heard, "held removed ");
    close_fixture(&f);
}

static void remove_within(void)
{
    note("within");
    assert_int_equal(tn_tracker_remove(to_remove, NULL), 0);
}

/* A function of the host that loaded code has registered may remove that code. */
static void removed_within(void **state)
{
    (void)state;
    struct fixture f;
    int (*enter_of_host)(void (*)(void));
    to_remove = load(&f);
    void *address = lookup(&f, "enter_of_host");
    memcpy(&enter_of_host, &address, sizeof address);
    assert_int_equal(call(&f, "enter"), 0);
    assert_int_equal(enter_of_host(remove_within), 0);
    fork_once();
    fork_once();
    assert_string_equal(heard, "within ");
    close_fixture(&f);
}

/* As in glibc: it is for the next fork. */
static void registered_within(void **state)
{
    (void)state;
    struct fixture f;
    struct tn_tracker *tracker = load(&f);
    assert_int_equal(call(&f, "enter_within"), 0);
    fork_once();
    assert_string_equal(heard, "");
    fork_once();
    assert_string_equal(heard, "prepare parent and child ");
    remove_tracker(&f, tracker);
    close_fixture(&f);
}

static void memory_is_out(void **state)
{
    (void)state;
    struct fixture f;
    load(&f);
    lookup(&f, "enter");
    int failing = 0, code = 0;
    do {
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", ++failing);
        tn__os_set_faults(plan);
        code = call(&f, "enter");
        tn__os_set_faults(NULL);
    } while (code);
    assert_true(failing > 2); /* it makes two */
    close_fixture(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(removal_waits),
        cmocka_unit_test(removed_within),
        cmocka_unit_test(registered_within),
        cmocka_unit_test(memory_is_out),
    };
    sem_init(&holding, 0, 0);
    sem_init(&go, 0, 0);
    int failed = RUN_ROWS("callbacks", rows, gone_with_their_owner);
    return failed + cmocka_run_group_tests_name("callbacks", tests, NULL, NULL);
}
