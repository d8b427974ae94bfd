/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A link scans, copies and relocates without the session's lock. Here it is stopped in the middle, by a page of its
 * input that cannot be read until something else has happened in the session, or is waiting for the link: a page of
 * relocations, which the scan reads first, or of contents, which are read when they are copied. */

#include "elf_builder.h"
#include "spoiling.h"
#include "waits.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, CONTENTS = 4 * PAGE, RELOCS = 400 /* more than fill a page */ };

/* ---- an object whose bytes stop who reads them ---- */

static enum { IN_SCAN, IN_COPY, STAGES } stage;

static struct {
    uint8_t *file, *gate; /* the unreadable page */
    size_t size;
    sem_t reached, done, waits;
} stop;

/* Runs in the linking thread, without the lock. A thread that has to wait for the link lets it continue by waiting. */
static void at_the_gate(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    uint8_t *at = info->si_addr;
    if (!stop.gate || at < stop.gate || at >= stop.gate + PAGE)
        _exit(99);
    sem_post(&stop.reached);
    await(&stop.done);
    mprotect(stop.gate, PAGE, PROT_READ);
}

enum outcome { LINKS, FAILS };

/* The offset of a section's bytes in the file, or of its relocations. */
static uint64_t offset_of(struct bytes object, unsigned section)
{
    if (stage == IN_COPY)
        return elf_section_header(object, section)->sh_offset;
    for (unsigned i = section + 1; i < elf_header(object)->e_shnum; i++)
        if (elf_section_header(object, i)->sh_type == SHT_RELA && elf_section_header(object, i)->sh_info == section)
            return elf_section_header(object, i)->sh_offset;
    fail_msg("no relocations");
    return 0;
}

/* Defines `name` (weak or common) and `slow_function`; needs `needs` and `later`, if given. A FAILS object fails while
 * it is relocated. The bytes are in `stop`. */
static void make_slow(const char *name, bool common, enum outcome outcome, const char *needs)
{
    static struct elf elf;
    static uint8_t contents[CONTENTS];
    static const uint8_t code[16] = {0xc3};
    static uint64_t words[5];
    memset(&elf, 0, sizeof elf);
    memset(contents, 0x11, sizeof contents);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned slow = elf_section(&elf, ".rodata", SHT_PROGBITS, SHF_ALLOC, contents, sizeof contents);
    for (int i = 0; i < RELOCS; i++)
        elf_reloc(&elf, slow, 0, 0, R_X86_64_NONE, 0);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    elf_function(&elf, "slow_function", text, 0);
    unsigned symbol = common ? elf_symbol(&elf, name, STB_GLOBAL, STT_OBJECT, SHN_COMMON, 8, 8)
                             : elf_symbol(&elf, name, STB_WEAK, STT_OBJECT, data, 0, 8);
    elf_reloc(&elf, data, 8, symbol, R_X86_64_64, 0);
    elf_symbol(&elf, "slow_pointer", STB_GLOBAL, STT_OBJECT, data, 8, 8);
    elf_reloc(&elf, data, 32, elf_symbol(&elf, "later", STB_WEAK, STT_NOTYPE, SHN_UNDEF, 0, 0), R_X86_64_64, 0);
    elf_symbol(&elf, "slow_later", STB_GLOBAL, STT_OBJECT, data, 32, 8);
    if (needs)
        elf_reloc(&elf, data, 16, elf_undefined(&elf, needs), R_X86_64_64, 0);
    if (outcome == FAILS)
        elf_reloc(&elf, data, 24, elf_symbol(&elf, "huge", STB_LOCAL, STT_NOTYPE, SHN_ABS, 1ULL << 40, 0), R_X86_64_32,
                  0);
    struct bytes object = elf_finish(&elf);
    stop.size = (object.size + PAGE - 1) & ~(size_t)(PAGE - 1);
    stop.file = mmap(NULL, stop.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stop.file != MAP_FAILED);
    memcpy(stop.file, object.at, object.size);
    /* The first page that contains nothing else. */
    stop.gate = stop.file + ((offset_of(object, slow) + PAGE - 1) & ~(uint64_t)(PAGE - 1));
    free(object.at);
    assert_int_equal(mprotect(stop.file, stop.size, PROT_READ), 0);
    assert_int_equal(mprotect(stop.gate, PAGE, PROT_NONE), 0);
    sem_init(&stop.reached, 0, 0);
    sem_init(&stop.done, 0, 0);
    sem_init(&stop.waits, 0, 0);
    const struct sigaction action = {.sa_sigaction = at_the_gate, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
}

static int clean_up(void **state)
{
    (void)state;
    signal(SIGSEGV, SIG_DFL);
    munmap(stop.file, stop.size);
    sem_destroy(&stop.reached);
    sem_destroy(&stop.done);
    sem_destroy(&stop.waits);
    stop.gate = NULL;
    return 0;
}

/* ---- the other thread ---- */

struct meanwhile {
    const struct fixture *f;
    int (*act)(const struct fixture *f, struct tn_error *err);
    int code;
    struct tn_error err;
};

static void *run_meanwhile(void *argument)
{
    struct meanwhile *m = argument;
    await(&stop.reached);
    tell_when_waiting(&stop.done);
    m->code = m->act(m->f, &m->err);
    sem_post(&stop.done);
    return NULL;
}

/* Links the slow object, and calls `act` while it is being built; returns the result of the link. */
static int link_while(struct meanwhile *m, struct tn_error *err)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run_meanwhile, m), 0);
    void *address;
    int code = tn_lookup(m->f->library, "slow_function", &address, err);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check_maps();
    return code;
}

static struct fixture open_slow(const char *name, bool common, enum outcome outcome, const char *needs)
{
    struct fixture f = open_fixture(NULL);
    make_slow(name, common, outcome, needs);
    add_bytes(&f, "slow.o", stop.file, stop.size);
    return f;
}

/* ---- small objects, borrowed until the end of the test ---- */

static const uint64_t OTHER = 0x2222222222222222, MEMBER = 0x3333333333333333;

static struct bytes definition(const char *name, unsigned bind, unsigned section, uint64_t size, uint64_t word)
{
    static struct elf elf;
    const uint64_t words[2] = {word, 0};
    memset(&elf, 0, sizeof elf);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    elf_symbol(&elf, name, bind, STT_OBJECT, section ? section : data, section ? 8 : 0, size);
    return elf_finish(&elf);
}

static struct bytes other;

static int add_large_common(const struct fixture *f, struct tn_error *err)
{
    other = definition("x", STB_GLOBAL, SHN_COMMON, 8192, 0);
    return try_add_bytes(f, "other.o", other.at, other.size, err);
}

static int add_strong(const struct fixture *f, struct tn_error *err)
{
    other = definition("x", STB_GLOBAL, 0, 8, OTHER);
    return try_add_bytes(f, "other.o", other.at, other.size, err);
}

static int define_x(const struct fixture *f, struct tn_error *err)
{
    return tn_define(f->library, "x", &other, err);
}

static int look_up(const struct fixture *f, struct tn_error *err)
{
    void *address;
    int code = tn_lookup(f->library, "slow_function", &address, err);
    return code ? code : tn_lookup(f->library, "x", &address, err);
}

static int link_everything(const struct fixture *f, struct tn_error *err)
{
    return tn_link(f->library, err);
}

static int link_something_else(const struct fixture *f, struct tn_error *err)
{
    struct fixture fresh = {.session = f->session};
    int code = tn_library_create(f->session, "fresh", &fresh.library, err);
    void *address;
    other = definition("y", STB_GLOBAL, 0, 8, OTHER);
    if (!code)
        code = try_add_bytes(&fresh, "other.o", other.at, other.size, err);
    return code ? code : tn_lookup(fresh.library, "y", &address, err);
}

static int count_objects(const struct fixture *f, struct tn_error *err)
{
    (void)err;
    return (int)stats_of(f).objects;
}

/* ---- a link that succeeds ---- */

struct row {
    const char *name;
    int (*act)(const struct fixture *f, struct tn_error *err);
    bool common;
    int code; /* of `act`, if it comes after the link */
};

static const struct row succeeding[] = {
    {"a common symbol does not grow", add_large_common, true, TN_EDUP},
    {"a weak symbol is not overridden", add_strong, false, TN_EDUP},
    {"nor by the client", define_x, false, TN_EDUP},
    {"a lookup waits", look_up, false, 0},
    {"a second link waits", link_everything, false, 0},
    {"another library links", link_something_else, false, 0},
    {"statistics are there", count_objects, false, 0},
};

static void while_a_link_succeeds(void **state)
{
    const struct row *row = *state;
    struct fixture f = open_slow("x", row->common, LINKS, NULL);
    struct meanwhile m = {.f = &f, .act = row->act};
    struct tn_error err;
    assert_ok(link_while(&m, &err), &err);
    assert_int_equal(m.code, row->code);
    const uint8_t *contents = *(uint8_t **)lookup(&f, "slow_pointer");
    assert_ptr_equal(contents, lookup(&f, "x"));
    link_all(&f);
    check_still_works(&f);
    close_fixture(&f);
    free(other.at);
    other.at = NULL;
}

/* ---- a link that fails ---- */

static const struct row failing[] = {
    {"a larger common symbol stays", add_large_common, true, 0},
    {"a stronger definition stays", add_strong, false, 0},
    {"the client's definition stays", define_x, false, 0},
    {"a lookup fails as well", look_up, false, TN_ERANGE},
    {"a second link fails as well", link_everything, false, TN_ERANGE},
    {"another library links", link_something_else, false, 0},
    {"statistics are there", count_objects, false, 0},
};

static void while_a_link_fails(void **state)
{
    const struct row *row = *state;
    struct fixture f = open_slow("x", row->common, FAILS, NULL);
    struct meanwhile m = {.f = &f, .act = row->act};
    struct tn_stats before = stats_of(&f), after;
    struct tn_error err;
    assert_error(link_while(&m, &err), TN_ERANGE, &err, "slow.o(.data+0x18)", "'huge'");
    assert_int_equal(m.code, row->code);
    if (row->act != link_something_else) {
        after = stats_of(&f);
        assert_same_memory(&before, &after);
    }
    if (row->act == add_strong)
        assert_true(*(uint64_t *)lookup(&f, "x") == OTHER);
    if (row->act == define_x)
        assert_ptr_equal(lookup(&f, "x"), &other);
    check_still_works(&f);
    close_fixture(&f);
    free(other.at);
    other.at = NULL;
}

/* ---- members of archives, which a failed link drops ---- */

static struct bytes archive_of(struct bytes member)
{
    struct bytes archive = {malloc(68 + member.size), 68 + member.size};
    char header[69];
    snprintf(header, sizeof header, "!<arch>\n%-16s%-12d%-6d%-6d%-8o%-10zu`\n", "m.o/", 0, 0, 0, 0644, member.size);
    memcpy(archive.at, header, 68);
    memcpy(archive.at + 68, member.at, member.size);
    free(member.at);
    return archive;
}

static int link_member(const struct fixture *f, struct tn_error *err)
{
    void *address;
    return tn_lookup(f->library, "x", &address, err);
}

static const struct row with_members[] = {
    {"a definition beside a member's stays", add_strong, false, 0},
    {"the client's definition beside a member's stays", define_x, false, 0},
    {"the member serves another link", link_member, false, 0},
};

static void while_a_member_is_dropped(void **state)
{
    const struct row *row = *state;
    struct fixture f = open_slow("own", false, FAILS, "x");
    struct meanwhile m = {.f = &f, .act = row->act};
    struct bytes archive = archive_of(definition("x", STB_WEAK, 0, 8, MEMBER));
    const struct tn_input input = {
        .size = sizeof input, .name = "member.a", .bytes = archive.at, .length = archive.size};
    struct tn_error err;
    assert_ok(tn_add_archive(f.library, &input, &err), &err);
    assert_error(link_while(&m, &err), TN_ERANGE, &err, "slow.o(.data+0x18)");
    assert_int_equal(m.code, row->code);
    if (row->act == define_x)
        assert_ptr_equal(lookup(&f, "x"), &other);
    else
        assert_true(*(uint64_t *)lookup(&f, "x") == (row->act == add_strong ? OTHER : MEMBER));
    close_fixture(&f);
    free(other.at);
    other.at = NULL;
    free(archive.at);
}

/* The member has the kept copy of a group, an object added meanwhile the discarded one. */
static struct bytes with_group(uint64_t word)
{
    static struct elf elf;
    const uint64_t words[2] = {word, 0};
    static const uint32_t group[2] = {GRP_COMDAT, 1};
    memset(&elf, 0, sizeof elf);
    unsigned data = elf_section(&elf, ".data.g", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_GROUP, words, sizeof words);
    unsigned grp = elf_section(&elf, ".group", SHT_GROUP, 0, group, sizeof group);
    elf.sections[grp].header.sh_info = elf_symbol(&elf, "x", STB_WEAK, STT_OBJECT, data, 0, 8);
    return elf_finish(&elf);
}

static int add_same_group(const struct fixture *f, struct tn_error *err)
{
    other = with_group(OTHER);
    return try_add_bytes(f, "other.o", other.at, other.size, err);
}

static void a_groups_copy_is_not_lost_with_the_member_that_had_it(void **state)
{
    (void)state;
    struct fixture f = open_slow("own", false, FAILS, "x");
    struct meanwhile m = {.f = &f, .act = add_same_group};
    struct bytes archive = archive_of(with_group(MEMBER));
    const struct tn_input input = {
        .size = sizeof input, .name = "member.a", .bytes = archive.at, .length = archive.size};
    struct tn_error err;
    assert_ok(tn_add_archive(f.library, &input, &err), &err);
    assert_error(link_while(&m, &err), TN_ERANGE, &err, "slow.o(.data+0x18)");
    assert_int_equal(m.code, 0);
    assert_true(*(uint64_t *)lookup(&f, "x") == OTHER);
    close_fixture(&f);
    free(other.at);
    other.at = NULL;
    free(archive.at);
}

/* ---- references that found nothing ---- */

static int define_later(const struct fixture *f, struct tn_error *err)
{
    other = definition("later", STB_GLOBAL, 0, 8, OTHER);
    return try_add_bytes(f, "other.o", other.at, other.size, err);
}

static int link_later(const struct fixture *f, struct tn_error *err)
{
    void *address;
    int code = define_later(f, err);
    return code ? code : tn_lookup(f->library, "later", &address, err);
}

static const struct row with_references[] = {
    {"a weak reference stays empty when its name is defined", define_later, false, 0},
    {"and when that is linked", link_later, false, 0},
};

static void while_a_reference_is_empty(void **state)
{
    const struct row *row = *state;
    struct fixture f = open_slow("x", false, LINKS, NULL);
    struct meanwhile m = {.f = &f, .act = row->act};
    struct tn_error err;
    assert_ok(link_while(&m, &err), &err);
    assert_int_equal(m.code, 0);
    assert_int_equal(*(uint64_t *)lookup(&f, "slow_later"), 0);
    assert_true(*(uint64_t *)lookup(&f, "later") == OTHER);
    close_fixture(&f);
    free(other.at);
    other.at = NULL;
}

/* ---- trackers ---- */

static struct tn_tracker *owner;

static void *clear_library(void *library)
{
    tell_when_waiting(&stop.waits);
    tn_library_clear(library, NULL);
    return NULL;
}

/* While one thread waits for the link to end, in order to clear the library, this one destroys the tracker that the
 * other one examines. */
static int clear_and_destroy(const struct fixture *f, struct tn_error *err)
{
    pthread_t thread;
    (void)err;
    int code = pthread_create(&thread, NULL, clear_library, f->library);
    if (code)
        return code;
    await(&stop.waits);
    tn_tracker_destroy(owner);
    sem_post(&stop.done);
    return pthread_join(thread, NULL);
}

static int destroy(const struct fixture *f, struct tn_error *err)
{
    (void)f, (void)err;
    tn_tracker_destroy(owner);
    return 0;
}

static void add_slow_to_tracker(const struct fixture *f, const char *needs)
{
    struct tn_error err;
    make_slow("x", false, LINKS, needs);
    add_bytes(f, "slow.o", stop.file, stop.size);
    assert_ok(tn_tracker_create(f->library, &owner, &err), &err);
    assert_ok(tn_tracker_transfer(tn_library_tracker(f->library), owner, &err), &err);
}

static void a_tracker_is_destroyed_while_its_object_is_linked(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct meanwhile m = {.f = &f, .act = destroy};
    struct tn_error err;
    add_slow_to_tracker(&f, "__dso_handle"); /* made from the object's library */
    assert_ok(link_while(&m, &err), &err);
    check_still_works(&f);
    close_fixture(&f);
}

static void a_tracker_is_destroyed_while_its_library_is_cleared(void **state)
{
    (void)state;
    const struct tn_session_options options = {.size = sizeof options, .allocator = &spoiling};
    struct fixture f = open_fixture(&options);
    struct meanwhile m = {.f = &f, .act = clear_and_destroy};
    struct tn_error err;
    void *address;
    add_slow_to_tracker(&f, NULL);
    int code = link_while(&m, &err);
    assert_true(!code || code == TN_EUNDEF); /* may be removed before its address is returned */
    assert_int_equal(m.code, 0);
    assert_error(tn_lookup(f.library, "slow_function", &address, &err), TN_EUNDEF, &err, "slow_function");
    check_still_works(&f);
    close_spoiling(&f);
}

/* ---- forks ---- */

static int fork_and_link(const struct fixture *f, struct tn_error *err)
{
    pid_t pid = fork();
    if (!pid) {
        struct tn_error child_err;
        _exit(link_something_else(f, &child_err) ? 1 : 0);
    }
    int status;
    (void)err;
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -100;
}

static void a_fork_waits_and_its_child_links(void **state)
{
    (void)state;
    struct fixture f = open_slow("x", false, LINKS, NULL);
    struct meanwhile m = {.f = &f, .act = fork_and_link};
    struct tn_error err;
    assert_ok(link_while(&m, &err), &err);
    assert_int_equal(m.code, 0);
    check_still_works(&f);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_groups_copy_is_not_lost_with_the_member_that_had_it, clean_up),
        cmocka_unit_test_teardown(a_fork_waits_and_its_child_links, clean_up),
        cmocka_unit_test_teardown(a_tracker_is_destroyed_while_its_object_is_linked, clean_up),
        cmocka_unit_test_teardown(a_tracker_is_destroyed_while_its_library_is_cleared, clean_up),
    };
    int failed = 0;
    for (stage = IN_SCAN; stage < STAGES; stage++) {
        failed += cmocka_run_group_tests_name("link/while_building", tests, NULL, NULL);
        failed += RUN_ROWS("while a link succeeds", succeeding, while_a_link_succeeds);
        failed += RUN_ROWS("while a link fails", failing, while_a_link_fails);
        failed += RUN_ROWS("while a member is dropped", with_members, while_a_member_is_dropped);
        failed += RUN_ROWS("while a reference is empty", with_references, while_a_reference_is_empty);
    }
    return failed;
}
