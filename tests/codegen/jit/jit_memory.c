/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A JIT, each allocation of which is refused in turn: the error says so, and LLVM's memory is given back. */

#include <malloc.h>

#include "base/os.h"
#include "llvm_module.h"
#include "support.h"

static const char ir[] = "@count = global i64 1\n"
                         "define internal i64 @inner(i64 %x) noinline {\n"
                         "  %a = load i64, ptr @count\n"
                         "  %b = add i64 %a, %x\n"
                         "  ret i64 %b\n"
                         "}\n"
                         "define i64 @outer(i64 %x) {\n"
                         "  %a = call i64 @inner(i64 %x)\n"
                         "  ret i64 %a\n"
                         "}\n";

static void fail_call(void)
{
    fail();
}

/* What a client gives to the JIT. */
struct given {
    bool lazy;
    LLVMModuleRef module; /* NULL: IR */
};

static int add(struct tn_jit *jit, const struct given *given, struct tn_error *err)
{
    struct tn_jit_module module = {.size = sizeof module, .name = "test.ll", .llvm_module = given->module};
    void *function;
    if (!given->module) {
        module.ir = ir;
        module.length = sizeof ir - 1;
    }
    int code = tn_jit_add_module(jit, NULL, &module, err);
    return code ? code : tn_jit_lookup(jit, given->lazy ? "outer$body" : "outer", &function, err);
}

/* With allocation `number` refused. */
static int attempt(const struct given *given, int number)
{
    static const struct tn_compile_options options = {DEFAULTS};
    struct tn_jit_options how = {
        .size = sizeof how, .compile = &options, .lazy = given->lazy, .keep_ir = 1, .on_failure = fail_call};
    struct tn_error err = {0};
    struct tn_jit *jit;
    char plan[16];
    snprintf(plan, sizeof plan, "a%d", number);
    assert_int_equal(tn__os_set_faults(plan), 0);
    int code = tn_jit_create(&how, &jit, &err);
    if (!code)
        code = add(jit, given, &err);
    tn__os_set_faults(NULL);
    tn_jit_destroy(jit);
    if (code && (code != TN_ENOMEM || err.code != code || !*err.text))
        fail_msg("allocation %d: %s: %s", number, tn_error_name(code), err.text);
    return code;
}

static void refuse_each(const struct given *given)
{
    int refused = 0, granted = 0;
    for (int number = 1; granted < 4; number++) { /* without some allocations it goes on */
        int code = attempt(given, number);        /* what is made once, and kept */
        size_t lost = SIZE_MAX;
        for (int again = 0; again < 3 && lost > 4096; again++) { /* a leak loses each time; a kept context may grow */
            size_t before = mallinfo2().uordblks;
            code = attempt(given, number);
            size_t after = mallinfo2().uordblks;
            lost = after > before ? after - before : 0;
        }
        if (lost > 4096)
            fail_msg("allocation %d: %zu bytes of LLVM's were lost", number, lost);
        refused += code != 0;
        granted = code ? 0 : granted + 1;
    }
    if (refused < 20)
        fail_msg("%d allocations were refused", refused);
}

static void compiled_as_a_whole(void **state)
{
    (void)state;
    refuse_each(&(struct given){.lazy = false});
}

static void compiled_by_function(void **state)
{
    (void)state;
    refuse_each(&(struct given){.lazy = true});
}

static void given_by_llvm(void **state)
{
    (void)state;
    LLVMContextRef context = LLVMContextCreate();
    LLVMModuleRef module = parse_module(context, ir, sizeof ir - 1);
    refuse_each(&(struct given){.module = module});
    LLVMDisposeModule(module);
    LLVMContextDispose(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(compiled_as_a_whole),
        cmocka_unit_test(compiled_by_function),
        cmocka_unit_test(given_by_llvm),
    };
    return cmocka_run_group_tests_name("jit_memory", tests, NULL, NULL);
}
