/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every function of the runtime that can fail returns TN_EINVAL for required pointers that are NULL (tenon/base.h). For
 * libtenon_codegen.a: tests/codegen/compile/null_arguments.c. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tenon.h"
#include "tenon_cpu.h"
#include "tenon_heap.h"
#include "tenon_image.h"
#include "tenon_package.h"
#include "tenon_remote.h"

static struct tn_error err;

#define REFUSED(call) assert_int_equal((call), TN_EINVAL)

static void test_remote(void **state)
{
    (void)state;
    struct tn_compiler *out;
    REFUSED(tn_serve_compiler(NULL, NULL, &err));
    REFUSED(tn_compile_server_start(NULL, NULL, &err));
    REFUSED(tn_compile_server_start(NULL, &out, &err));
    REFUSED(tn_compile_server_connect(NULL, NULL, &out, &err));
    REFUSED(tn_compile_server_connect("fd:3", NULL, NULL, &err));
    REFUSED(tn_compile_server_connect("somewhere", NULL, &out, &err));
    REFUSED(tn_compile_server_compile(NULL, NULL, NULL, 0, NULL, NULL, NULL, &err));
}

static void test_linker(void **state)
{
    (void)state;
    REFUSED(tn_add_object(NULL, NULL, &err));
    REFUSED(tn_add_archive(NULL, NULL, &err));
    REFUSED(tn_add_file(NULL, NULL, &err));
    REFUSED(tn_add_section(NULL, NULL, &err));
    REFUSED(tn_define(NULL, NULL, NULL, &err));
    REFUSED(tn_define_alias(NULL, NULL, NULL, &err));
    REFUSED(tn_define_all(NULL, NULL, 0, NULL, &err));
    REFUSED(tn_reexport(NULL, NULL, 0, NULL, NULL, &err));
    REFUSED(tn_add_resolver(NULL, NULL, NULL, &err));
    REFUSED(tn_add_shared_library(NULL, NULL, &err));
    REFUSED(tn_instance_publish(NULL, NULL, NULL, &err));
    REFUSED(tn_instance_update(NULL, NULL, NULL, NULL, &err));
    REFUSED(tn_define_lazy(NULL, NULL, 0, NULL, NULL, &err));
    REFUSED(tn_define_redirectable(NULL, NULL, NULL, NULL, &err));
    REFUSED(tn_redirect(NULL, NULL, NULL, &err));
    REFUSED(tn_library_create(NULL, NULL, NULL, &err));
    REFUSED(tn_library_search(NULL, NULL, 0, &err));
    REFUSED(tn_library_clear(NULL, &err));
    REFUSED(tn_library_remove(NULL, &err));
    REFUSED(tn_library_remove_start(NULL, NULL, NULL, &err));
    REFUSED(tn_lookup_flags(NULL, NULL, 0, &err));
    REFUSED(tn_library_each_symbol(NULL, NULL, NULL, &err));
    REFUSED(tn_link(NULL, &err));
    REFUSED(tn_link_roots(NULL, NULL, 0, &err));
    REFUSED(tn_lookup(NULL, NULL, NULL, &err));
    REFUSED(tn_lookup_all(NULL, NULL, 0, &err));
    REFUSED(tn_lookup_async(NULL, NULL, 0, NULL, NULL, &err));
    REFUSED(tn_responsibility_lookup(NULL, NULL, NULL, 0, NULL, NULL, &err));
    REFUSED(tn_run_initializers(NULL, 0, NULL, NULL, &err));
    REFUSED(tn_add_materializer(NULL, NULL, &err));
    REFUSED(tn_responsibility_add_object(NULL, NULL, &err));
    REFUSED(tn_responsibility_define(NULL, NULL, 0, NULL, 0, &err));
    REFUSED(tn_responsibility_delegate(NULL, NULL, 0, NULL, &err));
    REFUSED(tn_responsibility_replace(NULL, NULL, &err));
    REFUSED(tn_responsibility_ready(NULL, &err));
    REFUSED(tn_responsibility_try(NULL, &err));
    REFUSED(tn_add_generator(NULL, NULL, NULL, &err));
    REFUSED(tn_remove_generator(NULL, NULL, NULL, NULL, &err));
    REFUSED(tn_remove_resolver(NULL, NULL, NULL, &err));
    REFUSED(tn_add_observer(NULL, NULL, &err));
    REFUSED(tn_observe_functions(NULL, &err));
    REFUSED(tn_symbolize(NULL, NULL, NULL, &err));
    REFUSED(tn_observe_gdb(NULL, &err));
    REFUSED(tn_session_seal(NULL, &err));
    REFUSED(tn_observe_perf(NULL, TN_PERF_MAP, NULL, &err));
    REFUSED(tn_session_create(NULL, NULL, &err));
    REFUSED(tn_tracker_create(NULL, NULL, &err));
    REFUSED(tn_tracker_transfer(NULL, NULL, &err));
    REFUSED(tn_tracker_remove(NULL, &err));
    REFUSED(tn_tracker_retire(NULL, &err));
    REFUSED(tn_add_lazy_object(NULL, NULL, NULL, &err));
    REFUSED(tn_tracker_retire_start(NULL, NULL, NULL, &err));
}

static void test_cpu_heap_image(void **state)
{
    (void)state;
    REFUSED(tn_cpu_feature(NULL, 0, NULL, &err));
    REFUSED(tn_cpu_host(NULL, &err));
    REFUSED(tn_cpu_limit(NULL, NULL, &err));
    REFUSED(tn_cpu_parse_targets(NULL, NULL, NULL, &err));
    REFUSED(tn_cpu_choose(NULL, NULL, NULL, NULL, &err));
    REFUSED(tn_heap_create(NULL, NULL, &err));
    REFUSED(tn_heap_attach(NULL, &err));
    REFUSED(tn_heap_options_from_environment(NULL, &err));
    REFUSED(tn_heap_default(NULL, &err));
    REFUSED(tn_handle_new(NULL, NULL, 0, NULL, &err));
    REFUSED(tn_handle_of(NULL, NULL, NULL, &err));
    REFUSED(tn_handle_read(NULL, 0, NULL, 0, &err));
    REFUSED(tn_handle_write(NULL, 0, NULL, 0, &err));
    REFUSED(tn_handle_load(NULL, 0, NULL, &err));
    REFUSED(tn_handle_store(NULL, 0, NULL, &err));
    REFUSED(tn_handle_pin(NULL, NULL, &err));
    REFUSED(tn_handle_finalize(NULL, NULL, NULL, &err));
    REFUSED(tn_roots_add(NULL, 0, &err));
    REFUSED(tn_observe_managed_code(NULL, &err));
    REFUSED(tn_define_managed_runtime(NULL, &err));
    REFUSED(tn_enable_managed_code(NULL, &err));
    REFUSED(tn_image_open_linked(NULL, NULL, NULL, &err));
    REFUSED(tn_image_open(NULL, NULL, NULL, &err));
    REFUSED(tn_image_open_memory(NULL, NULL, 0, NULL, NULL, &err));
    REFUSED(tn_image_observe_gdb(NULL, NULL, &err));
    REFUSED(tn_image_function(NULL, 0, NULL, &err));
    REFUSED(tn_image_publish(NULL, NULL, 0, NULL, &err));
    REFUSED(tn_package_cache_open(NULL, NULL, &err));
    REFUSED(tn_package_find(NULL, NULL, NULL, NULL, &err));
    REFUSED(tn_package_build(NULL, NULL, NULL, NULL, NULL, NULL, &err));
    REFUSED(tn_package_trim(NULL, 0, &err));
}

/* One missing argument at a time. */
static void test_one_missing(void **state)
{
    (void)state;
    const struct tn_cpu_arch *arch = tn_cpu_arch_host();
    struct tn_cpu cpu = {.size = sizeof cpu};
    struct tn_cpu_feature feature = {.size = sizeof feature};
    struct tn_cpu_targets *targets;
    struct tn_image *image;
    size_t chosen;
    assert_int_equal(tn_cpu_host(&cpu, &err), 0);
    assert_int_equal(tn_cpu_parse_targets("generic", NULL, &targets, &err), 0);
    REFUSED(tn_cpu_feature(NULL, 1, &feature, &err));
    REFUSED(tn_cpu_feature(arch, 1, NULL, &err));
    REFUSED(tn_cpu_limit(NULL, "generic", &err));
    REFUSED(tn_cpu_parse_targets(NULL, NULL, &targets, &err));
    REFUSED(tn_cpu_parse_targets("generic", NULL, NULL, &err));
    REFUSED(tn_cpu_choose(NULL, targets, NULL, &chosen, &err));
    REFUSED(tn_cpu_choose(&cpu, NULL, NULL, &chosen, &err));
    REFUSED(tn_cpu_choose(&cpu, targets, NULL, NULL, &err));
    REFUSED(tn_image_open(NULL, NULL, &image, &err));
    REFUSED(tn_image_open("/nowhere", NULL, NULL, &err));
    REFUSED(tn_image_open_linked(NULL, NULL, &image, &err));
    REFUSED(tn_image_open_linked(&cpu, NULL, NULL, &err));
    REFUSED(tn_image_open_memory("name", NULL, 1, NULL, &image, &err));
    REFUSED(tn_image_open_memory("name", &cpu, 1, NULL, NULL, &err));
    tn_cpu_targets_destroy(targets);
}

static void test_handles(void **state)
{
    (void)state;
    struct tn_heap *heap;
    struct tn_handle *handle;
    int value = 0;
    assert_int_equal(tn_heap_create(NULL, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    assert_int_equal(tn_handle_new(heap, &tn_weak_type, 0, &handle, &err), 0);
    REFUSED(tn_handle_new(NULL, &tn_weak_type, 0, &handle, &err));
    REFUSED(tn_handle_new(heap, NULL, 0, &handle, &err));
    REFUSED(tn_handle_new(heap, &tn_weak_type, 0, NULL, &err));
    REFUSED(tn_handle_of(NULL, NULL, &handle, &err));
    REFUSED(tn_handle_of(heap, NULL, NULL, &err));
    REFUSED(tn_handle_read(NULL, 0, &value, 4, &err));
    REFUSED(tn_handle_read(handle, 0, NULL, 4, &err));
    REFUSED(tn_handle_write(NULL, 0, &value, 4, &err));
    REFUSED(tn_handle_write(handle, 0, NULL, 4, &err));
    REFUSED(tn_handle_load(NULL, 0, handle, &err));
    REFUSED(tn_handle_load(handle, 0, NULL, &err));
    REFUSED(tn_handle_pin(handle, NULL, &err));
    tn_heap_detach();
    tn_heap_destroy(heap);
}

/* `err` itself may be NULL. */
static void test_without_err(void **state)
{
    (void)state;
    REFUSED(tn_link(NULL, NULL));
    REFUSED(tn_cpu_host(NULL, NULL));
    assert_int_equal(tn_cpu_limit(&(struct tn_cpu){.size = sizeof(struct tn_cpu)}, NULL, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote),      cmocka_unit_test(test_linker),  cmocka_unit_test(test_cpu_heap_image),
        cmocka_unit_test(test_one_missing), cmocka_unit_test(test_handles), cmocka_unit_test(test_without_err),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
