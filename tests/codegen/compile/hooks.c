/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A client's own passes: when they are called, that what they change counts, and what becomes of their errors. */

#include "support.h"

#include "codegen/managed/ir/gc.h"

static const char plain[] = "define i32 @answer() {\n  ret i32 1\n}\n";
static const char managed[] =
    "target datalayout = "
    "\"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128-ni:10:11:12:13\"\n"
    "target triple = \"x86_64-linux-gnu\"\n"
    "declare void @julia.safepoint(ptr)\n"
    "define ptr addrspace(10) @keep(ptr addrspace(10) %o, ptr %p) {\n"
    "  call void @julia.safepoint(ptr %p)\n  ret ptr addrspace(10) %o\n}\n";
static const char leaf[] =
    "declare void @see(ptr addrspace(10))\n"
    "define ptr addrspace(10) @same(ptr addrspace(10) %o) {\n  ret ptr addrspace(10) %o\n}\n"
    "define void @twice(ptr addrspace(10) %o) {\n  call void @see(ptr addrspace(10) %o)\n"
    "  %p = call ptr addrspace(10) @same(ptr addrspace(10) %o)\n  call void @see(ptr addrspace(10) %o)\n"
    "  ret void\n}\n";

struct calls {
    char order[8];
    size_t count;
    int change, fail; /* enum tn_hook, or NEVER */
    void (*edit)(LLVMModuleRef module);
    bool says_why;
};

enum { NEVER = 99 };

/* Makes the function return 42. */
static void change(LLVMModuleRef module)
{
    LLVMValueRef answer = LLVMGetNamedFunction(module, "answer");
    LLVMValueRef end = LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(answer));
    LLVMSetOperand(end, 0, LLVMConstInt(LLVMTypeOf(LLVMGetOperand(end, 0)), 42, 0));
}

/* A module that LLVM's verifier refuses. */
static void spoil(LLVMModuleRef module)
{
    LLVMValueRef answer = LLVMGetNamedFunction(module, "answer");
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(LLVMGetEntryBasicBlock(answer)));
}

/* A variable with 2^40 initial values, of which each is a number made a reference: each level is one constant twice. */
static void nest(LLVMModuleRef module)
{
    enum { LEVELS = 40 };
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef reference = LLVMPointerTypeInContext(context, TRACKED);
    LLVMValueRef value = LLVMConstIntToPtr(LLVMConstInt(LLVMInt64TypeInContext(context), 3, 0), reference);
    for (int level = 0; level < LEVELS; level++) {
        LLVMValueRef both[] = {value, value};
        value = LLVMConstStructInContext(context, both, 2, 0);
    }
    LLVMSetInitializer(LLVMAddGlobal(module, LLVMTypeOf(value), "nested"), value);
}

static int hook(void *context, enum tn_hook when, void *module, struct tn_error *err)
{
    struct calls *calls = context;
    calls->order[calls->count++] = (char)('a' + when);
    if ((int)when == calls->change)
        (calls->edit ? calls->edit : change)(module);
    if ((int)when != calls->fail)
        return 0;
    if (calls->says_why)
        snprintf(err->text, sizeof err->text, "no more of %s", LLVMGetModuleIdentifier(module, &(size_t){0}));
    return 1;
}

static struct tn_compile_options options_of(struct calls *calls, int level)
{
    return (struct tn_compile_options){X86,          .opt_level = level,    .emit = TN_EMIT_ASM,
                                       .hook = hook, .hook_context = calls, .verify_ir = 1};
}

static void order(void **state)
{
    (void)state;
    for (int level = 0; level <= 3; level++) {
        struct calls calls = {.change = NEVER, .fail = NEVER};
        free(assembly(plain, options_of(&calls, level)));
        assert_string_equal(calls.order, "ab");
        calls = (struct calls){.change = NEVER, .fail = NEVER};
        free(assembly(managed, options_of(&calls, level)));
        assert_string_equal(calls.order, "abc");
    }
}

static void changes(void **state)
{
    (void)state;
    for (int level = 0; level <= 3; level++)
        for (enum tn_hook when = TN_HOOK_BEGIN; when <= TN_HOOK_OPTIMIZED; when++) {
            struct calls calls = {.change = (int)when, .fail = NEVER};
            char *text = assembly(plain, options_of(&calls, level));
            assert_contains(text, "$42");
            free(text);
        }
}

static void errors(void **state)
{
    (void)state;
    for (enum tn_hook when = TN_HOOK_BEGIN; when <= TN_HOOK_LOWERED; when++)
        for (int says_why = 0; says_why <= 1; says_why++) {
            struct calls calls = {.change = NEVER, .fail = (int)when, .says_why = says_why};
            struct tn_compile_options options = options_of(&calls, 2);
            struct outcome outcome = compile_text(managed, &options);
            assert_int_equal(outcome.code, TN_ECOMPILE);
            assert_int_equal(outcome.err.code, TN_ECOMPILE);
            assert_string_equal(outcome.err.text,
                                says_why ? "no more of test.ll" : "test.ll: a pass of the client failed");
            assert_int_equal(calls.count, when + 1);
            assert_null(outcome.out.data);
        }
}

static void verified(void **state)
{
    (void)state;
    struct calls calls = {.change = TN_HOOK_OPTIMIZED, .fail = NEVER, .edit = spoil};
    struct tn_compile_options options = options_of(&calls, 1);
    struct outcome outcome = compile_text(plain, &options);
    assert_int_equal(outcome.code, TN_ECOMPILE);
    assert_contains(outcome.err.text, "terminator");
}

/* Not in time that grows with the number of parts. */
static void verified_once(void **state)
{
    (void)state;
    struct calls calls = {.change = TN_HOOK_BEGIN, .fail = NEVER, .edit = nest};
    struct tn_compile_options options = options_of(&calls, 1);
    struct outcome outcome = compile_text(managed, &options);
    assert_int_equal(outcome.code, TN_ECOMPILE);
    assert_contains(outcome.err.text, "inttoptr");
}

/* ---- changes that are refused ---- */

static void set_triple(LLVMModuleRef module)
{
    LLVMSetTarget(module, "aarch64-linux-gnu");
}

static void set_layout(LLVMModuleRef module)
{
    LLVMSetDataLayout(module, "E-p:32:32");
}

static LLVMTypeRef pointer_in(LLVMModuleRef module, unsigned space)
{
    return LLVMPointerTypeInContext(LLVMGetModuleContext(module), space);
}

static void add_managed(LLVMModuleRef module)
{
    LLVMTypeRef reference = pointer_in(module, 10);
    LLVMAddFunction(module, "see", LLVMFunctionType(reference, &reference, 1, 0));
}

/* At the beginning of each function. */
static void add_calls(LLVMModuleRef module, const char *attribute)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, 0);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMValueRef tick = LLVMAddFunction(module, "tick", type);
    if (attribute)
        LLVMAddAttributeAtIndex(tick, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateStringAttribute(context, attribute, (unsigned)strlen(attribute), "", 0));
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f)) {
            LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)));
            LLVMBuildCall2(builder, type, tick, NULL, 0, "");
        }
    LLVMDisposeBuilder(builder);
}

static void add_safepoints(LLVMModuleRef module)
{
    add_calls(module, NULL);
}

static void add_leaves(LLVMModuleRef module)
{
    add_calls(module, "gc-leaf-function");
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        const char *ir;
        enum tn_hook first, last;
        void (*change)(LLVMModuleRef module);
        const char *text; /* NULL: it is not refused */
    } rows[] = {
        {plain, TN_HOOK_BEGIN, TN_HOOK_OPTIMIZED, set_triple, "target triple"},
        {managed, TN_HOOK_BEGIN, TN_HOOK_LOWERED, set_triple, "target triple"},
        {plain, TN_HOOK_BEGIN, TN_HOOK_OPTIMIZED, set_layout, "data layout"},
        {managed, TN_HOOK_BEGIN, TN_HOOK_LOWERED, set_layout, "data layout"},
        {plain, TN_HOOK_BEGIN, TN_HOOK_OPTIMIZED, add_managed, "managed code"},
        {managed, TN_HOOK_BEGIN, TN_HOOK_LOWERED, add_managed, NULL},
        {leaf, TN_HOOK_LOWERED, TN_HOOK_LOWERED, add_safepoints, "[hook]"},
        {managed, TN_HOOK_LOWERED, TN_HOOK_LOWERED, add_safepoints, "[hook]"},
        {leaf, TN_HOOK_BEGIN, TN_HOOK_OPTIMIZED, add_safepoints, NULL},
        {managed, TN_HOOK_LOWERED, TN_HOOK_LOWERED, add_leaves, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (enum tn_hook when = rows[i].first; when <= rows[i].last; when++) {
            struct calls calls = {.change = (int)when, .fail = NEVER, .edit = rows[i].change};
            struct tn_compile_options options = options_of(&calls, 1);
            struct outcome outcome = compile_text(rows[i].ir, &options);
            assert_int_equal(outcome.code, rows[i].text ? TN_ECOMPILE : 0);
            if (rows[i].text)
                assert_contains(outcome.err.text, rows[i].text);
            tn_buffer_free(&outcome.out);
        }
}

/* A handler that the client has left behind does not end the process. */
static void drop_handler(LLVMModuleRef module)
{
    static const char wrong[] = "no such instruction";
    LLVMContextSetDiagnosticHandler(LLVMGetModuleContext(module), NULL, NULL);
    LLVMSetModuleInlineAsm2(module, wrong, sizeof wrong - 1);
}

static void handlers(void **state)
{
    (void)state;
    for (enum tn_hook when = TN_HOOK_BEGIN; when <= TN_HOOK_OPTIMIZED; when++) {
        struct calls calls = {.change = (int)when, .fail = NEVER, .edit = drop_handler};
        struct tn_compile_options options = options_of(&calls, 1);
        options.emit = TN_EMIT_OBJECT;
        struct outcome outcome = compile_text(plain, &options);
        assert_int_equal(outcome.code, TN_ECOMPILE);
        assert_contains(outcome.err.text, "<inline asm>");
    }
}

/* Without `tenon` there are no hooks, also where roots are placed. */
static void pipelines(void **state)
{
    (void)state;
    static const struct {
        const char *passes, *order;
    } rows[] = {
        {"intrinsic-lowering", ""},
        {"preparation,intrinsic-lowering", ""},
        {"tenon<no_lower_intrinsics>,intrinsic-lowering", "abc"},
        {"tenon<level=0>", "abc"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct calls calls = {.change = NEVER, .fail = NEVER};
        struct tn_compile_options options = options_of(&calls, 1);
        options.passes = rows[i].passes;
        free(assembly(managed, options));
        assert_string_equal(calls.order, rows[i].order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),    cmocka_unit_test(changes),       cmocka_unit_test(errors),
        cmocka_unit_test(verified), cmocka_unit_test(verified_once), cmocka_unit_test(refused),
        cmocka_unit_test(handlers), cmocka_unit_test(pipelines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
