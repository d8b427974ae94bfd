/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Time over threads as a file for trace viewers, and time by pass. The file is in the Trace Event Format, as clang's
 * -ftime-trace writes it: complete events ("X") of a name and a detail, their totals by name, and names of threads. */

#include <inttypes.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/os.h"
#include "lib/show.h"
#include "lib/watch.h"

/* ---- --time-trace ---- */

/* What there is of a name. */
struct name {
    const char *text;
    uint64_t count, ns; /* of its events */
};

struct event {
    struct name *what;
    const char *detail;
    uint64_t begin, end;
    int track; /* a thread, or one of TOOL_TRACK_... */
};

struct track {
    int number;
    const char *name;
};

static struct {
    pthread_mutex_t lock;
    struct event *events;
    struct track *tracks;
    struct name **names; /* of events, in the order of their first one */
    size_t count, capacity, track_count, track_capacity, name_count, name_capacity;
    void *texts;       /* a tree of struct name: each text once */
    uint64_t start;    /* by CLOCK_MONOTONIC; 0: nothing is traced */
    uint64_t since;    /* the same moment in microseconds since 1970 */
    uint64_t shortest; /* nanoseconds of the events that are kept */
    bool incomplete;   /* memory was out */
} trace = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The function that the passes of this thread work on. */
static __thread struct {
    struct name *function; /* NULL: none */
    const char *what;
    uint64_t begin, end;
} work;

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* The name with this text; NULL: memory is out. The lock is held. */
static struct name *name_of(const char *text)
{
    struct name wanted = {.text = text}, *made;
    struct name **found = tfind(&wanted, &trace.texts, by_text);
    if (found)
        return *found;
    made = calloc(1, sizeof *made + strlen(text) + 1);
    if (!made)
        return NULL;
    made->text = strcpy((char *)(made + 1), text);
    return tsearch(made, &trace.texts, by_text) ? made : (free(made), NULL);
}

static bool append(struct name *what, const struct event *event)
{
    if (!what || !event->detail)
        return false;
    if (!what->count && !tn__grow(NULL, &trace.names, &trace.name_capacity, trace.name_count + 1, sizeof *trace.names))
        return false;
    if (!what->count)
        trace.names[trace.name_count++] = what;
    what->count++;
    what->ns += event->end - event->begin;
    if (event->end - event->begin < trace.shortest)
        return true;
    if (!tn__grow(NULL, &trace.events, &trace.capacity, trace.count + 1, sizeof *trace.events))
        return false;
    trace.events[trace.count] = *event;
    trace.events[trace.count++].what = what;
    return true;
}

void tool_time_start(uint64_t shortest_ns)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    trace.since = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    trace.shortest = shortest_ns;
    trace.start = tn__os_now_ns();
    tool_time_name(getpid(), "main");
}

void tool_time_event_of(int track, const char *what, const char *detail, uint64_t begin, uint64_t end)
{
    if (!trace.start)
        return;
    pthread_mutex_lock(&trace.lock);
    const struct name *of = name_of(detail);
    const struct event event = {NULL, of ? of->text : NULL, begin, end, track};
    trace.incomplete |= !append(name_of(what), &event);
    pthread_mutex_unlock(&trace.lock);
}

void tool_time_event(const char *what, const char *detail, uint64_t begin, uint64_t end)
{
    tool_time_event_of(gettid(), what, detail, begin, end);
}

void tool_time_end_function(void)
{
    if (work.function)
        tool_time_event(work.what, work.function->text, work.begin, work.end);
    work.function = NULL;
}

/* Passes over one function that follow each other are a bar of its name above theirs. */
void tool_time_trace_pass(const struct tn_pass *pass, const char *what)
{
    uint64_t end = tn__os_now_ns(), begin = end - pass->ns;
    bool is_gone = !pass->function && !pass->unit; /* the loop that it worked on, in the same function */
    const char *function = pass->function ? pass->function : is_gone && work.function ? work.function->text : NULL;
    if (!work.function || !function || what != work.what || strcmp(function, work.function->text) != 0) {
        tool_time_end_function();
        pthread_mutex_lock(&trace.lock);
        work.function = function ? name_of(function) : NULL;
        pthread_mutex_unlock(&trace.lock);
        work.what = what;
        work.begin = begin;
    }
    work.end = end;
    tool_time_event(pass->name, function ? function : "the module", begin, end);
}

void tool_time_name(int track, const char *name)
{
    if (!trace.start)
        return;
    pthread_mutex_lock(&trace.lock);
    size_t i = 0;
    while (i < trace.track_count && trace.tracks[i].number != track)
        i++;
    bool is_new = i == trace.track_count;
    if (is_new && !tn__grow(NULL, &trace.tracks, &trace.track_capacity, i + 1, sizeof *trace.tracks))
        trace.incomplete = true;
    else if (is_new)
        trace.tracks[trace.track_count++] = (struct track){track, name};
    pthread_mutex_unlock(&trace.lock);
}

/* In thousandths of them. By integers: a program that has run here may have set a locale with a decimal comma. */
static void write_thousandths(FILE *out, const char *key, uint64_t thousandths)
{
    fprintf(out, ",\"%s\":%" PRIu64 ".%03u", key, thousandths / 1000, (unsigned)(thousandths % 1000));
}

/* The beginning of an event, up to its arguments. */
static void write_event(FILE *out, const char *kind, int track, const char *prefix, const char *name)
{
    fprintf(out, "{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"name\":", kind, (int)getpid(), track);
    char *text;
    int length = asprintf(&text, "%s%s", prefix, name);
    if (length >= 0)
        show_quoted(out, text, (size_t)length);
    else
        fputs("\"\"", out);
    free(length >= 0 ? text : NULL);
}

/* What began before the trace, such as a thread's wait, begins with it. */
static void write_events(FILE *out)
{
    for (const struct event *event = trace.events; event < trace.events + trace.count; event++) {
        uint64_t begin = event->begin > trace.start ? event->begin : trace.start;
        write_event(out, "X", event->track, "", event->what->text);
        write_thousandths(out, "ts", begin - trace.start);
        write_thousandths(out, "dur", event->end > begin ? event->end - begin : 0);
        fputs(",\"args\":{\"detail\":", out);
        show_quoted(out, event->detail, strlen(event->detail));
        fputs("}},\n", out);
    }
}

static int longest_first(const void *a, const void *b)
{
    const struct name *left = *(struct name *const *)a, *right = *(struct name *const *)b;
    return left->ns != right->ns ? (left->ns < right->ns) - (left->ns > right->ns) : strcmp(left->text, right->text);
}

/* Each on a line of its own, after those of the threads. */
static void write_totals(FILE *out)
{
    enum { FIRST = 1 << 23 }; /* more than there are threads on Linux (PID_MAX_LIMIT) */
    qsort(trace.names, trace.name_count, sizeof *trace.names, longest_first);
    for (size_t i = 0; i < trace.name_count; i++) {
        const struct name *name = trace.names[i];
        write_event(out, "X", FIRST + (int)i, "Total ", name->text);
        fputs(",\"ts\":0", out);
        write_thousandths(out, "dur", name->ns);
        fprintf(out, ",\"args\":{\"count\":%" PRIu64, name->count);
        write_thousandths(out, "avg ms", name->ns / 1000 / name->count);
        fputs("}},\n", out);
    }
}

static void write_names(FILE *out)
{
    for (const struct track *track = trace.tracks; track < trace.tracks + trace.track_count; track++) {
        write_event(out, "M", track->number, "", "thread_name");
        fprintf(out, ",\"args\":{\"name\":\"%s\"}},\n", track->name);
    }
    write_event(out, "M", getpid(), "", "process_name");
    fputs(",\"args\":{\"name\":\"tenon\"}}", out);
}

bool tool_write_time_trace(const char *name)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    pthread_mutex_lock(&trace.lock);
    fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n", out);
    write_events(out);
    write_totals(out);
    write_names(out);
    fprintf(out, "\n],\"beginningOfTime\":%llu}\n", (unsigned long long)trace.since);
    bool complete = !trace.incomplete && !ferror(out);
    pthread_mutex_unlock(&trace.lock);
    bool ok = fclose(out) == 0 && complete ? tool_write(name, text, size)
                                           : (tool_fail(STATUS_FAILURE, "out of memory"), false);
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
