/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Views of one function of a JIT that is in use. */

#include "watched_jit.h"

static const char module_text[] = "@factor = internal global i64 3\n"
                                  "define internal i64 @local(i64 %input) noinline {\n"
                                  "  %f = load i64, ptr @factor\n  %r = mul i64 %input, %f\n  ret i64 %r\n}\n"
                                  "define i64 @outer(i64 %input) {\n"
                                  "  %first = call i64 @local(i64 %input)\n"
                                  "  %two = add i64 1, 1\n"
                                  "  %sum = add i64 %first, %two\n  ret i64 %sum\n}\n"
                                  "define i64 @other() {\n  ret i64 77\n}\n";

static int hook_calls;

static int count_hook(void *context, enum tn_hook when, void *module, struct tn_error *err)
{
    (void)context;
    (void)when;
    (void)module;
    (void)err;
    hook_calls++;
    return 0;
}

static void give_up(void)
{
    abort();
}

static struct tn_jit *create(bool lazy, bool keeps, const char *passes)
{
    struct tn_jit *jit;
    struct tn_error err;
    struct tn_compile_options compile = {DEFAULTS, .opt_level = 2, .hook = count_hook, .passes = passes};
    struct tn_jit_options options = {
        .size = sizeof options, .compile = &compile, .lazy = lazy, .on_failure = give_up, .keep_ir = keeps};
    if (tn_jit_create(&options, &jit, &err))
        fail_msg("%s", err.text);
    return jit;
}

/* Of a function that has to be there; to be freed. */
static char *view(struct tn_jit *jit, const char *name, const struct tn_jit_view_options *options)
{
    struct tn_buffer out;
    struct tn_error err;
    quiet_begin();
    int code = tn_jit_view(jit, NULL, name, options, &out, &err);
    quiet_end();
    if (code)
        fail_msg("%s: %s", name, err.text);
    char *text = malloc(out.size + 1);
    memcpy(text, out.data, out.size);
    text[out.size] = 0;
    tn_buffer_free(&out);
    return text;
}

static void before_and_after(void **state)
{
    (void)state;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create(lazy, true, NULL);
        add_good(jit, "m.ll", module_text);
        assert_int_equal(look_up(jit, "outer")(5), 17);
        struct tn_jit_view_options options = {.size = sizeof options, .emit = TN_EMIT_LLVM};
        char *text = view(jit, "outer", &options);
        assert_contains(text, "add i64");
        assert_contains(text, ", 2\n");
        assert_contains(text, "declare");
        assert_null(strstr(text, "mul i64"));
        assert_null(strstr(text, "77"));
        free(text);
        options.unoptimized = 1;
        text = view(jit, "outer", &options);
        assert_contains(text, "add i64 1, 1");
        free(text);
        options = (struct tn_jit_view_options){.size = sizeof options, .emit = TN_EMIT_ASM};
        text = view(jit, "local", &options);
        assert_contains(text, "local");
        assert_contains(text, "retq");
        assert_null(strstr(text, "outer"));
        assert_null(strstr(text, "$77"));
        free(text);
        text = view(jit, "other", NULL);
        assert_memory_equal(text, "\177ELF", 4);
        free(text);
        assert_int_equal(look_up(jit, "outer")(6), 20);
        tn_jit_destroy(jit);
    }
}

static void names_are_dropped(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false, true, NULL);
    struct tn_jit_view_options options = {.size = sizeof options, .emit = TN_EMIT_LLVM};
    add_good(jit, "m.ll", module_text);
    char *text = view(jit, "outer", &options);
    assert_contains(text, "%input");
    free(text);
    options.no_names = 1;
    text = view(jit, "outer", &options);
    assert_null(strstr(text, "%input"));
    free(text);
    tn_jit_destroy(jit);
}

static void debug_information_is_dropped(void **state)
{
    (void)state;
    static const char text[] =
        "define i64 @f(i64 %x) !dbg !3 {\n  ret i64 %x, !dbg !5\n}\n"
        "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n"
        "!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: FullDebug)\n"
        "!1 = !DIFile(filename: \"f.c\", directory: \"/\")\n!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
        "!3 = distinct !DISubprogram(name: \"f\", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)\n"
        "!4 = !DISubroutineType(types: !{})\n!5 = !DILocation(line: 2, scope: !3)\n";
    struct tn_jit *jit = create(true, true, NULL);
    add_good(jit, "f.ll", text);
    for (int none = 0; none <= 1; none++) {
        struct tn_jit_view_options options = {.size = sizeof options, .emit = TN_EMIT_LLVM, .no_debug_info = none};
        char *shown = view(jit, "f", &options);
        assert_int_equal(strstr(shown, "!DILocation(line: 2") == NULL, none);
        free(shown);
    }
    tn_jit_destroy(jit);
}

/* The newest definition counts, and modules of other libraries do not. */
static void which_module(void **state)
{
    (void)state;
    struct tn_jit *jit = create(true, true, NULL);
    struct tn_jit_view_options options = {.size = sizeof options, .emit = TN_EMIT_LLVM};
    struct tn_library *library;
    struct tn_error err;
    assert_int_equal(tn_library_create(tn_jit_session(jit), "second", &library, &err), 0);
    static const char texts[][60] = {"define weak i64 @f() {\n  ret i64 11\n}\n",
                                     "define weak i64 @f() {\n  ret i64 22\n}\n",
                                     "define weak i64 @f() {\n  ret i64 33\n}\n"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct tn_jit_module module = {
            .size = sizeof module, .name = "f.ll", .ir = texts[i], .length = strlen(texts[i]), .whole = i == 1};
        assert_int_equal(tn_jit_add_module(jit, i == 2 ? library : NULL, &module, &err), 0);
    }
    char *text = view(jit, "f", &options);
    assert_contains(text, "ret i64 22");
    free(text);
    tn_jit_destroy(jit);
}

static void client_hook_is_called(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false, true, NULL);
    add_good(jit, "m.ll", module_text);
    hook_calls = 0;
    free(view(jit, "other", NULL));
    assert_int_equal(hook_calls, 2);
    tn_jit_destroy(jit);
}

static void mistakes(void **state)
{
    (void)state;
    struct tn_buffer out;
    struct tn_error err;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create(lazy, true, NULL);
        add_good(jit, "m.ll", module_text);
        static const char *const names[] = {"nobody", "factor", "oute", "outer2", ""};
        for (size_t i = 0; i < COUNT(names); i++) {
            assert_int_equal(tn_jit_view(jit, NULL, names[i], NULL, &out, &err), TN_EUNDEF);
            assert_contains(err.text, "no module of the library defines a function");
            assert_null(out.data);
        }
        struct tn_jit_view_options options = {.size = sizeof options, .emit = (enum tn_emit)(TN_EMIT_FLAT + 1)};
        assert_int_equal(tn_jit_view(jit, NULL, "outer", &options, &out, &err), TN_EINVAL);
        assert_int_equal(tn_jit_view(NULL, NULL, "outer", NULL, &out, &err), TN_EINVAL);
        assert_int_equal(tn_jit_view(jit, NULL, NULL, NULL, &out, &err), TN_EINVAL);
        assert_int_equal(tn_jit_view(jit, NULL, "outer", NULL, NULL, &err), TN_EINVAL);
        tn_jit_destroy(jit);
        jit = create(lazy, false, NULL);
        assert_int_equal(tn_jit_view(jit, NULL, "outer", NULL, &out, &err), TN_EINVAL);
        assert_contains(err.text, "keep_ir");
        tn_jit_destroy(jit);
        jit = create(lazy, true, "sroa");
        add_good(jit, "m.ll", module_text);
        assert_int_equal(tn_jit_view(jit, NULL, "outer", NULL, &out, &err), TN_EINVAL);
        assert_contains(err.text, "'tenon'");
        assert_null(out.data);
        tn_jit_destroy(jit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_and_after),
        cmocka_unit_test(names_are_dropped),
        cmocka_unit_test(debug_information_is_dropped),
        cmocka_unit_test(which_module),
        cmocka_unit_test(client_hook_is_called),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
