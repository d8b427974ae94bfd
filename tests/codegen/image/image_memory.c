/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images, each allocation of which is refused in turn: it is said, nothing is left, and the next one is as it should
 * be. */

#include "base/os.h"
#include "support.h"

static const char ir[] = "@table = constant [1 x ptr] [ptr @looping]\n"
                         "@count = thread_local global i32 0\n"
                         "declare void @other(i32)\n"
                         "define internal void @looping(i32 %n) {\n"
                         "entry:\n"
                         "  br label %again\n"
                         "again:\n"
                         "  %i = phi i32 [ 0, %entry ], [ %next, %again ]\n"
                         "  call void @other(i32 %i)\n"
                         "  %next = add i32 %i, 1\n"
                         "  %more = icmp slt i32 %next, %n\n"
                         "  br i1 %more, label %again, label %end\n"
                         "end:\n"
                         "  ret void\n"
                         "}\n"
                         "define ptr @first(i32 %n) {\n"
                         "  call void @looping(i32 %n)\n"
                         "  store i32 %n, ptr @count\n"
                         "  ret ptr @table\n"
                         "}\n"
                         "define i32 @second() {\n"
                         "  ret i32 2\n"
                         "}\n";

static const char *const roots[] = {"first", "second", "table"};
static const struct tn_image_input input = {"image.ll", ir, sizeof ir - 1};
static const struct tn_image_dependency dependency = {.name = "base", .build_id = {1}};
static struct tn_image_options options = {.size = sizeof options,
                                          .targets = "x86-64;x86-64-v3,-avx2;haswell,clone_all",
                                          .triple = "x86_64-linux-gnu",
                                          .roots = roots,
                                          .root_count = 3,
                                          .shards = 2,
                                          .outputs = 1 << TN_IMAGE_OBJECTS | 1 << TN_IMAGE_UNOPTIMIZED,
                                          .dependencies = &dependency,
                                          .dependency_count = 1};
static struct tn_buffer sound[TN_IMAGE_OUTPUTS];

static int build(struct tn_buffer *out, struct tn_error *err)
{
    return tn_image_build(&input, 1, &options, out, NULL, err);
}

static int build_shard(struct tn_buffer *out, struct tn_error *err)
{
    return tn_image_build_shard(&input, 1, &options, 1, out, NULL, err);
}

static int link_shared(struct tn_buffer *out, struct tn_error *err)
{
    const struct tn_input archive = {
        .size = sizeof archive, .name = "image", .bytes = sound->data, .length = sound->size};
    return tn_image_link(&archive, 1, NULL, out, err);
}

/* Lets one allocation fail after the other until all are granted. Some are optional, as that of a context to be used
 * again: without them all is well too; never of several in a row. */
static void refuse_each(int (*make)(struct tn_buffer *out, struct tn_error *err), size_t least)
{
    enum { IN_A_ROW = 8 };
    struct tn_buffer whole[TN_IMAGE_OUTPUTS] = {0};
    struct tn_error err;
    size_t refused = 0;
    assert_int_equal(make(whole, &err), 0);
    for (int good = 0, number = 1; good < IN_A_ROW; number++) {
        struct tn_buffer out[TN_IMAGE_OUTPUTS] = {0};
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", number);
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = make(out, &err);
        tn__os_set_faults(NULL);
        good = code ? 0 : good + 1;
        if (code && code != TN_ENOMEM)
            fail_msg("allocation %d: %s: %s", number, tn_error_name(code), err.text);
        refused += code != 0;
        for (int i = 0; i < TN_IMAGE_OUTPUTS; i++) {
            assert_int_equal(out[i].size, code ? 0 : whole[i].size);
            if (whole[i].size && !code)
                assert_memory_equal(out[i].data, whole[i].data, whole[i].size);
            tn_buffer_free(&out[i]);
        }
    }
    if (refused < least)
        fail_msg("%zu allocations were refused", refused);
    for (int i = 0; i < TN_IMAGE_OUTPUTS; i++)
        tn_buffer_free(&whole[i]);
}

static void building(void **state)
{
    (void)state;
    options.threads = 1;
    refuse_each(build, 40);
    options.threads = 2;
    refuse_each(build, 40);
}

static void building_a_shard(void **state)
{
    (void)state;
    refuse_each(build_shard, 10);
}

static void linking(void **state)
{
    struct tn_error err;
    (void)state;
    assert_int_equal(build(sound, &err), 0);
    refuse_each(link_shared, 7);
    for (int i = 0; i < TN_IMAGE_OUTPUTS; i++)
        tn_buffer_free(&sound[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(building),
        cmocka_unit_test(building_a_shard),
        cmocka_unit_test(linking),
    };
    return cmocka_run_group_tests_name("image_memory", tests, NULL, NULL);
}
