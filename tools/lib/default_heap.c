/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
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

/* Where lines about collections go: a descriptor, or -1. It ends with the process. */
static int log_file = -1;
static tool_on_collection *watch_collection;
static tool_name_function *name_function;

/* A write to a pipe without a reader must not end the program in which it happens: the write fails, and the SIGPIPE of
 * it is taken away, but not one that was pending before. */
struct quiet {
    sigset_t mask, waiting;
};

static void begin_quiet(struct quiet *quiet)
{
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &quiet->mask);
    sigpending(&quiet->waiting);
}

static void end_quiet(const struct quiet *quiet)
{
    const struct timespec now = {0, 0};
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (!sigismember(&quiet->waiting, SIGPIPE))
        sigtimedwait(&pipe, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &quiet->mask, NULL);
}

/* One write for a line, so that those of several processes do not mix. */
static bool write_line(const char *line, size_t length)
{
    ssize_t written;
    do {
        errno = ENOSPC; /* if a part of the line fits */
        written = write(log_file, line, length);
    } while (written < 0 && errno == EINTR); /* interrupted by one of the program's handlers */
    return written == (ssize_t)length;
}

/* The program goes on without its log if that fails, and its user learns that the log ends here. */
static void log_line(const char *name, const char *line, size_t length)
{
    struct quiet quiet;
    begin_quiet(&quiet);
    if (!write_line(line, length)) {
        fprintf(stderr, "%s: TENON_GC_LOG: %s; no more collections are logged\n", name, strerror(errno));
        log_file = -1;
    }
    end_quiet(&quiet);
}

static void after_collection(void *name, const struct tn_collection *collection)
{
    char line[200 + TN_COLLECTION_TEXT];
    if (watch_collection)
        watch_collection(collection);
    if (log_file < 0)
        return;
    int prefix = snprintf(line, sizeof line - TN_COLLECTION_TEXT, "%.150s: ", (const char *)name);
    size_t length = (size_t)prefix + tn_collection_write(collection, line + prefix, TN_COLLECTION_TEXT);
    line[length++] = '\n';
    log_line(name, line, length);
}

static int open_log(struct tn_error *err)
{
    enum { PERMISSIONS = 0666 };
    const char *log = secure_getenv("TENON_GC_LOG");
    if (!log || !*log || strcmp(log, "0") == 0)
        return 0;
    bool is_file = strcmp(log, "1") != 0;
    log_file = is_file ? open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, PERMISSIONS) : STDERR_FILENO;
    return log_file < 0 ? tn__fail(err, TN_EIO, "TENON_GC_LOG: %s: %s", log, strerror(errno)) : 0;
}

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
    struct quiet quiet;
    begin_quiet(&quiet);
    fprintf(stderr, "%s: a collection has waited %llu.%llu s for thread %llu (%s)%s%s\n", (const char *)name, ms / S,
            ms % S / (S / 10), (unsigned long long)delay->thread, what, *where ? ", last seen in " : "", where);
    end_quiet(&quiet);
}

/* In a signal handler: the standard streams may be locked. */
static void report_overflow(void *name, const struct tn_stack_overflow *overflow)
{
    char where[300] = "", text[600];
    bool named = name_function && name_function(overflow->code, where, sizeof where);
    int length = snprintf(text, sizeof text, "%s: the stack of thread %llu is full", (const char *)name,
                          (unsigned long long)overflow->thread);
    if (overflow->depth)
        length += snprintf(text + length, sizeof text - (size_t)length, ": %llu calls of managed functions%s",
                           (unsigned long long)overflow->depth, named ? ", the last" : "");
    length += snprintf(text + length, sizeof text - (size_t)length, "%s%s\n", named ? " in " : "", where);
    if (write(STDERR_FILENO, text, (size_t)length) < 0)
        return;
}

int tool_make_default_heap(const char *name, tool_name_function *functions, tool_on_collection *watch,
                           struct tn_error *err)
{
    struct tn_heap *heap;
    struct tn_heap_options options;
    int code = tn_heap_options_from_environment(&options, err);
    if (!code)
        code = open_log(err);
    options.context = (void *)(uintptr_t)name;
    options.out_of_memory = out_of_memory;
    options.on_corruption = corrupt;
    options.on_delay = report_delay;
    name_function = functions;
    watch_collection = watch;
    if (watch || log_file >= 0)
        options.on_collection = after_collection;
    if (!code)
        code = tn_report_stack_overflow(report_overflow, options.context, err);
    if (!code)
        code = tn_heap_create(&options, &heap, err);
    if (!code)
        tn_heap_set_default(heap);
    return code;
}
