/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What is right for a program of the mode matrix that has been made a shared library: opens it, calls its main in a
 * thread, and closes it; with --once for programs that end the process, otherwise twice. Without Tenon.
 *
 *     library [--once] FILE */

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FAILURE = 99, ROUNDS = 2 };

struct call {
    int (*function)(int argc, char **argv, char **envp);
    int argc;
    char **argv;
    int status;
};

static void *call_main(void *context)
{
    struct call *call = context;
    call->status = call->function(call->argc, call->argv, environ);
    return NULL;
}

static void fail(const char *why)
{
    fflush(stdout);
    fprintf(stderr, "library: %s\n", why);
    _exit(FAILURE);
}

int main(int argc, char **argv)
{
    int is_once = argc > 1 && !strcmp(argv[1], "--once");
    struct call call = {NULL, argc, argv, 0};
    for (int round = 0; round < (is_once ? 1 : ROUNDS); round++) {
        void *file = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL), *address = file ? dlsym(file, "main") : NULL;
        pthread_t thread;
        if (!address)
            fail(dlerror());
        memcpy(&call.function, &address, sizeof address);
        if (pthread_create(&thread, NULL, call_main, &call) || pthread_join(thread, NULL) || dlclose(file))
            fail("a thread, or dlclose, failed");
    }
    return call.status;
}
