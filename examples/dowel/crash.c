/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What ends a program early: a full stack, a signal, the end of its time. Each is reported with the functions and lines
 * that led there. They are found out by a child of the process, which may do more than a signal handler. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "dowel.h"

enum { MOST_FRAMES = 16, SECONDS = 10, STACK = 1 << 20 };

static struct tn_session *session;

static void show_line(void *count, const struct tn_source *source)
{
    const char *name = source->function ? plain(source->function) : "?", *file = source->file ? source->file : "?";
    file += strncmp(file, "./", 2) ? 0 : 2;
    ++*(int *)count;
    if (strncmp(name, "line..", strlen("line..")) == 0) /* what stands beside functions */
        dprintf(2, "  %s:%u\n", file, source->line);
    else
        dprintf(2, "  %s:%u: '%.*s'\n", file, source->line, (int)strcspn(name, "@$"), name);
}

static _Unwind_Reason_Code show_frame(struct _Unwind_Context *frame, void *count)
{
    struct tn_error err;
    int is_exact = 0;
    uintptr_t address = _Unwind_GetIPInfo(frame, &is_exact);
    tn_symbolize_source(session, (const void *)(address - !is_exact), show_line, count, &err);
    return *(int *)count < MOST_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void report(const char *what)
{
    int count = 0, status;
    pid_t child = _Fork();
    if (!child) {
        signal(SIGSEGV, SIG_DFL);
        alarm(SECONDS);
        dprintf(2, "dowel: %s\n", what);
        _Unwind_Backtrace(show_frame, &count);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, &status, 0);
}

static void on_signal(int number)
{
    char what[100];
    snprintf(what, sizeof what, "the program is ended by a signal: %s", sigdescr_np(number));
    signal(number, SIG_DFL);
    report(what);
    raise(number);
}

static void on_time(int number)
{
    (void)number;
    report("the time is up");
    _exit(1);
}

static void on_full_stack(void *context, const struct tn_stack_overflow *overflow)
{
    struct tn_place place = {.size = sizeof place};
    struct tn_error err;
    char text[200];
    (void)context;
    bool found = tn_symbolize(session, overflow->code, &place, &err) == 0 && place.function;
    int length = snprintf(text, sizeof text, "dowel: the stack is full in '%.100s', with %llu functions on it\n",
                          found ? plain(place.function) : "?", (unsigned long long)overflow->depth);
    _exit(write(2, text, (size_t)length) < 0 ? 2 : 1);
}

int watch(struct session *s, unsigned seconds, struct tn_error *err)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char stack[STACK];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    const struct sigaction at_end = {.sa_handler = on_time, .sa_flags = SA_ONSTACK};
    const struct itimerval timer = {.it_value.tv_sec = seconds};
    session = tn_jit_session(s->jit);
    sigaltstack(&alternate, NULL);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    sigaction(SIGPROF, &at_end, NULL);
    setitimer(ITIMER_PROF, &timer, NULL); /* of 0 seconds: none */
    int code = tn_observe_functions(session, err);
    if (!code)
        code = tn_observe_sources(session, err);
    return code ? code : tn_report_stack_overflow(on_full_stack, NULL, err);
}
