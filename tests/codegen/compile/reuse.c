/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Passes of code generation are set up once for many modules, and contexts are used again. Objects must not tell: each
 * is compared with the one that a process of its own makes, which has compiled nothing before. In these processes
 * LLVM runs its passes itself, as it does where they are timed (src/codegen/target/emitter.cpp). One module is
 * compiled at levels 0 and 2, the next at 1 and 3; with WHOLE=1, each at all. */

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "abandon.h"
#include "support.h"

/* From rules.mk: programs that clang made, for three architectures, with debug information; the IR of tests/ir. */
static const char *const files[] = {REUSE};

/* What LLVM's passes might remember. */
static const char *const texts[] = {
    /* exceptions, tables of types, a jump table */
    "@t = external constant ptr\ndeclare i32 @__gxx_personality_v0(...)\ndeclare void @g(i32)\n"
    "define i32 @f(i32 %x) uwtable personality ptr @__gxx_personality_v0 {\n"
    "  invoke void @g(i32 %x) to label %fine unwind label %caught\n"
    "fine:\n  switch i32 %x, label %d [i32 0, label %a i32 1, label %b i32 2, label %c i32 3, label %d]\n"
    "a:\n  ret i32 17\nb:\n  ret i32 4\nc:\n  ret i32 91\nd:\n  ret i32 3\n"
    "caught:\n  %p = landingpad { ptr, i32 } catch ptr @t\n  %s = extractvalue { ptr, i32 } %p, 1\n  ret i32 %s\n}\n",
    /* no unwind tables at all */
    "define i64 @f(i64 %x) nounwind {\n  %y = mul i64 %x, 12345678901\n  ret i64 %y\n}\n",
    /* kept sections, and a function at an address that a kept one may have had */
    "@llvm.used = appending global [1 x ptr] [ptr @f], section \"llvm.metadata\"\n"
    "define internal void @f() {\n  ret void\n}\n",
    "define internal void @f() {\n  ret void\n}\ndefine void @g() {\n  call void @f()\n  ret void\n}\n",
    /* addresses of blocks, thread-local and common variables, groups, aliases */
    "$h = comdat any\n@v = thread_local global i32 7\n@c = common global [9 x i8] zeroinitializer\n"
    "@table = constant [2 x ptr] [ptr blockaddress(@h, %one), ptr blockaddress(@h, %two)]\n@a = alias i32, ptr @v\n"
    "define linkonce_odr ptr @h(i1 %x) comdat {\n  br i1 %x, label %one, label %two\n"
    "one:\n  ret ptr @c\ntwo:\n  ret ptr @v\n}\n",
    /* inline assembly that is right, and that is not */
    "module asm \".globl marked\\nmarked: .byte 1\"\n"
    "define void @f() {\n  call void asm sideeffect \".Lhere: nop\\n .quad .Lhere\", \"\"()\n  ret void\n}\n",
    "define void @f() {\n  call void asm sideeffect \"no instruction\", \"\"()\n  ret void\n}\n",
    /* what ends in LLVM's fatal-error handler */
    "define void @f() gc \"nonesuch\" {\n  ret void\n}\n",
    /* stack maps that are not ours, split stacks, another collector */
    "declare void @llvm.experimental.stackmap(i64, i32, ...)\n"
    "define void @f(i32 %x) {\n  call void (i64, i32, ...) @llvm.experimental.stackmap(i64 7, i32 8, i32 %x)\n"
    "  ret void\n}\n",
    "declare void @g()\ndefine void @f() #0 {\n  call void @g()\n  ret void\n}\nattributes #0 = { \"split-stack\" }\n",
    "declare void @llvm.gcroot(ptr, ptr)\ndeclare void @g(ptr)\n"
    "define void @f() gc \"shadow-stack\" {\n  %r = alloca ptr\n  call void @llvm.gcroot(ptr %r, ptr null)\n"
    "  call void @g(ptr %r)\n  ret void\n}\n",
    /* types and metadata of equal names that are not the same */
    "%t = type { i64, i32 }\n@v = global %t { i64 3, i32 4 }\ndefine ptr @f() {\n"
    "  ret ptr getelementptr (%t, ptr @v, i64 0, i32 1)\n}\n!named = !{!0}\n!0 = !{i32 1}\n",
    "%t = type { i8, [9 x i16] }\n@v = global %t zeroinitializer\ndefine ptr @f() {\n"
    "  ret ptr getelementptr (%t, ptr @v, i64 0, i32 1, i64 3)\n}\n!named = !{!0}\n!0 = !{i32 2}\n",
    /* managed code */
    "declare ptr addrspace(10) @tenon.gc_alloc_obj(ptr, i64, ptr addrspace(10))\ndeclare void @use(ptr addrspace(10))\n"
    "define ptr addrspace(10) @f(ptr addrspace(10) %x) {\n  call void @use(ptr addrspace(10) %x)\n"
    "  ret ptr addrspace(10) %x\n}\n",
};

enum { LEVELS = 4, LARGEST = 4 << 20 };

/* One module at one level, and what a new process makes of it. */
struct row {
    const char *name;
    char *ir;
    size_t length, module;
    int level;
    int code;
    void *object;
    size_t size;
};
static struct row rows[(COUNT(files) + COUNT(texts)) * LEVELS];
static size_t row_count;

/* Shared with the new processes. */
static struct answer {
    int code;
    size_t size;
    char object[LARGEST];
} * answer;

static struct tn_buffer compile_row(const struct row *row, int *code)
{
    struct tn_compile_options options = {DEFAULTS, .opt_level = row->level};
    struct tn_buffer object;
    struct tn_error err;
    *code = tn_compile(row->name, row->ir, row->length, &options, &object, NULL, &err);
    return object;
}

extern bool times_passes __asm__("_ZN4llvm19TimePassesIsEnabledE");

static void compile_in_new_process(struct row *row)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        times_passes = true;
        struct tn_buffer object = compile_row(row, &answer->code);
        answer->size = object.size;
        if (object.size <= LARGEST)
            memcpy(answer->object, object.data ? object.data : "", object.size);
        _exit(object.size <= LARGEST ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status)
        fail_msg("%s, level %d: the process ended with %x", row->name, row->level, status);
    row->code = answer->code;
    row->size = answer->size;
    row->object = memcpy(malloc(row->size + 1), answer->object, row->size);
}

static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("cannot open %s", path);
    char *bytes = malloc(LARGEST);
    *length = fread(bytes, 1, LARGEST, file);
    fclose(file);
    return bytes;
}

static int make_alone(void **state)
{
    (void)state;
    answer = mmap(NULL, sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(answer != MAP_FAILED);
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t module = i / LEVELS;
        bool is_file = module < COUNT(files);
        if (!getenv("WHOLE") && i % 2 != module % 2)
            continue;
        struct row *row = &rows[row_count++];
        row->name = is_file ? files[module] : "text";
        row->module = module;
        row->level = (int)(i % LEVELS);
        if (is_file) {
            row->ir = read_file(row->name, &row->length);
        } else {
            row->ir = strdup(texts[module - COUNT(files)]);
            row->length = strlen(row->ir);
        }
        compile_in_new_process(row);
    }
    return 0;
}

static void check_again(size_t i)
{
    int code;
    struct tn_buffer object = compile_row(&rows[i], &code);
    if (code != rows[i].code || object.size != rows[i].size ||
        (object.size && memcmp(object.data, rows[i].object, object.size)))
        fail_msg("%s %zu, level %d: not what a new process makes of it: code %d, not %d, %zu bytes, not %zu",
                 rows[i].name, rows[i].module, rows[i].level, code, rows[i].code, object.size, rows[i].size);
    tn_buffer_free(&object);
}

static void same_one_after_the_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < row_count; i++)
        check_again(i);
}

/* Each after others than before: a prime number further on each time. */
static void same_in_leaps(void **state)
{
    (void)state;
    for (size_t i = 0; i < row_count; i++)
        check_again((i + 1) * 149 % row_count);
}

/* IR that a client sees has the names that it was given, whatever was compiled before. */
static void same_names(void **state)
{
    (void)state;
    static const char ir[] = "%named = type { i64, i32 }\n@v = external global %named\n";
    for (int i = 0; i < 4; i++) {
        struct tn_compile_options options = {DEFAULTS, .emit = i % 2 ? TN_EMIT_LLVM : TN_EMIT_OBJECT};
        struct tn_buffer out;
        struct tn_error err;
        if (tn_compile("names", ir, strlen(ir), &options, &out, NULL, &err))
            fail_msg("%s", err.text);
        if (i % 2 && !memmem(out.data, out.size, "%named = type", strlen("%named = type")))
            fail_msg("type renamed: %.*s", (int)out.size, (const char *)out.data);
        tn_buffer_free(&out);
    }
}

static void count_pass(void *context, const struct tn_pass *pass)
{
    *(int *)context += pass->function && strcmp(pass->function, "f") == 0;
}

/* Passes that were set up for a module without functions, for an observer, work without one. The CPU is one that no
 * other test names, so they are new. */
static void observed_without_functions(void **state)
{
    (void)state;
    int passes = 0;
    const struct tn_compile_observer observer = {
        .size = sizeof observer, .context = &passes, .after_emit_pass = count_pass};
    static const struct {
        const char *ir;
        bool is_observed;
    } modules[] = {{"@v = global i32 3\n", true},
                   {"define i32 @f(i32 %x) {\n  %y = mul i32 %x, 7\n  ret i32 %y\n}\n", false},
                   {"define i32 @f(i32 %x) {\n  %y = mul i32 %x, 7\n  ret i32 %y\n}\n", true}};
    struct tn_buffer objects[COUNT(modules)];
    for (size_t i = 0; i < COUNT(modules); i++) {
        struct tn_compile_options options = {X86, .cpu = "btver2",
                                             .observer = modules[i].is_observed ? &observer : NULL};
        struct tn_error err;
        if (tn_compile("module", modules[i].ir, strlen(modules[i].ir), &options, &objects[i], NULL, &err))
            fail_msg("%s", err.text);
        assert_int_equal(passes > 0, i == 2);
    }
    assert_int_equal(objects[1].size, objects[2].size);
    assert_memory_equal(objects[1].data, objects[2].data, objects[1].size);
    for (size_t i = 0; i < COUNT(modules); i++)
        tn_buffer_free(&objects[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_one_after_the_other),
        cmocka_unit_test(same_in_leaps),
        cmocka_unit_test(same_names),
        cmocka_unit_test(observed_without_functions),
    };
    return cmocka_run_group_tests(tests, make_alone, NULL);
}
