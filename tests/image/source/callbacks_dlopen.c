/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* callbacks_dlopen FILE: the system's loader opens a file that registers functions with the C library (callbacks.c).
 * Forks before the file is closed, and after it. */

#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void fork_once(void)
{
    if (!fork())
        _exit(0);
    wait(NULL);
}

int main(int argc, char **argv)
{
    void *file = argc == 2 && !setvbuf(stdout, NULL, _IONBF, 0) ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!file)
        return puts(argc == 2 ? dlerror() : "a file"), 1;
    int (*enter)(void) = (int (*)(void))dlsym(file, "enter");
    if (!enter || enter())
        return puts("it is not registered"), 1;
    fork_once();
    dlclose(file);
    puts("closed");
    fork_once();
    return 0;
}
