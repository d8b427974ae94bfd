/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon run --profile: which functions of a JIT with tiers took the time, by samples at each millisecond of processor
 * time, and what became of them. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/os.h"
#include "lib/tool.h"

const struct tn_tier tool_first_tier = {.opt_level = 0, .calls = 3000, .loops = 20};

enum { PERIOD_US = 1000 };

static struct {
    const char *path;
    pid_t process;
    struct row {
        struct tn_jit_function function;
        char name[120];
    } * rows;
    size_t count, space;
} self;

static void sample(int number, siginfo_t *info, void *context)
{
    struct tn__os_access access;
    int kept = errno;
    (void)number, (void)info;
    tn__os_read_registers(context, &access);
    tn_jit_sample(tool_program.jit, (const void *)(uintptr_t)access.code);
    errno = kept;
}

/* Keeps functions that were called: these have code. */
static int keep(void *context, const struct tn_jit_function *function)
{
    (void)context;
    bool was_called = false;
    for (size_t i = 0; i < sizeof function->tiers / sizeof function->tiers[0]; i++)
        was_called |= function->tiers[i].bytes != 0;
    if (!was_called)
        return 0;
    if (self.count == self.space) {
        size_t space = self.space ? 2 * self.space : 64;
        struct row *more = realloc(self.rows, space * sizeof *more);
        if (!more)
            return TN_ENOMEM;
        self.rows = more;
        self.space = space;
    }
    struct row *row = &self.rows[self.count++];
    row->function = *function;
    snprintf(row->name, sizeof row->name, "%s", function->name);
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct tn_jit_function *x = &((const struct row *)a)->function, *y = &((const struct row *)b)->function;
    int by_samples = (x->samples < y->samples) - (x->samples > y->samples);
    int by_calls = (x->calls < y->calls) - (x->calls > y->calls);
    return by_samples ? by_samples
           : by_calls ? by_calls
                      : strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

static void print_row(FILE *out, const struct row *row)
{
    const struct tn_jit_function *f = &row->function;
    fprintf(out, "%8" PRIu64 "  %4d  %10" PRIu64 "  ", f->samples, f->tier, f->calls);
    uint64_t ns = 0, bytes = 0;
    for (size_t i = 0; i < sizeof f->tiers / sizeof f->tiers[0]; i++) {
        ns += f->tiers[i].ns;
        bytes += f->tiers[i].bytes;
    }
    fprintf(out, "%10.3f  %8" PRIu64 "  %s%s\n", (double)ns / 1e6, bytes, row->name, f->failed ? "  (failed)" : "");
}

/* A child of the program has no profile of its own. */
static void print_profile(void)
{
    struct tn_error error;
    if (getpid() != self.process)
        return;
    setitimer(ITIMER_PROF, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
    FILE *out = strcmp(self.path, "-") == 0 ? stderr : fopen(self.path, "w");
    bool good = out && tn_jit_each_function(tool_program.jit, keep, NULL, &error) == 0;
    if (good) {
        qsort(self.rows, self.count, sizeof *self.rows, compare);
        fprintf(out, "%8s  %4s  %10s  %10s  %8s  %s\n", "samples", "tier", "calls", "compile ms", "bytes", "function");
        for (size_t i = 0; i < self.count; i++)
            print_row(out, &self.rows[i]);
        good = fflush(out) == 0;
    }
    if (!good)
        tool_fail(STATUS_FAILURE, "cannot write the profile to '%s'", self.path);
    if (out && out != stderr)
        fclose(out);
    free(self.rows);
}

bool tool_profile_start(const struct settings *settings)
{
    if (!settings->profile)
        return true;
    self.path = settings->profile;
    self.process = getpid();
    struct sigaction action = {.sa_sigaction = sample, .sa_flags = SA_SIGINFO | SA_RESTART};
    const struct itimerval period = {{0, PERIOD_US}, {0, PERIOD_US}};
    if (atexit(print_profile) != 0 || sigaction(SIGPROF, &action, NULL) != 0 ||
        setitimer(ITIMER_PROF, &period, NULL) != 0)
        return tool_fail(STATUS_FAILURE, "cannot start the profile"), false;
    return true;
}
