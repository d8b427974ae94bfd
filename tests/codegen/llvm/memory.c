/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Running out of memory in the middle of a compilation. A program of its own: its heap has to be small at the start. */

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
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

static int compile_at(int level)
{
    const struct tn_compile_options options = {DEFAULTS, .opt_level = level};
    struct tn_buffer out;
    int code = tn_compile("good.ll", good, sizeof good - 1, &options, &out, NULL, &(struct tn_error){0});
    tn_buffer_free(&out);
    return code;
}

/* What happens before shards are compiled happens in one module. Without `clone_all` no function needs an entry,
 * which is inline assembly: LLVM does not check its buffer for that. */
static int build_image(int level)
{
    static const char ir[] = "define internal void @looping(i32 %n) {\nentry:\n  br label %again\nagain:\n"
                             "  %i = phi i32 [ 0, %entry ], [ %next, %again ]\n  %next = add i32 %i, 1\n"
                             "  %more = icmp slt i32 %next, %n\n  br i1 %more, label %again, label %end\nend:\n"
                             "  ret void\n}\n"
                             "define void @first(i32 %n) {\n  call void @looping(i32 %n)\n  ret void\n}\n"
                             "define void @second(i32 %n) {\n  call void @looping(i32 %n)\n  ret void\n}\n";
    const struct tn_image_input inputs[] = {{"a.ll", ir, sizeof ir - 1}, {"good.ll", good, sizeof good - 1}};
    const struct tn_image_options options = {.size = sizeof options,
                                             .targets = "x86-64;x86-64-v3",
                                             .triple = "x86_64-linux-gnu",
                                             .opt_level = level,
                                             .shards = 2};
    struct tn_buffer out[TN_IMAGE_OUTPUTS];
    int code = tn_image_build(inputs, 2, &options, out, NULL, &(struct tn_error){0});
    tn_buffer_free(&out[TN_IMAGE_OBJECTS]);
    return code;
}

static int compile_good(void)
{
    return compile_at(2);
}

/* Answers the exit status of `body` in a child, which ends within 20 seconds and by no signal. */
static int status_of_child(int (*body)(const void *), const void *argument)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        signal(SIGSEGV, SIG_DFL); /* or cmocka catches it, and the child continues as the parent */
        _exit(body(argument));
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("a child ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* Something made with one request refused, or none; `made` is shared with the parent: so many were there. */
struct attempt {
    int (*make)(int level);
    int level;
    unsigned long number, *made;
};

/* 0: it worked all the same; 1: out of memory; 2: something else. In any case the next compilation works. */
static int refuse_one(const void *argument)
{
    const struct attempt *attempt = argument;
    requests = 0;
    refused = attempt->number;
    int code = attempt->make(attempt->level);
    refused = 0;
    *attempt->made = requests;
    return attempt->make(attempt->level) != 0 ? 2 : code == 0 ? 0 : code == TN_ENOMEM ? 1 : 2;
}

/* Refuses every `step`th request of those that are made, of which there are `least` or more. */
static void refuse_requests(int (*make)(int level), int level, unsigned step, unsigned least)
{
    unsigned long *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(made != MAP_FAILED);
    struct attempt attempt = {make, level, 0, made};
    assert_int_equal(status_of_child(refuse_one, &attempt), 0);
    unsigned long all = *made, out_of_memory = 0;
    for (attempt.number = 1; attempt.number <= all; attempt.number += step) {
        int status = status_of_child(refuse_one, &attempt);
        if (status == 2)
            fail_msg("level %d, request %lu of %lu", level, attempt.number, all);
        out_of_memory += status == 1;
    }
    if (all < least || out_of_memory < all / (step + 2))
        fail_msg("level %d: %lu requests, memory was out %lu times", level, all, out_of_memory);
    munmap(made, sizeof *made);
}

/* Any request of a compilation may be refused, with a target and passes that were used before (level 2) and with new
 * ones. Setting up LLVM is over before: it is not that robust (fatal.cpp). */
static void each_request_refused(void **state)
{
    (void)state;
    assert_int_equal(compile_good(), 0);
    refuse_requests(compile_at, 1, 7, 500);
    refuse_requests(compile_at, 2, 7, 80);
}

/* The same for an image. */
static void each_request_of_an_image_refused(void **state)
{
    (void)state;
    assert_int_equal(build_image(0), 0);
    refuse_requests(build_image, 0, 7, 500);
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
    return compile_good() != 0 ? 2 : code == 0 ? 0 : code == TN_ENOMEM ? 1 : 2;
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
        cmocka_unit_test(each_request_of_an_image_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
