/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What doc/EMBEDDING.md claims about executable memory ("Hardened systems"), tried in the way of an attacker: each
 * claim has a test of its own. own_pages.c tries large links, refusals.c what systems refuse;
 * tests/programs/watch_maps.c looks at whole programs between any two system calls. */

#include "answers.h"
#include "maps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"

enum { SMALL = 1000, LARGE = 64 << 10, PAGE = 4096, CHUNK = 4 << 20 };

static bool a_memfd_is_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    bool found = false;
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        char link[300], target[PATH_MAX] = "";
        snprintf(link, sizeof link, "/proc/self/fd/%s", entry->d_name);
        if (readlink(link, target, sizeof target - 1) > 0 && strstr(target, "memfd:"))
            found = true;
    }
    closedir(folder);
    return found;
}

/* ---- sessions ---- */

static void seal(const struct fixture *f)
{
    struct tn_error err;
    assert_ok(tn_session_seal(f->session, &err), &err);
}

/* ---- what cannot be done to a view ---- */

static void *page_of(const void *address)
{
    return (void *)((uintptr_t)address & -(uintptr_t)PAGE);
}

/* Opens the file of a mapping again; only privileged processes can. */
static void try_map_files(const void *address)
{
    const struct mapping *m = mapping_at(address);
    char path[100];
    snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", (unsigned long)m->start, (unsigned long)m->end);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return;
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_ptr_equal(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(ftruncate(fd, 1 << 30), -1);
    close(fd);
}

/* The way of debuggers past page protection. */
static ssize_t write_proc_mem(const void *address)
{
    int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t written = pwrite(fd, address, 1, (off_t)(uintptr_t)address); /* the byte that is there */
    close(fd);
    return written;
}

static void check_view(const void *address, const char *prot)
{
    assert_prot(address, prot);
    assert_true(mapping_at(address)->memfd);
    assert_int_equal(mprotect(page_of(address), PAGE, PROT_READ | PROT_WRITE), -1);
    assert_int_equal(errno, EACCES);
    assert_int_equal(mprotect(page_of(address), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), -1);
    assert_int_equal(write_proc_mem(address), -1);
    try_map_files(address);
    assert_prot(address, prot);
}

static void views_cannot_be_made_writable(void **state)
{
    (void)state;
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    struct answer answer;
    assert_false(a_memfd_is_open());
    answer_link(&f, &answer, 1, SMALL);
    assert_false(a_memfd_is_open());
    check_view(lookup(&f, answer.name), "r-xs");
    check_view(answer_constants(&f, &answer), "r--s");
    seal(&f);
    check_view(lookup(&f, answer.name), "r-xs");
    answer_check(&f, &answer);
    answer_remove(&answer);
    close_fixture(&f);
}

/* ---- aliases ---- */

static void aliases_lie_anywhere(void **state)
{
    (void)state;
    enum { SESSIONS = 16 };
    struct fixture f[SESSIONS];
    struct answer answers[SESSIONS];
    for (unsigned i = 0; i < SESSIONS; i++) {
        f[i] = answer_open(TN_STRATEGY_DUAL);
        answer_link(&f[i], &answers[i], i, SMALL);
    }
    assert_int_equal(count_memfd_mappings("rw-s"), 2 * SESSIONS);
    uint64_t ones = 0, zeros = 0;
    for (size_t i = 0; i < mapping_count; i++) {
        const struct mapping *m = &mappings[i];
        if (!m->memfd || strcmp(m->prot, "rw-s"))
            continue;
        ones |= m->start, zeros |= ~m->start;
        /* Nothing near it tells where it is. */
        assert_true(m->start - mappings[i - 1].end > CHUNK && mappings[i + 1].start - m->end > CHUNK);
    }
    /* Every bit from that of pages to that of 256 GiB varies: 32 times the same is one chance in 2^31. */
    assert_int_equal((ones & zeros) >> 12 & ((1 << 26) - 1), (1 << 26) - 1);
    for (unsigned i = 0; i < SESSIONS; i++) {
        answer_remove(&answers[i]);
        close_fixture(&f[i]);
    }
    check_aliases(0, 0);
}

/* /proc/self/mem reaches what is not mapped for writing, but not shared memory. */
static void check_sealed_aliases(void)
{
    read_mappings();
    for (size_t i = 0; i < mapping_count; i++)
        if (mappings[i].memfd && !strcmp(mappings[i].prot, "---s")) {
            const char byte = 0;
            int fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
            assert_int_equal(pwrite(fd, &byte, 1, (off_t)mappings[i].start), -1);
            close(fd);
        }
}

static void aliases_are_sealed_on_request(void **state)
{
    (void)state;
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    struct answer answers[3];
    seal(&f); /* there is nothing yet */
    answer_link(&f, &answers[0], 0, SMALL);
    check_aliases(2, 0);
    for (unsigned i = 1; i < COUNT(answers); i++) {
        seal(&f);
        check_aliases(0, 2);
        check_sealed_aliases();
        seal(&f);
        for (unsigned k = 0; k < i; k++)
            answer_check(&f, &answers[k]);
        answer_link(&f, &answers[i], i, SMALL);
        check_aliases(2, 0);
    }
    seal(&f);
    for (unsigned i = 0; i < COUNT(answers); i++)
        answer_remove(&answers[i]);
    check_aliases(0, 2);
    close_fixture(&f);
    check_aliases(0, 0);
}

static void other_strategies_have_no_alias(void **state)
{
    (void)state;
    static const enum tn_strategy others[] = {TN_STRATEGY_SEALED, TN_STRATEGY_MPROTECT};
    for (size_t i = 0; i < COUNT(others); i++) {
        struct fixture f = answer_open(others[i]);
        struct answer small, large;
        answer_link(&f, &small, 1, SMALL);
        answer_link(&f, &large, 2, LARGE);
        check_aliases(0, 0);
        assert_false(a_memfd_is_open());
        seal(&f);
        answer_check(&f, &small);
        answer_remove(&small);
        answer_remove(&large);
        close_fixture(&f);
    }
}

static void seal_is_refused(void **state)
{
    (void)state;
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    struct answer answers[2];
    struct tn_error err;
    answer_link(&f, &answers[0], 0, SMALL);
    tn__os_set_faults("P");
    assert_error(tn_session_seal(f.session, &err), TN_EPERM, &err, "no memory for code", "dual");
    tn__os_set_faults("F");
    assert_error(tn_session_seal(f.session, &err), TN_ENOMEM, &err, "no memory for code");
    tn__os_set_faults(NULL);
    seal(&f);
    tn__os_set_faults("P"); /* the alias stays as it is */
    assert_error(answer_try_link(&f, &answers[1], 1, SMALL, &err), TN_EPERM, &err, "no memory for code");
    tn__os_set_faults(NULL);
    check_aliases(0, 2);
    assert_ok(tn_link(f.library, &err), &err);
    answer_check(&f, &answers[0]);
    answer_check(&f, &answers[1]);
    check_aliases(2, 0);
    answer_remove(&answers[0]);
    answer_remove(&answers[1]);
    close_fixture(&f);
}

/* Fills the first chunk with objects so small that each is linked through the alias; ends when there is a second
 * one. */
static unsigned fill_chunk(const struct fixture *f, struct answer *answers, unsigned most, size_t size)
{
    unsigned count = 0;
    while (count_memfd_mappings("r-xs") < 2 && count < most) {
        answer_link(f, &answers[count], count, size);
        count++;
    }
    assert_true(count < most);
    return count;
}

static void full_chunks_are_sealed_until_a_quarter_is_free(void **state)
{
    (void)state;
    enum { SIZE = 30000, MOST = CHUNK / SIZE + 2 };
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    static struct answer answers[6 * MOST];
    unsigned count = fill_chunk(&f, answers, MOST, SIZE);
    check_aliases(2, 2); /* code and constants of the first chunk, which are full, and of the second */
    const struct mapping first = *mapping_at(lookup(&f, answers[0].name));
    for (unsigned i = 0; i < count / 8; i++)
        answer_remove(&answers[i]);
    /* What was removed is too little to open it again. */
    answer_link(&f, &answers[count], count, SIZE);
    check_aliases(2, 2);
    assert_false((uintptr_t)lookup(&f, answers[count].name) - first.start < first.end - first.start);
    for (unsigned i = count / 8; i < count / 2; i++)
        answer_remove(&answers[i]);
    /* Now it is used before a third one is made. */
    unsigned last = count + 1;
    for (; last < COUNT(answers) && count_memfd_mappings("r-xs") < 3; last++)
        answer_link(&f, &answers[last], last, SIZE);
    assert_in_range(last - count, 2 * count + count / 4,
                    COUNT(answers) - count - 1); /* the second one is twice as large */
    for (unsigned i = count / 2; i < last; i++) {
        answer_check(&f, &answers[i]);
        answer_remove(&answers[i]);
    }
    close_fixture(&f);
}

/* ---- forks ---- */

static void in_the_child(void **state)
{
    struct fixture *f = *state;
    struct answer small, large;
    check_aliases(0, 0); /* the parent's */
    seal(f);
    answer_link(f, &small, 10, SMALL);
    check_aliases(2, 0);
    answer_link(f, &large, 11, LARGE);
    seal(f);
    check_aliases(0, 2);
    answer_check(f, &small);
    answer_check(f, &large);
    check_view(lookup(f, small.name), "r-xs");
    answer_remove(&small);
    answer_remove(&large);
}

static void children_have_no_alias_of_the_parents_code(void **state)
{
    (void)state;
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    struct answer answers[3];
    answer_link(&f, &answers[1], 1, LARGE);
    answer_link(&f, &answers[0], 0, SMALL);
    check_aliases(2, 0);
    assert_int_equal(in_child(in_the_child, &f), 0);
    seal(&f); /* after the fork, before the next link */
    assert_int_equal(count_memfd_mappings("rw-s"), 0);
    assert_int_equal(in_child(in_the_child, &f), 0);
    answer_link(&f, &answers[2], 2, SMALL);
    check_aliases(2, 0);
    for (unsigned i = 0; i < COUNT(answers); i++) {
        answer_check(&f, &answers[i]);
        answer_remove(&answers[i]);
    }
    close_fixture(&f);
}

/* ---- addresses ---- */

static void addresses_differ_from_session_to_session(void **state)
{
    (void)state;
    enum { SESSIONS = 24 };
    uint64_t ones[3] = {0}, zeros[3] = {0};
    for (unsigned i = 0; i < SESSIONS; i++) {
        struct fixture f = answer_open(TN_STRATEGY_AUTO);
        struct answer answer;
        answer_link(&f, &answer, i, SMALL);
        const uint64_t places[3] = {(uintptr_t)lookup(&f, answer.name), (uintptr_t)answer_constants(&f, &answer)};
        const uint64_t numbers[3] = {places[0], places[1], places[1] - places[0]};
        for (size_t k = 0; k < COUNT(numbers); k++)
            ones[k] |= numbers[k], zeros[k] |= ~numbers[k];
        answer_remove(&answer);
        close_fixture(&f);
    }
    /* All 15 bits of a page's number in 128 MiB vary, and those of the distance from code to constants. */
    for (size_t k = 0; k < COUNT(ones); k++)
        assert_int_equal((ones[k] & zeros[k]) >> 12 & 0x7fff, 0x7fff);
}

/* ---- private memory is written past its protection by debuggers, and so by attackers with files ---- */

static void try_private_memory(enum tn_strategy strategy, size_t size)
{
    struct fixture f = answer_open(strategy);
    struct answer answer;
    answer_link(&f, &answer, 1, size);
    void *code = lookup(&f, answer.name);
    assert_prot(code, "r-xp");
    if (write_proc_mem(code) != 1)
        print_message("this system refuses to write past protection (proc_mem.force_override)\n");
    assert_int_equal(mprotect(page_of(code), PAGE, PROT_READ | PROT_WRITE), 0); /* an attacker who can call it */
    assert_int_equal(mprotect(page_of(code), PAGE, PROT_READ | PROT_EXEC), 0);
    answer_check(&f, &answer);
    answer_remove(&answer);
    close_fixture(&f);
}

static void private_memory_can_be_written_by_system_calls(void **state)
{
    (void)state;
    try_private_memory(TN_STRATEGY_MPROTECT, SMALL);
    try_private_memory(TN_STRATEGY_SEALED, SMALL);
    try_private_memory(TN_STRATEGY_DUAL, LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_cannot_be_made_writable),
        cmocka_unit_test(aliases_lie_anywhere),
        cmocka_unit_test(aliases_are_sealed_on_request),
        cmocka_unit_test(other_strategies_have_no_alias),
        cmocka_unit_test(seal_is_refused),
        cmocka_unit_test(full_chunks_are_sealed_until_a_quarter_is_free),
        cmocka_unit_test(children_have_no_alias_of_the_parents_code),
        cmocka_unit_test(addresses_differ_from_session_to_session),
        cmocka_unit_test(private_memory_can_be_written_by_system_calls),
    };
    return cmocka_run_group_tests_name("link/hardening", tests, NULL, NULL);
}
