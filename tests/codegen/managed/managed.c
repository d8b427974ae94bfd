/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling managed code through the API: options, counters, and memory that runs out in the middle of a pass. What
 * the passes do is tested in tests/ir. */

#include "abandon.h"
#include "base/os.h"
#include "support.h"

static const char managed[] =
    "declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))\n"
    "declare void @native() \n"
    "define ptr addrspace(10) @f(ptr addrspace(10) %o, ptr addrspace(10) %p, i64 %n, i1 %c) {\n"
    "  %d = addrspacecast ptr addrspace(10) %o to ptr addrspace(11)\n"
    "  %e = addrspacecast ptr addrspace(10) %p to ptr addrspace(11)\n"
    "  %s = select i1 %c, ptr addrspace(11) %d, ptr addrspace(11) %e\n"
    "  br label %loop\n"
    "loop:\n"
    "  %i = phi i64 [ 0, %0 ], [ %j, %loop ]\n"
    "  call void @native()\n"
    "  %x = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) null)\n"
    "  store ptr addrspace(10) %x, ptr addrspace(11) %s\n"
    "  %j = add i64 %i, 1\n"
    "  %l = icmp ult i64 %j, %n\n"
    "  br i1 %l, label %loop, label %done\n"
    "done:\n"
    "  ret ptr addrspace(10) %o\n"
    "}\n";

static const char plain[] = "define i64 @f(i64 %n) {\n  ret i64 %n\n}\n";

static int try_compile(const char *ir, const struct tn_compile_options *options, struct tn_buffer *out,
                       struct tn_compile_stats *stats, struct tn_error *err)
{
    return tn_compile("managed.ll", ir, strlen(ir), options, out, stats, err);
}

static void counters(void **state)
{
    (void)state;
    struct tn_compile_options options = {.size = sizeof options, .opt_level = 0, .polls = TN_POLL_LOOPS};
    struct tn_compile_stats stats = {.size = sizeof stats};
    struct tn_buffer out;
    struct tn_error err;
    assert_int_equal(try_compile(managed, &options, &out, &stats, &err), 0);
    assert_int_equal(stats.inline_allocations, 1);
    assert_int_equal(stats.barriers, 1);
    assert_int_equal(stats.polls, 0);      /* the loop allocates */
    assert_int_equal(stats.base_phis, 1);  /* the select's twin, which barriers and roots share */
    assert_int_equal(stats.safepoints, 3); /* native, the slow side of allocation, the body called by its entry */
    tn_buffer_free(&out);

    assert_int_equal(try_compile(plain, &options, &out, &stats, &err), 0);
    assert_int_equal(stats.safepoints + stats.live_references + stats.barriers, 0);
    tn_buffer_free(&out);
}

static bool contains(const struct tn_buffer *buffer, const char *text)
{
    return memmem(buffer->data, buffer->size, text, strlen(text)) != NULL;
}

/* Plain modules pay nothing: no section, no symbol, no entry. */
static void plain_modules(void **state)
{
    (void)state;
    struct tn_compile_options options = {.size = sizeof options, .polls = TN_POLL_LOOPS | TN_POLL_ENTRIES};
    struct tn_buffer out;
    struct tn_error err;
    assert_int_equal(try_compile(plain, &options, &out, NULL, &err), 0);
    assert_false(contains(&out, "tenon_maps"));
    assert_false(contains(&out, "tn__gc"));
    tn_buffer_free(&out);
    assert_int_equal(try_compile(managed, &options, &out, NULL, &err), 0);
    assert_true(contains(&out, "tenon_maps"));
    assert_true(contains(&out, "tn__gc_call_native"));
    tn_buffer_free(&out);
}

static void options_are_checked(void **state)
{
    (void)state;
    struct tn_compile_options options = {.size = sizeof options, .polls = 3};
    struct tn_buffer out;
    struct tn_error err;
    assert_int_equal(try_compile(managed, &options, &out, NULL, &err), 0);
    tn_buffer_free(&out);
    options.polls = 4;
    assert_int_equal(try_compile(managed, &options, &out, NULL, &err), TN_EINVAL);
    options.polls = 0;
    options.passes = "gc-verify,no-such-pass";
    assert_int_equal(try_compile(managed, &options, &out, NULL, &err), TN_EINVAL);
    assert_non_null(strstr(err.text, "no-such-pass"));
    options.passes = "gc-verify"; /* enough for IR, not for an object: its stores would have no barriers */
    assert_int_equal(try_compile(managed, &options, &out, NULL, &err), TN_ECOMPILE);
    assert_non_null(strstr(err.text, "intrinsic-lowering"));
    assert_null(out.data);
    options.emit = TN_EMIT_BITCODE;
    assert_int_equal(try_compile(managed, &options, &out, NULL, &err), 0);
    tn_buffer_free(&out);
}

/* Every allocation of the passes fails in turn; the next compilation works. */
static void memory_runs_out(void **state)
{
    (void)state;
    struct tn_compile_options options = {.size = sizeof options, .opt_level = 1, .polls = TN_POLL_LOOPS};
    struct tn_buffer out;
    struct tn_error err;
    int code = TN_ENOMEM, failures = 0;
    for (int number = 1; code != 0 && number < 2000; number++) {
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", number);
        assert_int_equal(tn__os_set_faults(plan), 0);
        code = try_compile(managed, &options, &out, NULL, &err);
        tn__os_set_faults(NULL);
        if (code)
            assert_int_equal(code, TN_ENOMEM);
        failures += code != 0;
        tn_buffer_free(&out);
        assert_int_equal(try_compile(managed, &options, &out, NULL, &err), 0);
        tn_buffer_free(&out);
    }
    assert_int_equal(code, 0);
    assert_true(failures >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters),
        cmocka_unit_test(plain_modules),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
