/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* After a fork, parent and child both continue linking, and neither sees what the other writes. */

#include "elf_builder.h"
#include "forks.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BEFORE = 20, AFTER = 60 };

struct row {
    const char *name;
    enum tn_strategy strategy;
};

static const struct row rows[] = {
    {"dual", TN_STRATEGY_DUAL}, {"sealed", TN_STRATEGY_SEALED}, {"mprotect", TN_STRATEGY_MPROTECT}};

/* ---- objects that answer a number and hold it in constants and data ---- */

static struct bytes objects[1024];
static size_t object_count;

static void add_number(const struct fixture *f, const char *who, int i, uint32_t value)
{
    static struct elf elf;
    uint8_t code[64] = {0};
    uint32_t words[64] = {value};
    char name[64];
    memset(&elf, 0, sizeof elf);
    put_answer(code, value);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned constants = elf_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, words, sizeof words);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    snprintf(name, sizeof name, "%s_function_%d", who, i);
    elf_function(&elf, name, text, 0);
    snprintf(name, sizeof name, "%s_constant_%d", who, i);
    elf_symbol(&elf, name, STB_GLOBAL, STT_OBJECT, constants, 0, 4);
    snprintf(name, sizeof name, "%s_data_%d", who, i);
    elf_symbol(&elf, name, STB_GLOBAL, STT_OBJECT, data, 0, 4);
    assert_true(object_count < COUNT(objects));
    objects[object_count] = elf_finish(&elf);
    add_bytes(f, name, objects[object_count].at, objects[object_count].size);
    object_count++;
    link_all(f);
}

static void check_number(const struct fixture *f, const char *who, int i, uint32_t value)
{
    char name[64];
    snprintf(name, sizeof name, "%s_function_%d", who, i);
    assert_int_equal(call(f, name), value);
    snprintf(name, sizeof name, "%s_constant_%d", who, i);
    assert_int_equal(*(const uint32_t *)lookup(f, name), value);
    snprintf(name, sizeof name, "%s_data_%d", who, i);
    assert_int_equal(*(const uint32_t *)lookup(f, name), value);
}

static void write_number(const struct fixture *f, const char *who, int i, uint32_t value)
{
    char name[64];
    snprintf(name, sizeof name, "%s_data_%d", who, i);
    *(uint32_t *)lookup(f, name) = value;
}

/* ---- taking turns ---- */

static int to_child[2], to_parent[2];

static void tell(const int *pipe_ends)
{
    assert_int_equal(write(pipe_ends[1], "x", 1), 1);
}

static void await(const int *pipe_ends)
{
    char c;
    assert_int_equal(read(pipe_ends[0], &c, 1), 1);
}

static void check_all(const struct fixture *f, const char *who, int count, uint32_t base)
{
    for (int i = 0; i < BEFORE; i++)
        check_number(f, "before", i, (uint32_t)i);
    for (int i = 0; i < count; i++)
        check_number(f, who, i, base + (uint32_t)i);
}

static void go_on(const struct fixture *f, const char *who, uint32_t base, const int *in, const int *out)
{
    for (int i = 0; i < AFTER; i++) {
        await(in);
        add_number(f, who, i, base + (uint32_t)i);
        if (i % 10 == 0)
            check_all(f, who, i + 1, base);
        tell(out);
    }
}

static void in_the_child(void **state)
{
    struct fixture *f = *state;
    go_on(f, "child", 100000, to_child, to_parent);
    await(to_child);
    check_all(f, "child", AFTER, 100000);
    write_number(f, "before", 0, 77);
    check_still_works(f);
    close_fixture(f); /* affects the child only */
    tell(to_parent);
}

static void both_go_on(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = {.size = sizeof options, .strategy = row->strategy};
    struct fixture f = open_fixture(&options);
    assert_int_equal(pipe(to_child), 0);
    assert_int_equal(pipe(to_parent), 0);
    for (int i = 0; i < BEFORE; i++)
        add_number(&f, "before", i, (uint32_t)i);
    pid_t pid = fork();
    if (!pid) {
        alarm(60);
        unsetenv("CMOCKA_MESSAGE_OUTPUT");
        const struct CMUnitTest test = {.name = "child", .test_func = in_the_child, .initial_state = &f};
        _exit(_cmocka_run_group_tests("child", &test, 1, NULL, NULL) != 0);
    }
    signal(SIGPIPE, SIG_IGN);
    close(to_parent[1]);
    to_parent[1] = -1;
    tell(to_child);
    for (int i = 0; i < AFTER; i++) { /* in turns, so that they would write to the same places */
        await(to_parent);
        add_number(&f, "parent", i, 200000 + (uint32_t)i);
        tell(to_child);
    }
    await(to_parent);
    check_all(&f, "parent", AFTER, 200000);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    add_number(&f, "last", 0, 300000);
    check_number(&f, "last", 0, 300000);
    check_all(&f, "parent", AFTER, 200000);
    close_fixture(&f);
    close(to_child[0]), close(to_child[1]), close(to_parent[0]);
    while (object_count)
        free(objects[--object_count].at);
}

/* ---- generations ---- */

static void descend(void **state)
{
    struct fixture *f = *state;
    static int depth;
    char who[32];
    snprintf(who, sizeof who, "depth%d", depth);
    add_number(f, who, 0, 1000 + (uint32_t)depth);
    if (++depth < 5)
        assert_int_equal(in_child(descend, f), 0);
    for (int i = 0; i < depth; i++) {
        snprintf(who, sizeof who, "depth%d", i);
        check_number(f, who, 0, 1000 + (uint32_t)i);
    }
    add_number(f, "after", depth, 2000);
    check_number(f, "after", depth, 2000);
}

static void children_of_children(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = {.size = sizeof options, .strategy = row->strategy};
    struct fixture f = open_fixture(&options);
    assert_int_equal(in_child(descend, &f), 0);
    check_still_works(&f);
    close_fixture(&f);
}

/* Children that never link, or that destroy the session immediately. */
static void only_destroy(void **state)
{
    close_fixture(*state);
}

static void nothing(void **state)
{
    assert_int_equal(call(*state, "before_function_0"), 5);
}

static void children_that_do_not_link(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = {.size = sizeof options, .strategy = row->strategy};
    struct fixture f = open_fixture(&options);
    add_number(&f, "before", 0, 5);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(in_child(only_destroy, &f), 0);
        assert_int_equal(in_child(nothing, &f), 0);
        check_number(&f, "before", 0, 5);
        check_still_works(&f);
    }
    close_fixture(&f);
}

/* slow/fork.c does it more often. */
static void forks_use_nothing_up(void **state)
{
    const struct row *row = *state;
    fork_often(row->strategy, 260);
    fork_and_keep(row->strategy, 100);
}

int main(void)
{
    int failed = RUN_ROWS("both go on", rows, both_go_on);
    failed += RUN_ROWS("children of children", rows, children_of_children);
    failed += RUN_ROWS("forks use nothing up", rows, forks_use_nothing_up);
    return failed + RUN_ROWS("children that do not link", rows, children_that_do_not_link);
}
