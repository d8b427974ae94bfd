/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions that are compiled again, at a higher level, while the program runs (doc/TIERS.md). */

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "tiered.h"

/* ---- counters ---- */

static void calls_raise(void **state)
{
    (void)state;
    struct tn_jit *jit = create(&(struct setup){.tiers = three, .count = 3}, program);
    function *call = find(jit, "call");
    assert_int_equal(about(jit, "call").tiers[0].bytes, 0);
    for (int i = 0; i < 50; i++)
        assert_int_equal(call(0), 0);
    assert_int_equal(about(jit, "call").tier, 0); /* it is the next call that tells */
    assert_true(about(jit, "call").tiers[0].bytes > 0);
    assert_int_equal(call(0), 0);
    wait_for_tier(jit, "call", 1);
    assert_int_equal(about(jit, "call").opt_level, 1);
    for (int i = 0; i < 51; i++)
        assert_int_equal(call(3), 6);
    wait_for_tier(jit, "call", 2);
    struct tn_jit_function now = about(jit, "call");
    assert_int_equal(now.opt_level, 3);
    assert_int_equal(now.swaps, 2);
    assert_true(now.calls >= 50);
    for (int tier = 0; tier < 3; tier++)
        assert_true(now.tiers[tier].bytes > 0 && now.tiers[tier].ns > 0);
    assert_int_equal(now.tiers[3].bytes, 0);
    assert_int_equal(call(10), 55);
    assert_ptr_equal(call, find(jit, "call"));
    int64_t total;
    memcpy(&total, (const void *)(uintptr_t)find(jit, "total"), sizeof total);
    assert_int_equal(total, 50 + 1 + 51 + 1); /* the variable is one */
    struct tn_jit_stats stats = {.size = sizeof stats};
    tn_jit_stats(jit, &stats);
    assert_true(stats.raised >= 2 && stats.raised_bytes > 0 && stats.raised_ns > 0);
    assert_int_equal(errors, 0);
    tn_jit_destroy(jit);
}

/* 10 turns of a loop are a call; the counter of turns tells in portions, and while the loop runs. */
static void loops_raise(void **state)
{
    (void)state;
    struct tn_jit *jit = create(&(struct setup){.tiers = two, .count = 2}, program);
    assert_int_equal(find(jit, "sum")(2000), 2000 * 2001 / 2);
    wait_for_tier(jit, "sum", 1);
    assert_int_equal(about(jit, "call").tier, 0);
    assert_int_equal(find(jit, "sum")(2000), 2000 * 2001 / 2);
    tn_jit_destroy(jit);
    jit = create(&(struct setup){.tiers = three, .count = 3}, program); /* where loops do not count */
    assert_int_equal(find(jit, "sum")(2000), 2000 * 2001 / 2);
    assert_int_equal(about(jit, "sum").calls, 0);
    tn_jit_destroy(jit);
}

/* Writes a function of so many instructions, and one that calls it. */
static char *write_callee(char *to, const char *name, int instructions)
{
    to += sprintf(to, "define i64 @%s(i64 %%v0) {\n", name);
    for (int i = 1; i < instructions; i++)
        to += sprintf(to, "  %%v%d = %s i64 %%v%d, %d\n", i, i % 2 ? "mul" : "xor", i - 1, 2 * i + 3);
    return to + sprintf(to,
                        "  ret i64 %%v%d\n}\ndefine i64 @calls_%s(i64 %%x) {\n  %%r = call i64 @%s(i64 %%x)\n"
                        "  ret i64 %%r\n}\n",
                        instructions - 1, name, name);
}

/* Larger callees become part of functions that are compiled again than of others: these are not called any more. */
static void callees_are_inlined(void **state)
{
    (void)state;
    static char ir[20000];
    write_callee(write_callee(ir, "small", 40), "large", 150);
    struct tn_jit *jit = create(&(struct setup){.tiers = three, .count = 3}, ir);
    struct tn_error err;
    long result[2] = {find(jit, "calls_small")(1), find(jit, "calls_large")(1)};
    check(tn_jit_request_tier(jit, "calls_small", 2, &err), &err);
    check(tn_jit_request_tier(jit, "calls_large", 2, &err), &err);
    wait_for_tier(jit, "calls_small", 2);
    wait_for_tier(jit, "calls_large", 2);
    for (int i = 0; i < 60; i++) { /* 51 calls tell */
        assert_int_equal(find(jit, "calls_small")(1), result[0]);
        assert_int_equal(find(jit, "calls_large")(1), result[1]);
    }
    wait_for_tier(jit, "large", 1);
    rest();
    assert_int_equal(about(jit, "small").tier, 0);
    assert_int_equal(errors, 0);
    tn_jit_destroy(jit);
}

/* ---- where functions begin ---- */

static void first_tiers(void **state)
{
    (void)state;
    static const char flags[] =
        "define i64 @wants(i64 %x) \"julia.optlevel\"=\"1\" {\n  ret i64 %x\n}\n"
        "define i64 @most(i64 %x) \"tenon.optlevel\"=\"3\" {\n  ret i64 %x\n}\n"
        "define i64 @wrong(i64 %x) \"tenon.optlevel\"=\"4\" {\n  ret i64 %x\n}\n"
        "define i64 @main(i64 %n) {\nentry:\n  br label %loop\nloop:\n"
        "  %i = phi i64 [ 0, %entry ], [ %j, %loop ]\n  %j = add i64 %i, 1\n  %c = icmp ult i64 %j, %n\n"
        "  br i1 %c, label %loop, label %done\ndone:\n  ret i64 %j\n}\n"
        "define ptr @label(i64 %x) {\nentry:\n  br label %there\nthere:\n"
        "  ret ptr blockaddress(@label, %there)\n}\n"
        "@jumps = internal unnamed_addr constant [2 x ptr] [ptr blockaddress(@jump, %one), ptr blockaddress(@jump, "
        "%two)]\n"
        "define i64 @jump(i64 %x) {\nentry:\n  %p = getelementptr ptr, ptr @jumps, i64 %x\n  %t = load ptr, ptr %p\n"
        "  indirectbr ptr %t, [label %one, label %two]\none:\n  ret i64 11\ntwo:\n  ret i64 22\n}\n";
    static const struct {
        const char *name;
        int tier;
        long x, result;
    } rows[] = {{"wants", 1, 5, 5}, {"most", 2, 5, 5}, {"wrong", 0, 5, 5}, {"main", 1, 7, 7}, {"jump", 0, 1, 22}};
    struct tn_jit *jit = create(&(struct setup){.tiers = three, .count = 3}, flags);
    struct tn_error err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(about(jit, rows[i].name).tier, rows[i].tier);
        assert_int_equal(find(jit, rows[i].name)(rows[i].x), rows[i].result);
    }
    assert_int_equal(about(jit, "label").tier, 2);
    assert_int_equal(tn_jit_request_tier(jit, "label", 2, &err), 0);
    /* Addresses of blocks that are only jumped to are of no code but the function's own. */
    check(tn_jit_request_tier(jit, "jump", 2, &err), &err);
    wait_for_tier(jit, "jump", 2);
    assert_int_equal(find(jit, "jump")(0), 11);
    assert_int_equal(find(jit, "jump")(1), 22);
    assert_int_equal(errors, 0);
    tn_jit_destroy(jit);
    jit = create(&(struct setup){.tiers = three, .count = 3},
                 "define i64 @f(i64 %x) {\n  ret i64 %x\n}\n!llvm.module.flags = !{!0}\n"
                 "!0 = !{i32 1, !\"tenon.optlevel\", i32 1}\n");
    assert_int_equal(about(jit, "f").tier, 1);
    tn_jit_destroy(jit);
}

/* ---- requests ---- */

static int ignore(void *context, const struct tn_jit_function *f)
{
    (void)context, (void)f;
    return 0;
}

static void requests(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit = create(&(struct setup){.tiers = two, .count = 2}, program);
    assert_int_equal(tn_jit_request_tier(NULL, "sum", 1, &err), TN_EINVAL);
    assert_non_null(strstr(err.text, "tn_jit_request_tier"));
    assert_int_equal(tn_jit_request_tier(jit, NULL, 1, &err), TN_EINVAL);
    assert_int_equal(tn_jit_request_tier(jit, "sum", 2, &err), TN_EINVAL);
    assert_int_equal(tn_jit_request_tier(jit, "sum", -1, &err), TN_EINVAL);
    assert_int_equal(tn_jit_request_tier(jit, "total", 1, &err), TN_EUNDEF);
    assert_int_equal(tn_jit_request_tier(jit, "none", 1, &err), TN_EUNDEF);
    assert_non_null(strstr(err.text, "none"));
    check(tn_jit_request_tier(jit, "sum", 0, &err), &err);
    assert_int_equal(tn_jit_each_function(jit, NULL, NULL, &err), TN_EINVAL);
    assert_int_equal(tn_jit_each_function(NULL, ignore, NULL, &err), TN_EINVAL);
    assert_non_null(strstr(err.text, "tn_jit_each_function"));
    /* A function that was never called is not compiled for the first tier at all. */
    check(tn_jit_request_tier(jit, "sum", 1, &err), &err);
    wait_for_tier(jit, "sum", 1);
    assert_int_equal(about(jit, "sum").tiers[0].bytes, 0);
    assert_int_equal(find(jit, "sum")(4), 10);
    assert_int_equal(about(jit, "sum").tiers[0].bytes, 0);
    check(tn_jit_request_tier(jit, "sum", 1, &err), &err);
    tn_jit_destroy(jit);

    struct tn_jit_options plain = options_for(&(struct setup){0});
    plain.tiering = NULL;
    check(tn_jit_create(&plain, &jit, &err), &err);
    assert_int_equal(tn_jit_request_tier(jit, "sum", 0, &err), TN_EINVAL);
    assert_int_equal(tn_jit_each_function(jit, ignore, NULL, &err), TN_EINVAL);
    tn_jit_sample(jit, &err);
    tn_jit_sample(NULL, &err);
    tn_jit_destroy(jit);
}

static void options_that_are_refused(void **state)
{
    (void)state;
    static const struct tn_tier down[] = {{2, 1, 0}, {1, 0, 0}}, same[] = {{1, 1, 0}, {1, 0, 0}}, low[] = {{-1, 1, 0}},
                                high[] = {{0, 1, 0}, {4, 0, 0}}, none[] = {{0, 0, 0}, {1, 0, 0}},
                                far[] = {{0, 0x80000000U, 0}, {1, 0, 0}}, turns[] = {{0, 1, 0x80000000U}, {1, 0, 0}},
                                last[] = {{0, INT32_MAX, INT32_MAX}, {3, 0, 0}};
    static const struct {
        const struct tn_tier *tiers;
        size_t count;
        int code;
    } rows[] = {{down, 2, TN_EINVAL}, {same, 2, TN_EINVAL}, {low, 1, TN_EINVAL},   {high, 2, TN_EINVAL},
                {none, 2, TN_EINVAL}, {far, 2, TN_EINVAL},  {turns, 2, TN_EINVAL}, {last, 2, 0},
                {NULL, 2, TN_EINVAL}, {last, 5, TN_EINVAL}, {low + 0, 0, 0}};
    struct tn_error err;
    struct tn_jit *jit;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn_jit_options options = options_for(&(struct setup){.tiers = rows[i].tiers, .count = rows[i].count});
        assert_int_equal(tn_jit_create(&options, &jit, &err), rows[i].code);
        tn_jit_destroy(jit);
    }
    for (int what = 0; what < 3; what++) {
        struct tn_jit_options options = options_for(&(struct setup){.tiers = two, .count = 2});
        options.lazy = what != 0;
        options.tiering = what == 1 ? NULL : options.tiering;
        options.tier_share = what == 2 ? 101 : 0;
        assert_int_equal(tn_jit_create(&options, &jit, &err), TN_EINVAL);
    }
}

/* ---- what the client does meanwhile ---- */

static long clients_own(long x)
{
    return x + 1000;
}

/* Waits until there is code of the last of two tiers, wherever the stub leads. */
static void wait_for_code(struct tn_jit *jit, const char *name)
{
    while (!about(jit, name).tiers[1].bytes)
        rest();
    for (int i = 0; i < 20; i++)
        rest();
}

static void redirections_win(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit = create(&(struct setup){.tiers = two, .count = 2}, program);
    function *sum = find(jit, "sum");
    assert_int_equal(sum(4), 10);
    const void *own;
    function *const is_own = clients_own;
    memcpy(&own, &is_own, sizeof own);
    check(tn_redirect(tn_jit_library(jit), "sum", own, &err), &err);
    check(tn_jit_request_tier(jit, "sum", 1, &err), &err);
    wait_for_code(jit, "sum");
    assert_int_equal(sum(4), 1004);
    assert_int_equal(about(jit, "sum").tier, 0);
    /* Back to the first call: it goes to the first tier, whose counters tell again, and nothing is compiled again. */
    check(tn_redirect(tn_jit_library(jit), "sum", NULL, &err), &err);
    assert_int_equal(sum(100000), 100000L * 100001 / 2);
    wait_for_tier(jit, "sum", 1);
    assert_int_equal(sum(4), 10);
    struct tn_jit_stats stats = {.size = sizeof stats};
    tn_jit_stats(jit, &stats);
    assert_int_equal(stats.raised, 1);
    tn_jit_destroy(jit);
}

/* ---- failures ---- */

static int higher_calls;
static struct tn_jit *failing_jit;

/* Higher tiers fail, and are asked for again meanwhile. */
static int compile_first_only(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                              struct tn_error *err)
{
    if (!request->is_higher)
        return tn_codegen_compiler()->compile(module, request, object, err);
    __atomic_fetch_add(&higher_calls, 1, __ATOMIC_RELAXED);
    tn_jit_request_tier(failing_jit, "sum", 1, NULL);
    return tn__fail(err, TN_ECOMPILE, "%s: not again", request->name);
}

static void failures_are_told_once(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_compiler failing = *tn_codegen_compiler();
    failing.compile = compile_first_only;
    struct tn_jit *jit = create(&(struct setup){.tiers = two, .count = 2, .compiler = &failing}, program);
    function *sum = find(jit, "sum");
    failing_jit = jit;
    higher_calls = 0;
    assert_int_equal(sum(100000), 100000L * 100001 / 2);
    while (!about(jit, "sum").failed)
        rest();
    assert_int_equal(about(jit, "sum").failed, TN_ECOMPILE);
    check(tn_jit_request_tier(jit, "sum", 1, &err), &err);
    assert_int_equal(sum(1000000), 1000000L * 1000001 / 2);
    for (int i = 0; i < 20; i++)
        rest();
    assert_int_equal(higher_calls, 1);
    assert_int_equal(errors, 1);
    assert_int_equal(about(jit, "sum").tier, 0);
    tn_jit_destroy(jit);
}

static void bytes_are_limited(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_jit *jit = create(&(struct setup){.tiers = two, .count = 2, .bytes = 1}, program);
    check(tn_jit_request_tier(jit, "sum", 1, &err), &err);
    wait_for_tier(jit, "sum", 1);
    check(tn_jit_request_tier(jit, "call", 1, &err), &err);
    for (int i = 0; i < 20; i++)
        rest();
    assert_int_equal(about(jit, "call").tier, 0);
    tn_jit_destroy(jit);
}

/* ---- samples ---- */

static void samples_are_counted(void **state)
{
    (void)state;
    struct tn_jit *jit = create(&(struct setup){.tiers = two, .count = 2}, program);
    struct tn_jit *other = create(&(struct setup){.tiers = two, .count = 2}, program);
    struct tn_error err;
    void *body;
    assert_int_equal(find(jit, "sum")(4), 10);
    check(tn_lookup(tn_jit_library(jit), "sum$body", &body, &err), &err);
    for (int i = 0; i < 3; i++)
        tn_jit_sample(jit, (char *)body + i);
    tn_jit_sample(jit, &err);
    assert_int_equal(about(other, "sum").samples, 0); /* this takes samples of all JITs, and loses none */
    while (about(jit, "sum").samples < 3)
        rest();
    assert_int_equal(about(jit, "sum").samples, 3);
    assert_int_equal(about(jit, "call").samples, 0);
    tn_jit_destroy(other);
    tn_jit_destroy(jit);
}

/* ---- forks ---- */

static void forks(void **state)
{
    (void)state;
    struct tn_jit *jit = create(&(struct setup){.tiers = two, .count = 2}, program);
    struct tn_error err;
    /* Now the thread waits for work: the allocator of gcc's AddressSanitizer does not survive a fork while in use. */
    check(tn_jit_request_tier(jit, "call", 1, &err), &err);
    wait_for_tier(jit, "call", 1);
    for (int i = 0; i < 20; i++)
        rest();
    pid_t child = fork();
    if (!child) {
        alarm(SECONDS);
        /* The thread is not there; a request starts it anew. */
        bool good = tn_jit_request_tier(jit, "sum", 1, &err) == 0;
        while (good && about(jit, "sum").tier < 1)
            rest();
        good = good && find(jit, "sum")(4) == 10;
        tn_jit_destroy(jit);
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    check(tn_jit_request_tier(jit, "sum", 1, &err), &err);
    wait_for_tier(jit, "sum", 1);
    tn_jit_destroy(jit);
}

/* ---- many ---- */

static long resident_kb(void)
{
    long pages, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &pages, &resident), 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { KEEPS_WHAT_WAS_FREED = 1, REDEFINITIONS = 300, WARM = 100 };
#else
enum { KEEPS_WHAT_WAS_FREED = 0, REDEFINITIONS = 10000, WARM = 2500 };
#endif

/* Every version is called often enough to be compiled again, and replaced before, while or after that happens. */
static void ten_thousand_redefinitions(void **state)
{
    (void)state;
    static const struct tn_tier soon[] = {{0, 3, 0}, {1, 0, 0}};
    struct tn_jit *jit = create(&(struct setup){.tiers = soon, .count = 2}, NULL);
    struct tn_error err;
    long warm = 0;
    for (long i = 0; i < REDEFINITIONS; i++) {
        char ir[200];
        snprintf(ir, sizeof ir, "define i64 @f(i64 %%x) {\n  %%r = add i64 %%x, %ld\n  ret i64 %%r\n}\n", i);
        const struct tn_jit_module module = {.size = sizeof module, .name = "f", .ir = ir, .length = strlen(ir)};
        check(tn_jit_replace(jit, NULL, &module, &err), &err);
        function *f = find(jit, "f");
        for (int k = 0; k < 8; k++)
            assert_int_equal(f(k), i + k);
        warm = i == WARM ? resident_kb() : warm;
    }
    assert_int_equal(errors, 0);
    assert_true(KEEPS_WHAT_WAS_FREED || resident_kb() - warm < 3000);
    tn_jit_destroy(jit);
}

/* Threads call while tiers swap, the client redirects, and modules are retired and come back. */
enum { THREADS = 8, ROUNDS = 200 };

static struct {
    struct tn_jit *jit;
    function *sum, *call;
    atomic_bool ends;
} storm;

static void *call_on(void *unused)
{
    (void)unused;
    tn_thread_attach();
    for (long i = 0; !atomic_load(&storm.ends); i++) {
        long n = i % 50, good = n * (n + 1) / 2, got = storm.sum(n);
        if (got != good && got != n + 1000 && got != -1)
            fail_msg("sum(%ld) is %ld", n, got);
        got = storm.call(n);
        if (got != good && got != n + 1000 && got != -1)
            fail_msg("call(%ld) is %ld", n, got);
        tn_thread_quiescent();
    }
    tn_thread_detach();
    return NULL;
}

static void storms(void **state)
{
    (void)state;
    static const struct tn_tier soon[] = {{0, 20, 10}, {1, 100, 0}, {2, 0, 0}};
    struct tn_error err;
    pthread_t threads[THREADS];
    const void *own;
    function *const is_own = clients_own;
    memcpy(&own, &is_own, sizeof own);
    storm.jit = create(&(struct setup){.tiers = soon, .count = 3}, program);
    storm.sum = find(storm.jit, "sum");
    storm.call = find(storm.jit, "call");
    atomic_store(&storm.ends, false);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_on, NULL), 0);
    struct tn_library *library = tn_jit_library(storm.jit), *others;
    check(tn_library_create(tn_jit_session(storm.jit), "others", &others, &err), &err);
    for (int round = 0; round < ROUNDS; round++) {
        struct tn_tracker *tracker;
        check(tn_redirect(library, round % 2 ? "sum" : "call", own, &err), &err);
        check(tn_tracker_create(others, &tracker, &err), &err);
        add(storm.jit, others, program, tracker);
        struct tn_wanted wanted = {"sum", 0, NULL};
        check(tn_lookup_all(others, &wanted, 1, &err), &err);
        function *sum;
        memcpy(&sum, &wanted.address, sizeof sum);
        assert_int_equal(sum(1000), 1000 * 1001 / 2);
        check(tn_jit_request_tier(storm.jit, "call", 2, &err), &err);
        check(tn_redirect(library, round % 2 ? "sum" : "call", NULL, &err), &err);
        check(tn_tracker_retire(tracker, &err), &err);
        tn_tracker_destroy(tracker);
    }
    atomic_store(&storm.ends, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(errors, 0);
    tn_jit_destroy(storm.jit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_raise),
        cmocka_unit_test(loops_raise),
        cmocka_unit_test(callees_are_inlined),
        cmocka_unit_test(first_tiers),
        cmocka_unit_test(requests),
        cmocka_unit_test(options_that_are_refused),
        cmocka_unit_test(redirections_win),
        cmocka_unit_test(failures_are_told_once),
        cmocka_unit_test(bytes_are_limited),
        cmocka_unit_test(samples_are_counted),
        cmocka_unit_test(forks),
        cmocka_unit_test(ten_thousand_redefinitions),
        cmocka_unit_test(storms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
