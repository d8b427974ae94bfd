/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* run PATH...: opens each library, calls its `run`, and closes all of them, twice. run -o PATH...: the same once,
 * and in another thread only. run -t PATH...: tries to open them. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opener.h"

static void *in_thread(void *run)
{
    printf("in a thread: %d\n", ((int (*)(void))run)());
    return NULL;
}

static void run_all(int count, char **paths, int here)
{
    void *libraries[16];
    pthread_t thread;
    for (int i = 0; i < count; i++) {
        libraries[i] = open_library(paths[i]);
        void *run = find_in(libraries[i], "run");
        if (here)
            printf("here: %d\n", ((int (*)(void))run)());
        if (!pthread_create(&thread, NULL, in_thread, run))
            pthread_join(thread, NULL);
    }
    while (count--)
        close_library(libraries[count]);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && !strcmp(argv[1], "-t")) {
        for (int i = 2; i < argc; i++)
            try_library(argv[i]);
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "-o"))
        run_all(argc - 2, argv + 2, 0);
    for (int turn = 0; turn < 2 && strcmp(argv[1], "-o"); turn++)
        run_all(argc - 1, argv + 1, 1);
    puts("end");
    return 0;
}
