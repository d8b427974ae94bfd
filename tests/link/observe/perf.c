/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The files for perf, checked against their specifications. runtime_perf.sh checks what perf makes of them. */

#include "elf_builder.h"
#include "observed.h"
#include "stubs.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"

static struct bytes read_log(const char *folder, const char *format)
{
    char name[64], path[4096];
    snprintf(name, sizeof name, format, (int)getpid());
    snprintf(path, sizeof path, "%s/%s", folder, name);
    struct bytes bytes = read_bytes(path);
    bytes.at[bytes.size] = '\0';
    return bytes;
}

static const char *new_folder(const char *name)
{
    static char folder[4096];
    snprintf(folder, sizeof folder, "%s", scratch_file(name));
    assert_int_equal(mkdir(folder, 0700), 0);
    return folder;
}

static void map_has_a_line_for_each_function(void **state)
{
    (void)state;
    const char *folder = new_folder("map");
    struct fixture f = open_fixture(NULL), other = open_fixture(NULL);
    struct tn_error err;
    struct bytes first = functions_object("first"), second = simple_object("second", NULL);
    assert_ok(tn_observe_perf(f.session, TN_PERF_MAP, folder, &err), &err);
    assert_ok(tn_observe_perf(other.session, TN_PERF_MAP, folder, &err), &err);
    add(&f, "first.o", first, NULL);
    add(&other, "second.o", second, NULL);
    uint64_t start = (uintptr_t)lookup(&f, "first"), start2 = (uintptr_t)lookup(&other, "second");
    char wanted[512];
    snprintf(wanted, sizeof wanted, "%llx 10 first\n%llx 8 inside\n%llx 10 behind\n%llx 8 local\n%llx 40 second\n",
             (unsigned long long)start, (unsigned long long)start + 8, (unsigned long long)start + 32,
             (unsigned long long)start + 48, (unsigned long long)start2);
    close_fixture(&f);
    struct bytes log = read_log(folder, "perf-%d.map");
    assert_string_equal((char *)log.at, wanted);
    free(log.at);
    close_fixture(&other);
    free(first.at);
    free(second.at);
}

static void map_names_stubs(void **state)
{
    (void)state;
    const char *folder = new_folder("stubs");
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    const struct tn_lazy_symbol symbols[] = {{.name = "first", .target = "body"}, {.name = "second", .target = "body"}};
    assert_ok(tn_observe_perf(f.session, TN_PERF_MAP, folder, &err), &err);
    assert_ok(tn_define_lazy(f.library, symbols, COUNT(symbols), f.library, &stub_options, &err), &err);
    char wanted[512];
    snprintf(wanted, sizeof wanted, "%llx 10 first@stub\n%llx 10 second@stub\n",
             (unsigned long long)(uintptr_t)lookup(&f, "first"), (unsigned long long)(uintptr_t)lookup(&f, "second"));
    struct bytes log = read_log(folder, "perf-%d.map");
    assert_string_equal((char *)log.at, wanted);
    free(log.at);
    close_fixture(&f);
}

static uint64_t word(const struct bytes *log, size_t at, size_t size)
{
    uint64_t value = 0;
    assert_true(at + size <= log->size);
    memcpy(&value, log->at + at, size);
    return value;
}

/* Checks a record of jitdump-specification.txt; returns the offset of the next one. */
static size_t check_load(const struct bytes *log, size_t at, const char *name, uint64_t address, uint64_t size,
                         uint64_t index)
{
    assert_int_equal(word(log, at, 4), 0);
    assert_int_equal(word(log, at + 4, 4), 56 + strlen(name) + 1 + size);
    assert_true(word(log, at + 8, 8) >= word(log, 24, 8)); /* times */
    assert_int_equal(word(log, at + 16, 4), (uint64_t)getpid());
    assert_int_not_equal(word(log, at + 20, 4), 0);
    assert_int_equal(word(log, at + 24, 8), address);
    assert_int_equal(word(log, at + 32, 8), address);
    assert_int_equal(word(log, at + 40, 8), size);
    assert_int_equal(word(log, at + 48, 8), index);
    assert_string_equal((char *)log->at + at + 56, name);
    assert_memory_equal(log->at + at + 56 + strlen(name) + 1, (const void *)(uintptr_t)address, size);
    return at + word(log, at + 4, 4);
}

static bool marker_is_mapped(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, "jit-") && strstr(line, " r-xp ");
    fclose(maps);
    return found;
}

static void jitdump_has_records_and_the_code(void **state)
{
    (void)state;
    const char *folder = new_folder("jitdump");
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct bytes first = functions_object("first"), second = simple_object("second", NULL);
    assert_ok(tn_observe_perf(f.session, TN_PERF_JITDUMP, folder, &err), &err);
    assert_true(marker_is_mapped());
    add(&f, "first.o", first, NULL);
    uint64_t start = (uintptr_t)lookup(&f, "first");
    add(&f, "second.o", second, NULL);
    uint64_t start2 = (uintptr_t)lookup(&f, "second");
    assert_ok(tn_define_redirectable(f.library, "led", &f, &stub_options, &err), &err);
    struct bytes log = read_log(folder, "jit-%d.dump");
    assert_int_equal(word(&log, 0, 4), 0x4A695444);
    assert_int_equal(word(&log, 4, 4), 1);
    assert_int_equal(word(&log, 8, 4), 40);
    assert_int_equal(word(&log, 12, 4), EM_X86_64);
    assert_int_equal(word(&log, 20, 4), (uint64_t)getpid());
    assert_int_equal(word(&log, 32, 8), 0);
    size_t at = check_load(&log, 40, "first", start, 16, 0);
    at = check_load(&log, at, "inside", start + 8, 8, 1);
    at = check_load(&log, at, "behind", start + 32, 16, 2);
    at = check_load(&log, at, "local", start + 48, 8, 3);
    at = check_load(&log, at, "second", start2, 64, 4);
    at = check_load(&log, at, "led@stub", (uintptr_t)lookup(&f, "led"), 16, 5);
    assert_int_equal(at, log.size);
    free(log.at);
    close_fixture(&f);
    assert_false(marker_is_mapped());
    log = read_log(folder, "jit-%d.dump");
    assert_int_equal(word(&log, at, 4), 3); /* JIT_CODE_CLOSE */
    assert_int_equal(log.size, at + 16);
    free(log.at);
    free(first.at);
    free(second.at);
}

/* Line 1 at 0, line 2 at 4 of one.c, line 2 at 8 of two.c, the end at 12; see lines.c. */
static const char line_table[] = "\110\0\0\0\4\0\53\0\0\0\1\1\1\373\16\15\0\1\1\1\1\0\0\0\1\0\0\1"
                                 "sub\0\0one.c\0\1\0\0/two.c\0\1\0\0\0"
                                 "\0\11\2\0\0\0\0\0\0\0\0\1\113\2\4\4\2\1\2\4\0\1\1";
enum { ADDRESS_AT = 56 };

static struct bytes lines_object(void)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned lines = elf_section(&elf, ".debug_line", SHT_PROGBITS, 0, line_table, sizeof line_table - 1);
    unsigned first = elf_symbol(&elf, "first", STB_GLOBAL, STT_FUNC, text, 0, 8);
    elf_symbol(&elf, "second", STB_GLOBAL, STT_FUNC, text, 10, 2);
    elf_symbol(&elf, "behind", STB_GLOBAL, STT_FUNC, text, 12, 8);
    elf_reloc(&elf, lines, ADDRESS_AT, first, R_X86_64_64, 0);
    return elf_finish(&elf);
}

struct wanted_line {
    uint64_t address, line;
    const char *path;
};

static size_t check_lines(const struct bytes *log, size_t at, uint64_t address, const struct wanted_line *wanted,
                          size_t count)
{
    size_t end = at + word(log, at + 4, 4);
    assert_int_equal(word(log, at, 4), 2); /* JIT_CODE_DEBUG_INFO */
    assert_int_equal(word(log, at + 16, 8), address);
    assert_int_equal(word(log, at + 24, 8), count);
    at += 32;
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(word(log, at, 8), wanted[i].address);
        assert_int_equal(word(log, at + 8, 4), wanted[i].line);
        assert_int_equal(word(log, at + 12, 4), 0);
        assert_string_equal((char *)log->at + at + 16, wanted[i].path);
        at += 16 + strlen(wanted[i].path) + 1;
    }
    assert_int_equal(at, end);
    return end;
}

static void jitdump_has_lines_ahead_of_the_code(void **state)
{
    (void)state;
    const char *folder = new_folder("lines");
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct bytes object = lines_object();
    assert_ok(tn_observe_perf(f.session, TN_PERF_JITDUMP, folder, &err), &err);
    add(&f, "lines.o", object, NULL);
    uint64_t start = (uintptr_t)lookup(&f, "first");
    struct bytes log = read_log(folder, "jit-%d.dump");
    const struct wanted_line first[] = {{start, 1, "sub/one.c"}, {start + 4, 2, "sub/one.c"}},
                             second[] = {{start + 10, 2, "/two.c"}};
    size_t at = check_lines(&log, 40, start, first, COUNT(first));
    at = check_load(&log, at, "first", start, 8, 0);
    at = check_lines(&log, at, start + 10, second, COUNT(second));
    at = check_load(&log, at, "second", start + 10, 2, 1);
    at = check_load(&log, at, "behind", start + 12, 8, 2);
    assert_int_equal(at, log.size);
    free(log.at);
    close_fixture(&f);
    free(object.at);
}

struct forked {
    struct fixture f;
    struct bytes object;
    const char *folder;
    int granted; /* requests to the system that succeed before one fails */
};

static void link_in_child(void **state)
{
    struct forked *forked = *state;
    add(&forked->f, "first.o", forked->object, NULL);
    link_all(&forked->f);
    struct bytes log = read_log(forked->folder, "perf-%d.map");
    assert_non_null(strstr((char *)log.at, " 10 first\n"));
    free(log.at);
}

static void a_child_writes_a_file_of_its_own(void **state)
{
    (void)state;
    struct forked forked = {open_fixture(NULL), functions_object("first"), new_folder("fork")};
    struct tn_error err;
    assert_ok(tn_observe_perf(forked.f.session, TN_PERF_MAP, forked.folder, &err), &err);
    assert_int_equal(in_child(link_in_child, &forked), 0);
    struct bytes log = read_log(forked.folder, "perf-%d.map");
    assert_int_equal(log.size, 0);
    free(log.at);
    close_fixture(&forked.f);
    free(forked.object.at);
}

/* Whatever fails in the child's first link, its next link has a file. */
static void fail_and_link_in_child(void **state)
{
    struct forked *forked = *state;
    struct tn_error err;
    char plan[80] = "";
    for (int i = 0; i < forked->granted; i++)
        strcat(plan, ". ");
    add(&forked->f, "first.o", forked->object, NULL);
    tn__os_set_faults(strcat(plan, "F"));
    (void)tn_link(forked->f.library, &err);
    tn__os_set_faults(NULL);
    link_all(&forked->f);
    struct bytes log = read_log(forked->folder, "jit-%d.dump");
    assert_int_equal(word(&log, 0, 4), 0x4A695444);
    assert_non_null(memmem(log.at, log.size, "first", 6));
    free(log.at);
}

static void a_child_that_got_no_file_tries_again(void **state)
{
    enum { MOST_REQUESTS = 20 };
    (void)state;
    struct forked forked = {open_fixture(NULL), functions_object("first"), new_folder("again"), 0};
    struct tn_error err;
    assert_ok(tn_observe_perf(forked.f.session, TN_PERF_JITDUMP, forked.folder, &err), &err);
    for (; forked.granted < MOST_REQUESTS; forked.granted++)
        assert_int_equal(in_child(fail_and_link_in_child, &forked), 0);
    close_fixture(&forked.f);
    free(forked.object.at);
}

static void files_that_cannot_be_written_are_errors(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct bytes object = simple_object("f", NULL);
    assert_error(tn_observe_perf(f.session, TN_PERF_MAP, "/nowhere", &err), TN_EIO, &err, "/nowhere", "No such file");
    assert_error(tn_observe_perf(f.session, (enum tn_perf)2, "/tmp", &err), TN_EINVAL, &err, "2");
    assert_error(tn_observe_perf(NULL, TN_PERF_MAP, "/tmp", &err), TN_EINVAL, &err, "session");
    const char *folder = new_folder("refused");
    tn__os_set_faults("x"); /* as in a directory mounted noexec */
    int code_now = tn_observe_perf(f.session, TN_PERF_JITDUMP, folder, &err);
    tn__os_set_faults(NULL);
    assert_error(code_now, TN_EPERM, &err, folder);
    assert_ok(tn_observe_perf(f.session, TN_PERF_JITDUMP, folder, &err), &err);
    add(&f, "f.o", object, NULL);
    tn__os_set_faults("F*");
    code_now = tn_link(f.library, &err);
    tn__os_set_faults(NULL);
    assert_int_equal(code_now, TN_ENOMEM);
    link_all(&f);
    assert_int_equal(call(&f, "f"), 0);
    close_fixture(&f);
    free(object.at);
}

/* ---- files that are somebody else's ---- */

static void traps_are_not_written_to(void **state)
{
    (void)state;
    static const char *const kinds[] = {"own", "link", "writable", "hard link", "folder"};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        char folder[4096], path[8192], other[8192];
        snprintf(folder, sizeof folder, "%s", new_folder(kinds[i]));
        snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
        snprintf(other, sizeof other, "%s/other", folder);
        write_bytes(other, "precious", 8);
        if (i == 0 || i == 2)
            write_bytes(path, "stale", 5);
        if (i == 1)
            assert_int_equal(symlink(other, path), 0);
        if (i == 2)
            assert_int_equal(chmod(path, 0666), 0);
        if (i == 3)
            assert_int_equal(link(other, path), 0);
        if (i == 4)
            assert_int_equal(mkdir(path, 0700), 0);
        struct fixture f = open_fixture(NULL);
        struct tn_error err;
        int result = tn_observe_perf(f.session, TN_PERF_JITDUMP, folder, &err);
        if (i)
            assert_error(result, TN_EIO, &err, folder);
        else
            assert_ok(result, &err);
        struct stat st;
        if (!i) {
            assert_int_equal(stat(path, &st), 0);
            assert_int_equal(st.st_mode & 0777, 0600);
        }
        close_fixture(&f);
        struct bytes kept = read_bytes(other);
        assert_int_equal(kept.size, 8);
        assert_memory_equal(kept.at, "precious", 8);
        free(kept.at);
    }
}

static void the_default_folder_is_private(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct stat st;
    char folder[64], path[128];
    snprintf(folder, sizeof folder, "/tmp/tenon-%u", (unsigned)geteuid());
    snprintf(path, sizeof path, "%s/jit-%d.dump", folder, (int)getpid());
    assert_ok(tn_observe_perf(f.session, TN_PERF_JITDUMP, NULL, &err), &err);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(stat(path, &st), 0);
    close_fixture(&f);
    assert_int_equal(unlink(path), 0);
}

static void names_are_quoted(void **state)
{
    (void)state;
    static const char name[] = "f\n7f00 10 fake\x1b[2J\x7f\xc2\x9b!";
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    const char *folder = new_folder("quoted");
    struct bytes object = simple_object(name, NULL);
    assert_ok(tn_observe_perf(f.session, TN_PERF_MAP, folder, &err), &err);
    add(&f, "quoted.o", object, NULL);
    link_all(&f);
    close_fixture(&f);
    struct bytes log = read_log(folder, "perf-%d.map");
    size_t lines = 0;
    for (size_t i = 0; i < log.size; i++)
        lines += log.at[i] == '\n';
    assert_int_equal(lines, 1);
    assert_non_null(memmem(log.at, log.size,
                           "f?7f00 10 fake?[2J??"
                           "?!\n",
                           23));
    free(log.at);
    free(object.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(traps_are_not_written_to),
        cmocka_unit_test(the_default_folder_is_private),
        cmocka_unit_test(names_are_quoted),
        cmocka_unit_test(map_has_a_line_for_each_function),
        cmocka_unit_test(map_names_stubs),
        cmocka_unit_test(jitdump_has_records_and_the_code),
        cmocka_unit_test(jitdump_has_lines_ahead_of_the_code),
        cmocka_unit_test(a_child_writes_a_file_of_its_own),
        cmocka_unit_test(a_child_that_got_no_file_tries_again),
        cmocka_unit_test(files_that_cannot_be_written_are_errors),
    };
    return cmocka_run_group_tests_name("perf", tests, NULL, NULL);
}
