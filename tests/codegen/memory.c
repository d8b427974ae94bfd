/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Running out of memory in the middle of a compilation. A program of its own: its heap has to be small at the start. */

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

/* ---- the allocator that LLVM sees: glibc's, but for one request ---- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);

static unsigned long requests, refused; /* so far; the number of the one to refuse, 0: none */

static bool refuse(void)
{
    if (++requests != refused)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return refuse() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuse() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return refuse() ? NULL : __libc_realloc(block, size);
}

/* ---- tests ---- */

static const char good[] = "define i64 @f(i64 %a, ptr %p) {\n  %b = load i64, ptr %p\n  %c = add i64 %a, %b\n"
                           "  ret i64 %c\n}\n";

static int compile_good(void)
{
    struct tn_buffer out;
    int code = tn_compile("good.ll", good, sizeof good - 1, NULL, &out, NULL, &(struct tn_error){0});
    tn_buffer_free(&out);
    return code;
}

/* Answers the exit status of `body` in a child, which ends within 20 seconds and by no signal. */
static int status_of_child(int (*body)(const void *), const void *argument)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(body(argument));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("a child ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* 0: it worked all the same; 1: out of memory; 2: something else. In any case the next compilation works. */
static int refuse_one(const void *number)
{
    requests = 0;
    refused = *(const unsigned long *)number;
    int code = compile_good();
    refused = 0;
    return compile_good() != TN_OK ? 2 : code == TN_OK ? 0 : code == TN_ENOMEM ? 1 : 2;
}

/* Any request of a compilation may be refused. Setting up LLVM is over before: it is not that robust (fatal.c). */
static void each_request_refused(void **state)
{
    (void)state;
    assert_int_equal(compile_good(), TN_OK);
    requests = 0;
    assert_int_equal(compile_good(), TN_OK);
    unsigned long all = requests, out_of_memory = 0;
    for (unsigned long number = 1; number <= all; number += 5) {
        int status = status_of_child(refuse_one, &number);
        if (status == 2)
            fail_msg("request %lu of %lu", number, all);
        out_of_memory += status == 1;
    }
    assert_true(all > 300 && out_of_memory > all / 6);
}

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

struct limited {
    const char *ir;
    size_t bytes; /* of address space, above what is in use */
};

/* As refuse_one; whatever the limit interrupts, compiling works once it is gone. */
static int compile_within(const void *argument)
{
    const struct limited *limited = argument;
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (!statm || fscanf(statm, "%lu", &pages) != 1)
        return 2;
    fclose(statm);
    size_t limit = pages * (size_t)sysconf(_SC_PAGESIZE) + limited->bytes;
    setrlimit(RLIMIT_AS, &(struct rlimit){limit, RLIM_INFINITY});
    struct tn_buffer out;
    int code = tn_compile("test.ll", limited->ir, strlen(limited->ir), NULL, &out, NULL, &(struct tn_error){0});
    setrlimit(RLIMIT_AS, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    return compile_good() != TN_OK ? 2 : code == TN_OK ? 0 : code == TN_ENOMEM ? 1 : 2;
}

/* In small steps through the setting up of LLVM, in larger ones through a compilation. */
static void address_space_limited(void **state)
{
    (void)state;
    char *ir = long_function();
    int seen[3] = {0};
    for (size_t bytes = 0; bytes <= 256 << 20; bytes += bytes < 3 << 20 ? 32 << 10 : bytes / 3) {
        int status = status_of_child(compile_within, &(struct limited){ir, bytes});
        if (status == 2)
            fail_msg("%zu bytes", bytes);
        seen[status]++;
    }
    free(ir);
    assert_true(seen[1] > 90 && seen[0] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_space_limited), /* first: in a process where LLVM is not set up */
        cmocka_unit_test(each_request_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
