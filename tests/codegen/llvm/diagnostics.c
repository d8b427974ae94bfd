/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Rejected IR: the code, where, and what is said. */

#include "support.h"

#define HEAD     "define void @f(ptr %p) {\n"
#define RET      "  ret void\n}\n"
#define X86_TEXT "target triple = \"x86_64-linux-gnu\"\n"

/* What makes LLVM's readers verify the module themselves, and print what they find. */
#define WITH_DEBUG_INFO "!llvm.module.flags = !{!0}\n!0 = !{i32 2, !\"Debug Info Version\", i32 3}\n"

/* A function whose second line calls `assembly` at t.c:7:3, as clang -g describes it. */
#define WITH_DEBUG(assembly)                                                                                           \
    X86_TEXT "define void @f() !dbg !4 {\n  call void asm sideeffect \"" assembly "\", \"\"(), !srcloc !7, !dbg !6\n"  \
             "  ret void\n}\n"                                                                                         \
             "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n"                                                      \
             "!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1)\n!1 = !DIFile(filename: \"t.c\", "           \
             "directory: \"/\")\n!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n"                                      \
             "!4 = distinct !DISubprogram(name: \"f\", file: !1, unit: !0, type: !5, spFlags: DISPFlagDefinition)\n"   \
             "!5 = !DISubroutineType(types: !{null})\n!6 = !DILocation(line: 7, column: 3, scope: !4)\n"               \
             "!7 = !{i64 4711}\n"

static void rejected(void **state)
{
    (void)state;
    static const struct {
        const char *ir;
        const char *says[2];
    } rows[] = {
        /* the reader's, with line and column */
        {"define void @f( {\n", {"test.ll:2:1: error: expected type"}},
        {HEAD "  ret i32\n}\n", {"test.ll:3:1: error: expected value token"}},
        {HEAD "  store i32 %x, ptr %p\n" RET, {"test.ll:2:13: error: use of undefined value '%x'"}},
        {HEAD "  call void @g()\n" RET, {"test.ll:2:13: error: use of undefined value '@g'"}},
        {"\n\n  nonsense\n", {"test.ll:3:3: error: expected top-level entity"}},
        {"\x7f"
         "ELF",
         {"test.ll:1:1: error: "}},
        {"target datalayout = \"nonsense\"\n", {"test.ll:", "error: "}},
        {HEAD RET HEAD RET, {"test.ll:4:13: error: invalid redefinition of function 'f'"}},
        /* the verifier's */
        {HEAD "  br label %l\nl:\n  %a = phi i32 [ 0, %l ]\n" RET,
         {"test.ll: error: invalid IR: PHI node entries do not match predecessors!", "%a = phi i32"}},
        {HEAD "  %v = load i32, ptr %p\n  br label %b\nb:\n  %w = add i32 %u, 1\n  %u = add i32 %v, 1\n" RET,
         {"invalid IR: Instruction does not dominate all uses!", "%u = add i32 %v, 1"}},
        {HEAD "  %w = add i32 %u, 1\n  %u = add i32 1, 1\n" RET WITH_DEBUG_INFO,
         {"test.ll: error: invalid IR: Instruction does not dominate all uses!", "%u = add i32 1, 1"}},
        /* the target's */
        {"target datalayout = \"e-p:32:32\"\n" X86_TEXT HEAD RET, {"'e-p:32:32-i128:128'", "'e-m:e-p270:32:32"}},
        {"target triple = \"nonesuch-linux\"\n" HEAD RET, {"unknown target triple 'nonesuch-linux'"}},
        /* inline assembly */
        {X86_TEXT HEAD "  call void asm sideeffect \"nonesuch\", \"\"()\n" RET,
         {"test.ll: error: <inline asm>:1:2: invalid instruction mnemonic 'nonesuch'"}},
        {X86_TEXT HEAD "  call void asm sideeffect \"nop\\0A  mov %nonesuch, %rax\", \"\"()\n" RET,
         {"test.ll: error: <inline asm>:2:7: invalid register name"}},
        {X86_TEXT HEAD "  call void asm sideeffect \"mov $0, $0\", \"{nonesuch}\"(i32 1)\n" RET,
         {"test.ll: error: couldn't allocate input reg for constraint '{nonesuch}' (in function 'f')"}},
        {X86_TEXT "module asm \"nop\"\nmodule asm \"nonesuch\"\n", {"test.ll: error: <inline asm>:2:1: invalid instr"}},
        {WITH_DEBUG("nonesuch"),
         {"t.c:7:3: error: <inline asm>:1:2: invalid instruction mnemonic", "(in function 'f')"}},
        {X86_TEXT HEAD "  call void asm sideeffect \"one\\0A two\", \"\"()\n" RET,
         {"<inline asm>:1:2: invalid instruction mnemonic 'one'\ntest.ll: error: <inline asm>:2:2: invalid", "'two'"}},
        /* found while code is generated */
        {X86_TEXT "module asm \".globl f\\0Af: ret\"\n" HEAD RET,
         {"test.ll: error: ", "symbol 'f' is already defined"}},
        {X86_TEXT "declare void @g() \"dontcall-error\"=\"never\"\n" HEAD "  call void @g()\n" RET,
         {"test.ll: error: ", "never"}},
        {X86_TEXT "define double @f() #0 {\n  ret double 1.0\n}\nattributes #0 = { \"target-features\"=\"-sse\" }\n",
         {"test.ll: error: SSE register return with SSE disabled (in function 'f')"}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strstr(rows[i].ir, "x86_64") && !built_in(&(struct tn_compile_options){X86}))
            continue;
        struct outcome outcome = compile_text(rows[i].ir, NULL);
        if (outcome.code == 0)
            fail_msg("row %zu was accepted", i);
        assert_int_equal(outcome.code, strstr(rows[i].ir, "nonesuch-linux") ? TN_EINVAL : TN_ECOMPILE);
        for (size_t j = 0; j < COUNT(rows[i].says) && rows[i].says[j]; j++)
            assert_contains(outcome.err.text, rows[i].says[j]);
    }
}

/* Bitcode that stops anywhere is an error and nothing else. */
static void truncated_bitcode(void **state)
{
    (void)state;
    static const char ir[] = "@g = global i32 7\n" HEAD "  store ptr @g, ptr %p\n" RET;
    struct tn_compile_options options = {DEFAULTS, .emit = TN_EMIT_BITCODE};
    struct outcome whole = compile_text(ir, &options);
    assert_int_equal(whole.code, 0);
    for (size_t length = 4; length < whole.out.size; length += 4) {
        struct outcome part = compile(whole.out.data, length, &options);
        if (part.code == 0) /* only tables that nobody needs are missing */
            assert_true(length > whole.out.size / 2);
        else
            assert_contains(part.err.text, "test.ll: error: ");
        tn_buffer_free(&part.out);
    }
    tn_buffer_free(&whole.out);
}

static void all_errors_are_told_until_the_text_is_full(void **state)
{
    (void)state;
    if (!built_in(&(struct tn_compile_options){X86}))
        return;
    char ir[8000], *at = ir;
    at += sprintf(at, "%s", X86_TEXT HEAD);
    for (int i = 0; i < 100; i++)
        at += sprintf(at, "  call void asm sideeffect \"nonesuch%d\", \"\"()\n", i);
    strcpy(at, RET);
    struct outcome outcome = compile_text(ir, NULL);
    assert_int_equal(outcome.code, TN_ECOMPILE);
    assert_contains(outcome.err.text, "'nonesuch0'");
    assert_contains(outcome.err.text, "'nonesuch9'");
    size_t length = strlen(outcome.err.text);
    assert_true(length == sizeof outcome.err.text - 1);
    assert_string_equal(outcome.err.text + length - 3, "...");
}

static void warnings_are_not_errors(void **state)
{
    (void)state;
    static const struct {
        const char *ir;
    } rows[] = {
        {HEAD "  %a = alloca [100 x i32]\n  call void @g(ptr %a)\n  ret void\n}\ndeclare void @g(ptr)\n"
              "!0 = !{i32 2, !\"warn-stack-size\", i32 8}\n!llvm.module.flags = !{!0}\n"},
        {"define void @f() \"warn-stack-size\"=\"8\" {\n  %a = alloca [100 x i32]\n  call void @g(ptr %a)\n" RET
         "declare void @g(ptr)\n"},
        {X86_TEXT HEAD "  call void asm sideeffect \".warning \\22careful\\22\", \"\"()\n" RET},
        {"!llvm.dbg.cu = !{!0}\n!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1)\n"
         "!1 = !DIFile(filename: \"t.c\", directory: \"/\")\n"}, /* debug information without a version is dropped */
        {X86_TEXT "declare void @g() \"dontcall-warn\"=\"better not\"\n" HEAD "  call void @g()\n" RET},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct outcome outcome = compile_text(rows[i].ir, NULL);
        if (outcome.code)
            fail_msg("row %zu: %s", i, outcome.err.text);
        tn_buffer_free(&outcome.out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rejected),
        cmocka_unit_test(truncated_bitcode),
        cmocka_unit_test(all_errors_are_told_until_the_text_is_full),
        cmocka_unit_test(warnings_are_not_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
