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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),    cmocka_unit_test(changes),       cmocka_unit_test(errors),
        cmocka_unit_test(verified), cmocka_unit_test(verified_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
