/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* See writers.h. */

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "writers.h"

void *use_often(void *context)
{
    const struct world *w = context;
    for (int i = 0; i < 60; i++) {
        char ir[20];
        snprintf(ir, sizeof ir, "module %d", i % 7);
        const char *wrong = use(w, ir, i % PARTS, PARTS - i % PARTS);
        if (wrong)
            return (void *)wrong;
        if (i % 10 == 0)
            tn_cache_flush(w->cache, NULL);
    }
    return NULL;
}

/* A process that writes until it is killed. */
static pid_t start_writer(const struct world *w)
{
    pid_t child = fork();
    if (child)
        return child;
    for (;;)
        if (use_often((void *)w))
            _exit(1);
}

void kill_writers(int pairs)
{
    struct world w;
    create(&w);
    uint64_t files, removed;
    srand(1);
    for (int i = 0; i < pairs; i++) {
        pid_t writers[2] = {start_writer(&w), start_writer(&w)};
        for (size_t k = 0; k < COUNT(writers); k++) {
            struct timespec pause = {.tv_nsec = rand() % 3000000};
            int status;
            nanosleep(&pause, NULL);
            kill(writers[k], SIGKILL);
            assert_int_equal(waitpid(writers[k], &status, 0), writers[k]);
            assert_true(WIFSIGNALED(status)); /* it has not found anything wrong */
        }
        bytes_in(w.store, &files);
        if (i % 20 == 0) { /* packs come and go */
            close_cache(&w);
            remove_folder(w.path);
            assert_int_equal(mkdir(w.path, 0700), 0);
            open_cache(&w, 0, false, false);
        }
    }
    use_all(&w, "module 1");
    assert_int_equal(tn_store_prune(w.store, UINT64_MAX, &removed, NULL), 0);
    char command[200];
    snprintf(command, sizeof command, "test -z \"$(ls -A %s | grep -v -e '^[0-9a-f]*$' -e '^.lock$')\"", w.path);
    assert_int_equal(system(command), 0); /* nothing is left behind */
    destroy(&w);
}
