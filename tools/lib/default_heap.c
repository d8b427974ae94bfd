/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/default_heap.h"

enum { OUT_OF_MEMORY = 1 }; /* the status of the program */

/* Managed code runs in these: its own output comes first, its finalizers do not run. */
static void out_of_memory(void *name, size_t payload)
{
    fflush(stdout);
    fprintf(stderr, "%s: out of memory: no %zu bytes in the heap, not even after a collection\n", (const char *)name,
            payload);
    _exit(OUT_OF_MEMORY);
}

static void corrupt(void *name, const char *what)
{
    fflush(stdout);
    fprintf(stderr, "%s: the collector found: %s\n", (const char *)name, what);
    abort();
}

static void log_collection(void *name, const struct tn_collection *c)
{
    enum { KB = 1024, US = 1000 };
    fprintf(stderr, "%s: gc %llu: %llu -> %llu KB, moved %llu KB, %llu pinned, stopped in %llu us, paused %llu us\n",
            (const char *)name, (unsigned long long)c->number, (unsigned long long)c->before / KB,
            (unsigned long long)c->after / KB, (unsigned long long)c->moved / KB, (unsigned long long)c->pinned,
            (unsigned long long)c->stop_ns / US, (unsigned long long)c->pause_ns / US);
}

static tool_name_function *name_function;

static void report_delay(void *name, const struct tn_delay *delay)
{
    enum { MS = 1000000, S = 1000 };
    char where[300] = "", what[64] = "running";
    if (delay->code && name_function && name_function(delay->code, where, sizeof where))
        ;
    else if (delay->code)
        snprintf(where, sizeof where, "%p", delay->code);
    if (delay->system_call >= 0)
        snprintf(what, sizeof what, "in system call %d", delay->system_call);
    unsigned long long ms = delay->waited_ns / MS;
    fprintf(stderr, "%s: a collection has waited %llu.%llu s for thread %llu (%s)%s%s\n", (const char *)name, ms / S,
            ms % S / (S / 10), (unsigned long long)delay->thread, what, *where ? ", last seen in " : "", where);
}

/* In a signal handler: the standard streams may be locked. */
static void report_overflow(void *name, const struct tn_stack_overflow *overflow)
{
    char where[300] = "", text[600];
    bool named = name_function && name_function(overflow->code, where, sizeof where);
    int length =
        snprintf(text, sizeof text, "%s: the stack of thread %llu is full: %llu calls of managed functions%s%s\n",
                 (const char *)name, (unsigned long long)overflow->thread, (unsigned long long)overflow->depth,
                 named ? ", the last in " : "", where);
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        return;
}

int tool_make_default_heap(const char *name, tool_name_function *functions, struct tn_error *err)
{
    struct tn_heap *heap;
    struct tn_heap_options options;
    int code = tn_heap_options_from_environment(&options, err);
    const char *log = getenv("TENON_GC_LOG");
    options.context = (void *)(uintptr_t)name;
    options.out_of_memory = out_of_memory;
    options.on_corruption = corrupt;
    options.on_delay = report_delay;
    name_function = functions;
    if (log && strcmp(log, "1") == 0)
        options.on_collection = log_collection;
    if (!code)
        code = tn_report_stack_overflow(report_overflow, options.context, err);
    if (!code)
        code = tn_heap_create(&options, &heap, err);
    if (!code)
        tn_heap_set_default(heap);
    return code;
}
