/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The JIT: what is compiled, when and by whom, and that it computes what it should. */

#include "llvm_module.h"
#include "watched_jit.h"

/* CORPUS comes from rules.mk: "folder/name" of each program. */
static const char *const programs[] = {CORPUS};

static const char unused[] = "define i64 @unused(i64 %x) {\n  ret i64 7\n}\n";

/* A module is compiled when something in it is looked up, with what it needs. */
static void whole_modules_when_needed(void **state)
{
    (void)state;
    for (size_t threads = 0; threads <= 2; threads++) {
        struct tn_jit *jit = create_jit(false, threads, 2);
        add_good(jit, "caller.ll", caller);
        add_good(jit, "callee.ll", callee);
        add_good(jit, "unused.ll", unused);
        assert_string_equal(seen.compiled, "");
        assert_int_equal(look_up(jit, "caller")(5), 115);
        assert_compiled("caller");
        assert_compiled("callee");
        assert_compiled("other");
        assert_not_compiled("unused");
        assert_int_equal(look_up(jit, "unused")(5), 7);
        struct tn_jit_stats stats = {.size = sizeof stats};
        tn_jit_stats(jit, &stats);
        assert_int_equal(stats.modules, 3);
        assert_true(stats.parse_ns == 0 && stats.optimize_ns > 0 && stats.emit_ns > 0 && stats.read_ns > 0);
        tn_jit_destroy(jit);
    }
}

static void functions_when_called(void **state)
{
    (void)state;
    for (size_t threads = 0; threads <= 2; threads++) {
        struct tn_jit *jit = create_jit(true, threads, 0);
        add_good(jit, "caller.ll", caller);
        add_good(jit, "callee.ll", callee);
        function *f = look_up(jit, "caller");
        assert_ptr_equal(f, look_up(jit, "caller"));
        assert_string_equal(seen.compiled, "");
        assert_int_equal(f(5), 115);
        assert_int_equal(f(6), 118);
        assert_string_equal(seen.compiled, " caller  callee ");
        assert_ptr_equal(f, look_up(jit, "caller")); /* its stub stays */
        struct tn_jit_stats stats = {.size = sizeof stats};
        tn_jit_stats(jit, &stats);
        assert_int_equal(stats.functions, 3);
        assert_int_equal(stats.taken, 2);
        tn_jit_destroy(jit);
    }
}

static void failures(void **state)
{
    (void)state;
    struct tn_jit *jit = create_jit(true, 0, 0);
    struct tn_error err;
    void *address;
    add_good(jit, "caller.ll", caller);
    assert_int_equal(look_up(jit, "caller")(5), -1); /* callee is undefined, so caller's body cannot be linked */
    assert_int_equal(seen.failures, 1);
    assert_contains(seen.error, "callee");
    add_good(jit, "callee.ll", callee);
    assert_int_equal(look_up(jit, "caller")(5), 115);
    assert_int_equal(add_ir(jit, "callee2.ll", callee, &err), TN_EDUP);
    assert_contains(err.text, "callee");
    assert_int_equal(tn_jit_lookup(jit, "nowhere", &address, &err), TN_EUNDEF);
    tn_jit_destroy(jit);
}

/* If adding fails in the middle nothing stays: the other names may be defined. */
static void all_or_nothing(void **state)
{
    (void)state;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create_jit(lazy, 0, 0);
        struct tn_error err;
        void *address;
        add_good(jit, "callee.ll", callee);
        char both[500];
        snprintf(both, sizeof both, "%s%s", unused, callee);
        assert_int_equal(add_ir(jit, "both.ll", both, &err), TN_EDUP);
        assert_int_equal(tn_jit_lookup(jit, "unused", &address, &err), TN_EUNDEF);
        add_good(jit, "unused.ll", unused);
        assert_int_equal(look_up(jit, "unused")(1), 7);
        tn_jit_destroy(jit);
    }
}

/* Weak definitions: the first stays, a strong one wins. */
static void weak_functions(void **state)
{
    (void)state;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create_jit(lazy, 0, 0);
        add_good(jit, "1.ll",
                 "define weak i64 @w(i64 %x) {\n  ret i64 1\n}\n"
                 "define linkonce_odr i64 @o(i64 %x) {\n  ret i64 10\n}\n"
                 "define i64 @f(i64 %x) {\n  %a = call i64 @w(i64 0)\n  %b = call i64 @o(i64 0)\n"
                 "  %c = add i64 %a, %b\n  ret i64 %c\n}\n");
        add_good(jit, "2.ll",
                 "define i64 @w(i64 %x) {\n  ret i64 2\n}\n"
                 "define linkonce_odr i64 @o(i64 %x) {\n  ret i64 10\n}\n"
                 "define i64 @g(i64 %x) {\n  %a = call i64 @w(i64 0)\n  %b = call i64 @o(i64 0)\n"
                 "  %c = add i64 %a, %b\n  ret i64 %c\n}\n");
        assert_int_equal(look_up(jit, "f")(0), 12);
        assert_int_equal(look_up(jit, "g")(0), 12);
        tn_jit_destroy(jit);
    }
}

/* What is local to modules of the same IR has names of its own, in one library and after a failure. */
static void same_module_twice(void **state)
{
    (void)state;
    static const char ir[] = "@count = internal global i64 0\n"
                             "define internal i64 @step() noinline {\n  %a = load i64, ptr @count\n"
                             "  %b = add i64 %a, 1\n  store i64 %b, ptr @count\n  ret i64 %b\n}\n"
                             "define weak i64 @w(i64 %x) {\n  %a = call i64 @step()\n  ret i64 %a\n}\n";
    struct tn_jit *jit = create_jit(true, 0, 0);
    struct tn_library *other;
    struct tn_error err;
    void *address;
    for (int i = 0; i < 3; i++)
        add_good(jit, "same.ll", ir);
    assert_int_equal(look_up(jit, "w")(0), 1);
    assert_int_equal(look_up(jit, "w")(0), 2);
    assert_int_equal(tn_library_create(tn_jit_session(jit), "other", &other, &err), 0);
    struct tn_jit_module module = {.size = sizeof module, .name = "same.ll", .ir = ir, .length = strlen(ir)};
    assert_int_equal(tn_jit_add_module(jit, other, &module, &err), 0);
    assert_int_equal(tn_lookup(other, "w", &address, &err), 0);
    function *f;
    memcpy(&f, &address, sizeof f);
    assert_int_equal(f(0), 1);
    tn_jit_destroy(jit);
}

static void removed_and_added_again(void **state)
{
    (void)state;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create_jit(lazy, 0, 0);
        struct tn_tracker *tracker;
        struct tn_error err;
        assert_int_equal(tn_tracker_create(tn_jit_library(jit), &tracker, &err), 0);
        for (int round = 0; round < 20; round++) {
            char ir[200];
            snprintf(ir, sizeof ir,
                     "define i64 @f(i64 %%x) {\n  %%a = add i64 %%x, %d\n  ret i64 %%a\n}\n"
                     "define i64 @never(i64 %%x) {\n  ret i64 %%x\n}\n",
                     round);
            struct tn_jit_module module = {
                .size = sizeof module, .name = "f.ll", .ir = ir, .length = strlen(ir), .owner = tracker};
            if (tn_jit_add_module(jit, NULL, &module, &err))
                fail_msg("%s", err.text);
            if (round % 3) /* or it is removed before it was ever compiled */
                assert_int_equal(look_up(jit, "f")(100), 100 + round);
            assert_int_equal(tn_tracker_remove(tracker, &err), 0);
            void *address;
            assert_int_equal(tn_jit_lookup(jit, "f", &address, &err), TN_EUNDEF);
        }
        tn_tracker_destroy(tracker);
        tn_jit_destroy(jit);
    }
}

static void initializers(void **state)
{
    (void)state;
    static const char *const modules[] = {
        "@order = global i64 0\n"
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @one, ptr "
        "null }]\n"
        "define internal void @one() {\n  %a = load i64, ptr @order\n  %b = mul i64 %a, 10\n  %c = add i64 %b, 1\n"
        "  store i64 %c, ptr @order\n  ret void\n}\n"
        "define i64 @get(i64 %x) {\n  %a = load i64, ptr @order\n  ret i64 %a\n}\n",
        /* nothing that anybody could look up */
        "@order = external global i64\n"
        "@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @two, ptr "
        "null }]\n"
        "define internal void @two() {\n  %a = load i64, ptr @order\n  %b = mul i64 %a, 10\n  %c = add i64 %b, 2\n"
        "  store i64 %c, ptr @order\n  ret void\n}\n",
    };
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create_jit(lazy, 0, 1);
        struct tn_error err;
        add_good(jit, "one.ll", modules[0]);
        add_good(jit, "two.ll", modules[1]);
        for (int again = 0; again <= 1; again++) {
            if (tn_jit_run_initializers(jit, NULL, 0, NULL, NULL, &err))
                fail_msg("%s", err.text);
            long order = look_up(jit, "get")(0);
            assert_true(order == 12 || order == 21);
        }
        tn_jit_destroy(jit);
    }
}

/* Functions that loaded code registers to run at exit belong to the owner of the function, or of its stub. In a lazy
 * JIT they may be called for the first time then. */
static void functions_at_exit(void **state)
{
    (void)state;
    static const char ir[] = "@ran = external global i64\n"
                             "declare i32 @atexit(ptr)\n"
                             "define void @bye() {\n  %a = load i64, ptr @ran\n  %b = add i64 %a, 1\n"
                             "  store i64 %b, ptr @ran\n  ret void\n}\n"
                             "define i64 @start(i64 %x) {\n  %r = tail call i32 @atexit(ptr @bye)\n"
                             "  %s = sext i32 %r to i64\n  ret i64 %s\n}\n";
    enum { AT_END, REMOVED, RETIRED, TRANSFERRED, WAYS };
    static int64_t ran;
    for (int i = 0; i < 2 * WAYS; i++) {
        bool lazy = i % 2;
        int way = i / 2;
        struct tn_jit *jit = create_jit(lazy, 0, 1);
        struct tn_library *library = tn_jit_library(jit);
        struct tn_tracker *tracker, *other;
        struct tn_error err;
        assert_int_equal(tn_tracker_create(library, &tracker, &err), 0);
        assert_int_equal(tn_tracker_create(library, &other, &err), 0);
        assert_int_equal(tn_define(library, "ran", &ran, &err), 0);
        struct tn_jit_module module = {
            .size = sizeof module, .name = "exit.ll", .ir = ir, .length = sizeof ir - 1, .owner = tracker};
        assert_int_equal(tn_jit_add_module(jit, NULL, &module, &err), 0);
        if (way == RETIRED) /* what was never called is not found after that */
            look_up(jit, "bye")(0);
        ran = 0;
        assert_int_equal(look_up(jit, "start")(0), 0);
        assert_int_equal(look_up(jit, "start")(0), 0);
        assert_int_equal(ran, 0);
        if (way == TRANSFERRED)
            assert_int_equal(tn_tracker_transfer(tracker, other, &err), 0);
        if (way == RETIRED)
            assert_int_equal(tn_tracker_retire(tracker, &err), 0);
        else if (way != AT_END)
            assert_int_equal(tn_tracker_remove(tracker, &err), 0);
        assert_int_equal(ran, way == REMOVED || way == RETIRED ? 2 : 0);
        tn_run_finalizers(library);
        assert_int_equal(ran, 2);
        tn_jit_destroy(jit);
        assert_int_equal(ran, 2);
    }
}

/* A module that the client has built with LLVM's API. */
static void modules_of_llvms(void **state)
{
    (void)state;
    for (int lazy = 0; lazy <= 1; lazy++) {
        struct tn_jit *jit = create_jit(lazy, 0, 2);
        LLVMContextRef context = LLVMContextCreate();
        LLVMModuleRef module = parse_module(context, callee, strlen(callee));
        struct tn_jit_module given = {.size = sizeof given, .name = "llvm", .llvm_module = module};
        struct tn_error err;
        if (tn_jit_add_module(jit, NULL, &given, &err))
            fail_msg("%s", err.text);
        LLVMDisposeModule(module);
        LLVMContextDispose(context);
        assert_int_equal(look_up(jit, "callee")(4), 12);
        tn_jit_destroy(jit);
    }
}

/* ---- whole programs ---- */

static uint64_t run_program(const void *ir, size_t length, bool lazy, size_t threads, int level)
{
    struct tn_jit *jit = create_jit(lazy, threads, level);
    struct tn_jit_module module = {.size = sizeof module, .name = "program", .ir = ir, .length = length};
    struct tn_error err;
    if (tn_jit_add_module(jit, NULL, &module, &err) || tn_jit_run_initializers(jit, NULL, 0, NULL, NULL, &err))
        fail_msg("%s", err.text);
    uint64_t result = (uint64_t)look_up(jit, "run")(0);
    assert_int_equal(seen.errors, 0);
    tn_jit_destroy(jit);
    return result;
}

static void check_program(const char *path, const void *bytes, size_t length)
{
    (void)path;
    uint64_t expected = run_program(bytes, length, false, 0, 0);
    assert_int_equal(run_program(bytes, length, true, 0, 0), expected);
    assert_int_equal(run_program(bytes, length, true, 2, 2), expected);
}

static void lazy_programs_compute_the_same(void **state)
{
    (void)state;
    for_each_program(programs, COUNT(programs), check_program);
}

static int replace(struct tn_jit *jit, const char *ir, struct tn_error *err)
{
    const struct tn_jit_module module = {.size = sizeof module, .name = "version", .ir = ir, .length = strlen(ir)};
    return tn_jit_replace(jit, NULL, &module, err);
}

/* Also those that get no stub of their own when a lazy JIT takes the module apart; bodies of hidden ones are none. */
static void all_functions_are_replaced(void **state)
{
    (void)state;
    static const char first[] = "define i64 @f(i64 %x) {\n  ret i64 1\n}\n",
                      indirect[] = "@f = ifunc i64 (i64), ptr @choose\n@g = alias i64 (i64), ptr @f\n"
                                   "define i64 @h(i64 %x) {\n  ret i64 2\n}\n"
                                   "define internal ptr @choose() {\n  ret ptr @h\n}\n",
                      hidden[] = "define hidden i64 @f(i64 %x) {\n  ret i64 3\n}\n@data = global i64 4\n";
    for (int lazy = 0; lazy < 2; lazy++) {
        struct tn_jit *jit = create_jit(lazy, 0, 0);
        struct tn_error err;
        assert_int_equal(replace(jit, first, &err), 0);
        function *f = look_up(jit, "f");
        assert_int_equal(f(0), 1);
        assert_int_equal(replace(jit, hidden, &err), TN_EINVAL);
        assert_contains(err.text, "shows no function");
        assert_int_equal(f(0), 1);
        assert_int_equal(replace(jit, indirect, &err), 0);
        assert_int_equal(f(0), 2);
        assert_int_equal(look_up(jit, "g")(0), 2);
        assert_int_equal(replace(jit, first, &err), 0);
        assert_int_equal(f(0), 1);
        tn_jit_destroy(jit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_modules_when_needed),
        cmocka_unit_test(functions_when_called),
        cmocka_unit_test(failures),
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(weak_functions),
        cmocka_unit_test(same_module_twice),
        cmocka_unit_test(removed_and_added_again),
        cmocka_unit_test(initializers),
        cmocka_unit_test(functions_at_exit),
        cmocka_unit_test(all_functions_are_replaced),
        cmocka_unit_test(modules_of_llvms),
        cmocka_unit_test(lazy_programs_compute_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
