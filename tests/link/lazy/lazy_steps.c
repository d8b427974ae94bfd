/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Unwinding from a signal at every instruction between the call of a lazy function and its resolution. Single steps are
 * the processor's: x86-64 only. */

#include "stubs.h"
#include "trace.h"

#include <signal.h>
#include <ucontext.h>

#include "link/redirect/cell.h"

static const char *const unwind_ways[] = {WAYS};

static const struct way {
    const char *name;
    size_t way;
} ways[] = {{"fxsave", 0}, {"xsave", 1}, {"xsavec", 2}};

static struct trace trace;

static struct {
    uint64_t stub, entry, entry_end;
    const void *loaded;
    int steps, lost;
} stepping;

enum { TRAP_FLAG = 0x100 };

/* Does not touch the red zone. */
static void set_trap_flag(void)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n leaq 128(%%rsp), %%rsp" ::
                         : "cc");
}

typedef int through(const void *function, void *context);

__attribute__((noinline)) static int step_through(through *function, const void *stub)
{
    set_trap_flag();
    volatile int result = function(stub, NULL); /* not a tail call: this frame remains */
    return result;
}

/* The program's unwinder starts at the signal: in the stub or in the entry. Functions called by the entry are not
 * single-stepped. */
static void on_step(int signal, siginfo_t *info, void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t at = (uint64_t)registers[REG_RIP];
    (void)signal, (void)info;
    if (at - stepping.stub < tn__lazy_machine.stub_size || at - stepping.entry < stepping.entry_end - stepping.entry) {
        take_trace(&trace);
        size_t loaded = position(&trace, stepping.loaded);
        stepping.steps++;
        stepping.lost += loaded == SIZE_MAX || trace.functions[loaded + 1] != (uintptr_t)step_through;
    } else if (at == (uintptr_t)tn__lazy_resolve || at == (uintptr_t)failed_call)
        registers[REG_EFL] &= ~TRAP_FLAG;
}

/* Called last, before the entry continues. */
static void step_again(void *context, const struct tn_error *err)
{
    (void)context, (void)err;
    set_trap_flag();
}

static void add_unwind(const struct fixture *f)
{
    char name[128];
    snprintf(name, sizeof name, "unwind.%s.o", unwind_ways[0]);
    add_file(f, name);
}

static void the_caller_is_seen_at_every_instruction(void **state)
{
    static const uint8_t last[] = {0x41, 0xff, 0xe3}; /* jmp *%r11 */
    const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    struct stubs s;
    through *function;
    s = open_stubs(NULL);
    add_unwind(&s.f);
    void *address = lookup(&s.f, "through"), *stub = define_lazy(&s, "missing");
    memcpy(&function, &address, sizeof function);
    const struct way *way = *state;
    const struct tn__lazy_way *taken = &tn__lazy_machine.ways[way->way];
    if (!taken->size) {
        close_stubs(&s);
        skip();
    }
    const uint8_t *entry = taken->entry;
    tn__cell_at(tn__lazy_pool_of(s.f.session), (uintptr_t)stub)->word = (uintptr_t)entry;
    tn__lazy_pool_of(s.f.session)->entry = (uintptr_t)entry;
    const uint8_t *end = memmem(entry, 1024, last, sizeof last);
    assert_non_null(end);
    stepping.loaded = address;
    stepping.stub = (uintptr_t)stub;
    stepping.entry = (uintptr_t)entry;
    stepping.entry_end = (uintptr_t)end + sizeof last;
    stepping.steps = stepping.lost = 0;
    s.f.session->on_error = step_again;
    take_trace(&trace); /* so that the unwinder has set up what it needs at first use */
    assert_int_equal(sigaction(SIGTRAP, &action, &before), 0);
    int answer = step_through(function, stub);
    assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
    assert_int_equal(answer, -1 + 1);
    assert_in_range(stepping.steps, 40, 60);
    assert_int_equal(stepping.lost, 0);
    close_stubs(&s);
}

int main(void)
{
    return RUN_ROWS("the caller is seen at every instruction", ways, the_caller_is_seen_at_every_instruction);
}
