/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The roots of an image: symbols that were named, and the functions in compile traces, which may be of workloads that
 * are run here. */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/build_image.h"
#include "lib/watch.h"

static bool out_of_memory(void)
{
    return tool_fail(STATUS_FAILURE, "out of memory"), false;
}

static bool grow(char ***list, size_t capacity)
{
    char **larger = realloc(*list, capacity * sizeof *larger);
    *list = larger ? larger : *list;
    return larger || out_of_memory();
}

/* `signature`: NULL: unknown. Both are copied. */
static bool add_root(struct job *job, const char *name, const char *signature)
{
    if (job->root_count == job->root_capacity) {
        size_t capacity = 2 * job->root_capacity + 16;
        if (!grow(&job->roots, capacity) || !grow(&job->signatures, capacity))
            return false;
        job->root_capacity = capacity;
    }
    char *root = strdup(name), *copy = signature ? strdup(signature) : NULL;
    job->roots[job->root_count] = root;
    job->signatures[job->root_count++] = copy;
    return (root && (copy || !signature)) || out_of_memory();
}

/* ---- traces ---- */

static bool is_octal(char letter)
{
    return letter >= '0' && letter <= '7';
}

/* Resolves C's escapes up to the next quotation mark, in place, and ends the text there. Returns what is behind the
 * mark. NULL: there is none. */
static char *unquote(char *text)
{
    char *to = text, *at = text;
    for (; *at != '"'; at++) {
        bool escaped = *at == '\\';
        at += escaped;
        if (!*at)
            return NULL;
        if (escaped && is_octal(at[0]) && is_octal(at[1]) && is_octal(at[2])) {
            *to++ = (char)((at[0] - '0') << 6 | (at[1] - '0') << 3 | (at[2] - '0'));
            at += 2;
        } else {
            *to++ = *at;
        }
    }
    *to = '\0';
    return at + 1;
}

/* A line is precompile("NAME") or precompile("NAME", "SIGNATURE"), and what else is known of it. */
static bool read_trace_line(struct job *job, const char *trace, char *line, size_t number)
{
    static const char start[] = "precompile(\"", between[] = ", \"";
    if (*line == '\n' || *line == '#')
        return true;
    char *name = line + sizeof start - 1;
    char *signature = NULL, *end = strncmp(line, start, sizeof start - 1) == 0 ? unquote(name) : NULL;
    if (end && strncmp(end, between, sizeof between - 1) == 0) {
        signature = end + sizeof between - 1;
        end = unquote(signature);
    }
    if (!end)
        return tool_fail(STATUS_FAILURE, "'%s', line %zu: not a line of a compile trace", trace, number), false;
    return add_root(job, name, signature && *signature ? signature : NULL);
}

static bool read_trace(struct job *job, const char *name)
{
    bool is_stdin = strcmp(name, "-") == 0;
    FILE *trace = is_stdin ? stdin : fopen(name, "r");
    if (!trace)
        return tool_fail(STATUS_FAILURE, "cannot read '%s': %s", name, strerror(errno)), false;
    char *line = NULL;
    size_t space = 0, number = 0;
    bool good = true;
    while (good && getline(&line, &space, trace) >= 0)
        good = read_trace_line(job, name, line, ++number);
    if (good && ferror(trace))
        good = (tool_fail(STATUS_FAILURE, "cannot read '%s': %s", name, strerror(errno)), false);
    free(line);
    if (!is_stdin)
        fclose(trace);
    return good;
}

struct root {
    char *name, *signature;
};

static int in_order(const void *a, const void *b)
{
    const struct root *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    return order ? order : strcmp(one->signature ? one->signature : "", other->signature ? other->signature : "");
}

/* A function that was compiled again, or by several processes, is in a trace as often. */
static bool drop_repeated(struct job *job)
{
    size_t first = job->asked_for, count = job->root_count - first;
    struct root *roots = malloc((count + 1) * sizeof *roots);
    if (!roots)
        return out_of_memory();
    for (size_t i = 0; i < count; i++)
        roots[i] = (struct root){job->roots[first + i], job->signatures[first + i]};
    qsort(roots, count, sizeof *roots, in_order);
    job->root_count = first;
    for (size_t i = 0; i < count; i++) {
        if (i && in_order(&roots[i - 1], &roots[i]) == 0) {
            free(roots[i - 1].name);
            free(roots[i - 1].signature);
            job->root_count--;
        }
        job->roots[job->root_count] = roots[i].name;
        job->signatures[job->root_count++] = roots[i].signature;
    }
    free(roots);
    return true;
}

/* ---- workloads ---- */

/* The command prints to standard error, because our standard output may be the image. */
static void become(const char *command, const char *trace)
{
    if (setenv("TENON_TRACE_COMPILE", trace, 1) == 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

/* Returns the process, or -1. Who interrupts from the keyboard means the command; what becomes of that is in
 * *status. */
static pid_t run_and_wait(const char *command, const char *trace, int *status)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, interrupt, quit;
    sigaction(SIGINT, &ignore, &interrupt);
    sigaction(SIGQUIT, &ignore, &quit);
    pid_t process = fork();
    if (process == 0) {
        sigaction(SIGINT, &interrupt, NULL);
        sigaction(SIGQUIT, &quit, NULL);
        become(command, trace);
    }
    while (process > 0 && waitpid(process, status, 0) < 0)
        if (errno != EINTR)
            process = -1;
    int error = errno;
    sigaction(SIGINT, &interrupt, NULL);
    sigaction(SIGQUIT, &quit, NULL);
    errno = error;
    return process;
}

static bool run_workload(const char *command, const char *trace)
{
    int status = 0;
    tool_progress_hold();
    fflush(NULL);
    pid_t process = run_and_wait(command, trace, &status);
    int error = errno;
    tool_progress_release();
    if (process < 0)
        tool_fail(STATUS_FAILURE, "cannot run workload '%s': %s", command, strerror(error));
    else if (WIFSIGNALED(status))
        tool_fail(STATUS_FAILURE, "workload '%s' was ended by signal %d", command, WTERMSIG(status));
    else if (status)
        tool_fail(STATUS_FAILURE, "workload '%s' ended with status %d", command, WEXITSTATUS(status));
    return process > 0 && status == 0;
}

/* Makes an empty file. Its name holds wherever a workload goes. The caller frees it; NULL: what is wrong was
 * reported. */
static char *make_trace(void)
{
    const char *folder = getenv("TMPDIR");
    char *there = realpath(folder && *folder ? folder : "/tmp", NULL), *name = NULL;
    if (there && asprintf(&name, "%s/tenon-trace.XXXXXX", there) < 0)
        name = NULL;
    free(there);
    int file = name ? mkstemp(name) : -1;
    if (file >= 0)
        return close(file), name;
    tool_fail(STATUS_FAILURE, "cannot write a trace to '%s': %s", folder && *folder ? folder : "/tmp", strerror(errno));
    free(name);
    return NULL;
}

/* Runs those that the options name, with one trace for all. */
static bool trace_workloads(struct job *job)
{
    char *trace = make_trace();
    bool good = trace != NULL;
    for (int i = 0; good && i < job->settings->item_count; i++)
        if (tool_is_item(&job->settings->items[i], "--workload"))
            good = run_workload(job->settings->items[i].value, trace);
    good = good && read_trace(job, trace);
    if (trace)
        unlink(trace);
    free(trace);
    return good;
}

static bool read_traces(struct job *job)
{
    const struct settings *settings = job->settings;
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--trace") && !read_trace(job, settings->items[i].value))
            return false;
    return !tool_has_item(settings, "--workload") || trace_workloads(job);
}

/* ---- all of them ---- */

bool tool_read_roots(struct job *job)
{
    const struct settings *settings = job->settings;
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--root") && !add_root(job, settings->items[i].value, NULL))
            return false;
    /* The root of a program is its main, unless other parts of it are already compiled. */
    if (settings->kind == KIND_EXE && job->object_count == 1 && !add_root(job, "main", NULL))
        return false;
    job->asked_for = job->root_count;
    if (!read_traces(job))
        return false;
    bool traced = tool_has_item(settings, "--trace") || tool_has_item(settings, "--workload");
    if (traced && !job->root_count)
        return tool_fail(STATUS_FAILURE,
                         "the trace names no function; it comes from 'tenon run', or another program that "
                         "writes one to TENON_TRACE_COMPILE"),
               false;
    return drop_repeated(job);
}

void tool_free_roots(struct job *job)
{
    for (size_t i = 0; i < job->root_count; i++)
        free(job->roots[i]), free(job->signatures[i]);
    free(job->roots);
    free(job->signatures);
}

/* A trace may be of more than these files, and has local functions, which come with those that are public. Who builds
 * one shard of many leaves it to the last step to say so. */
int tool_unknown_root(void *context, size_t index, int is_local)
{
    struct job *job = context;
    if (index < job->asked_for || is_local)
        return index < job->asked_for;
    if (!job->settings->shard)
        tool_fail(STATUS_OK, "warning: '%s' of the trace is not in the input", job->roots[index]);
    job->unknown++;
    return 0;
}

void tool_warn_unknown_roots(const struct job *job)
{
    if (job->unknown && !job->settings->shard)
        tool_fail(STATUS_OK, "warning: %zu of %zu functions of the trace are not in the input", job->unknown,
                  job->root_count - job->asked_for);
}
