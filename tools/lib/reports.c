/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Files of YAML about compilations: --remarks, --trace-optimize. Compilations may run on several threads. */

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "lib/watch.h"

static struct report {
    pthread_mutex_t lock;
    const char *option;
    FILE *file;
} remarks = {PTHREAD_MUTEX_INITIALIZER, "--remarks", NULL},
  sizes = {PTHREAD_MUTEX_INITIALIZER, "--trace-optimize", NULL};

static bool start(struct report *report, const char *name)
{
    if (!name)
        return true;
    report->file = strcmp(name, "-") == 0 ? stderr : fopen(name, "w");
    return report->file ||
           (tool_fail(STATUS_FAILURE, "option '%s': cannot write '%s': %s", report->option, name, strerror(errno)),
            false);
}

static bool end(struct report *report)
{
    if (!report->file || (!fflush(report->file) && !ferror(report->file)))
        return true;
    return tool_fail(STATUS_FAILURE, "option '%s': some of it was not written", report->option), false;
}

/* ---- --remarks: as LLVM's -pass-remarks-output ---- */

static void write_remark(const struct tn_remark *remark)
{
    tool_progress_hold();
    fputs(remark->yaml, remarks.file);
    tool_progress_release();
}

/* ---- --stats: why functions are left to LLVM, by the remarks of the baseline compiler ---- */

/* A longer reason is cut off. With the remarks' lock; there are more than the compiler has. */
static struct reason {
    char text[80];
    uint64_t functions;
} reasons[64];

static void count_reason(const struct tn_remark *remark)
{
    size_t i = 0;
    if (strcmp(remark->pass, "baseline") != 0)
        return;
    while (i < TN_COUNT(reasons) - 1 && reasons[i].functions &&
           strncmp(reasons[i].text, remark->text, sizeof reasons[i].text - 1) != 0)
        i++;
    if (!reasons[i].functions++)
        snprintf(reasons[i].text, sizeof reasons[i].text, "%s", remark->text);
}

static int compare_reasons(const void *a, const void *b)
{
    uint64_t left = ((const struct reason *)a)->functions, right = ((const struct reason *)b)->functions;
    return (left < right) - (left > right);
}

void tool_print_reasons(FILE *out)
{
    pthread_mutex_lock(&remarks.lock);
    qsort(reasons, TN_COUNT(reasons), sizeof reasons[0], compare_reasons);
    for (size_t i = 0; i < TN_COUNT(reasons) && reasons[i].functions; i++)
        fprintf(out, "    %8" PRIu64 "  %s\n", reasons[i].functions, reasons[i].text);
    pthread_mutex_unlock(&remarks.lock);
}

static void note_remark(void *context, const struct tn_remark *remark)
{
    (void)context;
    pthread_mutex_lock(&remarks.lock);
    count_reason(remark);
    if (remarks.file)
        write_remark(remark);
    pthread_mutex_unlock(&remarks.lock);
}

/* ---- --trace-optimize ---- */

static void write_name(FILE *out, const char *name)
{
    putc('"', out);
    for (const unsigned char *at = (const unsigned char *)name; *at; at++)
        if (*at < ' ' || *at == 0x7f || *at == '"' || *at == '\\')
            fprintf(out, "\\x%02x", *at);
        else
            putc(*at, out);
    putc('"', out);
}

static void write_sizes(FILE *out, const char *when, const struct tn_function_size *list, size_t count)
{
    fprintf(out, "  %s:%s\n", when, count ? "" : " {}");
    for (const struct tn_function_size *f = list; f < list + count; f++) {
        fputs("    ", out);
        write_name(out, f->name);
        fprintf(out, ":\n      instructions: %" PRIu64 "\n      basicblocks: %" PRIu64 "\n", f->instructions,
                f->blocks);
    }
}

static void write_optimized(void *context, const struct tn_optimized *o)
{
    (void)context;
    pthread_mutex_lock(&sizes.lock);
    tool_progress_hold();
    fputs("- module: ", sizes.file);
    write_name(sizes.file, o->module);
    putc('\n', sizes.file);
    write_sizes(sizes.file, "before", o->before, o->before_count);
    fprintf(sizes.file, "  time_ns: %" PRIu64 "\n  optlevel: %d\n", o->ns, o->opt_level);
    write_sizes(sizes.file, "after", o->after, o->after_count);
    tool_progress_release();
    pthread_mutex_unlock(&sizes.lock);
}

/* ---- both ---- */

bool tool_reports_start(const struct settings *settings, struct tn_compile_observer *observer)
{
    bool counts = settings->stats && settings->baseline;
    observer->remark = settings->remarks || counts ? note_remark : NULL;
    observer->optimized = settings->trace_optimize ? write_optimized : NULL;
    return start(&remarks, settings->remarks) && start(&sizes, settings->trace_optimize);
}

bool tool_reports_end(void)
{
    return end(&remarks) & end(&sizes);
}
