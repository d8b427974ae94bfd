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
    int kept = 5, (*register_exit)(int *) = (int (*)(int *))dlsym(library, "register_exit");
    register_exit(&kept);
    register_exit(&kept);
    int status = dlclose(library);
    printf("closed %d, %s\n", status, dlopen(argv[1], RTLD_NOLOAD | RTLD_NOW) ? "but there" : "gone");
    return status;
}
