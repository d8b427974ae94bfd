/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* First calls of lazy functions: arguments of every class arrive unchanged, however the processor's vector registers
 * are saved; unwinders pass through the entry, and a failing call may unwind from the call site. */

#include "stubs.h"
#include "trace.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <ucontext.h>

#include "data/lazy.h"
#include "link/lazy/lazy.h"
#include "link/lazy/host_x86_64.h"

static const char *const unwind_ways[] = {WAYS};

/* ---- registers are spoiled while the function is looked up ---- */

static int vector_level(void)
{
    return __builtin_cpu_supports("avx512bw") ? 2 : __builtin_cpu_supports("avx") ? 1 : 0;
}

#define EACH16(X)       X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)
#define EACH_UPPER16(X) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)
#define SPOIL_XMM(n)    "pcmpeqd %%xmm" #n ", %%xmm" #n "\n"
#define SPOIL_YMM(n)    "vcmpps $15, %%ymm" #n ", %%ymm" #n ", %%ymm" #n "\n"
#define SPOIL_ZMM(n)    "vpternlogd $255, %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n"
#define XMM(n)          "xmm" #n,

static void spoil(void)
{
    int level = vector_level();
    if (level == 2)
        __asm__ volatile(EACH16(SPOIL_ZMM) EACH_UPPER16(
                             SPOIL_ZMM) "kxnorq %%k0, %%k0, %%k0\n"
                                        "kmovq %%k0, %%k1\nkmovq %%k0, %%k2\nkmovq %%k0, %%k3\nkmovq %%k0, %%k4\n"
                                        "kmovq %%k0, %%k5\nkmovq %%k0, %%k6\nkmovq %%k0, %%k7\n" ::
                                            : EACH16(XMM) "memory");
    else if (level == 1)
        __asm__ volatile(EACH16(SPOIL_YMM)::: EACH16(XMM) "memory");
    else
        __asm__ volatile(EACH16(SPOIL_XMM)::: EACH16(XMM) "memory");
    __asm__ volatile("" ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

/* ---- every way of saving them that this processor has ---- */

static const struct way {
    const char *name;
    int way;
    int most; /* the most that it saves */
} ways[] = {{"fxsave", TN__LAZY_FXSAVE, 0}, {"xsave", TN__LAZY_XSAVE, 2}, {"xsavec", TN__LAZY_XSAVEC, 2}};

/* False if the processor does not support it. */
static bool open_way(void **state, struct stubs *s)
{
    const struct way *way = *state;
    struct tn_error err;
    *s = open_stubs(NULL);
    while_linking = spoil;
    assert_ok(tn_define_redirectable(s->f.library, "first", NULL, &stub_options, &err), &err);
    const struct tn__lazy_way *taken = &tn__lazy_ways[way->way];
    tn__lazy_pool_of(s->f.session)->entry = (uintptr_t)taken->entry;
    if (!taken->size)
        close_stubs(s);
    return taken->size;
}

#define FUNCTION(type, name, stubs)                                                                                    \
    type *name;                                                                                                        \
    void *name##_stub = define_lazy(stubs, #name);                                                                     \
    memcpy(&name, &name##_stub, sizeof name)

static void c_arguments(void **state)
{
    for (int i = 0; i < 5; i++) { /* each is the first call once, and then a later one */
        struct stubs s;
        if (!open_way(state, &s))
            skip();
        FUNCTION(sum_function, sum, &s);
        FUNCTION(make_large_function, make_large, &s);
        FUNCTION(make_pair_function, make_pair, &s);
        FUNCTION(make_long_double_function, make_long_double, &s);
        FUNCTION(format_function, format, &s);
        for (int j = i; j < i + 5; j++) {
            struct large large = {{1, 2, 3, 4, 5, 6, 7, 8}};
            struct pair pair = {1.5, 100};
            char text[100] = "";
            switch (j % 5) {
            case 0:
                assert_int_equal(sum(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 9, 10, 8, 9), 670);
                break;
            case 1:
                large = make_large(100, large, 0.5);
                assert_true(large.values[0] == 100.5 && large.values[7] == 104);
                break;
            case 2:
                pair = make_pair(pair, (struct pair){2.25, 1});
                assert_true(pair.x == 3.75 && pair.n == 99);
                break;
            case 3:
                assert_true(make_long_double(1.25L, 3) == 3.75L);
                break;
            default:
                assert_int_equal(
                    format(text, sizeof text, "%d %s %.2f %ld %g %d %d %.1Lf", 1, "two", 3.0, 4L, 5.5, 6, 7, 8.5L), 24);
                assert_string_equal(text, "1 two 3.00 4 5.5 6 7 8.5");
            }
        }
        close_stubs(&s);
    }
}

struct registers {
    uint64_t general[16]; /* rdi rsi rdx rcx r8 r9 r10 rax r12 r13 r14 r15, two words in memory, the stack pointer */
    uint8_t vectors[32][64];
    uint64_t masks[8];
};

static struct registers dump_area;
static int dump_level;

static void check_registers(const struct registers *in, int level)
{
    static const size_t width[] = {16, 32, 64}, count[] = {16, 16, 32};
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(dump_area.general[i], in->general[i]);
    assert_int_equal(dump_area.general[12], 0x1111);
    assert_int_equal(dump_area.general[13], 0x2222);
    assert_int_equal(dump_area.general[14] % 16, 8);
    for (size_t i = 0; i < count[level]; i++)
        assert_memory_equal(dump_area.vectors[i], in->vectors[i], width[level]);
    if (level == 2)
        assert_memory_equal(dump_area.masks, in->masks, sizeof in->masks);
}

static void every_register(void **state)
{
    struct stubs s;
    struct tn_error err;
    struct registers in;
    if (!open_way(state, &s))
        skip();
    dump_level = vector_level();
    if (dump_level > ((const struct way *)*state)->most)
        dump_level = ((const struct way *)*state)->most;
    for (size_t i = 0; i < sizeof in; i++)
        ((uint8_t *)&in)[i] = (uint8_t)(i * 37 + i / 64);
    add_file(&s.f, "lazy_registers.o");
    assert_ok(tn_define(s.bodies, "dump_area", &dump_area, &err), &err);
    assert_ok(tn_define(s.bodies, "dump_level", &dump_level, &err), &err);
    assert_ok(tn_add_file(s.bodies, data_file("lazy_dump.o"), &err), &err);
    void (*call_with_registers)(const void *, const struct registers *, int);
    void *address = lookup(&s.f, "call_with_registers"), *stub = define_lazy(&s, "dump_registers");
    memcpy(&call_with_registers, &address, sizeof address);
    for (int i = 0; i < 2; i++) { /* through the entry, and through the slot */
        memset(&dump_area, 0, sizeof dump_area);
        call_with_registers(stub, &in, dump_level);
        check_registers(&in, dump_level);
    }
    close_stubs(&s);
}

/* ---- the frame, as a collector of managed objects sees it ---- */

static uint64_t old_frames[2];

static uint64_t frame_depth(void)
{
    uint64_t depth = 0;
    for (const struct tn__lazy_frame *frame = waiting; frame; frame = frame->outer)
        depth++;
    return depth;
}

static void move_objects(void)
{
    struct tn__lazy_frame *frame = waiting;
    old_frames[0] = frame->managed_registers;
    old_frames[1] = frame->managed_stack;
    assert_int_equal(frame_depth(), 1);
    for (int i = 0; i < TN__LAZY_REGISTERS; i++)
        if (frame->managed_registers >> i & 1)
            frame->registers[i] += 1000;
    for (int i = 0; i < 64; i++)
        if (frame->managed_stack >> i & 1)
            frame->stack[i] += 1000;
    spoil();
}

static void managed_arguments_may_move(void **state)
{
    static const long expected = 1 + 2 * 1002 + 3 * 3 + 4 * 4 + 5 * 1005 + 6 * 6 + 7 * 7 + 8 * 1008 + 9 * 9;
    struct stubs s;
    struct tn_error err;
    if (!open_way(state, &s))
        skip();
    while_linking = move_objects;
    /* Integers of sum: a b c d e f in registers, then in memory g, the doubles r and q, h, i. */
    const struct tn_lazy_symbol symbol = {.name = "sum", .managed_registers = 0x12, .managed_stack = 0x8};
    assert_ok(tn_define_lazy(s.f.library, &symbol, 1, s.bodies, &stub_options, &err), &err);
    void *stub = lookup(&s.f, "sum");
    sum_function *sum;
    memcpy(&sum, &stub, sizeof sum);
    assert_int_equal(sum(1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 0, 0, 0, 8, 9), expected);
    assert_int_equal(old_frames[0], 0x12);
    assert_int_equal(old_frames[1], 0x8);
    assert_null(waiting);
    close_stubs(&s);
}

/* ---- unwinding ---- */

static void add_unwind(const struct fixture *f)
{
    char name[128];
    snprintf(name, sizeof name, "unwind.%s.o", unwind_ways[0]);
    add_file(f, name);
}

static struct trace trace;

static void trace_now(void)
{
    take_trace(&trace);
}

__attribute__((noinline)) static int call_through(const struct stubs *s, const void *stub)
{
    int (*through)(const void *, void *);
    void *address = lookup(&s->f, "through");
    memcpy(&through, &address, sizeof through);
    volatile int result = through(stub, NULL); /* not a tail call: this frame remains */
    return result;
}

static void a_backtrace_passes_through(void **state)
{
    struct stubs s;
    if (!open_way(state, &s))
        skip();
    add_unwind(&s.f);
    while_linking = trace_now;
    assert_int_equal(call_through(&s, define_lazy(&s, "once")), 42);
    const void *entry = (const void *)(uintptr_t)tn__lazy_pool_of(s.f.session)->entry;
    size_t resolve = position(&trace, __extension__(const void *) tn__lazy_resolve), at = position(&trace, entry),
           loaded = position(&trace, lookup(&s.f, "through")),
           caller = position(&trace, __extension__(const void *) call_through);
    if (caller == SIZE_MAX || resolve + 1 != at || at + 1 != loaded || loaded + 1 != caller)
        fail_msg("frames %zu %zu %zu %zu of %zu", resolve, at, loaded, caller, trace.count);
    close_stubs(&s);
}

/* ---- a signal at every instruction on the way ---- */

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

static void the_caller_is_seen_at_every_instruction(void **state)
{
    static const uint8_t last[] = {0x41, 0xff, 0xe3}; /* jmp *%r11 */
    const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    struct stubs s;
    through *function;
    if (!open_way(state, &s))
        skip();
    add_unwind(&s.f);
    void *address = lookup(&s.f, "through"), *stub = define_lazy(&s, "missing");
    memcpy(&function, &address, sizeof function);
    const uint8_t *entry = (const uint8_t *)(uintptr_t)tn__lazy_pool_of(s.f.session)->entry;
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

/* Signals may arrive in a stub. */
static void stubs_have_unwind_data(void **state)
{
    struct stubs s = open_stubs(NULL);
    struct {
        void *text, *data, *function;
    } bases;
    extern const void *_Unwind_Find_FDE(void *, void *);
    char *stub = define_lazy(&s, "once"), *next = define_lazy(&s, "twice");
    assert_non_null(_Unwind_Find_FDE(stub, &bases));
    assert_ptr_equal(bases.function, stub); /* the first stub of its block */
    assert_non_null(_Unwind_Find_FDE(next + 4, &bases));
    assert_ptr_equal(bases.function, stub);
    close_stubs(&s);
    assert_null(_Unwind_Find_FDE(stub, &bases));
    (void)state;
}

static int exit_thread(void)
{
    pthread_exit(NULL);
}

static int cleaned;

/* with_cleanup, which is loaded, calls a lazy function that fails; its cleanup runs when the failure unwinds. */
static void *call_with_cleanup(void *argument)
{
    const struct stubs *s = argument;
    int (*with_cleanup)(const void *, void *, int *);
    void *address = lookup(&s->f, "with_cleanup");
    memcpy(&with_cleanup, &address, sizeof with_cleanup);
    with_cleanup(lookup(&s->f, "missing"), NULL, &cleaned);
    return s->f.session;
}

static void a_failure_may_unwind(void **state)
{
    const struct tn_lazy_symbol symbol = {.name = "missing"};
    const struct tn_stub_options options = {.size = sizeof options, .on_failure = (void (*)(void))exit_thread};
    struct tn_error err;
    struct stubs s;
    pthread_t thread;
    void *result;
    if (!open_way(state, &s))
        skip();
    add_unwind(&s.f);
    cleaned = 0;
    assert_ok(tn_define_lazy(s.f.library, &symbol, 1, s.bodies, &options, &err), &err);
    assert_int_equal(pthread_create(&thread, NULL, call_with_cleanup, &s), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result); /* it was unwound */
    assert_int_equal(cleaned, 1);
    close_stubs(&s);
}

/* A thread cancelled in a first call ends after it, and leaves no state of the linker behind. */
static void *call_cancelled(void *argument)
{
    pthread_cancel(pthread_self());
    cleaned = call_int(argument, 1);
    pthread_testcancel();
    return argument;
}

static void a_first_call_cannot_be_cancelled(void **state)
{
    /* Its memory is written by a system call, which is a cancellation point. */
    const struct tn_session_options options = {.size = sizeof options, .strategy = TN_STRATEGY_SEALED};
    struct stubs s = open_stubs(&options);
    pthread_t thread;
    void *result;
    cleaned = 0;
    assert_int_equal(pthread_create(&thread, NULL, call_cancelled, define_lazy(&s, "once")), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, PTHREAD_CANCELED);
    assert_int_equal(cleaned, 42);
    check_still_works(&s.f);
    close_stubs(&s);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stubs_have_unwind_data),
                                       cmocka_unit_test(a_first_call_cannot_be_cancelled)};
    int failed = cmocka_run_group_tests_name("link/lazy_calls", tests, NULL, NULL);
    failed += RUN_ROWS("C arguments", ways, c_arguments);
    failed += RUN_ROWS("every register", ways, every_register);
    failed += RUN_ROWS("managed arguments may move", ways, managed_arguments_may_move);
    failed += RUN_ROWS("a backtrace passes through", ways, a_backtrace_passes_through);
    failed += RUN_ROWS("the caller is seen at every instruction", ways, the_caller_is_seen_at_every_instruction);
    return failed + RUN_ROWS("a failure may unwind", ways, a_failure_may_unwind);
}
