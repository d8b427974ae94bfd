/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed programs: a heap is made, and what such code needs of the runtime defined, when something that is linked asks
 * for it. Other programs pay one comparison for each name that nothing defines. */

#include <string.h>
#include <unistd.h>

#include "lib/default_heap.h"
#include "lib/tool.h"
#include "lib/watch.h"

/* The command contains all collectors, for TENON_GC. */
const struct tn_collector *const tool_collectors[] = {&tn_collector_generational, &tn_collector_concurrent};

static bool name_function(const void *address, char *name, size_t size)
{
    struct tn_place place = {.size = sizeof place};
    struct tn_error error;
    if (tn_symbolize(tool_program.session, address, &place, &error) || !place.function)
        return false;
    snprintf(name, size, "'%s'", place.function);
    return true;
}

/* What other threads did for it: each on its own line. */
static void trace_work(const struct tn_collection_work *work)
{
    enum { TEXT = 100 };
    char text[TEXT];
    bool copies = work->phase != TN_COLLECTION_TRACE;
    snprintf(text, sizeof text, "%llu %s, waited %llu us", (unsigned long long)work->amount,
             copies ? "bytes copied" : "references looked at", (unsigned long long)work->waited_ns / 1000);
    tool_time_name((int)work->thread, work->is_own ? "collector" : "program");
    tool_time_event_of((int)work->thread, copies ? "copy" : "mark", text, work->begin_ns, work->end_ns);
}

/* The collection and its phases, in the order of time, on the line of the thread that collects. */
static void trace_collection(const struct tn_collection *collection)
{
    enum { KB = 1024, TEXT = 80 };
    char text[TEXT];
    snprintf(text, sizeof text, "%llu -> %llu KB", (unsigned long long)collection->before / KB,
             (unsigned long long)collection->after / KB);
    uint64_t begin = collection->begin_ns;
    tool_time_name(gettid(), "program");
    tool_time_event(collection->full ? "full collection" : "young collection", text, begin,
                    begin + collection->pause_ns);
    for (unsigned i = 0; i < TN_COLLECTION_COUNT; begin += collection->phase_ns[i++])
        if (collection->phase_ns[i])
            tool_time_event(tn_collection_phase_name(i), "", begin, begin + collection->phase_ns[i]);
    for (size_t i = 0; i < collection->work_count; i++)
        trace_work(&collection->work[i]);
    if (collection->cycle_ns) {
        uint64_t end = collection->begin_ns + collection->pause_ns;
        tool_time_name(TOOL_TRACK_CYCLES, "collections beside threads");
        tool_time_event_of(TOOL_TRACK_CYCLES, "cycle", text, end - collection->cycle_ns, end);
    }
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
    int code = tool_make_default_heap("tenon run", name_function, trace_collection, error);
    if (!code)
        code = tn_observe_functions(context, error);
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
