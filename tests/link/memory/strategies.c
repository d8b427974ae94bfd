/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The strategies for executable memory, each forced; windows of all sizes and places; PR_SET_MDWE; many objects. */

#include "elf_builder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

#ifndef PR_SET_MDWE /* Linux 6.3 */
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

struct row {
    const char *name;
    enum tn_strategy strategy;
};

static const struct row rows[] = {
    {"dual", TN_STRATEGY_DUAL}, {"sealed", TN_STRATEGY_SEALED}, {"mprotect", TN_STRATEGY_MPROTECT}};

static struct tn_session_options options_of(enum tn_strategy strategy)
{
    return (struct tn_session_options){.size = sizeof(struct tn_session_options), .strategy = strategy};
}

static int host(int x)
{
    check_maps();
    return x + 1;
}

static int run_matrix(const struct fixture *f)
{
    void *address = lookup(f, "run");
    int (*run)(int (*)(int));
    memcpy(&run, &address, sizeof run);
    return run(host);
}

static void write_to(void **state)
{
    signal(SIGSEGV, SIG_DFL); /* without cmocka's handler */
    *(volatile uint8_t *)*state = 0;
}

static void it_works_and_its_code_and_constants_cannot_be_written(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = options_of(row->strategy);
    struct fixture f = open_fixture(&options);
    add_file(&f, "matrix_a.o");
    add_file(&f, "matrix_b.o");
    assert_int_equal(run_matrix(&f), 0);
    assert_string_equal(stats_of(&f).strategy, row->name);
    assert_int_equal(in_child(write_to, lookup(&f, "run")), 128 + SIGSEGV);
    assert_int_equal(in_child(write_to, lookup(&f, "functions")), 128 + SIGSEGV);
    assert_int_equal(in_child(write_to, lookup(&f, "shared_data")), 0);
    close_fixture(&f);
}

static void libraries_and_sessions_go_on_side_by_side(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = options_of(row->strategy);
    struct fixture f[4];
    for (size_t i = 0; i < COUNT(f); i++) {
        f[i] = open_fixture(&options);
        add_file(&f[i], "matrix_a.o");
        add_file(&f[i], "matrix_b.o");
        assert_int_equal(run_matrix(&f[i]), 0);
    }
    for (size_t i = 0; i < COUNT(f); i++) {
        check_still_works(&f[i]);
        close_fixture(&f[i]);
        for (size_t k = i + 1; k < COUNT(f); k++)
            assert_int_equal(run_matrix(&f[k]), 0);
    }
}

/* ---- PR_SET_MDWE ---- */

static void under_mdwe(void **state)
{
    const struct row *row = *state;
    if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0))
        _exit(77);
    struct tn_session_options options = options_of(row->strategy);
    struct tn_session *session;
    struct tn_error err;
    int code = tn_session_create(&options, &session, &err);
    if (row->strategy == TN_STRATEGY_MPROTECT) {
        assert_error(code, TN_EPERM, &err, "mprotect", "PR_SET_MDWE", "Permission denied");
        options.strategy = TN_STRATEGY_AUTO;
        code = tn_session_create(&options, &session, &err);
    }
    assert_ok(code, &err);
    tn_session_destroy(session);
    struct fixture f = open_fixture(&options);
    add_file(&f, "matrix_a.o");
    add_file(&f, "matrix_b.o");
    assert_int_equal(run_matrix(&f), 0);
    assert_string_not_equal(stats_of(&f).strategy, "mprotect");
    close_fixture(&f);
}

static void mdwe_refuses_mprotect_and_nothing_else(void **state)
{
    int status = in_child(under_mdwe, *state);
    if (status == 77)
        skip(); /* an older kernel */
    assert_int_equal(status, 0);
}

/* ---- windows ---- */

struct window {
    const char *name;
    size_t size;
    int code;
};

static const struct window windows[] = {
    {"3 pages", 3 * 4096, TN_EINVAL},
    {"one byte less than 4 pages", 4 * 4096 - 1, TN_EINVAL},
    {"4 pages", 4 * 4096, 0},
    {"4 pages and a byte", 4 * 4096 + 1, 0},
    {"1 MiB", 1 << 20, 0},
    {"1 GiB", 1 << 30, 0},
    {"1 GiB and a byte", (1 << 30) + 1, TN_EINVAL},
    {"everything", SIZE_MAX, TN_EINVAL},
};

static void a_window_of_this_size(void **state)
{
    const struct window *row = *state;
    struct tn_session_options options = {.size = sizeof options, .window_size = row->size};
    struct tn_session *session;
    struct tn_error err;
    int code = tn_session_create(&options, &session, &err);
    if (row->code) {
        assert_error(code, row->code, &err, "window");
        return;
    }
    assert_ok(code, &err);
    struct fixture f = {.session = session};
    check_still_works(&f);
    assert_in_range(stats_of(&f).reserved_bytes, row->size, row->size + 4095);
    tn_session_destroy(session);
}

static struct bytes object_of_size(size_t code_size, size_t constant_size, size_t data_size, size_t zero_size,
                                   size_t alignment)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    static const struct {
        const char *name, *symbol;
        uint32_t type, flags;
    } parts[] = {
        {".text", "code", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR},
        {".rodata", "constants", SHT_PROGBITS, SHF_ALLOC},
        {".data", "data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE},
        {".bss", "zeros", SHT_NOBITS, SHF_ALLOC | SHF_WRITE},
    };
    const size_t sizes[] = {code_size, constant_size, data_size, zero_size};
    uint8_t *contents[COUNT(parts)] = {NULL};
    for (size_t i = 0; i < COUNT(parts); i++) {
        contents[i] = malloc(sizes[i] + 1);
        for (size_t k = 0; k < sizes[i]; k++)
            contents[i][k] = (uint8_t)(k * 7 + k / 256 + i);
        unsigned section = elf_section(&elf, parts[i].name, parts[i].type, parts[i].flags, contents[i], sizes[i]);
        elf.sections[section].header.sh_addralign = alignment;
        elf_symbol(&elf, parts[i].symbol, STB_GLOBAL, STT_NOTYPE, section, 0, sizes[i]);
    }
    struct bytes object = elf_finish(&elf);
    for (size_t i = 0; i < COUNT(parts); i++)
        free(contents[i]);
    return object;
}

static void check_contents(const struct fixture *f, const char *name, size_t size, int part, size_t alignment)
{
    const uint8_t *at = lookup(f, name);
    assert_int_equal((uintptr_t)at % alignment, 0);
    for (size_t k = 0; k < size; k++)
        if (at[k] != (part < 3 ? (uint8_t)(k * 7 + k / 256 + (size_t)part) : 0))
            fail_msg("%s+%zu is %#x", name, k, at[k]);
}

struct extent {
    const char *name;
    size_t code, constants, data, zeros, alignment;
};

/* Around the sizes at which the linker changes its method: pages, and writes through the file. */
static const struct extent extents[] = {
    {"one byte", 1, 1, 1, 1, 1},
    {"a page less one", 4095, 4095, 4095, 4095, 16},
    {"a page", 4096, 4096, 4096, 4096, 4096},
    {"32 KiB less one", 32767, 32767, 32767, 32767, 1},
    {"32 KiB", 32768, 32768, 32768, 32768, 1},
    {"100 KiB", 100001, 100003, 100005, 100007, 64},
    {"9 MiB", 9 << 20, 5 << 20, 7 << 20, 20 << 20, 32},
    {"2 MiB alignment", 100, 100, 100, 100, 2 << 20},
    {"only zeros", 0, 0, 0, 100000, 8},
};

static void extents_arrive_whole(void **state)
{
    const struct extent *row = *state;
    for (size_t s = 0; s < COUNT(rows); s++) {
        const struct tn_session_options options = options_of(rows[s].strategy);
        struct fixture f = open_fixture(&options);
        struct bytes object = object_of_size(row->code, row->constants, row->data, row->zeros, row->alignment);
        struct tn_error err;
        /* Several, so that they are adjacent, with small ones between them. */
        for (int i = 0; i < 3; i++) {
            struct fixture one = {.session = f.session};
            assert_ok(tn_library_create(f.session, "one", &one.library, &err), &err);
            add_bytes(&one, "extent.o", object.at, object.size);
            link_all(&one);
            check_still_works(&f);
            check_contents(&one, "code", row->code, 0, row->alignment);
            check_contents(&one, "constants", row->constants, 1, row->alignment);
            check_contents(&one, "data", row->data, 2, row->alignment);
            check_contents(&one, "zeros", row->zeros, 3, row->alignment);
        }
        close_fixture(&f);
        free(object.at);
    }
}

static void a_full_window_says_so_and_goes_on(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = {
        .size = sizeof options, .window_size = 1 << 20, .strategy = row->strategy};
    struct fixture f = open_fixture(&options);
    struct bytes large = object_of_size(600 << 10, 0, 0, 0, 16), too_large = object_of_size(0, 0, 0, 2 << 20, 16);
    struct bytes aligned = object_of_size(1, 0, 0, 0, 1U << 31);
    const struct bytes misfits[] = {large, too_large, aligned};
    struct tn_error err;
    add_bytes(&f, "first.o", large.at, large.size);
    link_all(&f);
    for (size_t i = 0; i < COUNT(misfits); i++) {
        struct fixture other = {.session = f.session};
        assert_ok(tn_library_create(f.session, "other", &other.library, &err), &err);
        struct tn_stats before = stats_of(&f), after;
        add_bytes(&other, "second.o", misfits[i].at, misfits[i].size);
        assert_error(tn_link(other.library, &err), TN_ENOMEM, &err, "window of 1 MiB");
        after = stats_of(&f);
        assert_same_memory(&before, &after);
        check_still_works(&f);
    }
    close_fixture(&f);
    for (size_t i = 0; i < COUNT(misfits); i++)
        free(misfits[i].at);
}

static void the_window_lies_near_what_is_asked_for(void **state)
{
    (void)state;
    uint64_t start, end;
    tn__os_program_range(&start, &end);
    const uint64_t near[] = {
        0, start, (uintptr_t)abs, (uintptr_t)&start, 0x10000, start + (64ULL << 30), 0x7ffffffff000};
    for (size_t i = 0; i < COUNT(near); i++) {
        const struct tn_session_options options = {.size = sizeof options, .window_near = near[i]};
        struct fixture f = open_fixture(&options);
        add_file(&f, "matrix_b.o");
        define(&f, "twice_a", abs);
        define(&f, "common_counter", &f);
        uint64_t code = (uintptr_t)lookup(&f, "add_b"), wanted = near[i] ? near[i] : start;
        uint64_t distance = code > wanted ? code - wanted : wanted - code;
        if (distance >= 1ULL << 31)
            fail_msg("%#llx is %#llx away from %#llx", (unsigned long long)code, (unsigned long long)distance,
                     (unsigned long long)wanted);
        close_fixture(&f);
    }
}

static void far_windows_work_as_well(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = options_of(row->strategy);
    tn__os_set_faults("h*"); /* the system ignores every hint */
    struct fixture f = open_fixture(&options);
    add_file(&f, "matrix_a.o");
    add_file(&f, "matrix_b.o");
    assert_int_equal(run_matrix(&f), 0);
    uint64_t distance = (uintptr_t)lookup(&f, "run") - (uintptr_t)host;
    assert_true(distance + (1ULL << 31) >= 1ULL << 32);
    tn__os_set_faults(NULL);
    close_fixture(&f);
}

/* ---- descriptors ---- */

/* A program that daemonizes closes every descriptor; its log then gets a number that was ours. */
static void daemonize(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = options_of(row->strategy);
    enum { FILES = 64, SIZE = 200000 };
    struct fixture f = open_fixture(&options);
    struct bytes object = object_of_size(SIZE, SIZE, SIZE, SIZE, 16);
    check_still_works(&f); /* there are chunks now */
    add_file(&f, "low.o");
    link_all(&f);
    for (int fd = 3; fd < FILES; fd++)
        close(fd);
    for (int i = 3; i < FILES; i++) {
        int fd = open(scratch_file("log"), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        assert_int_equal(fd, i);
    }
    add_bytes(&f, "large.o", object.at, object.size);
    link_all(&f);
    check_contents(&f, "code", SIZE, 0, 16);
    check_contents(&f, "constants", SIZE, 1, 16);
    check_contents(&f, "data", SIZE, 2, 16);
    close_fixture(&f);
    for (int i = 3; i < FILES; i++) {
        struct stat st;
        assert_int_equal(fstat(i, &st), 0); /* still open, */
        assert_int_equal(st.st_size, 0);    /* and we wrote nothing to it */
    }
    free(object.at);
}

static void descriptors_of_the_program_are_left_alone(void **state)
{
    scratch_file("log"); /* creates the folder, which this process removes */
    assert_int_equal(in_child(daemonize, *state), 0);
}

/* ---- many objects ---- */

static void many_objects_share_a_handful_of_mappings(void **state)
{
    const struct row *row = *state;
    enum { OBJECTS = 3000 };
    const struct tn_session_options options = options_of(row->strategy);
    struct fixture f = open_fixture(&options);
    struct bytes objects[OBJECTS];
    struct tn_error err;
    for (int i = 0; i < OBJECTS; i++) {
        static struct elf elf;
        uint8_t code[ANSWER_SIZE];
        char name[32];
        snprintf(name, sizeof name, "function_%d", i);
        memset(&elf, 0, sizeof elf);
        put_answer(code, (uint32_t)i);
        elf_function(&elf, name, elf_code(&elf, code, sizeof code), 0);
        objects[i] = elf_finish(&elf);
        assert_int_equal(try_add_bytes(&f, name, objects[i].at, objects[i].size, &err), 0);
        if (i % 10 == 9)
            assert_int_equal(tn_link(f.library, &err), 0);
    }
    check_maps(); /* not in each step: ranges that do not share pages take thousands of mappings */
    for (int i = 0; i < OBJECTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%d", i);
        void *address;
        int (*function)(void);
        assert_int_equal(tn_lookup(f.library, name, &address, &err), 0);
        memcpy(&function, &address, sizeof function);
        assert_int_equal(function(), i);
        free(objects[i].at);
    }
    struct tn_stats stats = stats_of(&f);
    assert_int_equal(stats.objects, OBJECTS);
    if (row->strategy == TN_STRATEGY_DUAL)
        assert_in_range(stats.mappings, 1, 16);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_window_lies_near_what_is_asked_for)};
    int failed = cmocka_run_group_tests_name("link/strategies", tests, NULL, NULL);
    failed += RUN_ROWS("works", rows, it_works_and_its_code_and_constants_cannot_be_written);
    failed += RUN_ROWS("side by side", rows, libraries_and_sessions_go_on_side_by_side);
    failed += RUN_ROWS("PR_SET_MDWE", rows, mdwe_refuses_mprotect_and_nothing_else);
    failed += RUN_ROWS("window", windows, a_window_of_this_size);
    failed += RUN_ROWS("extent", extents, extents_arrive_whole);
    failed += RUN_ROWS("full window", rows, a_full_window_says_so_and_goes_on);
    failed += RUN_ROWS("descriptors", rows, descriptors_of_the_program_are_left_alone);
    failed += RUN_ROWS("far window", rows, far_windows_work_as_well);
    return failed + RUN_ROWS("many objects", rows, many_objects_share_a_handful_of_mappings);
}
