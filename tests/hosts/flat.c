/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The smallest product that compiles: a flat file by a JIT without LLVM. With AS_IT_IS, the same without a compiler. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "tenon_build.h"
#include "tenon_jit.h"

#ifdef AS_IT_IS
#define tn_baseline_compiler() NULL
#endif

static char bytes[1 << 16];

int main(int argc, char **argv)
{
    struct tn_jit *jit;
    struct tn_error err;
    void *address;
    int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    ssize_t length = read(fd, bytes, sizeof bytes);
    struct tn_jit_options options = {.size = sizeof options, .compiler = tn_baseline_compiler()};
    struct tn_jit_module module = {.size = sizeof module, .ir = bytes, .length = length > 0 ? (size_t)length : 0};
    if (tn_jit_create(&options, &jit, &err) || tn_jit_add_module(jit, NULL, &module, &err) ||
        tn_jit_lookup(jit, "fib", &address, &err))
        return puts(err.text), 1;
    printf("%d\n", ((int (*)(int))address)(20));
    tn_jit_destroy(jit);
    return 0;
}
