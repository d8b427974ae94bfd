/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What `tenon run` and `tenon link` say of a program that a signal ends, unless it has a handler of its own: the
 * signal, and the functions and lines that led there. Then the signal ends the process, as it would have without.
 *
 * The handler itself does what signal handlers may. It forks a child, which has the memory of the program as it was:
 * the child walks the stack, reads debug information and writes the report. The child fails if the program has
 * destroyed what it needs, or another thread, of which the child has nothing, was changing it or held its lock: by the
 * time of the next child that thread has gone on. If all fail, the handler writes a line without places. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "base/os.h"
#include "base/registers.h"
#include "codegen/llvm/demangle.h"
#include "lib/tool.h"

/* Frames that are reported; children that try to, and a limit to how long one may take that cannot get a lock. */
enum { MOST_FRAMES = 16, CHILDREN = 4, SECONDS = 5 };

static const struct fault {
    int number;
    const char *name, *meaning;
    bool has_address; /* of memory */
} faults[] = {
    {SIGSEGV, "SIGSEGV", "invalid access to memory", true},
    {SIGBUS, "SIGBUS", "access to memory that cannot be read", true},
    {SIGFPE, "SIGFPE", "division by zero, or another operation without a result", false},
    {SIGILL, "SIGILL", "an instruction that traps or does not exist", false},
    {SIGTRAP, "SIGTRAP", "an instruction that traps", false},
    {SIGABRT, "SIGABRT", "abort", false},
};

extern const char __executable_start[], etext[];

static struct {
    const char *command; /* NULL: the program does not run yet */
    struct tn_session *session;
    atomic_size_t stack_size;
    atomic_int reporter; /* the process that reports; a fork of it may do so again */
} self;

/* ---- the report, in the child ---- */

static struct {
    char text[16 << 10];
    size_t length;
} report;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    size_t space = sizeof report.text - report.length;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(report.text + report.length, space, format, arguments);
    va_end(arguments);
    report.length += length < 0 ? 0 : (size_t)length < space ? (size_t)length : space - 1;
}

/* Names and paths may contain anything. */
static void say_name(const char *name)
{
    char text[1024];
    size_t length = strcspn(name, "@"); /* NAME@stub */
    if (!tn__llvm_demangle(name, length, text, sizeof text))
        snprintf(text, sizeof text, "%s", name);
    tn__quote(text, strlen(text));
    say("%s", text);
}

static void say_frame(const void *address, const struct tn_place *place, unsigned number)
{
    char path[1024];
    uint32_t line;
    say("  #%u  ", number);
    say_name(place->function ? place->function : "unnamed code");
    if (tool_find_line((uintptr_t)address, path, sizeof path, &line)) {
        say(" at %s:%" PRIu32 "\n", path, line);
        return;
    }
    if (place->function)
        say("+0x%" PRIx64, place->offset);
    say(" in ");
    say_name(place->object);
    say("\n");
}

static bool find_place(const void *address, struct tn_place *place)
{
    struct tn_error error;
    *place = (struct tn_place){.size = sizeof *place};
    return !tn_symbolize(self.session, address, place, &error);
}

static bool is_own_code(uintptr_t address)
{
    return address >= (uintptr_t)__executable_start && address < (uintptr_t)etext;
}

/* The stack is walked from the handler; frames before that of the fault are the handler's. */
struct walk {
    uintptr_t fault;
    bool found;
    unsigned loaded, own, more; /* frames: reported, the command's since the last one of these, and left out */
};

static void say_own(struct walk *walk)
{
    if (walk->own)
        say("  --  code of this command: the C library, or the runtime\n");
    walk->own = 0;
}

static void visit(struct walk *walk, const void *address)
{
    struct tn_place place;
    if (!find_place(address, &place)) {
        walk->own++;
    } else if (walk->loaded == MOST_FRAMES) {
        walk->more++;
    } else {
        say_own(walk);
        say_frame(address, &place, walk->loaded++);
    }
}

static _Unwind_Reason_Code visit_frame(struct _Unwind_Context *context, void *user)
{
    struct walk *walk = user;
    int before = 0;
    uintptr_t address = _Unwind_GetIPInfo(context, &before);
    if (!walk->found && address != walk->fault)
        return _URC_NO_REASON;
    walk->found = true;
    visit(walk, (const void *)(before ? address : address - 1));
    return _URC_NO_REASON;
}

/* A call through a wrong pointer has no frame: the report begins with its caller. */
static void say_frames(void *context)
{
    struct tn__os_access registers = {0};
    tn__os_read_registers(context, &registers);
    struct tn_place place;
    if (!is_own_code(registers.code) && !find_place((const void *)(uintptr_t)registers.code, &place)) {
        say("  --  0x%" PRIx64 ", where no code is\n", registers.code);
        if (!tn__os_leave_function(context))
            return;
        tn__os_read_registers(context, &registers);
    }
    struct walk walk = {.fault = registers.code};
    _Unwind_Backtrace(visit_frame, &walk);
    if (!walk.found)
        visit(&walk, (const void *)(uintptr_t)registers.code);
    if (!walk.loaded)
        say_own(&walk);
    if (walk.more)
        say("  ... and %u calls more\n", walk.more);
}

static void say_what(const struct fault *fault, const siginfo_t *info)
{
    say("tenon %s: the program fails with %s", self.command, fault->name);
    if (info->si_code <= 0 && info->si_pid != atomic_load(&self.reporter))
        say(" (sent by process %d)\n", (int)info->si_pid);
    else if (info->si_code <= 0 && fault->number != SIGABRT)
        say(" (sent by itself)\n");
    else if (fault->has_address && info->si_code != SI_KERNEL) /* of an address that is none */
        say(" (%s at 0x%" PRIxPTR ")\n", fault->meaning, (uintptr_t)info->si_addr);
    else
        say(" (%s)\n", fault->meaning);
}

static bool write_report(void)
{
    ssize_t written;
    do
        written = write(STDERR_FILENO, report.text, report.length);
    while (written < 0 && errno == EINTR);
    return written == (ssize_t)report.length;
}

/* Whatever goes wrong in here ends the child alone. */
_Noreturn static void report_and_exit(const struct fault *fault, const siginfo_t *info, void *context)
{
    sigset_t none;
    for (size_t i = 0; i < TN_COUNT(faults); i++)
        signal(faults[i].number, SIG_DFL);
    signal(SIGALRM, SIG_DFL);
    alarm(SECONDS);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    say_what(fault, info);
    say_frames(context);
    say("  A debugger shows more: gdb --args tenon run --gdb ...\n");
    _exit(write_report() ? 0 : 1);
}

/* ---- the handler ---- */

static void write_text(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

static void write_briefly(const struct fault *fault)
{
    const char *const words[] = {"tenon ", self.command, ": the program fails with ", fault->name,
                                 "; where cannot be found out\n"};
    for (size_t i = 0; i < TN_COUNT(words); i++)
        write_text(words[i]);
}

static bool has_reported(const struct fault *fault, const siginfo_t *info, void *context)
{
    int status = 1;
    pid_t child = _Fork();
    if (!child)
        report_and_exit(fault, info, context);
    while (child > 0 && waitpid(child, &status, __WALL) < 0 && errno == EINTR)
        ;
    return status == 0;
}

static void report_fault(const struct fault *fault, const siginfo_t *info, void *context)
{
    for (int i = 0; i < CHILDREN; i++)
        if (has_reported(fault, info, context))
            return;
    write_briefly(fault);
}

static bool is_reporter(void)
{
    int process = getpid(), before = atomic_load(&self.reporter);
    return before != process && atomic_compare_exchange_strong(&self.reporter, &before, process);
}

/* One thread reports; another one that fails meanwhile waits for the end of the process. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    const struct fault *fault = faults;
    while (fault->number != number)
        fault++;
    while (!is_reporter())
        pause();
    if (self.command)
        report_fault(fault, info, context);
    signal(number, SIG_DFL);
    atomic_store(&self.reporter, 0);
    if (info->si_code <= 0) /* else the instruction is repeated */
        raise(number);
}

/* ---- a stack for the handler: that of the thread may be full ---- */

static void end_thread(void *stack)
{
    tn__os_take_signal_stack();
    tn__os_release((uintptr_t)stack, self.stack_size);
}

/* Handlers of the program that ask for a signal stack, while it has none of its own, run on this one: it is as large
 * as the stack that they would have had. */
void tool_watch_thread(void)
{
    enum { ROOM = 8 << 20 };
    static uint64_t key;
    uint64_t stack;
    size_t size;
    if (!self.session || tn__os_give_signal_stack(ROOM, &stack, &size) || !stack)
        return;
    atomic_store(&self.stack_size, size); /* the same for all threads */
    if (tn__os_at_thread_end(&key, end_thread, (void *)(uintptr_t)stack))
        end_thread((void *)(uintptr_t)stack);
}

/* ---- what the command calls ---- */

bool tool_watch_crashes(struct tn_session *session)
{
    struct tn_error error;
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK}, before;
    sigfillset(&action.sa_mask);
    int code = tn_observe_functions(session, &error);
    if (!code)
        code = tool_keep_lines(session, &error);
    if (code)
        return tool_fail(STATUS_FAILURE, "%s", error.text), false;
    self.session = session;
    tool_watch_thread();
    for (size_t i = 0; i < TN_COUNT(faults); i++)
        if (!sigaction(faults[i].number, NULL, &before) && before.sa_handler == SIG_DFL)
            sigaction(faults[i].number, &action, NULL);
    return true;
}

void tool_report_crashes(const char *command)
{
    self.command = command;
}

/* ---- what the program sees ---- */

/* Programs that ask which handlers there are find none that they have not installed. */
static int sigaction_of_program(int number, const struct sigaction *new, struct sigaction *old)
{
    int result = sigaction(number, new, old);
    if (!result && old && (old->sa_flags & SA_SIGINFO) && old->sa_sigaction == on_fault)
        *old = (struct sigaction){.sa_handler = SIG_DFL};
    return result;
}

static sighandler_t signal_of_program(int number, sighandler_t handler)
{
    struct sigaction old;
    bool ours = !sigaction(number, NULL, &old) && (old.sa_flags & SA_SIGINFO) && old.sa_sigaction == on_fault;
    sighandler_t result = signal(number, handler);
    return ours && result != SIG_ERR ? SIG_DFL : result;
}

void *tool_crash_function(const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } rows[] = {{"sigaction", (void (*)(void))sigaction_of_program},
                {"signal", (void (*)(void))signal_of_program},
                {"bsd_signal", (void (*)(void))signal_of_program},
                {"ssignal", (void (*)(void))signal_of_program}};
    void *address = NULL;
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (self.session && strcmp(rows[i].name, name) == 0)
            memcpy(&address, &rows[i].function, sizeof address);
    return address;
}
