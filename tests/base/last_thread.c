/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A process ends with the last thread of its program, whatever threads the library has (base/last_thread.h). Each case
 * is a process of its own, whose function for exit tells how it ended. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/last_thread.h"
#include "base/os.h"

enum { BY_MAIN = 42, BY_OTHER, WRONG_STATUS, NO_THREAD, STAYED, SECONDS = 60 };

static void tell(int status, void *unused)
{
    (void)unused;
    _exit(status ? WRONG_STATUS : tn__os_process_id() == tn__os_thread_id() ? BY_MAIN : BY_OTHER);
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* As heaps, sessions and JITs do. */
static void start_library_thread(void)
{
    pthread_t thread;
    if (!tn__os_start_thread(&thread, wait_for_ever, NULL))
        _exit(NO_THREAD);
}

static void start(void *(*run)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL))
        _exit(NO_THREAD);
}

/* 0: the system does not count threads, as emulators of its calls do not. */
static unsigned read_threads(char *state)
{
    char text[512];
    unsigned count = 0;
    if (!tn__os_read_text("/proc/self/stat", text, sizeof text))
        sscanf(strrchr(text, ')'), ") %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %u", state,
               &count);
    return count;
}

static void await_end_of_main(void)
{
    for (char state = 0; state != 'Z'; usleep(1000))
        read_threads(&state);
}

/* ---- cases ---- */

static void *outlive_main(void *unused)
{
    await_end_of_main();
    return unused;
}

static void *outlive_main_known(void *unused)
{
    start_library_thread();
    return outlive_main(unused);
}

static void *stay(void *unused)
{
    await_end_of_main();
    usleep(200000); /* in which it could be ended */
    _exit(STAYED);
    return unused;
}

static void *start_later(void *unused)
{
    await_end_of_main();
    for (int i = 0; i < 4; i++)
        start(outlive_main);
    return unused;
}

static pthread_barrier_t together;

static void *end_together(void *unused)
{
    start_library_thread();
    pthread_barrier_wait(&together);
    return unused;
}

static void alone(void)
{
    start_library_thread();
}

static void beside_strangers(void)
{
    start_library_thread();
    for (int i = 0; i < 4; i++)
        start(outlive_main);
    start(start_later);
}

static void beside_known(void)
{
    start(outlive_main_known);
}

static void beside_one_that_stays(void)
{
    start_library_thread();
    start(stay);
}

static void at_once(void)
{
    enum { THREADS = 8 };
    pthread_barrier_init(&together, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        start(end_together);
    end_together(NULL);
}

static int become_status(pid_t child)
{
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : NO_THREAD;
}

static void begin_child(void)
{
    pid_t child = fork();
    if (child)
        _exit(become_status(child));
    alarm(SECONDS);
    start_library_thread();
}

static void in_child(void)
{
    start_library_thread();
    begin_child();
}

static void *fork_there(void *unused)
{
    begin_child();
    return unused;
}

static void in_child_of_thread(void)
{
    start_library_thread();
    start(fork_there);
    pause();
}

/* ---- the program ---- */

static const struct {
    const char *name;
    void (*run)(void);
    int status, or_status;
} cases[] = {
    {"alone", alone, BY_MAIN, BY_MAIN},
    {"beside strangers", beside_strangers, BY_OTHER, BY_OTHER},
    {"beside a known one", beside_known, BY_OTHER, BY_OTHER},
    {"beside one that stays", beside_one_that_stays, STAYED, STAYED},
    {"at once", at_once, BY_MAIN, BY_OTHER},
    {"in a child", in_child, BY_MAIN, BY_MAIN},
    {"in the child of a thread", in_child_of_thread, BY_MAIN, BY_MAIN},
};

static void run_case(const char *number)
{
    alarm(SECONDS);
    on_exit(tell, NULL);
    cases[strtoul(number, NULL, 10)].run();
    pthread_exit(NULL);
}

static void ends_with_the_last_thread(void **state)
{
    char main_state;
    (void)state;
    if (read_threads(&main_state) != 1) /* ThreadSanitizer has a thread of its own, which never ends */
        skip();
    for (size_t i = 0; i < TN_COUNT(cases); i++) {
        char number[16];
        snprintf(number, sizeof number, "%zu", i);
        pid_t child = fork();
        assert_true(child >= 0);
        if (!child) {
            execl("/proc/self/exe", "last_thread", number, NULL);
            _exit(NO_THREAD);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || (WEXITSTATUS(status) != cases[i].status && WEXITSTATUS(status) != cases[i].or_status))
            fail_msg("%s: status %#x", cases[i].name, (unsigned)status);
    }
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(ends_with_the_last_thread)};
    if (argc > 1)
        run_case(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
