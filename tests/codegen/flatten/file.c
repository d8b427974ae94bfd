/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lua, zlib with zstd, and SQLite as flat files: all functions that flatten come back, compile to the code that they
 * compile to directly, and are written again as they were. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <cmocka.h>

#include "base/os.h"
#include "baseline/file/file.h"
#include "codegen/flatten/flatten.h"
#include "codegen/target/target.h"
#include "llvm_module.h"

/* PROGRAMS comes from rules.mk. */
static const char *const programs[] = {PROGRAMS};

static void check(int code, const struct tn_error *err)
{
    if (code)
        fail_msg("%s", err->text);
}

static LLVMModuleRef read_module(LLVMContextRef context, const char *path)
{
    struct tn__os_file file;
    if (tn__os_map_file(path, &file))
        fail_msg("%s cannot be read", path);
    LLVMModuleRef module = parse_module(context, file.bytes, file.size);
    tn__os_unmap_file(&file);
    return module;
}

static void count_left(void *context, LLVMValueRef function, const char *why)
{
    (void)function;
    *(uint64_t *)context += why != NULL;
}

/* ---- compiling what was read ---- */

static struct tn__code_symbol *make_symbols(const struct tn__flat_file *file)
{
    struct tn__code_symbol *symbols = tn__alloc_zeroed(NULL, file->symbol_count + 1, sizeof *symbols);
    assert_non_null(symbols);
    for (uint32_t i = 0; i < file->symbol_count; i++) {
        const struct tn__flat_symbol *s = &file->symbols[i];
        bool may_lack = s->binding == TN__FLAT_WEAK && !file->defined[i];
        bool is_near = s->binding == TN__FLAT_LOCAL || s->flags & TN__FLAT_DIRECT;
        symbols[i] = (struct tn__code_symbol){s->name, is_near && !may_lack, may_lack, s->visibility};
    }
    return symbols;
}

static void compile(const struct tn__flat_file *file, const struct tn__code_symbol *symbols, struct tn__code *code)
{
    struct tn__flat flat = {0};
    struct tn__flat_analysis analysis = {0};
    struct tn__x64_scratch *scratch = NULL;
    struct tn_error err;
    for (uint32_t i = 0; i < file->function_count; i++) {
        check(tn__flat_read_function(file, i, &flat, &err), &err);
        assert_true(tn__flat_analyse(&flat, &analysis));
        check(tn__x64_compile(&flat, &analysis, symbols, &scratch, code, &err), &err);
    }
    tn__flat_free(&flat);
    tn__flat_analysis_free(&analysis);
    tn__x64_scratch_free(scratch);
}

static void compare(const struct tn__baseline_object *object, const struct tn__flat_file *file)
{
    struct tn__code code = {0};
    struct tn__code_symbol *symbols = make_symbols(file);
    compile(file, symbols, &code);
    assert_int_equal(code.function_count, object->code.function_count);
    assert_int_equal(code.size, object->code.size);
    assert_memory_equal(code.bytes, object->code.bytes, code.size);
    assert_int_equal(code.reloc_count, object->code.reloc_count);
    for (size_t i = 0; i < code.reloc_count; i++) {
        const struct tn__code_reloc *a = &code.relocs[i], *b = &object->code.relocs[i];
        assert_true(a->offset == b->offset && a->type == b->type && a->addend == b->addend);
        assert_string_equal(symbols[a->symbol].name, object->symbols[b->symbol].name);
    }
    assert_int_equal(code.frames_size, object->code.frames_size);
    assert_memory_equal(code.frames, object->code.frames, code.frames_size);
    tn__free(NULL, symbols);
    tn__code_free(&code);
}

/* ---- writing again ---- */

static void write_again(const struct tn__flat_file *file, struct tn_buffer *out)
{
    struct tn__flat_writer w = {0};
    struct tn__flat flat = {0};
    struct tn_error err;
    for (uint32_t i = 0; i < file->function_count; i++) {
        check(tn__flat_read_function(file, i, &flat, &err), &err);
        tn__flat_write_function(&w, file->functions[i].symbol, &flat);
    }
    const struct tn__flat_pointer *pointers = file->pointers;
    for (uint32_t i = 0; i < file->data_count; pointers += file->data[i++].pointer_count)
        tn__flat_write_data(&w, &file->data[i], pointers);
    for (uint32_t i = 0; i < file->symbol_count; i++)
        tn__flat_write_symbol(&w, &file->symbols[i]);
    check(tn__flat_write_end(&w, out, &err), &err);
    tn__flat_writer_free(&w);
    tn__flat_free(&flat);
}

static void check_written_again(const struct tn__flat_file *file)
{
    struct tn_buffer again, texts[2];
    struct tn__flat_file second;
    struct tn_error err;
    write_again(file, &again);
    check(tn__flat_read(again.data, again.size, &second, &err), &err);
    check(tn__flat_text(file, &texts[0], &err), &err);
    check(tn__flat_text(&second, &texts[1], &err), &err);
    assert_int_equal(texts[0].size, texts[1].size);
    assert_memory_equal(texts[0].data, texts[1].data, texts[0].size);
    tn_buffer_free(&texts[0]);
    tn_buffer_free(&texts[1]);
    tn_buffer_free(&again);
    tn__flat_file_free(&second);
}

static void test_programs(void **state)
{
    struct utsname machine;
    (void)state;
    uname(&machine);
    if (strcmp(machine.machine, "x86_64") != 0)
        skip();
    for (size_t i = 0; i < TN_COUNT(programs); i++) {
        const struct tn_compile_options options = {.size = sizeof options};
        struct tn__target target = {0};
        struct tn__baseline_object object = {0};
        struct tn__flattened done = {0};
        struct tn_buffer bytes = {0};
        struct tn__flat_file file;
        struct tn_error err;
        uint64_t left[2] = {0};
        LLVMContextRef context = LLVMContextCreate();
        LLVMModuleRef direct = read_module(context, programs[i]), filed = read_module(context, programs[i]);
        check(tn__target_open(&target, &options, LLVMGetTarget(direct), &err), &err);
        check(tn__flatten_module(direct, target.machine, count_left, &left[0], &object, &done, &err), &err);
        check(tn__flatten_file(filed, target.machine, count_left, &left[1], &bytes, &err), &err);
        check(tn__flat_read(bytes.data, bytes.size, &file, &err), &err);
        print_message("%s: %u functions, %u variables, %zu bytes; %u functions are left\n", programs[i],
                      file.function_count, file.data_count, bytes.size, (unsigned)left[1]);
        assert_int_equal(left[0], left[1]);
        assert_true(file.function_count > 500);
        compare(&object, &file);
        check_written_again(&file);
        tn__flat_file_free(&file);
        tn_buffer_free(&bytes);
        tn__baseline_object_free(&object);
        tn__target_close(&target);
        LLVMDisposeModule(direct);
        LLVMDisposeModule(filed);
        LLVMContextDispose(context);
    }
}

/* What is left out is as if it were defined elsewhere, and no error. */
static void test_left_out(void **state)
{
    static const char text[] = "target triple = \"x86_64-linux-gnu\"\n"
                               "@data = global i32 1\n"
                               "@own = thread_local global i32 1\n"
                               "@other = alias i32, ptr @data\n"
                               "define ptr @f() {\n ret ptr @other\n}\n"
                               "define fp128 @left(fp128 %x) {\n ret fp128 %x\n}\n";
    const struct tn_compile_options options = {.size = sizeof options};
    struct tn__target target = {0};
    struct tn_buffer bytes = {0};
    struct tn__flat_file file;
    struct tn_error err = {0};
    uint64_t left = 0;
    (void)state;
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = parse_module(context, text, sizeof text - 1);
    check(tn__target_open(&target, &options, LLVMGetTarget(module), &err), &err);
    check(tn__flatten_file(module, target.machine, count_left, &left, &bytes, &err), &err);
    assert_int_equal(err.code, 0);
    assert_int_equal(left, 1);
    check(tn__flat_read(bytes.data, bytes.size, &file, &err), &err);
    assert_int_equal(file.function_count, 1);
    assert_int_equal(file.data_count, 1);
    tn__flat_file_free(&file);
    tn_buffer_free(&bytes);
    tn__target_close(&target);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
}

/* ---- memory ---- */

static long growths_left = -1; /* so many arrays grow until one does not; -1: all do */

bool __real_tn__grow(const struct tn_allocator *from, void *array, size_t *capacity, size_t need, size_t size);
bool __wrap_tn__grow(const struct tn_allocator *from, void *array, size_t *capacity, size_t need, size_t size);

bool __wrap_tn__grow(const struct tn_allocator *from, void *array, size_t *capacity, size_t need, size_t size)
{
    bool fails = need > *capacity && growths_left >= 0 && growths_left-- == 0;
    return !fails && __real_tn__grow(from, array, capacity, need, size);
}

/* Of a function whose first instruction becomes several. */
static int flatten_with(const char *instruction, long growths)
{
    static const char text[] = "target triple = \"x86_64-linux-gnu\"\n"
                               "@block = external thread_local global i64\n"
                               "declare void @tn__gc_barrier_row(...)\n"
                               "declare void @tn__gc_log(ptr, ptr, ptr)\n"
                               "declare { i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32)\n"
                               "define void @f(ptr addrspace(10) %%o, i32 %%i) {\n %s\n ret void\n}\n";
    const struct tn_compile_options options = {.size = sizeof options};
    struct tn__target target = {0};
    struct tn__baseline_object object = {0};
    struct tn__flattened done = {0};
    struct tn_error err = {0};
    uint64_t left = 0;
    char ir[1000];
    int length = snprintf(ir, sizeof ir, text, instruction);
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = parse_module(context, ir, (size_t)length);
    check(tn__target_open(&target, &options, LLVMGetTarget(module), &err), &err);
    growths_left = growths;
    int code = tn__flatten_module(module, target.machine, count_left, &left, &object, &done, &err);
    growths_left = -1;
    assert_int_equal(left, 0);
    tn__baseline_object_free(&object);
    tn__target_close(&target);
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
    return code;
}

static void test_memory(void **state)
{
    static const char *const instructions[] = {
        "call void (...) @tn__gc_barrier_row(ptr addrspace(10) %o, ptr null, ptr addrspace(10) %o, i1 false, "
        "ptr @tn__gc_log, ptr @block)",
        "%r = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %i, i32 %i)",
    };
    (void)state;
    for (size_t i = 0; i < TN_COUNT(instructions); i++) {
        long growths = 0;
        int code;
        while ((code = flatten_with(instructions[i], growths)))
            assert_int_equal((growths++, code), TN_ENOMEM);
        assert_true(growths > 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_programs), cmocka_unit_test(test_left_out),
                                       cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
