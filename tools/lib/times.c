/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Time over threads as a file for trace viewers (the Trace Event Format's complete events), and time by pass. */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/watch.h"

/* ---- --time-trace ---- */

struct event {
    const char *what;
    char *detail;
    uint64_t begin, end;
    int track; /* a thread, or one of TOOL_TRACK_... */
};

static struct {
    pthread_mutex_t lock;
    struct event *events;
    size_t count, capacity;
    struct {
        int track;
        const char *name;
    } names[32];
    size_t name_count;
    bool started;
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void append(const struct event *event)
{
    if (trace.count == trace.capacity) {
        size_t capacity = trace.capacity ? 2 * trace.capacity : 256;
        struct event *larger = realloc(trace.events, capacity * sizeof *larger);
        if (!larger)
            return;
        trace.events = larger;
        trace.capacity = capacity;
    }
    trace.events[trace.count] = *event;
    trace.events[trace.count++].detail = strdup(event->detail);
}

void tool_time_start(void)
{
    trace.started = true;
}

void tool_time_event_of(int track, const char *what, const char *detail, uint64_t begin, uint64_t end)
{
    if (!trace.started)
        return;
    struct event event = {what, (char *)detail, begin, end, track};
    pthread_mutex_lock(&trace.lock);
    append(&event);
    pthread_mutex_unlock(&trace.lock);
}

void tool_time_event(const char *what, const char *detail, uint64_t begin, uint64_t end)
{
    tool_time_event_of(gettid(), what, detail, begin, end);
}

void tool_time_name(int track, const char *name)
{
    pthread_mutex_lock(&trace.lock);
    size_t i = 0;
    while (i < trace.name_count && trace.names[i].track != track)
        i++;
    if (i < sizeof trace.names / sizeof *trace.names) {
        trace.names[i].track = track;
        trace.names[i].name = name;
        trace.name_count += i == trace.name_count;
    }
    pthread_mutex_unlock(&trace.lock);
}

static void write_json_text(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < ' ' || *at >= 0x7f) /* names need not be UTF-8 */
            fprintf(out, "\\u%04x", *at);
        else
            putc(*at, out);
}

static void write_event(FILE *out, const struct event *event, bool first)
{
    fprintf(out, "%s\n{\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"of\":\"",
            first ? "" : ",", event->what, (int)getpid(), event->track, (double)event->begin / 1e3,
            (double)(event->end - event->begin) / 1e3);
    write_json_text(out, event->detail ? event->detail : "");
    fputs("\"}}", out);
}

bool tool_write_time_trace(const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
    pthread_mutex_lock(&trace.lock);
    for (size_t i = 0; i < trace.count; i++)
        write_event(out, &trace.events[i], i == 0);
    for (size_t i = 0; i < trace.name_count; i++)
        fprintf(out, "%s\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
                i || trace.count ? "," : "", (int)getpid(), trace.names[i].track, trace.names[i].name);
    pthread_mutex_unlock(&trace.lock);
    fputs("\n]}\n", out);
    bool ok = fclose(out) == 0 ? tool_write(name, text, size) : (tool_fail(STATUS_FAILURE, "out of memory"), false);
    free(text);
    return ok;
}

/* ---- --time-passes ---- */

struct pass_time {
    char *name;
    uint64_t ns, runs;
};

static struct {
    pthread_mutex_t lock;
    struct pass_time rows[256];
    size_t count;
} passes = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tool_time_pass(const struct tn_pass *pass)
{
    pthread_mutex_lock(&passes.lock);
    size_t i = 0;
    while (i < passes.count && (!passes.rows[i].name || strcmp(passes.rows[i].name, pass->name) != 0))
        i++;
    if (i < sizeof passes.rows / sizeof passes.rows[0]) {
        if (i == passes.count)
            passes.rows[passes.count++].name = strdup(pass->name);
        passes.rows[i].ns += pass->ns;
        passes.rows[i].runs++;
    }
    pthread_mutex_unlock(&passes.lock);
}

static int slower_first(const void *a, const void *b)
{
    const struct pass_time *left = a, *right = b;
    return (left->ns < right->ns) - (left->ns > right->ns);
}

void tool_print_pass_times(FILE *out)
{
    uint64_t sum = 0;
    qsort(passes.rows, passes.count, sizeof passes.rows[0], slower_first);
    for (size_t i = 0; i < passes.count; i++)
        sum += passes.rows[i].ns;
    fprintf(out, "%10s %6s %8s  pass\n", "ms", "", "runs");
    for (size_t i = 0; i < passes.count; i++)
        fprintf(out, "%10.3f %5.1f%% %8llu  %s\n", (double)passes.rows[i].ns / 1e6,
                sum ? 100.0 * (double)passes.rows[i].ns / (double)sum : 0, (unsigned long long)passes.rows[i].runs,
                passes.rows[i].name ? passes.rows[i].name : "?");
    fprintf(out, "%10.3f %15s  all\n", (double)sum / 1e6, "");
}
