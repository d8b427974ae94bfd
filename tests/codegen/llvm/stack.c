/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM has a stack of its own, so threads of programs need little: they compile what is long or deep, LLVM gives up
 * on them, and observers compile within a compilation. Without room for that stack there is an error. */

#include <pthread.h>
#include <unistd.h>

#include "abandon.h"
#include "base/os.h"
#include "codegen/llvm/fatal.h"
#include "support.h"

enum { SMALL_STACK = 256 << 10, INSTRUCTIONS = 5000, LEVELS = 900 };

static const char good[] = "define i32 @seven() {\n  ret i32 7\n}\n";
static const char fatal[] = "define void @f() gc \"nonesuch\" {\n  ret void\n}\n";

static char *long_function(void)
{
    char *text = malloc(INSTRUCTIONS * 64), *at = stpcpy(text, "define i64 @f(i64 %v0) {\n");
    for (int i = 1; i <= INSTRUCTIONS; i++)
        at += sprintf(at, "  %%v%d = mul i64 %%v%d, %%v%d\n", i, i - 1, i / 2);
    sprintf(at, "  ret i64 %%v%d\n}\n", INSTRUCTIONS);
    return text;
}

static char *deep_constant(void)
{
    char *text = malloc(LEVELS * 64), *at = stpcpy(text, "@x = global i8 0\n@g = global ptr ");
    for (int i = 0; i < LEVELS; i++)
        at = stpcpy(at, "getelementptr (i8, ptr ");
    at = stpcpy(at, "@x");
    for (int i = 0; i < LEVELS; i++)
        at = stpcpy(at, ", i64 1)");
    strcpy(at, "\n");
    return text;
}

/* ---- small threads ---- */

static const char *problem; /* of the thread that runs */

static int compile_quietly(const char *ir, int level, const struct tn_compile_observer *observer)
{
    struct tn_compile_options options = {DEFAULTS, .opt_level = level, .observer = observer};
    struct tn_buffer out;
    struct tn_error err = {0};
    int code = tn_compile("test.ll", ir, strlen(ir), &options, &out, NULL, &err);
    tn_buffer_free(&out);
    return code;
}

static void need(bool condition, const char *what)
{
    if (!condition && !problem)
        problem = what;
}

static void *compile_much(void *unused)
{
    (void)unused;
    char *function = long_function(), *constant = deep_constant();
    for (int level = 0; level <= 2; level += 2) {
        need(compile_quietly(function, level, NULL) == 0, "a long function");
        need(compile_quietly(constant, level, NULL) == 0, "a deep constant");
    }
    free(function);
    free(constant);
    return NULL;
}

static void *give_up(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++) {
        need(compile_quietly(fatal, 0, NULL) == TN_EFATAL, "what LLVM gives up on");
        need(compile_quietly(good, 0, NULL) == 0, "what comes after that");
    }
    return NULL;
}

static int levels_left;
static int compile_again(void *context, const struct tn_pass *pass)
{
    (void)pass;
    if (!levels_left)
        return 0;
    const struct tn_compile_observer observer = {sizeof observer, .context = context, .before_pass = compile_again};
    levels_left--;
    need(compile_quietly(fatal, 0, NULL) == TN_EFATAL, "what LLVM gives up on, within");
    need(compile_quietly(good, 2, &observer) == 0, "a compilation within another");
    return 0;
}

static void *compile_within(void *unused)
{
    (void)unused;
    const struct tn_compile_observer observer = {sizeof observer, .before_pass = compile_again};
    levels_left = 5;
    need(compile_quietly(good, 2, &observer) == 0, "a compilation with others within");
    need(levels_left == 0, "observers were not called");
    return NULL;
}

static void on_a_small_thread(void *(*body)(void *))
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    problem = NULL;
    assert_int_equal(pthread_create(&thread, &attributes, body, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    if (problem)
        fail_msg("%s", problem);
}

static void small_threads_compile_what_is_large(void **state)
{
    (void)state;
    on_a_small_thread(compile_much);
}

static void llvm_gives_up_on_small_threads(void **state)
{
    (void)state;
    on_a_small_thread(give_up);
}

static void observers_compile_on_small_threads(void **state)
{
    (void)state;
    on_a_small_thread(compile_within);
}

/* ---- the stacks themselves ---- */

static size_t touched;
static void touch_much(void *context)
{
    volatile char frame[32 << 20];
    (void)context;
    for (size_t i = 0; i < sizeof frame; i += 4096)
        frame[i] = 1;
    touched = sizeof frame;
}

static size_t pages_in_memory(void)
{
    size_t all = 0, in_memory = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_int_equal(fscanf(file, "%zu %zu", &all, &in_memory), 2);
    fclose(file);
    return in_memory;
}

static void what_deep_calls_used_is_given_back(void **state)
{
    (void)state;
    struct tn_error err;
    size_t before = pages_in_memory();
    for (int i = 0; i < 20; i++)
        assert_int_equal(tn__stack_call(touch_much, NULL, &err), 0);
    assert_int_equal(touched, 32 << 20);
    assert_true(pages_in_memory() < before + (1 << 20) / 4096);
}

enum { MANY = 100 };
static pthread_barrier_t barrier;
static void wait_for_all(void *context)
{
    (void)context;
    pthread_barrier_wait(&barrier);
}

static void *take_one(void *unused)
{
    struct tn_error err;
    (void)unused;
    return (void *)(intptr_t)tn__stack_call(wait_for_all, NULL, &err);
}

/* Memory of the size of stacks that can be written, above what cannot be accessed. What else the process maps does not
 * count: AddressSanitizer's shadow alone is larger than all stacks. */
static size_t mapped_stacks(void)
{
    unsigned long long start, end, guard_end = 0;
    char line[512], permissions[5], name[2];
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps)) {
        int fields = sscanf(line, "%llx-%llx %4s %*s %*s %*s %1s", &start, &end, permissions, name);
        if (fields == 3 && !strcmp(permissions, "rw-p") && start == guard_end && end - start < 4ULL * TN__STACK)
            count += (end - start) / TN__STACK; /* the system may join one with what lies above */
        guard_end = permissions[0] == '-' ? end : 0;
    }
    fclose(maps);
    return count;
}

static void idle_stacks_are_few(void **state)
{
    (void)state;
    pthread_t threads[MANY];
    size_t mapped[2];
    for (int round = 0; round < 2; round++) {
        pthread_barrier_init(&barrier, NULL, MANY);
        for (int i = 0; i < MANY; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, take_one, NULL), 0);
        for (int i = 0; i < MANY; i++) {
            void *code;
            pthread_join(threads[i], &code);
            assert_null(code);
        }
        pthread_barrier_destroy(&barrier);
        mapped[round] = mapped_stacks();
    }
    assert_in_range(mapped[0], 1, 40);
    assert_in_range(mapped[1], 1, mapped[0]);
}

/* ---- no room ---- */

static void nothing(void *context)
{
    *(int *)context += 1;
}

static void use_up_idle_stacks(void *context)
{
    struct tn_error err = {0};
    int calls = 0, *left = context;
    if (--*left) {
        assert_int_equal(tn__stack_call(use_up_idle_stacks, context, &err), 0);
        return;
    }
    static const char *const plans[] = {"F", ". F"};
    for (size_t i = 0; i < COUNT(plans); i++) {
        tn__os_set_faults(plans[i]);
        assert_int_equal(tn__stack_call(nothing, &calls, &err), TN_ENOMEM);
        tn__os_set_faults(NULL);
        assert_string_equal(err.text, "no room for a stack of 64 MiB: Cannot allocate memory");
    }
    assert_int_equal(calls, 0);
    assert_int_equal(tn__stack_call(nothing, &calls, &err), 0);
    assert_int_equal(calls, 1);
}

static void no_room_is_an_error(void **state)
{
    (void)state;
    int left = 40; /* more than are kept */
    use_up_idle_stacks(&left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_threads_compile_what_is_large),
        cmocka_unit_test(llvm_gives_up_on_small_threads),
        cmocka_unit_test(observers_compile_on_small_threads),
        cmocka_unit_test(what_deep_calls_used_is_given_back),
        cmocka_unit_test(idle_stacks_are_few),
        cmocka_unit_test(no_room_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
