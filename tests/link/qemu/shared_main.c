/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loads the library of shared.c, and calls everything in it. */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static int (*bump)(void);

static void *run(void *unused)
{
    (void)unused;
    printf("bump %d\n", bump());
    return NULL;
}

/* Its thread-local objects would keep the library as long as the thread. */
static int (*catches)(int);

static void *run_catches(void *unused)
{
    (void)unused;
    printf("%d %d %d\n", catches(1), catches(3), catches(-7));
    return NULL;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library) {
        puts(argc > 1 ? dlerror() : "shared_main LIBRARY");
        return 1;
    }
    int (*work)(int) = (int (*)(int))dlsym(library, "work");
    int (*select_one)(int) = (int (*)(int))dlsym(library, "select_one");
    int (**pointer)(int) = (int (**)(int))dlsym(library, "pointer");
    bump = (int (*)(void))dlsym(library, "bump");
    printf("%d %d\n", work(10), (*pointer)(5));
    for (int i = -1; i < 6; i++)
        printf("%d\n", select_one(i));
    run(NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    printf("%d\n", *(int *)dlsym(library, "counter"));
    int (*call_chosen)(void) = (int (*)(void))dlsym(library, "call_chosen");
    int (*chosen)(void) = (int (*)(void))dlsym(library, "chosen");
    printf("%d %d %d\n", call_chosen(), chosen(), chosen == *(int (**)(void))dlsym(library, "chosen_pointer"));
    catches = (int (*)(int))dlsym(library, "catches");
    pthread_create(&thread, NULL, run_catches, NULL);
    pthread_join(thread, NULL);
    int kept = 5, (*register_exit)(int *) = (int (*)(int *))dlsym(library, "register_exit");
    register_exit(&kept);
    register_exit(&kept);
    int status = dlclose(library);
    printf("closed %d, %s\n", status, dlopen(argv[1], RTLD_NOLOAD | RTLD_NOW) ? "but there" : "gone");
    return status;
}
