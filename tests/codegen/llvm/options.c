/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's options in a program of the library: set where the program asks for that, and not by the environment. */

#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static const char module[] = "define i32 @seven(i32 %a) {\n  ret i32 %a\n}\n";

struct said {
    int count;
    char text[400];
};

static void listen(void *context, const char *reason)
{
    struct said *said = context;
    said->count++;
    snprintf(said->text, sizeof said->text, "%s", reason);
}

static bool is_intel(void)
{
    char *text = assembly(module, (struct tn_compile_options){X86});
    bool found = strstr(text, ".intel_syntax");
    free(text);
    return found;
}

static void nothing(void **state)
{
    (void)state;
    struct said said = {0};
    assert_int_equal(tn_codegen_llvm_options(NULL, listen, &said, NULL), 0);
    assert_int_equal(tn_codegen_llvm_options("", listen, &said, NULL), 0);
    assert_int_equal(tn_codegen_llvm_options("  ", listen, &said, NULL), 0);
    assert_int_equal(said.count, 0);
}

static const struct {
    const char *option, *reason;
} ignored[] = {
    {"-no-such-option", "LLVM has no option '-no-such-option'"},
    {"intel", "LLVM has no option 'intel'"},
    {"-", "LLVM has no option '-'"},
    {"-help-hidden", "LLVM's option '-help-hidden' has no effect (it prints and ends the program)"},
    {"--stats", "LLVM's option '--stats' has no effect (releases of LLVM count nothing)"},
    {"-cfg-raw-weights=1",
     "LLVM's option '-cfg-raw-weights=1' has no effect (no part of LLVM that Tenon runs reads it)"},
};

static void named_where_they_have_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ignored); i++) {
        struct said said = {0};
        assert_int_equal(tn_codegen_llvm_options(ignored[i].option, listen, &said, NULL), 0);
        assert_string_equal(said.text, ignored[i].reason);
        assert_int_equal(said.count, 1);
        assert_int_equal(tn_codegen_llvm_options(ignored[i].option, NULL, NULL, NULL), 0);
    }
}

/* LLVM prints a line about the first of them. */
static void values(void **state)
{
    (void)state;
    struct tn_error err;
    assert_int_equal(tn_codegen_llvm_options("-x86-asm-syntax=other", NULL, NULL, &err), TN_EINVAL);
    assert_string_equal(err.text, "LLVM's option '-x86-asm-syntax=other' does not take this value");
    if (!built_in(&(struct tn_compile_options){AARCH64}))
        return;
    assert_int_equal(tn_codegen_llvm_options("-sve-tail-folding=other", NULL, NULL, &err), TN_EINVAL);
    assert_contains(err.text, "Unrecognised tail-folding option");
}

static void effective(void **state)
{
    (void)state;
    struct said said = {0};
    assert_int_equal(tn_codegen_llvm_options("-no-such-option  -x86-asm-syntax=intel", listen, &said, NULL), 0);
    assert_int_equal(said.count, 1);
    assert_true(is_intel());
}

/* What compilations may have read does not change. */
static void too_late(void **state)
{
    (void)state;
    struct tn_error err;
    struct said said = {0};
    assert_int_equal(tn_codegen_llvm_options("-x86-asm-syntax=att", listen, &said, &err), TN_EINVAL);
    assert_string_equal(err.text, "LLVM's options are set before anything is compiled");
    assert_int_equal(tn_codegen_llvm_options(" ", listen, &said, &err), 0);
    assert_int_equal(said.count, 0);
}

/* In a process that has compiled nothing. */
static void not_by_the_environment(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        setenv("TENON_LLVM_ARGS", "-x86-asm-syntax=intel", 1);
        _exit(is_intel());
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing),   cmocka_unit_test(named_where_they_have_none),
        cmocka_unit_test(values),    cmocka_unit_test(not_by_the_environment),
        cmocka_unit_test(effective), cmocka_unit_test(too_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
