/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What os.h promises beyond success and failure. */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/os.h"

/* Runs `body` in a child process; returns its exit status. */
static int in_child(int (*body)(void))
{
    pid_t pid = fork();
    if (!pid) {
        signal(SIGSEGV, SIG_DFL); /* cmocka's handler would continue with the next test */
        _exit(body());
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void a_decommitted_page_comes_back_zeroed(void **state)
{
    (void)state;
    size_t size = tn__os_page_size();
    uint64_t address;
    assert_int_equal(tn__os_reserve(0, size, false, &address), 0);
    volatile char *p = (char *)(uintptr_t)address;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tn__os_commit(address, size, TN__PROT_RW), 0);
        tn__os_prefault(address, size);
        assert_int_equal(p[5], 0);
        p[5] = 7;
        assert_int_equal(tn__os_decommit(address, size), 0);
    }
    tn__os_release(address, size);
}

static uint8_t *alias;

static int write_alias(void)
{
    *(volatile uint8_t *)alias = 2;
    return 0;
}

static void two_views_of_a_memfd_are_one_memory_and_the_alias_is_not_inherited(void **state)
{
    (void)state;
    size_t size = tn__os_page_size();
    uint64_t view;
    int fd;
    assert_int_equal(tn__os_reserve(0, size, false, &view), 0);
    assert_int_equal(tn__os_memfd(size, &fd), 0);
    assert_int_equal(tn__os_map_alias(fd, 0, size, &alias), 0);
    assert_int_equal(tn__os_map_view(fd, 0, view, size, TN__PROT_RX, false), 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    tn__os_close(fd);
    alias[0] = 1;
    assert_int_equal(*(uint8_t *)(uintptr_t)view, 1);
    assert_int_equal(in_child(write_alias), 128 + SIGSEGV);
    assert_int_equal(alias[0], 1);
    tn__os_release((uintptr_t)alias, size);
    tn__os_release(view, size);
}

static void a_sealed_memfd_cannot_be_written(void **state)
{
    (void)state;
    size_t size = tn__os_page_size();
    int fd;
    assert_int_equal(tn__os_memfd(size, &fd), 0);
    assert_int_equal(tn__os_write(fd, 3, (struct tn__piece[]){{"ab", 2}, {"", 0}, {"c", 1}}, 3), 0);
    assert_int_equal(tn__os_map_alias(fd, 0, size, &alias), 0);
    assert_int_equal(tn__os_seal(fd), EBUSY); /* a writable view exists */
    assert_memory_equal(alias + 3, "abc", 3);
    tn__os_release((uintptr_t)alias, size);
    assert_int_equal(tn__os_seal(fd), 0);
    assert_int_equal(tn__os_write(fd, 3, &(struct tn__piece){"xyz", 3}, 1), EPERM);
    assert_int_equal(tn__os_map_alias(fd, 0, size, &alias), EPERM);
    assert_int_equal(ftruncate(fd, 1), -1);
    tn__os_close(fd);
}

/* Only the view that was there before can write, and it may come and go. */
static void sealed_views_cannot_become_writable(void **state)
{
    (void)state;
    size_t size = tn__os_page_size();
    uint64_t view;
    uint8_t *other;
    int fd;
    assert_int_equal(tn__os_reserve(0, size, false, &view), 0);
    assert_int_equal(tn__os_memfd(size, &fd), 0);
    assert_int_equal(tn__os_map_alias(fd, 0, size, &alias), 0);
    assert_int_equal(tn__os_seal_views(fd), 0);
    assert_int_equal(tn__os_map_view(fd, 0, view, size, TN__PROT_RX, false), 0);
    assert_int_equal(tn__os_write(fd, 3, &(struct tn__piece){"xyz", 3}, 1), EPERM);
    assert_int_equal(tn__os_map_alias(fd, 0, size, &other), EPERM);
    assert_int_equal(tn__os_protect(view, size, TN__PROT_RW), EACCES);
    assert_int_equal(ftruncate(fd, 1), -1);
    tn__os_close(fd);
    for (int i = 0; i < 3; i++) {
        alias[0] = (uint8_t)i;
        assert_int_equal(*(uint8_t *)(uintptr_t)view, i);
        assert_int_equal(tn__os_protect((uintptr_t)alias, size, TN__PROT_NONE), 0);
        assert_int_equal(*(uint8_t *)(uintptr_t)view, i);
        assert_int_equal(tn__os_protect((uintptr_t)alias, size, TN__PROT_RW), 0);
    }
    tn__os_release((uintptr_t)alias, size);
    tn__os_release(view, size);
}

/* What was written moves with the pages; what comes in their place is the file. */
static void pages_are_moved(void **state)
{
    (void)state;
    size_t size = tn__os_page_size();
    uint64_t from, to, other;
    int fd;
    assert_int_equal(tn__os_memfd(2 * size, &fd), 0);
    assert_int_equal(tn__os_write(fd, 0, &(struct tn__piece){"file", 4}, 1), 0);
    assert_int_equal(tn__os_reserve(0, 2 * size, false, &from), 0);
    assert_int_equal(tn__os_reserve(0, 2 * size, false, &to), 0);
    assert_int_equal(tn__os_map_view(fd, 0, from, 2 * size, TN__PROT_RW, true), 0);
    tn__os_close(fd);
    char *before = (char *)(uintptr_t)from, *after = (char *)(uintptr_t)to;
    before[size] = 'w';
    static const char *const refusals[] = {"F", ". F", "P", ". P"};
    for (size_t i = 0; i < TN_COUNT(refusals); i++) {
        assert_int_equal(tn__os_set_faults(refusals[i]), 0);
        int error = tn__os_move(from, 2 * size, to);
        assert_int_equal(error, i < 2 ? ENOMEM : EACCES);
        assert_int_equal(tn__os_set_faults(NULL), 0);
        assert_string_equal(before, "file");
        assert_int_equal(before[size], 'w');
        assert_int_equal(tn__os_reserve(to, 2 * size, true, &other), EEXIST);
    }
    int error = tn__os_move(from, 2 * size, to);
    if (error == EINVAL) /* Linux before 5.13 */
        skip();
    assert_int_equal(error, 0);
    assert_string_equal(after, "file");
    assert_int_equal(after[size], 'w');
    assert_string_equal(before, "file");
    assert_int_equal(before[size], 0);
    after[0] = 'm';
    assert_string_equal(before, "file");
    assert_true(tn__os_move(to, 2 * size, to + 1) != 0);
    assert_string_equal(after, "mile");
    tn__os_release(to, 2 * size);
    assert_true(tn__os_move(to, 2 * size, from) != 0); /* there is nothing */
    assert_string_equal(before, "file");
    tn__os_release(from, 2 * size);
}

/* Aliases are far apart, and random numbers differ. */
static void places_are_random(void **state)
{
    (void)state;
    size_t size = tn__os_page_size();
    uint64_t last_place = 0, last_bits = 0;
    int fd;
    assert_int_equal(tn__os_memfd(size, &fd), 0);
    for (int i = 0; i < 100; i++) {
        uint64_t bits;
        assert_int_equal(tn__os_map_alias(fd, 0, size, &alias), 0);
        assert_int_equal(tn__os_random(&bits), 0);
        assert_true(bits != last_bits);
        assert_true((uintptr_t)alias - last_place + (1 << 20) > 2 << 20);
        last_place = (uintptr_t)alias, last_bits = bits;
        tn__os_release((uintptr_t)alias, size);
    }
    tn__os_close(fd);
}

/* Other tools take large parts of the address space; aliases find what is left. */
static void places_are_found_beside_what_is_taken(void **state)
{
    (void)state;
    static const struct {
        uint64_t from, to;
    } rows[] = {
        {0x100000000, 0x100000000000}, /* as AddressSanitizer's shadow */
        {0x80000000000, 0x400000000000},
        {0x10000000000, 0x400000000000},
    };
    size_t size = tn__os_page_size();
    int fd;
    assert_int_equal(tn__os_memfd(size, &fd), 0);
    for (size_t row = 0; row < TN_COUNT(rows); row++) {
        uint64_t length = rows[row].to - rows[row].from, address;
        bool free = tn__os_reserve(rows[row].from, length, true, &address) == 0; /* or a sanitizer has it */
        for (int i = 0; i < 3000; i++) {
            if (tn__os_map_alias(fd, 0, size, &alias))
                fail_msg("row %zu: alias %d found no place", row, i);
            tn__os_release((uintptr_t)alias, size);
        }
        if (free)
            tn__os_release(address, length);
    }
    tn__os_close(fd);
}

static int write_beyond_the_limit(void)
{
    static uint8_t bytes[2];
    const struct tn__piece piece = {bytes, sizeof bytes};
    const struct rlimit limit = {4096, 4096};
    int fd;
    if (setrlimit(RLIMIT_FSIZE, &limit) || tn__os_memfd(4096, &fd))
        return 1;
    if (!tn__os_permits_file(4096) || tn__os_permits_file(4097))
        return 2;
    if (tn__os_write(fd, 4094, &piece, 1) || tn__os_write(fd, 4095, &piece, 1) != EFBIG)
        return 3;
    if (tn__os_append(fd, bytes, 1) != EFBIG)
        return 4;
    tn__os_close(fd);
    if (tn__os_memfd(4095, &fd) || tn__os_append(fd, bytes, 1) || tn__os_append(fd, bytes, 1) != EFBIG)
        return 5;
    tn__os_close(fd);
    return tn__os_memfd(4097, &fd) == EFBIG ? 0 : 6;
}

static void files_beyond_the_limit_are_errors(void **state)
{
    (void)state;
    assert_int_equal(in_child(write_beyond_the_limit), 0);
}

static void many_pieces_are_written_one_after_the_other(void **state)
{
    (void)state;
    enum { PIECES = 3000 }; /* more than one system call accepts */
    static uint16_t numbers[PIECES];
    static struct tn__piece pieces[PIECES];
    size_t size = 2 * tn__os_page_size();
    int fd;
    assert_int_equal(tn__os_memfd(size, &fd), 0);
    for (uint16_t i = 0; i < PIECES; i++) {
        numbers[i] = i;
        pieces[i] = (struct tn__piece){&numbers[i], sizeof *numbers};
    }
    assert_int_equal(tn__os_write(fd, 7, pieces, PIECES), 0);
    assert_int_equal(tn__os_map_alias(fd, 0, size, &alias), 0);
    assert_memory_equal(alias + 7, numbers, sizeof numbers);
    assert_int_equal(alias[6], 0);
    assert_int_equal(alias[7 + sizeof numbers], 0);
    tn__os_release((uintptr_t)alias, size);
    tn__os_close(fd);
}

static void files(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int error;
    } rows[] = {{"/nonexistent/file", ENOENT}, {"/", EISDIR}, {"/dev/null", ENODEV}, {"/proc/self/exe", 0}};
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct tn__os_file file;
        assert_int_equal(tn__os_map_file(rows[i].path, &file), rows[i].error);
        assert_int_equal(file.size != 0, rows[i].error == 0);
        if (!rows[i].error)
            assert_memory_equal(file.bytes, "\177ELF", 4);
        tn__os_unmap_file(&file);
        assert_null(file.bytes);
    }
}

static void an_empty_file_has_no_mapping(void **state)
{
    (void)state;
    char path[] = "/tmp/tenon-os-XXXXXX";
    int fd = mkstemp(path);
    struct tn__os_file file;
    assert_true(fd >= 0);
    close(fd);
    int error = tn__os_map_file(path, &file);
    unlink(path);
    assert_int_equal(error, 0);
    assert_int_equal(file.size, 0);
    assert_null(file.bytes);
    tn__os_unmap_file(&file);
}

static void a_file_that_cannot_be_mapped_has_no_size(void **state)
{
    (void)state;
    struct tn__os_file file = {"", 1, false};
    int fd;
    assert_int_equal(tn__os_memfd(tn__os_page_size(), &fd), 0);
    assert_int_equal(ftruncate(fd, (off_t)1 << 62), 0); /* larger than any address space */
    assert_int_equal(tn__os_map_open_file(fd, &file), ENOMEM);
    assert_null(file.bytes);
    assert_int_equal(file.size, 0);
    tn__os_close(fd);
}

static void the_program_range_holds_its_code_and_data(void **state)
{
    (void)state;
    uint64_t start, end;
    static int data = 1;
    tn__os_program_range(&start, &end);
    const uint64_t inside[] = {(uintptr_t)&data, (uintptr_t)&in_child};
    for (size_t i = 0; i < TN_COUNT(inside); i++)
        assert_true(inside[i] >= start && inside[i] < end);
    assert_true((uintptr_t)&start >= end || (uintptr_t)&start < start);
}

static void time_does_not_go_back(void **state)
{
    (void)state;
    uint64_t before = tn__os_now_ns();
    usleep(2000);
    assert_true(tn__os_now_ns() >= before + 2000000);
}

/* Threads are fenced, also in a child, where nothing has registered again. */
static void threads_are_fenced_unless_the_plan_refuses(void **state)
{
    (void)state;
    if (tn__os_fence_threads()) /* an emulator, or a sandbox */
        skip();
    assert_int_equal(tn__os_fence_threads(), 0);
    assert_int_equal(in_child(tn__os_fence_threads), 0);
    assert_int_equal(tn__os_set_faults("m"), 0);
    assert_int_equal(tn__os_fence_threads(), EPERM);
    assert_int_equal(tn__os_set_faults(NULL), 0);
    assert_int_equal(tn__os_fence_threads(), 0);
}

/* Each number is a lock of its own; a child that was forked meanwhile does not keep one that was given back, and one
 * that is killed gives its own back. */
static void locks_end_with_their_holders(void **state)
{
    (void)state;
    char path[] = "/tmp/tenon-os-XXXXXX", byte;
    int folder, first, second, other, ends[2], ready[2];
    assert_non_null(mkdtemp(path));
    assert_int_equal(tn__os_open_folder(TN__OS_HERE, path, false, false, &folder), 0);
    assert_int_equal(pipe(ends) | pipe(ready), 0);
    assert_int_equal(tn__os_lock_in(folder, 0, false, &first), 0);
    assert_int_equal(tn__os_lock_in(folder, 0, false, &second), EWOULDBLOCK);
    assert_int_equal(tn__os_lock_in(folder, UINT64_MAX >> 2, false, &other), 0);
    pid_t child = fork();
    if (!child) {
        int own, code = tn__os_lock_in(folder, 1, false, &own);
        if (write(ready[1], code ? "n" : "y", 1) != 1 || read(ends[0], &byte, 1) != 1)
            _exit(1);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    tn__os_unlock(first);
    assert_int_equal(tn__os_lock_in(folder, 0, true, &second), 0);
    assert_int_equal(tn__os_lock_in(folder, 1, false, &first), EWOULDBLOCK);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(tn__os_lock_in(folder, 1, true, &first), 0);
    tn__os_unlock(first);
    tn__os_unlock(second);
    tn__os_unlock(other);
    for (int i = 0; i < 2; i++)
        assert_int_equal(close(ends[i]) | close(ready[i]), 0);
    assert_int_equal(tn__os_remove_in(folder, ".lock"), 0);
    tn__os_close(folder);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locks_end_with_their_holders),
        cmocka_unit_test(a_decommitted_page_comes_back_zeroed),
        cmocka_unit_test(two_views_of_a_memfd_are_one_memory_and_the_alias_is_not_inherited),
        cmocka_unit_test(a_sealed_memfd_cannot_be_written),
        cmocka_unit_test(sealed_views_cannot_become_writable),
        cmocka_unit_test(pages_are_moved),
        cmocka_unit_test(places_are_random),
        cmocka_unit_test(places_are_found_beside_what_is_taken),
        cmocka_unit_test(files_beyond_the_limit_are_errors),
        cmocka_unit_test(many_pieces_are_written_one_after_the_other),
        cmocka_unit_test(files),
        cmocka_unit_test(an_empty_file_has_no_mapping),
        cmocka_unit_test(a_file_that_cannot_be_mapped_has_no_size),
        cmocka_unit_test(the_program_range_holds_its_code_and_data),
        cmocka_unit_test(time_does_not_go_back),
        cmocka_unit_test(threads_are_fenced_unless_the_plan_refuses),
    };
    return cmocka_run_group_tests_name("base/os", tests, NULL, NULL);
}
