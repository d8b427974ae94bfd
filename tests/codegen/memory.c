/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Running out of memory in the middle of a compilation. A program of its own: its heap has to be small at the start. */

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* A function of 40,000 operations: too much for the smaller of the limits below. */
static char *long_function(void)
{
    char *ir = malloc(2 << 20), *at = ir;
    at += sprintf(at, "define i64 @f(i64 %%x0) {\n");
    for (int i = 0; i < 40000; i++)
        at += sprintf(at, "  %%x%d = xor i64 %%x%d, %d\n", i + 1, i, i * 7);
    sprintf(at, "  ret i64 %%x40000\n}\n");
    return ir;
}

/* Runs in a child: the address space ends `bytes` above what is in use. Afterwards it does not, and compiling has to work
 * whatever was interrupted. Exits with the first compilation's -code, or 100. */
static void compile_within(const char *ir, size_t bytes)
{
    static const char good[] = "define i32 @seven() {\n  ret i32 7\n}\n";
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (!statm || fscanf(statm, "%lu", &pages) != 1)
        _exit(100);
    fclose(statm);
    size_t limit = pages * (size_t)sysconf(_SC_PAGESIZE) + bytes;
    setrlimit(RLIMIT_AS, &(struct rlimit){limit, RLIM_INFINITY});
    struct tn_buffer out;
    int code = tn_compile("test.ll", ir, strlen(ir), NULL, &out, NULL, &(struct tn_error){0});
    setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    alarm(20);
    _exit(tn_compile("good.ll", good, sizeof good - 1, NULL, &out, NULL, NULL) == TN_OK ? -code : 100);
}

static int code_within(const char *ir, size_t bytes)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        compile_within(ir, bytes);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("%zu bytes: signal %d", bytes, WTERMSIG(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == -TN_ENOMEM);
    return -WEXITSTATUS(status);
}

/* In small steps through the setting up of LLVM, in larger ones through a compilation. */
static void out_of_memory(void **state)
{
    (void)state;
    char *ir = long_function();
    int refused = 0, done = 0;
    for (size_t bytes = 0; bytes <= 256 << 20; bytes += bytes < 3 << 20 ? 32 << 10 : bytes / 3) {
        int code = code_within(ir, bytes);
        refused += code != TN_OK;
        done += code == TN_OK;
    }
    free(ir);
    assert_true(refused > 90 && done > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
