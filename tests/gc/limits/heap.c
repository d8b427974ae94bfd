/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The heap of a managed program that is linked statically: with the options of the environment, and with a message when
 * memory is out, as `tenon run` gives it. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenon_heap.h"

static void out_of_memory(void *name, size_t payload)
{
    fflush(stdout);
    fprintf(stderr, "%s: out of memory: no %zu bytes in the heap\n", (const char *)name, payload);
    _exit(1);
}

__attribute__((constructor)) static void make_heap(void)
{
    struct tn_heap_options options;
    struct tn_heap *heap;
    struct tn_error err;
    int code = tn_heap_options_from_environment(&options, &err);
    options.out_of_memory = out_of_memory;
    options.context = "heap.c";
    if (!code)
        code = tn_heap_create(&options, &heap, &err);
    if (code) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
    tn_heap_set_default(heap);
}
