/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The options that heaps take from the environment, and the default heap. */

#include "support.h"

static void options_from_the_environment(void **state)
{
    static const struct {
        const char *name, *value;
        int code;
        uint64_t flags, limit;
    } rows[] = {
        {"TENON_GC", "copy", 0, 0, 0},
        {"TENON_GC", "other", TN_EINVAL, 0, 0},
        {"TENON_GC", "", 0, 0, 0},
        {"TENON_GC_STRESS", "1", 0, TN_HEAP_STRESS, 0},
        {"TENON_GC_STRESS", "0", 0, 0, 0},
        {"TENON_GC_STRESS", "", 0, 0, 0},
        {"TENON_GC_STRESS", "yes", TN_EINVAL, 0, 0},
        {"TENON_GC_VERIFY", "1", 0, TN_HEAP_VERIFY, 0},
        {"TENON_GC_VERIFY", "2", TN_EINVAL, 0, 0},
        {"TENON_GC_LIMIT", "1048576", 0, 0, 1 << 20},
        {"TENON_GC_LIMIT", "1M", TN_EINVAL, 0, 0},
        {"TENON_GC_LIMIT", "", 0, 0, 0},
        {"TENON_GC_LIMIT", " ", TN_EINVAL, 0, 0},
        {"TENON_GC_LIMIT", "-1", TN_EINVAL, 0, 0},
        {"TENON_GC_LIMIT", "18446744073709551615", 0, 0, UINT64_MAX},
        {"TENON_GC_LIMIT", "18446744073709551616", TN_EINVAL, 0, 0},
        {"TENON_GC_SOFT_LIMIT", "4096", 0, 0, 4096},
        {"TENON_GC_SOFT_LIMIT", "4k", TN_EINVAL, 0, 0},
        {"TENON_GC_EXTRA", "10000", 0, 0, 0},
        {"TENON_GC_EXTRA", "10001", TN_EINVAL, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn_heap_options options;
        setenv(rows[i].name, rows[i].value, 1);
        int code = tn_heap_options_from_environment(&options, &err);
        unsetenv(rows[i].name);
        if (code != rows[i].code || (code && !strstr(err.text, rows[i].name)))
            fail_msg("%s=%s: %d %s", rows[i].name, rows[i].value, code, code ? err.text : "");
        if (!code) {
            assert_int_equal(options.flags, rows[i].flags);
            assert_int_equal(options.limit | options.soft_limit, rows[i].limit);
        }
    }
}

/* Uses an existing heap as the default heap. */
static void the_default_heap(void **state)
{
    struct tn_heap *heap = make_heap(state, 0), *found, *made, *again;
    tn_heap_set_default(heap);
    assert_int_equal(tn_heap_default(&found, &err), 0);
    assert_ptr_equal(found, heap);
    tn_heap_destroy(heap);
    setenv("TENON_GC_LIMIT", "none", 1);
    assert_int_equal(tn_heap_default(&made, &err), TN_EINVAL);
    setenv("TENON_GC_LIMIT", "1048576", 1);
    assert_int_equal(tn_heap_default(&made, &err), 0);
    unsetenv("TENON_GC_LIMIT");
    assert_int_equal(tn_heap_default(&again, &err), 0);
    assert_ptr_equal(again, made);
    assert_int_equal(tn_heap_attach(made, &err), 0);
    struct tn_handle *large;
    assert_int_equal(tn_handle_new(made, &bytes_type, 2 << 20, &large, &err), TN_ENOMEM);
    tn_heap_destroy(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(the_default_heap),
        cmocka_unit_test(options_from_the_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
