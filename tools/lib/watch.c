/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the options show about compilations: traces, dumps, passes, progress. Compilations may run on several
 * threads. */

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/watch.h"

static struct {
    pthread_mutex_t lock;
    struct settings settings; /* a copy: some is needed at exit */
    FILE *trace;
    struct tn_compile_observer observer;
    /* The passes that options name; `found`: one of them ran. */
    struct wanted {
        const char *option, *name;
        bool on_modules; /* --function does not keep it from passes over the module, such as markers */
        bool found;
    } print_before, print_after, stop_before;
    bool passes_ran;
    bool failed; /* some output was lost */
    pid_t process;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .observer = {.size = sizeof(struct tn_compile_observer)}};

/* ---- --trace-compile ---- */

/* A string as C writes it. */
static void write_quoted(FILE *out, const char *text)
{
    putc('"', out);
    for (const unsigned char *at = (const unsigned char *)text; *at; at++)
        if (*at == '"' || *at == '\\')
            fprintf(out, "\\%c", *at);
        else if (*at < ' ' || *at == 0x7f)
            fprintf(out, "\\%03o", *at);
        else
            putc(*at, out);
    putc('"', out);
}

static void trace(void *context, const struct tn_compiled *function)
{
    (void)context;
    pthread_mutex_lock(&self.lock);
    if (self.trace) {
        tool_progress_hold();
        fputs("precompile(", self.trace);
        write_quoted(self.trace, function->name);
        if (function->signature) {
            fputs(", ", self.trace);
            write_quoted(self.trace, function->signature);
        }
        fprintf(self.trace, ") # %.3f ms, -O%d\n", (double)function->ns / 1e6, function->opt_level);
        bool lost = fflush(self.trace) != 0; /* now: the program may end by a signal */
        if (lost && !self.failed)
            tool_fail(STATUS_FAILURE, "cannot write the trace: %s", strerror(errno));
        self.failed |= lost;
        tool_progress_release();
    }
    pthread_mutex_unlock(&self.lock);
    tool_progress_function();
}

/* ---- --dump ---- */

static const struct {
    const char *word, *suffix;
} stages[] = {{"unopt", ".unopt.ll"}, {"opt", ".opt.ll"}, {"asm", ".s"}, {"obj", ".o"}};

enum { STAGE_COUNT = sizeof stages / sizeof stages[0] };

/* The bits of "unopt,asm"; 0 after a message. */
static unsigned parse_stages(const char *list)
{
    unsigned bits = 0;
    size_t length;
    for (const char *at = list; *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        int found = STAGE_COUNT;
        while (--found >= 0)
            if (strlen(stages[found].word) == length && strncmp(stages[found].word, at, length) == 0)
                break;
        if (found < 0)
            return tool_fail(STATUS_USAGE, "option '--dump': '%.*s' is not one of unopt, opt, asm, obj", (int)length,
                             at),
                   0;
        bits |= 1U << found;
    }
    return bits ? bits : (tool_fail(STATUS_USAGE, "option '--dump' needs one of unopt, opt, asm, obj"), 0);
}

/* DIR/MODULE.unopt.ll, with characters replaced that are awkward in file names. */
static void dump(void *context, const char *module, enum tn_stage stage, const void *bytes, size_t length)
{
    (void)context;
    const char *folder = self.settings.dump_folder ? self.settings.dump_folder : ".";
    const char *base = strrchr(module, '/') ? strrchr(module, '/') + 1 : module;
    size_t size = strlen(folder) + strlen(base) + 20;
    char *path = malloc(size);
    if (!path)
        return;
    snprintf(path, size, "%s/%.200s%s", folder, base, stages[stage].suffix);
    for (char *at = path + strlen(folder) + 1; *at; at++)
        if ((unsigned char)*at <= ' ' || strchr("\"'\\|&;<>*?$`", *at))
            *at = '_';
    pthread_mutex_lock(&self.lock); /* tool_write changes what a signal does */
    self.failed |= !tool_write(path, bytes, length);
    pthread_mutex_unlock(&self.lock);
    free(path);
}

/* ---- passes ---- */

/* "instcombine", "InstCombine" and "InstCombinePass" name one pass, "licm" and "licm<...>" too. */
static bool is_pass(const char *wanted, const struct tn_pass *pass)
{
    size_t length = strcspn(wanted, "<");
    const char *rest = pass->name + length;
    return (strncmp(wanted, pass->pipeline_name, length) == 0 && !pass->pipeline_name[length]) ||
           (strncmp(wanted, pass->name, length) == 0 && (!*rest || strcmp(rest, "Pass") == 0));
}

static bool is_wanted(struct wanted *wanted, const struct tn_pass *pass)
{
    const char *function = self.settings.function;
    __atomic_store_n(&self.passes_ran, true, __ATOMIC_RELAXED);
    bool is = wanted->name && (strcmp(wanted->name, "all") == 0 || is_pass(wanted->name, pass)) &&
              (!function || (pass->function ? strcmp(function, pass->function) == 0 : wanted->on_modules));
    if (is)
        __atomic_store_n(&wanted->found, true, __ATOMIC_RELAXED);
    return is;
}

static void print_ir(const char *when, const struct tn_pass *pass)
{
    struct tn_buffer text;
    if (tn_pass_text(pass, &text, NULL))
        return;
    pthread_mutex_lock(&self.lock);
    tool_progress_hold();
    fprintf(stderr, "; %s %s on %s\n", when, pass->name, pass->function ? pass->function : "the module");
    fwrite(text.data, 1, text.size, stderr);
    tool_progress_release();
    pthread_mutex_unlock(&self.lock);
    tn_buffer_free(&text);
}

static int before_pass(void *context, const struct tn_pass *pass)
{
    (void)context;
    if (is_wanted(&self.print_before, pass))
        print_ir("before", pass);
    return is_wanted(&self.stop_before, pass);
}

static void after_pass(void *context, const struct tn_pass *pass)
{
    (void)context;
    if (is_wanted(&self.print_after, pass))
        print_ir("after", pass);
    if (self.settings.time_passes)
        tool_time_pass(pass);
    if (self.settings.time_trace)
        tool_time_trace_pass(pass, "optimise function");
}

static void after_emit_pass(void *context, const struct tn_pass *pass)
{
    (void)context;
    tool_time_trace_pass(pass, "emit function");
}

/* ---- phases ---- */

static void phase(void *context, const char *module, enum tn_phase phase, uint64_t begin, uint64_t end)
{
    (void)context;
    static const char *const names[] = {"parse", "optimise", "emit"};
    if (self.settings.time_trace) {
        tool_time_end_function();
        tool_time_name(gettid(), "compiler");
        tool_time_event(names[phase], module, begin, end);
    }
    tool_progress_phase(module, phase);
}

static void warn(void *context, const char *text)
{
    (void)context;
    tool_progress_hold();
    tool_fail(STATUS_OK, "%s", text);
    tool_progress_release();
}

/* ---- the whole ---- */

/* The file that the environment names may be shared by several processes, in turn or at once. */
static bool start_trace(const char *name, const char *mode)
{
    self.trace = strcmp(name, "-") == 0 ? stderr : fopen(name, mode);
    return self.trace || (tool_fail(STATUS_FAILURE, "cannot write '%s': %s", name, strerror(errno)), false);
}

/* A name that no pass has is a mistake, and so is one of a pass that did not run. */
static bool check_found(const struct wanted *wanted)
{
    const char *function = self.settings.function;
    if (!wanted->name || wanted->found || !self.passes_ran)
        return true;
    return tool_fail(STATUS_FAILURE, "%s: no pass '%s' ran%s%s", wanted->option, wanted->name, function ? " on " : "",
                     function ? function : ""),
           false;
}

/* At exit, when all compilations are over. What was asked for and cannot be had makes the command fail, whatever the
 * status of the program that ran: the handlers that were registered before this one belong to no output. */
static void finish(void)
{
    const struct settings *settings = &self.settings;
    if (getpid() != self.process) /* the program forked, and its child ends */
        return;
    bool ok = check_found(&self.print_before) & check_found(&self.print_after) & check_found(&self.stop_before);
    ok &= tool_reports_end();
    if (settings->time_passes)
        tool_print_pass_times(stderr);
    if (settings->time_trace)
        ok &= tool_write_time_trace(settings->time_trace);
    if (ok && !self.failed)
        return;
    fflush(NULL);
    _exit(STATUS_FAILURE);
}

static void warn_ignored(void *context, const char *reason)
{
    (void)context;
    tool_fail(STATUS_OK, "warning: TENON_LLVM_ARGS: %s; it is ignored", reason);
}

static bool take_llvm_arguments(void)
{
    struct tn_error err;
    if (tn_codegen_llvm_options(getenv("TENON_LLVM_ARGS"), warn_ignored, NULL, &err) == 0)
        return true;
    return tool_fail(STATUS_FAILURE, "TENON_LLVM_ARGS: %s", err.text), false;
}

/* Has passes observed for --time-trace, unless they run in another process. */
static bool start_time_trace(const struct settings *settings)
{
    enum { NS_PER_US = 1000 };
    size_t shortest = 0;
    if (!tool_take_number("--time-granularity", settings->time_granularity, 0, SIZE_MAX / NS_PER_US, &shortest))
        return false;
    if (settings->time_granularity && !settings->time_trace)
        return tool_fail(STATUS_USAGE, "option '--time-granularity' needs '--time-trace'"), false;
    if (!settings->time_trace)
        return true;
    tool_time_start(shortest * NS_PER_US);
    self.observer.after_emit_pass = settings->isolate ? NULL : after_emit_pass;
    return true;
}

/* What all commands have. */
static bool start(const struct settings *settings)
{
    self.settings = *settings;
    if (!start_time_trace(settings))
        return false;
    self.print_before = (struct wanted){"--print-before", settings->print_before, false, false};
    self.print_after = (struct wanted){"--print-after", settings->print_after, false, false};
    self.stop_before = (struct wanted){"--stop-before", settings->stop_before, true, false};
    if (!take_llvm_arguments())
        return false;
    self.process = getpid();
    if (atexit(finish) != 0)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    return true;
}

bool tool_watch_image(const struct settings *settings)
{
    if (!settings->timings) /* whose lines are progress enough */
        tool_progress_start();
    self.observer.phase = settings->time_trace ? phase : NULL;
    self.observer.after_pass = settings->time_trace ? after_pass : NULL;
    return start(settings);
}

bool tool_watch(const struct settings *settings)
{
    bool timed = settings->time_trace != NULL, progress = tool_progress_start();
    bool passes = settings->stop_before || settings->print_before;
    if (!start(settings))
        return false;
    if (settings->dump_stages && !(self.observer.stages = parse_stages(settings->dump_stages)))
        return false;
    if (settings->dump_stages && settings->dump_folder && access(settings->dump_folder, W_OK | X_OK) != 0)
        return tool_fail(STATUS_FAILURE, "option '--dump-dir': cannot write to '%s': %s", settings->dump_folder,
                         strerror(errno)),
               false;
    const char *shared_trace = getenv("TENON_TRACE_COMPILE");
    if (settings->trace_compile ? !start_trace(settings->trace_compile, "w")
                                : shared_trace && *shared_trace && !start_trace(shared_trace, "a"))
        return false;
    if (!tool_reports_start(settings, &self.observer))
        return false;
    self.observer.warning = warn;
    self.observer.phase = timed || progress ? phase : NULL;
    self.observer.compiled = self.trace || progress ? trace : NULL;
    self.observer.stage = settings->dump_stages ? dump : NULL;
    self.observer.before_pass = passes ? before_pass : NULL;
    bool traced = timed && !settings->isolate;
    self.observer.after_pass = settings->print_after || settings->time_passes || traced ? after_pass : NULL;
    return true;
}

const struct tn_compile_observer *tool_watch_observer(void)
{
    return &self.observer;
}
