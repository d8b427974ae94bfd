/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images of managed code through the C interface: built of files and by a JIT, for several CPUs, and loaded into the
 * process that built them. */

#include "base/os.h"
#include "support.h"
#include "tenon_heap.h"
#include "tenon_image.h"

/* A list of n cells, and the sum of what they hold. */
static const char lists[] = "@cell_type = external global i8, align 16\n"
                            "declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))\n"
                            "define i64 @triangle(i64 %n) {\n"
                            "entry:\n"
                            "  br label %build\n"
                            "build:\n"
                            "  %i = phi i64 [ 0, %entry ], [ %next, %build ]\n"
                            "  %list = phi ptr addrspace(10) [ null, %entry ], [ %cell, %build ]\n"
                            "  %cell = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) "
                            "addrspacecast (ptr @cell_type "
                            "to ptr addrspace(10)))\n"
                            "  %inside = addrspacecast ptr addrspace(10) %cell to ptr addrspace(11)\n"
                            "  store i64 %i, ptr addrspace(11) %inside\n"
                            "  %link = getelementptr i8, ptr addrspace(11) %inside, i64 8\n"
                            "  store ptr addrspace(10) %list, ptr addrspace(11) %link\n"
                            "  %next = add i64 %i, 1\n"
                            "  %more = icmp sle i64 %next, %n\n"
                            "  br i1 %more, label %build, label %walk\n"
                            "walk:\n"
                            "  %at = phi ptr addrspace(10) [ %cell, %build ], [ %rest, %walk ]\n"
                            "  %sum = phi i64 [ 0, %build ], [ %sum.next, %walk ]\n"
                            "  %at.inside = addrspacecast ptr addrspace(10) %at to ptr addrspace(11)\n"
                            "  %value = load i64, ptr addrspace(11) %at.inside\n"
                            "  %sum.next = add i64 %sum, %value\n"
                            "  %at.link = getelementptr i8, ptr addrspace(11) %at.inside, i64 8\n"
                            "  %rest = load ptr addrspace(10), ptr addrspace(11) %at.link\n"
                            "  %is.end = icmp eq ptr addrspace(10) %rest, null\n"
                            "  br i1 %is.end, label %end, label %walk\n"
                            "end:\n"
                            "  ret i64 %sum.next\n"
                            "}\n";
/* No loop: one version, which calls through a slot, with a reference that has to be found meanwhile. */
static const char caller[] = "@cell_type = external global i8, align 16\n"
                             "declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))\n"
                             "declare i64 @triangle(i64)\n"
                             "define i64 @twice(i64 %n) {\n"
                             "  %cell = call ptr addrspace(10) @tenon.gc_alloc_obj(ptr null, i64 16, ptr addrspace(10) "
                             "addrspacecast (ptr @cell_type "
                             "to ptr addrspace(10)))\n"
                             "  %inside = addrspacecast ptr addrspace(10) %cell to ptr addrspace(11)\n"
                             "  store i64 %n, ptr addrspace(11) %inside\n"
                             "  %first = call i64 @triangle(i64 %n)\n"
                             "  %kept = load i64, ptr addrspace(11) %inside\n"
                             "  %second = call i64 @triangle(i64 %kept)\n"
                             "  %both = add i64 %first, %second\n"
                             "  ret i64 %both\n"
                             "}\n";
static const struct tn_image_input inputs[] = {{"lists", lists, sizeof lists - 1},
                                               {"caller", caller, sizeof caller - 1}};

static const struct tn_type cell_type = {
    .name = "cell", .kind = TN_KIND_FIXED, .alignment = 8, .size = 16, .references = 2};

static void *resolve(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "cell_type") == 0 ? (void *)(uintptr_t)&cell_type : NULL;
}

static const char targets[] = "x86-64;x86-64-v3;x86-64-v4";

static struct tn_buffer build(struct tn_image_options options)
{
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    struct tn_error err;
    options.size = sizeof options;
    options.targets = targets;
    options.opt_level = 2;
    if (tn_image_build(inputs, COUNT(inputs), &options, out, NULL, &err))
        fail_msg("%s", err.text);
    return out[0];
}

static struct tn_buffer link_file(const struct tn_buffer *archive)
{
    const struct tn_image_link_options options = {.size = sizeof options, .kind = TN_IMAGE_LOADABLE};
    const struct tn_input input = {
        .size = sizeof input, .name = "image", .bytes = archive->data, .length = archive->size};
    struct tn_buffer file;
    struct tn_error err;
    if (tn_image_link(&input, 1, &options, &file, &err))
        fail_msg("%s", err.text);
    return file;
}

/* The heap is the default one, under stress. */
static void runs_on(const struct tn_buffer *file, const char *model)
{
    struct tn_cpu cpu = {.size = sizeof cpu};
    struct tn_image_load_options options = {
        .size = sizeof options, .cpu = &cpu, .resolver = resolve, .managed = tn_managed_runtime()};
    struct tn_image *image;
    struct tn_error err;
    if (tn_cpu_host(&cpu, &err) || tn_cpu_limit(&cpu, model, &err))
        return; /* it is less */
    if (tn_image_open_memory("image", file->data, file->size, &options, &image, &err))
        fail_msg("%s", err.text);
    long (*twice)(long) = (long (*)(long))tn_image_lookup(image, "twice");
    assert_string_equal(tn_image_target(image, tn_image_chosen(image))->name, model);
    assert_int_equal(twice(100), 10100);
    tn_image_close(image);
}

static void versions_run(void **state)
{
    (void)state;
    struct tn_buffer archive = build((struct tn_image_options){.shards = 2, .threads = 2}), file = link_file(&archive);
    runs_on(&file, "x86-64");
    runs_on(&file, "x86-64-v3");
    runs_on(&file, "x86-64-v4");
    tn_buffer_free(&archive);
    tn_buffer_free(&file);
}

static void same_from_a_jit(void **state)
{
    const struct tn_compile_options compile = {DEFAULTS};
    const struct tn_jit_options jit_options = {.size = sizeof jit_options, .compile = &compile, .keep_ir = 1};
    const struct tn_image_options options = {.size = sizeof options, .targets = targets, .opt_level = 2, .shards = 2};
    struct tn_buffer out[TN_IMAGE_OUTPUTS], archive = build((struct tn_image_options){.shards = 2});
    struct tn_jit *jit;
    struct tn_error err;
    (void)state;
    if (tn_jit_create(&jit_options, &jit, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < COUNT(inputs); i++) {
        const struct tn_jit_module module = {
            .size = sizeof module, .name = inputs[i].name, .ir = inputs[i].ir, .length = inputs[i].length};
        assert_int_equal(tn_jit_add_module(jit, NULL, &module, &err), 0);
    }
    if (tn_jit_build_image(jit, NULL, &options, out, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(out->size, archive.size);
    assert_memory_equal(out->data, archive.data, archive.size);
    tn_jit_destroy(jit);
    tn_buffer_free(out);
    tn_buffer_free(&archive);
}

/* Once, by the function's own name, however many versions there are to be. */
static void errors_name_functions(void **state)
{
    static const char bad[] = "define i64 @number(ptr addrspace(10) %o) {\n"
                              "  %n = ptrtoint ptr addrspace(10) %o to i64\n"
                              "  ret i64 %n\n"
                              "}\n";
    const struct tn_image_input input = {"bad", bad, sizeof bad - 1};
    const struct tn_image_options options = {.size = sizeof options, .targets = "x86-64;x86-64-v3,clone_all"};
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    struct tn_error err;
    (void)state;
    assert_int_equal(tn_image_build(&input, 1, &options, out, NULL, &err), TN_ECOMPILE);
    assert_contains(err.text, "in function 'number'");
    assert_null(strstr(strstr(err.text, "[ptrtoint]") + 1, "[ptrtoint]"));
}

static void collector_is_needed(void **state)
{
    struct tn_buffer archive = build((struct tn_image_options){0}), file = link_file(&archive);
    const struct tn_image_load_options options = {.size = sizeof options, .resolver = resolve};
    struct tn_image *image;
    struct tn_error err;
    (void)state;
    assert_int_equal(tn_image_open_memory("image", file.data, file.size, &options, &image, &err), TN_ENOTSUP);
    assert_contains(err.text, "managed code");
    tn_buffer_free(&archive);
    tn_buffer_free(&file);
}

/* Whichever allocation fails, nothing of the file is left, and it can be opened afterwards. */
static void memory_runs_out(void **state)
{
    struct tn_buffer archive = build((struct tn_image_options){0}), file = link_file(&archive);
    const struct tn_image_load_options options = {
        .size = sizeof options, .resolver = resolve, .managed = tn_managed_runtime()};
    struct tn_image *image;
    struct tn_error err;
    int code = TN_ENOMEM;
    unsigned n;
    (void)state;
    for (n = 1; code != 0; n++) {
        char plan[20];
        snprintf(plan, sizeof plan, "a%u", n);
        assert_int_equal(tn__os_set_faults(plan), 0);
        code = tn_image_open_memory("image", file.data, file.size, &options, &image, &err);
        tn__os_set_faults(NULL);
        assert_true(!code || code == TN_ENOMEM);
    }
    assert_true(n > 3);
    assert_int_equal(((long (*)(long))tn_image_lookup(image, "twice"))(10), 110);
    tn_image_close(image);
    tn_buffer_free(&archive);
    tn_buffer_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_run),          cmocka_unit_test(same_from_a_jit),
        cmocka_unit_test(errors_name_functions), cmocka_unit_test(collector_is_needed),
        cmocka_unit_test(memory_runs_out),
    };
    setenv("TENON_GC_STRESS", "1", 1);
    setenv("TENON_GC_VERIFY", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
