/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed programs: a heap is made, and what such code needs of the runtime defined, when something that is linked asks for
 * it. Other programs pay one comparison for each name that nothing defines. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tenon_heap.h"
#include "tool.h"

/* Managed code runs in these: its own output comes first, its finalizers do not run. */
static void out_of_memory(void *context, size_t payload)
{
    (void)context;
    fflush(stdout);
    _exit(tool_fail(STATUS_FAILURE, "out of memory: no %zu bytes in the heap, not even after a collection", payload));
}

static void corrupt(void *context, const char *what)
{
    (void)context;
    fflush(stdout);
    tool_fail(STATUS_FAILURE, "the collector found: %s", what);
    abort();
}

static void log_collection(void *context, const struct tn_collection *c)
{
    enum { KB = 1024, US = 1000 };
    (void)context;
    fprintf(stderr, "tenon: gc %llu: %llu -> %llu KB, moved %llu KB, %llu pinned, stopped in %llu us, paused %llu us\n",
            (unsigned long long)c->number, (unsigned long long)c->before / KB, (unsigned long long)c->after / KB,
            (unsigned long long)c->moved / KB, (unsigned long long)c->pinned, (unsigned long long)c->stop_ns / US,
            (unsigned long long)c->pause_ns / US);
}

static int make_heap(struct tn_error *error)
{
    struct tn_heap *heap;
    struct tn_heap_options options;
    int code = tn_heap_options_from_environment(&options, error);
    const char *log = getenv("TENON_GC_LOG");
    options.out_of_memory = out_of_memory;
    options.on_corruption = corrupt;
    if (log && strcmp(log, "1") == 0)
        options.on_collection = log_collection;
    if (!code)
        code = tn_heap_create(&options, &heap, error);
    if (!code)
        tn_heap_set_default(heap); /* it ends with the process: threads may run managed code until then */
    return code;
}

static int provide(void *context, struct tn_library *library, const char *const *names, size_t count,
                   struct tn_error *error)
{
    static bool provided;
    bool wanted = false;
    for (size_t i = 0; i < count; i++)
        wanted |= strncmp(names[i], "tn_", strlen("tn_")) == 0;
    if (!wanted || provided)
        return 0;
    provided = true;
    int code = make_heap(error);
    if (!code)
        code = tn_observe_managed_code(context, error);
    return code ? code : tn_define_managed_runtime(library, error);
}

bool tool_provide_heap(struct tn_session *session, struct tn_library *library)
{
    struct tn_error error;
    int code = tn_add_generator(library, provide, session, &error);
    if (code)
        tool_fail(STATUS_FAILURE, "%s", error.text);
    return code == 0;
}
