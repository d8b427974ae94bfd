/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* First calls of lazy functions: arguments of every class arrive unchanged, however the processor's vector registers
 * are saved; unwinders pass through the entry, and a failing call may unwind from the call site. */

#include "stubs.h"
#include "trace.h"

#include <pthread.h>
#include <stdlib.h>

#include "data/lazy.h"
#include "link/redirect/cell.h"
#include "dumped.h"

static const char *const unwind_ways[] = {WAYS};

/* ---- every way of saving registers that this processor has; they are spoiled while the function is looked up ---- */

static void spoil(void)
{
    spoil_registers(vector_level());
}

/* False if the processor does not support it. */
static bool open_way(void **state, struct stubs *s)
{
    const struct way *way = *state;
    struct tn_error err;
    *s = open_stubs(NULL);
    while_linking = spoil;
    assert_ok(tn_define_redirectable(s->f.library, "first", NULL, &stub_options, &err), &err);
    const struct tn__lazy_way *taken = &tn__lazy_machine.ways[way->way];
    assert_string_equal(taken->name, way->name);
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

static void every_register(void **state)
{
    struct stubs s;
    struct registers in = different_registers();
    if (!open_way(state, &s))
        skip();
    dump_level = vector_level();
    if (dump_level > ((const struct way *)*state)->most)
        dump_level = ((const struct way *)*state)->most;
    add_file(&s.f, "lazy_registers.o");
    add_dump(s.bodies);
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
    struct stubs s;
    struct tn_error err;
    if (!open_way(state, &s))
        skip();
    while_linking = move_objects;
    const uint32_t last = 1u << (9 - FIRST_IN_MEMORY);
    const struct tn_lazy_symbol symbol = {.name = "sum_longs", .managed_registers = 0x12, .managed_stack = last};
    assert_ok(tn_define_lazy(s.f.library, &symbol, 1, s.bodies, &stub_options, &err), &err);
    void *stub = lookup(&s.f, "sum_longs");
    sum_longs_function *sum_longs;
    memcpy(&sum_longs, &stub, sizeof sum_longs);
    assert_int_equal(sum_longs(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 385 + 1000 * (2 + 5 + 10));
    assert_int_equal(old_frames[0], 0x12);
    assert_int_equal(old_frames[1], last);
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

/* ---- more of unwinding ---- */

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
    if (files_are_limited())
        skip();
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
    return failed + RUN_ROWS("a failure may unwind", ways, a_failure_may_unwind);
}
