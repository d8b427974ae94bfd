// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Native code that managed code calls in transitions, and what may happen there: arguments and results of all kinds,
// calls back, throws and jumps through managed frames; meanwhile another thread collects without a pause.
//
// host ROUNDS [refuse|later]: the system refuses membarrier(2) from the beginning, or from the middle on.

#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls.h"
#include "tenon_gc.h"
#include "tenon_heap.h"

static int failed;

static void expect(const char *what, long got, long wanted)
{
    if (got == wanted)
        return;
    printf("%s: %ld instead of %ld\n", what, got, wanted);
    failed = 1;
}

// ---- a sandbox ----

static void refuse_membarrier()
{
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) ||
        syscall(SYS_membarrier, 0, 0, 0) == 0) {
        puts("the system cannot refuse membarrier");
        exit(77);
    }
}

// ---- a thread that collects ----

static int done, wanted;

static void stay(void *, void *, const tn_type *, size_t);

static void *collect(void *)
{
    tn_heap *heap;
    tn_error err;
    if (tn_heap_default(&heap, &err) == 0)
        while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
            __atomic_load_n(&wanted, __ATOMIC_ACQUIRE) ? tn_heap_walk(heap, stay, nullptr)
                                                       : tn_heap_collect(heap, TN_COLLECT_FULL);
    return nullptr;
}

// ---- called by managed code ----

long in_registers(long a, long b, long c, long d, long e, long f, double g, double h)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + static_cast<long>(2 * g + 4 * h);
}

long in_memory(long a, long b, long c, long d, long e, long f, long g, long h, double i, double j, double k, double l,
               double m, double n, double o, double p, double q, char r, large s, short t)
{
    return a + b + c + d + e + f + 2 * g + 3 * h + static_cast<long>(i + j + k + l + m + n + o + p + 2 * q) + 4 * r +
           5 * s.words[0] + 6 * s.words[6] + 7 * t;
}

long double extended(long double a, mixed b, long double c)
{
    return a + static_cast<long double>(b.number) + b.real + c;
}

large returned_large(large of)
{
    of.words[0] += 10;
    return of;
}

mixed returned_mixed(long number)
{
    return {number, 2.5};
}

pair returned_pair(long number)
{
    return {number, 2 * number};
}

four returned_vector(four of)
{
    return of * of;
}

COMPLEX returned_complex(COMPLEX of)
{
    return of * of;
}

long double returned_extended(long number)
{
    return static_cast<long double>(number) + 0.5L;
}

float returned_float(long number)
{
    return static_cast<float>(number) + 0.5F;
}

long call_back(long depth)
{
    return go_down(depth) + work(4);
}

void call_function(void (*function)(void))
{
    function();
}

// Overwrites the stack, as native code does.
__attribute__((noinline)) static void trample()
{
    volatile char below[4096];
    memset(const_cast<char *>(below), 0x55, sizeof below);
}

struct mess {
    ~mess()
    {
        trample();
    }
};

// Through as many levels of managed code, and destructors of native code between them.
void throw_below(long depth)
{
    mess cleaned;
    trample();
    if (depth > 0)
        be_thrown_through(depth - 1);
    throw static_cast<int>(7);
}

// In the middle of managed frames, a native handler: throws are over here.
static long catch_between(long depth)
{
    try {
        be_thrown_through(depth);
    } catch (int thrown) {
        tn_managed_end();
        trample();
        return thrown;
    }
    return -1;
}

static thread_local jmp_buf native_target;

// Without a target: to native_target, above managed frames. Nothing walks those any more once tn_managed_begin has
// returned.
void jump_below(void *target, long depth)
{
    trample();
    if (depth > 0)
        be_jumped_over(target, depth - 1);
    if (target)
        longjmp(*static_cast<jmp_buf *>(target), 1);
    tn_managed_begin();
    longjmp(native_target, 1);
}

static long jump_to_native_code(long depth)
{
    if (!setjmp(native_target))
        be_jumped_over(nullptr, depth);
    trample();
    tn_managed_end();
    trample();
    return work(5);
}

// The same with managed code as the next thing that is called.
static long jump_and_enter(long depth)
{
    if (!setjmp(native_target))
        be_jumped_over(nullptr, depth);
    long result = work(6);
    tn_managed_end();
    trample();
    return result;
}

// ---- while the world is stopped ----

volatile int is_stopped;
static tn_gc_block *waiting; // of the thread that waits for it
static int changed;          // what a collector may be reading
static pthread_mutex_t stops = PTHREAD_MUTEX_INITIALIZER;

// But for their states.
static bool are_same(const tn_gc_anchor &a, const tn_gc_anchor &b)
{
    return (a.sp ^ b.sp) < 8 && a.fp == b.fp && a.ra == b.ra;
}

// Called for each object while no managed code may run: for the first one after a request, long enough to be noticed.
static void stay(void *, void *, const tn_type *, size_t)
{
    if (!__atomic_load_n(&wanted, __ATOMIC_ACQUIRE))
        return;
    const tn_gc_anchor *top = __atomic_load_n(&waiting->top, __ATOMIC_ACQUIRE), before[] = {top[-1], top[0]};
    is_stopped = 1;
    __atomic_store_n(&wanted, 0, __ATOMIC_RELEASE);
    usleep(5000);
    is_stopped = 0;
    changed += !are_same(before[0], top[-1]) + !are_same(before[1], top[0]);
}

void wait_for_stop()
{
    waiting = &tn__gc_block;
    __atomic_store_n(&wanted, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&wanted, __ATOMIC_ACQUIRE))
        usleep(50);
}

void throw_in_stop()
{
    wait_for_stop();
    throw 9;
}

void jump_in_stop(void *target)
{
    wait_for_stop();
    longjmp(*static_cast<jmp_buf *>(target), 1);
}

static long catch_in_stop()
{
    try {
        be_thrown_in_stop();
    } catch (int) {
        tn_managed_end();
        return take_early();
    }
    return 8;
}

long enter_from_stop()
{
    wait_for_stop();
    return come_back();
}

// One thread after the other: else one would see the other's stop end.
static void check_stops()
{
    pthread_mutex_lock(&stops);
    expect("a return from a stopped world", return_from_stop(), 0);
    expect("a throw in a stopped world", catch_in_stop(), 0);
    expect("a jump in a stopped world", be_jumped_to_in_stop(), 0);
    expect("an entry in a stopped world", enter_from_stop(), 0);
    expect("an entry after a jump in a stopped world", jump_and_enter_in_stop(), 0);
    expect("anchors that changed in a stopped world", changed, 0);
    pthread_mutex_unlock(&stops);
}

// ---- handles ----

extern "C" tn_handle *make_handle(void *object)
{
    tn_handle *handle = nullptr;
    tn_error err;
    if (tn_handle_of(tn_heap_current(), object, &handle, &err))
        puts(err.text);
    return handle;
}

long value_of(tn_handle *handle)
{
    tn_handle *next = nullptr;
    tn_error err;
    long value = -1;
    if (tn_handle_of(tn_heap_current(), nullptr, &next, &err) || tn_handle_load(handle, 0, next, &err) ||
        tn_handle_read(next, 8, &value, sizeof value, &err))
        puts(err.text);
    tn_handle_free(next);
    return value;
}

// ---- all of it ----

static long sum_below(long n)
{
    return n * (n - 1) / 2;
}

static void check_everything(long round)
{
    long depth = round % 4, unwound = 0, down = 0;
    expect("arguments and results", pass_everything(), 552);
    for (long i = 0; i <= depth; i++)
        down += sum_below(i + 3) + (i < depth ? sum_below(4) : 0);
    expect("calls back", go_down(depth), down);
    for (long i = 0; i <= depth; i++)
        unwound += 2 * sum_below(i + 2);
    expect("a throw into native code", catch_between(depth), 7);
    expect("what landing pads found", take_unwound(), unwound);
    for (long i = 0; i < depth; i++)
        unwound -= i == depth - 1 ? 2 * sum_below(depth + 2) : 0;
    expect("a throw into managed code", be_caught(depth), 40 + 7 + depth);
    expect("what landing pads found", take_unwound(), depth ? unwound : 0);
    expect("a jump into managed code", be_jumped_to(depth), sum_below(depth + 1));
    expect("a jump into native code", jump_to_native_code(depth), sum_below(5));
    expect("a jump, and into managed code", jump_and_enter(depth), sum_below(6));
    expect("calls after a jump", jump_and_call(depth), 2 * (down + sum_below(4)) + sum_below(3));
    expect("a handle", read_through_handle(), 10);
    expect("work", work(20), sum_below(20));
}

static void *check_often(void *rounds)
{
    check_stops();
    for (long i = 0; i < reinterpret_cast<long>(rounds); i++)
        check_everything(i);
    return nullptr;
}

int main(int count, char **arguments)
{
    enum { THREADS = 2 };
    const long rounds = atol(arguments[1]);
    const char *how = count > 2 ? arguments[2] : "";
    pthread_t collector, threads[THREADS];
    if (strcmp(how, "refuse") == 0)
        refuse_membarrier();
    work(1);
    tn_handle *kept; // so that there is an object to visit
    tn_error err;
    if (tn_handle_new(tn_heap_current(), &tn_weak_type, 0, &kept, &err))
        return puts(err.text), 1;
    if (pthread_create(&collector, nullptr, collect, nullptr))
        return 1;
    for (auto &thread : threads)
        if (pthread_create(&thread, nullptr, check_often, reinterpret_cast<void *>(rounds)))
            return 1;
    usleep(1000);
    if (strcmp(how, "later") == 0)
        refuse_membarrier();
    for (auto &thread : threads)
        pthread_join(thread, nullptr);
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    pthread_join(collector, nullptr);
    puts(failed ? "failed" : "good");
    return failed;
}
