/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What happens at the same time: tiers swap; functions are replaced, also by ones that rest on assumptions, which are
 * broken; the client redirects; modules come and are retired; bodies are retired; threads collect and fork with frames
 * of old bodies below them. */

#include "storm.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle.h"
#include "base/os.h"
#include "tenon_heap.h"
#include "tiered.h"

enum { CALLERS = 3, LONGEST = 12 };

/* gcc's AddressSanitizer does not take its allocator's locks for a fork (tools/build/rules.mk). */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { FORKS = 0 };
#else
enum { FORKS = 1 };
#endif

static _Thread_local struct tn_error err;

/* In threads and children, where an assertion would not end the test. */
#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s: %s ", __FILE__, __LINE__, #condition, err.text);                               \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)
#define DO(call) CHECK((call) == 0, " ")

/* ---- managed code ---- */

#define PRELUDE                                                                                                        \
    "@cell_type = external global i8, align 16\n"                                                                      \
    "declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))\n"                                     \
    "declare void @meanwhile()\n"
#define NEW                                                                                                            \
    "call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) addrspacecast (ptr @cell_type to " \
    "ptr addrspace(10)))\n"
#define DECLARES_CONS "declare ptr addrspace(10) @cons(i64, ptr addrspace(10)) gc \"tenon\"\n"
#define DECLARES_SUM  "declare i64 @sum(ptr addrspace(10)) gc \"tenon\"\n"

/* A cell: a number and the next one. What is allocated first is garbage. */
static const char cons[] =
    PRELUDE "define ptr addrspace(10) @cons(i64 %%value, ptr addrspace(10) %%rest) {\n"
            "  %%garbage = " NEW "  %%g = addrspacecast ptr addrspace(10) %%garbage to ptr addrspace(11)\n"
            "  store i64 %ld, ptr addrspace(11) %%g\n"
            "  %%cell = " NEW "  %%at = addrspacecast ptr addrspace(10) %%cell to ptr addrspace(11)\n"
            "  store i64 %%value, ptr addrspace(11) %%at\n"
            "  %%next = getelementptr i8, ptr addrspace(11) %%at, i64 8\n"
            "  store ptr addrspace(10) %%rest, ptr addrspace(11) %%next\n"
            "  ret ptr addrspace(10) %%cell\n"
            "}\n";

/* Recursive, so stacks have frames of several bodies. Checks that an object that was made keeps its reference, and uses
 * a pointer into an object after calls. */
static const char sum[] =
    PRELUDE DECLARES_CONS "define i64 @sum(ptr addrspace(10) %%list) {\n"
                          "  %%none = icmp eq ptr addrspace(10) %%list, null\n"
                          "  br i1 %%none, label %%end, label %%more\n"
                          "more:\n"
                          "  %%at = addrspacecast ptr addrspace(10) %%list to ptr addrspace(11)\n"
                          "  %%link = getelementptr i8, ptr addrspace(11) %%at, i64 8\n"
                          "  %%rest = load ptr addrspace(10), ptr addrspace(11) %%link\n"
                          "  %%made = call ptr addrspace(10) @cons(i64 %ld, ptr addrspace(10) %%list)\n"
                          "  %%below = call i64 @sum(ptr addrspace(10) %%rest)\n"
                          "  %%m = addrspacecast ptr addrspace(10) %%made to ptr addrspace(11)\n"
                          "  %%m.link = getelementptr i8, ptr addrspace(11) %%m, i64 8\n"
                          "  %%kept = load ptr addrspace(10), ptr addrspace(11) %%m.link\n"
                          "  %%same = icmp eq ptr addrspace(10) %%kept, %%list\n"
                          "  %%value = load i64, ptr addrspace(11) %%at\n"
                          "  %%checked = select i1 %%same, i64 %%value, i64 1000000\n"
                          "  %%all = add i64 %%below, %%checked\n"
                          "  ret i64 %%all\n"
                          "end:\n"
                          "  ret i64 0\n"
                          "}\n";

/* The sum of 1 to n in the upper half, the version in the lower one. */
static const char work[] =
    PRELUDE DECLARES_CONS DECLARES_SUM "define i64 @work(i64 %%n) {\n"
                                       "entry:\n"
                                       "  br label %%build\n"
                                       "build:\n"
                                       "  %%i = phi i64 [ 1, %%entry ], [ %%next, %%build ]\n"
                                       "  %%list = phi ptr addrspace(10) [ null, %%entry ], [ %%cell, %%build ]\n"
                                       "  %%cell = call ptr addrspace(10) @cons(i64 %%i, ptr addrspace(10) %%list)\n"
                                       "  %%next = add i64 %%i, 1\n"
                                       "  %%more = icmp sle i64 %%next, %%n\n"
                                       "  br i1 %%more, label %%build, label %%walk\n"
                                       "walk:\n"
                                       "  call void @meanwhile()\n"
                                       "  %%first = call i64 @sum(ptr addrspace(10) %%cell)\n"
                                       "  call void @meanwhile()\n"
                                       "  %%second = call i64 @sum(ptr addrspace(10) %%cell)\n"
                                       "  %%same = icmp eq i64 %%first, %%second\n"
                                       "  %%good = select i1 %%same, i64 %%first, i64 -1\n"
                                       "  %%high = shl i64 %%good, 32\n"
                                       "  %%result = or i64 %%high, %ld\n"
                                       "  ret i64 %%result\n"
                                       "}\n";

/* Makes a list that the caller keeps. */
static const char make[] =
    PRELUDE DECLARES_CONS "define ptr addrspace(10) @make(i64 %%n) {\n"
                          "  %%none = icmp eq i64 %%n, 0\n"
                          "  br i1 %%none, label %%end, label %%more\n"
                          "more:\n"
                          "  %%less = sub i64 %%n, 1\n"
                          "  %%rest = call ptr addrspace(10) @make(i64 %%less)\n"
                          "  %%cell = call ptr addrspace(10) @cons(i64 %%n, ptr addrspace(10) %%rest)\n"
                          "  ret ptr addrspace(10) %%cell\n"
                          "end:\n"
                          "  ret ptr addrspace(10) null\n"
                          "}\n"
                          "@unused = internal constant i64 %ld\n";

static const struct tn_type cell_type = {
    .name = "cell", .kind = TN_KIND_FIXED, .alignment = 8, .size = 16, .references = 2};

/* ---- the world ---- */

struct row {
    const char *name;
    const struct tn_collector *collector;
    uint64_t flags;
    size_t threads; /* of the session */
};

static const struct tn_tier soon[] = {{0, 20, 10}, {1, 100, 0}, {2, 0, 0}};

static struct {
    struct tn_heap *heap;
    struct tn_jit *jit;
    struct tn_session *session;
    struct tn_library *library, *others;
    function *work;
    long (*sum)(void *list);
    void *(*make)(long);
    /* Versions of `work` that rest on nothing are odd, those that rest on an assumption even. */
    atomic_long newest, plain, broken;
    atomic_uint redirections; /* odd: `work` is redirected */
    atomic_bool ends;
    atomic_long calls, modules, children;
} storm;

static _Thread_local unsigned dice;
static _Thread_local bool is_child;

static unsigned throw_of(unsigned sides)
{
    dice = dice * 1103515245 + 12345;
    return (dice >> 16) % sides;
}

/* What it was replaced by has the upper half 0. */
static long own_work(long n)
{
    return n;
}

/* ---- natively, with managed frames below ---- */

static void fork_here(void)
{
    static atomic_bool forking;
    if (!FORKS || is_child || atomic_exchange(&forking, true))
        return;
    pid_t child = fork();
    CHECK(child >= 0, "fork");
    if (!child) {
        alarm(SECONDS);
        is_child = true;
        return;
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0, "the child ended with %#x", (unsigned)status);
    storm.children++;
    forking = false;
}

/* Called by managed code: a transition. */
static void meanwhile(void)
{
    switch (throw_of(64)) {
    case 0:
        tn_heap_collect(storm.heap, TN_COLLECT_FULL);
        break;
    case 1:
    case 2:
        tn_heap_collect(storm.heap, TN_COLLECT_PARTIAL);
        break;
    case 3:
        usleep(500);
        break;
    case 4:
        if (throw_of(8) == 0)
            fork_here();
        break;
    }
}

/* ---- modules ---- */

static struct tn_jit_module module_of(char *text, size_t size, const char *form, long version)
{
    int length = snprintf(text, size, form, version);
    CHECK(length > 0 && (size_t)length < size, "the text is too long");
    return (struct tn_jit_module){
        .size = sizeof(struct tn_jit_module), .name = "storm.ll", .ir = text, .length = (size_t)length};
}

static void replace(const char *form, long version, struct tn_assumption *assumption)
{
    char text[4000];
    struct tn_jit_module module = module_of(text, sizeof text, form, version);
    module.assumptions = &assumption;
    module.assumption_count = assumption ? 1 : 0;
    DO(tn_jit_replace(storm.jit, NULL, &module, &err));
}

/* What the client redirected is led to the new version again, by the client. */
static void replace_plainly(long version)
{
    storm.newest = version;
    replace(work, version, NULL);
    DO(tn_redirect(storm.library, "work", NULL, &err));
    storm.plain = version;
    storm.redirections += storm.redirections % 2;
}

static void redirect(void)
{
    const void *own;
    long (*const is_own)(long) = own_work;
    memcpy(&own, &is_own, sizeof own);
    storm.redirections += 1 - storm.redirections % 2;
    DO(tn_redirect(storm.library, "work", own, &err));
}

static void *break_again(void *assumption)
{
    DO(tn_assumption_break(assumption, &err));
    return NULL;
}

static void rest_and_break(long version)
{
    struct tn_assumption *assumption;
    pthread_t breaker;
    DO(tn_assumption_create(storm.session, &assumption, &err));
    storm.newest = version;
    replace(work, version, assumption);
    if (throw_of(2))
        DO(tn_jit_request_tier(storm.jit, "work", 1 + (int)throw_of(2), &err));
    usleep(throw_of(3000));
    if (throw_of(4) == 0)
        redirect();
    CHECK(pthread_create(&breaker, NULL, break_again, assumption) == 0, "thread");
    DO(tn_assumption_break(assumption, &err));
    storm.broken = version;
    pthread_join(breaker, NULL);
    tn_assumption_destroy(assumption);
}

/* ---- calls ---- */

static void call_work(void)
{
    unsigned redirections = storm.redirections;
    long n = 1 + (long)throw_of(LONGEST), plain = storm.plain, broken = storm.broken, got = storm.work(n);
    long version = got & 0xffffffff, total = got >> 32;
    storm.calls++;
    if (total == 0 && version == n) {
        CHECK(redirections % 2 || redirections != storm.redirections, "what was redirected to is still called");
        return;
    }
    CHECK(total == n * (n + 1) / 2, "work(%ld) is %#lx", n, (unsigned long)got);
    CHECK(version <= storm.newest && (version % 2 ? version >= plain : version > broken),
          "version %ld; %ld was replaced by, %ld broken", version, plain, broken);
}

/* Lists that are kept while code changes. */
static void make_list(struct tn_handle **list, long n)
{
    tn_managed_begin();
    int code = tn_handle_of(storm.heap, storm.make(n), list, &err);
    tn_managed_end();
    DO(code);
}

static void check_list(const struct tn_handle *list, long n)
{
    tn_managed_begin();
    long got = storm.sum(tn_handle_object(list));
    tn_managed_end();
    CHECK(got == n * (n + 1) / 2, "sum of %ld is %ld", n, got);
}

/* The child has this thread alone: it does all that the others did, and ends. */
static void be_child(void)
{
    for (int i = 0; i < 5; i++) {
        call_work();
        tn_thread_quiescent();
        replace_plainly(storm.newest + 1 + storm.newest % 2);
        rest_and_break(storm.newest + 1);
        call_work();
        tn_heap_collect(storm.heap, TN_COLLECT_FULL);
    }
    _exit(0);
}

static void *call_on(void *number)
{
    enum { KEPT = 8 };
    struct tn_handle *lists[KEPT] = {NULL};
    dice = *(const unsigned *)number;
    DO(tn_heap_attach(storm.heap, &err));
    tn_thread_attach();
    for (unsigned i = 0; !storm.ends; i++) {
        struct tn_handle **list = &lists[i % KEPT];
        long n = (long)(i % KEPT) * 3;
        call_work();
        if (*list)
            check_list(*list, n);
        tn_handle_free(*list);
        make_list(list, n);
        if (is_child)
            be_child();
        tn_thread_quiescent();
        usleep(20); /* otherwise they would keep the others from the processors */
    }
    for (int i = 0; i < KEPT; i++)
        tn_handle_free(lists[i]);
    tn_thread_detach();
    tn_heap_detach();
    return NULL;
}

/* ---- modules that come and go ---- */

static void looked_up(void *context, struct tn_wanted *wanted, size_t count, const struct tn_error *why)
{
    (void)wanted, (void)count;
    CHECK(!why || why->code == TN_ECANCELLED, "%s", why->text);
    atomic_fetch_add((atomic_int *)context, 1);
}

static void come_and_go(long version)
{
    static atomic_int answers;
    char text[4000];
    struct tn_tracker *tracker;
    struct tn_lookup_handle *lookup;
    struct tn_wanted wanted = {"work", 0, NULL};
    struct tn_jit_module module = module_of(text, sizeof text, work, version);
    function *own;
    DO(tn_tracker_create(storm.others, &tracker, &err));
    module.owner = tracker;
    DO(tn_jit_add_module(storm.jit, storm.others, &module, &err));
    int before = answers;
    DO(tn_lookup_start(storm.others, &wanted, 1, looked_up, &answers, &lookup, &err));
    DO(tn_lookup_cancel(lookup, &err));
    CHECK(answers == before + 1, "%d answers", answers - before);
    DO(tn_lookup_all(storm.others, &wanted, 1, &err));
    memcpy(&own, &wanted.address, sizeof own);
    for (int i = 0; i < 30; i++)
        CHECK(own(5) == (15L << 32 | version), "a module of its own");
    if (is_child)
        be_child();
    tn_thread_quiescent();
    DO(tn_tracker_retire(tracker, &err));
    tn_tracker_destroy(tracker);
    storm.modules++;
}

static void *come_on(void *number)
{
    dice = *(const unsigned *)number;
    DO(tn_heap_attach(storm.heap, &err));
    tn_thread_attach();
    for (long i = 1; !storm.ends; i++)
        come_and_go(i);
    tn_thread_detach();
    tn_heap_detach();
    return NULL;
}

/* ---- the test ---- */

static void corrupt(void *context, const char *what)
{
    (void)context;
    CHECK(!"the heap is corrupt", "%s", what);
}

static void out_of_memory(void *context, size_t payload)
{
    (void)context;
    CHECK(!"memory is out", "%zu bytes", payload);
}

static void report(void *context, const struct tn_error *what)
{
    (void)context;
    CHECK(!"an error", "%s", what->text);
}

static void open_storm(const struct row *row)
{
    const struct tn_heap_options heap = {.size = sizeof heap,
                                         .limit = 64 << 20,
                                         .minimum = 1 << 16,
                                         .flags = row->flags,
                                         .collector = row->collector,
                                         .on_corruption = corrupt,
                                         .out_of_memory = out_of_memory};
    const struct tn_definition definitions[] = {{"cell_type", &cell_type, 0},
                                                {"meanwhile", (const void *)(uintptr_t)meanwhile, 0}};
    static const char *const first[] = {cons, sum, make};
    struct tn_jit_options options =
        options_for(&(struct setup){.tiers = soon, .count = COUNT(soon), .threads = row->threads});
    options.on_error = report;
    options.retire_bodies = 1;
    storm.newest = storm.plain = 1;
    storm.broken = storm.redirections = 0;
    storm.ends = false;
    storm.calls = storm.modules = storm.children = 0;
    DO(tn_heap_create(&heap, &storm.heap, &err));
    tn_heap_set_default(storm.heap);
    DO(tn_jit_create(&options, &storm.jit, &err));
    storm.session = tn_jit_session(storm.jit);
    storm.library = tn_jit_library(storm.jit);
    DO(tn_observe_managed_code(storm.session, &err));
    DO(tn_define_managed_runtime(storm.library, &err));
    DO(tn_define_all(storm.library, definitions, COUNT(definitions), NULL, &err));
    for (size_t i = 0; i < COUNT(first); i++)
        replace(first[i], 0, NULL);
    replace_plainly(1);
    DO(tn_library_create(storm.session, "others", &storm.others, &err));
    DO(tn_library_search(storm.others, &(struct tn_search){storm.library, 0}, 1, &err));
    void *found[3];
    DO(tn_jit_lookup(storm.jit, "work", &found[0], &err));
    DO(tn_jit_lookup(storm.jit, "sum", &found[1], &err));
    DO(tn_jit_lookup(storm.jit, "make", &found[2], &err));
    memcpy(&storm.work, &found[0], sizeof storm.work);
    memcpy(&storm.sum, &found[1], sizeof storm.sum);
    memcpy(&storm.make, &found[2], sizeof storm.make);
}

/* Of functions that are replaced, this is not seen any more. */
static bool has_retired;

static int find_retired(void *found, const struct tn_jit_function *f)
{
    *(bool *)found |= f->swaps && !f->tiers[0].bytes;
    return 0;
}

static bool has_all_happened(void)
{
    struct tn_heap_stats heap = {.size = sizeof heap};
    struct tn_jit_stats jit = {.size = sizeof jit};
    tn_heap_stats(storm.heap, &heap);
    tn_jit_stats(storm.jit, &jit);
    DO(tn_jit_each_function(storm.jit, find_retired, &has_retired, &err));
    return heap.moved && jit.raised && has_retired && (!FORKS || storm.children);
}

/* For so long, and until everything has happened: objects have moved, functions are raised, bodies of lower tiers
 * retired, children have ended. */
static void change_on(unsigned milliseconds)
{
    static const char *const callees[] = {cons, sum, make};
    uint64_t end = tn__os_now_ns() + milliseconds * UINT64_C(1000000);
    has_retired = false;
    for (long round = 1; !has_all_happened() || tn__os_now_ns() < end; round++) {
        replace_plainly(2 * round + 1);
        rest_and_break(2 * round + 2);
        if (throw_of(2))
            redirect();
        replace(callees[round % 3], round, NULL);
        usleep(throw_of(2000));
    }
}

static unsigned duration_ms;

static void storm_of(void **state)
{
    const struct row *row = *state;
    static unsigned numbers[CALLERS + 1];
    pthread_t threads[CALLERS + 1];
    open_storm(row);
    for (unsigned i = 0; i <= CALLERS; i++) {
        numbers[i] = i + 1;
        CHECK(pthread_create(&threads[i], NULL, i < CALLERS ? call_on : come_on, &numbers[i]) == 0, "thread");
    }
    change_on(duration_ms);
    storm.ends = true;
    for (int i = 0; i <= CALLERS; i++)
        pthread_join(threads[i], NULL);
    print_message("%ld calls, %ld versions, %ld modules, %ld children\n", storm.calls, storm.newest, storm.modules,
                  storm.children);
    tn_jit_destroy(storm.jit);
    tn_heap_set_default(NULL);
    tn_heap_destroy(storm.heap);
}

int run_storms(unsigned milliseconds)
{
    static const struct row rows[] = {
        {"copying", &tn_collector_copying, TN_HEAP_VERIFY, 0},
        {"copying, stress", &tn_collector_copying, TN_HEAP_STRESS, 1},
        {"generational", &tn_collector_generational, TN_HEAP_VERIFY, 1},
        {"generational, stress", &tn_collector_generational, TN_HEAP_STRESS, 0},
        {"concurrent", &tn_collector_concurrent, TN_HEAP_VERIFY, 0},
        {"concurrent, stress", &tn_collector_concurrent, TN_HEAP_STRESS, 2},
    };
    struct CMUnitTest tests[COUNT(rows)];
    duration_ms = milliseconds;
    for (size_t i = 0; i < COUNT(rows); i++)
        tests[i] = (struct CMUnitTest){rows[i].name, storm_of, NULL, NULL, (void *)(uintptr_t)&rows[i]};
    return _cmocka_run_group_tests("storms", tests, COUNT(tests), NULL, NULL);
}
