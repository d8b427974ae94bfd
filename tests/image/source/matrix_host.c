/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Runs tests/link/data/matrix_a.c in the shared library that is named; prints the line of its first check that
 * fails, or 0. */

#include <dlfcn.h>
#include <stdio.h>

static int host(int x)
{
    return x + 1;
}

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    int (*run)(int (*)(int)) = library ? (int (*)(int (*)(int)))dlsym(library, "run") : NULL;
    if (!run)
        return puts(library ? "no run" : dlerror()), 1;
    printf("%d\n", run(host));
    return 0;
}
