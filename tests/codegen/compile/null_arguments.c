/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every function of libtenon_codegen.a that can fail refuses NULL for a pointer that it needs (tenon/base.h). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tenon_codegen.h"

static struct tn_error err;

#define REFUSED(call) assert_int_equal((call), TN_EINVAL)

static void test_without_any(void **state)
{
    (void)state;
    REFUSED(tn_pass_text(NULL, NULL, &err));
    REFUSED(tn_compile(NULL, NULL, 0, NULL, NULL, NULL, &err));
    REFUSED(tn_jit_create(NULL, NULL, &err));
    REFUSED(tn_jit_add_module(NULL, NULL, NULL, &err));
    REFUSED(tn_jit_lookup(NULL, NULL, NULL, &err));
    REFUSED(tn_jit_link(NULL, NULL, NULL, 0, &err));
    REFUSED(tn_jit_run_initializers(NULL, NULL, 0, NULL, NULL, &err));
    REFUSED(tn_image_build(NULL, 0, NULL, NULL, NULL, &err));
    REFUSED(tn_image_count_shards(NULL, 0, NULL, NULL, &err));
    REFUSED(tn_image_build_shard(NULL, 0, NULL, 0, NULL, NULL, &err));
    REFUSED(tn_image_link(NULL, 0, NULL, NULL, &err));
    REFUSED(tn_jit_build_image(NULL, NULL, NULL, NULL, NULL, &err));
    REFUSED(tn_observe_sources(NULL, &err));
    REFUSED(tn_symbolize_source(NULL, NULL, NULL, NULL, &err));
}

/* One argument being there must not hide that another is not. */
static void test_one_missing(void **state)
{
    (void)state;
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    const struct tn_pass pass = {.name = "none"};
    size_t shards;
    REFUSED(tn_pass_text(NULL, out, &err));
    REFUSED(tn_pass_text(&pass, NULL, &err));
    REFUSED(tn_compile("name", NULL, 1, NULL, out, NULL, &err));
    REFUSED(tn_compile("name", "", 0, NULL, NULL, NULL, &err));
    REFUSED(tn_image_build(NULL, 1, NULL, out, NULL, &err));
    REFUSED(tn_image_build_shard(NULL, 1, NULL, 0, out, NULL, &err));
    REFUSED(tn_image_count_shards(NULL, 1, NULL, &shards, &err));
    REFUSED(tn_image_link(NULL, 1, NULL, out, &err));
}

static void test_jit(void **state)
{
    (void)state;
    struct tn_jit *jit;
    void *address;
    assert_int_equal(tn_jit_create(NULL, &jit, &err), 0);
    REFUSED(tn_jit_lookup(NULL, "name", &address, &err));
    REFUSED(tn_jit_lookup(jit, NULL, &address, &err));
    REFUSED(tn_jit_lookup(jit, "name", NULL, &err));
    REFUSED(tn_jit_add_module(jit, NULL, NULL, &err));
    REFUSED(tn_jit_build_image(jit, NULL, NULL, NULL, NULL, &err));
    tn_jit_destroy(jit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_any),
        cmocka_unit_test(test_one_missing),
        cmocka_unit_test(test_jit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
