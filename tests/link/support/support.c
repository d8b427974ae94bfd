/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "support.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf_builder.h"

/* ---- the checks ---- */

void check_maps(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    assert_non_null(maps);
    int lines = 0;
    bool seen_code = false;
    while (fgets(line, sizeof line, maps)) {
        char mode[5] = "";
        if (sscanf(line, "%*x-%*x %4s", mode) != 1)
            continue;
        lines++;
        seen_code |= mode[2] == 'x';
        if (mode[1] == 'w' && mode[2] == 'x')
            fail_msg("writable and executable: %s", line);
    }
    fclose(maps);
    assert_true(lines > 0 && seen_code); /* the format was understood */
}

void assert_ok_at(int code, const struct tn_error *err, const char *file, int line)
{
    if (code) {
        print_error("%s:%d: %s: %s\n", file, line, tn_error_name(code), err->text);
        _fail(file, line);
    }
    check_maps();
}

void assert_error_at(int code, int wanted, const struct tn_error *err, const char *const *words, const char *file,
                     int line)
{
    bool good = code == wanted && (!code || err->code == code);
    for (; good && *words; words++)
        good = (!wanted || **words) && strstr(err->text, *words) != NULL; /* an empty word would be in any text */
    if (!good) {
        print_error("%s:%d: wanted %s%s%s, got %s: %s\n", file, line, tn_error_name(wanted), *words ? " with " : "",
                    *words ? *words : "", tn_error_name(code), code ? err->text : "");
        _fail(file, line);
    }
    check_maps();
}

/* ---- sessions ---- */

struct fixture open_fixture(const struct tn_session_options *options)
{
    static const struct tn_session_options usual = {.size = sizeof usual, .window_size = MACHINE_WINDOW};
    struct fixture f;
    struct tn_error err;
    assert_ok(tn_session_create(options ? options : &usual, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "main", &f.library, &err), &err);
    assert_ok(tn_add_resolver(f.library, tn_resolve_dlsym, NULL, &err), &err);
    return f;
}

void close_fixture(struct fixture *f)
{
    tn_session_destroy(f->session);
    f->session = NULL;
    check_maps();
}

struct tn_stats stats_of(const struct fixture *f)
{
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(f->session, &stats);
    return stats;
}

void add_file(const struct fixture *f, const char *name)
{
    struct tn_error err;
    assert_ok(tn_add_file(f->library, strchr(name, '/') ? name : data_file(name), &err), &err);
}

int try_add_bytes(const struct fixture *f, const char *name, const void *bytes, size_t size, struct tn_error *err)
{
    const struct tn_input input = {.size = sizeof input, .name = name, .bytes = bytes, .length = size};
    return tn_add_object(f->library, &input, err);
}

void add_bytes(const struct fixture *f, const char *name, const void *bytes, size_t size)
{
    struct tn_error err;
    assert_ok(try_add_bytes(f, name, bytes, size, &err), &err);
}

void define(const struct fixture *f, const char *name, const void *address)
{
    struct tn_error err;
    assert_ok(tn_define(f->library, name, address, &err), &err);
}

void link_all(const struct fixture *f)
{
    struct tn_error err;
    assert_ok(tn_link(f->library, &err), &err);
}

void *lookup(const struct fixture *f, const char *name)
{
    struct tn_error err;
    void *address = NULL;
    assert_ok(tn_lookup(f->library, name, &address, &err), &err);
    return address;
}

int call(const struct fixture *f, const char *name)
{
    void *address = lookup(f, name);
    int (*function)(void);
    memcpy(&function, &address, sizeof function);
    return function();
}

struct tn_tracker *new_tracker(const struct fixture *f)
{
    struct tn_tracker *tracker;
    struct tn_error err;
    assert_ok(tn_tracker_create(f->library, &tracker, &err), &err);
    return tracker;
}

void check_still_works(const struct fixture *f)
{
    uint8_t code[ANSWER_SIZE];
    put_answer(code, 42);
    struct elf elf = {0};
    unsigned text = elf_code(&elf, code, sizeof code);
    elf_function(&elf, "answer", text, 0);
    struct bytes object = elf_finish(&elf);
    struct fixture fresh = {.session = f->session};
    struct tn_error err;
    assert_ok(tn_library_create(f->session, "fresh", &fresh.library, &err), &err);
    add_bytes(&fresh, "good.o", object.at, object.size);
    assert_int_equal(call(&fresh, "answer"), 42);
    free(object.at);
}

void check_size(const struct fixture *f, const struct size_row *row, const void *bytes, size_t size)
{
    struct tn_error err;
    add_bytes(f, "x.o", bytes, size);
    int code = tn_link(f->library, &err);
    if (row->code)
        assert_error(code, row->code, &err, "x.o", row->word);
    else
        assert_ok(code, &err);
    check_still_works(f);
}

void assert_same_memory(const struct tn_stats *before, const struct tn_stats *after)
{
    assert_int_equal(before->code_bytes, after->code_bytes);
    assert_int_equal(before->rodata_bytes, after->rodata_bytes);
    assert_int_equal(before->data_bytes, after->data_bytes);
    assert_int_equal(before->objects, after->objects);
    assert_int_equal(before->got_slots, after->got_slots);
    assert_int_equal(before->stubs, after->stubs);
}

unsigned count_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    unsigned count = 0;
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* ---- files ---- */

const char *data_file(const char *name)
{
    static char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    assert_true(length > 0);
    path[length] = '\0';
    *strrchr(path, '/') = '\0';
    char *end = strrchr(path, '/'); /* the program is in the folder of a room, or in slow */
    snprintf(end, sizeof path - (size_t)(end - path), "/data/%s", name);
    return path;
}

bool data_exists(const char *name)
{
    return access(data_file(name), R_OK) == 0;
}

struct bytes read_bytes(const char *path)
{
    FILE *file = fopen(path, "rbe");
    if (!file)
        fail_msg("cannot open %s", path);
    struct stat st;
    assert_int_equal(fstat(fileno(file), &st), 0);
    struct bytes bytes = {malloc((size_t)st.st_size + 1), (size_t)st.st_size};
    assert_int_equal(fread(bytes.at, 1, bytes.size, file), bytes.size);
    fclose(file);
    return bytes;
}

void write_bytes(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wbe");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char scratch[] = "/tmp/tenon-test-XXXXXX";

static void remove_scratch(void)
{
    char command[sizeof scratch + 10];
    snprintf(command, sizeof command, "rm -rf %s", scratch);
    if (system(command))
        perror(scratch);
}

const char *scratch_file(const char *name)
{
    static char path[PATH_MAX];
    if (strchr(scratch, 'X') && strstr(scratch, "XXXXXX")) {
        assert_non_null(mkdtemp(scratch));
        atexit(remove_scratch);
    }
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    return path;
}

/* ---- rows ---- */

int run_rows(const char *group, const void *rows, size_t count, size_t size, CMUnitTestFunction run)
{
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    char(*names)[256] = calloc(count, sizeof *names);
    for (size_t i = 0; i < count; i++) {
        const char *row = (const char *)rows + i * size, *name;
        memcpy(&name, row, sizeof name);
        snprintf(names[i], sizeof names[i], "%s: %s", group, name);
        tests[i] = (struct CMUnitTest){.name = names[i], .test_func = run, .initial_state = (void *)(uintptr_t)row};
    }
    int failed = _cmocka_run_group_tests(group, tests, count, NULL, NULL);
    free(names);
    free(tests);
    return failed;
}

int in_child(CMUnitTestFunction body, void *argument)
{
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        unsetenv("CMOCKA_MESSAGE_OUTPUT"); /* its result is not that of the suite */
        const struct CMUnitTest test = {.name = "child", .test_func = body, .initial_state = argument};
        _exit(_cmocka_run_group_tests("child", &test, 1, NULL, NULL) != 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
