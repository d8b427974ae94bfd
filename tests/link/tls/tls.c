/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local variables of loaded objects (data/tls_1.c, tls_2.c) in each model, in old and new threads. */

#include "elf_builder.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const ways[] = {WAYS};

/* The objects take more than the default. */
TN_TLS_RESERVE(4096);

/* What use_all() returns for the first and the second time in a thread. */
enum { FIRST = 20741, SECOND = 131852 };

static struct fixture open_tls(const char *way)
{
    struct fixture f = open_fixture(NULL);
    char name[128];
    snprintf(name, sizeof name, "tls_1.%s.o", way);
    add_file(&f, name);
    snprintf(name, sizeof name, "tls_2.%s.o", way);
    add_file(&f, name);
    link_all(&f);
    return f;
}

static long use_all(const struct fixture *f)
{
    void *address = lookup(f, "use_all");
    long (*function)(void);
    memcpy(&function, &address, sizeof function);
    return function();
}

static int *address_of_initialised(const struct fixture *f)
{
    void *address = lookup(f, "address_of_initialised");
    int *(*function)(void);
    memcpy(&function, &address, sizeof function);
    return function();
}

/* ---- a thread that does what it is told ---- */

struct worker {
    pthread_t thread;
    pthread_barrier_t barrier; /* before and after each order */
    const struct fixture *f;   /* NULL: end */
    long sums[2];
    const int *address;
    bool attach;
    uint32_t id;
};

static void *work(void *argument)
{
    struct worker *w = argument;
    if (w->attach)
        tn_thread_attach();
    w->id = (uint32_t)gettid();
    for (;;) {
        pthread_barrier_wait(&w->barrier);
        pthread_barrier_wait(&w->barrier);
        if (!w->f)
            break;
        w->sums[0] = use_all(w->f);
        w->sums[1] = use_all(w->f);
        w->address = address_of_initialised(w->f);
        pthread_barrier_wait(&w->barrier);
    }
    if (w->attach)
        tn_thread_detach();
    return NULL;
}

static void start(struct worker *w, bool attach)
{
    *w = (struct worker){.attach = attach};
    pthread_barrier_init(&w->barrier, NULL, 2);
    assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
    pthread_barrier_wait(&w->barrier); /* attached by now */
}

static void order(struct worker *w, const struct fixture *f)
{
    w->f = f;
    pthread_barrier_wait(&w->barrier);
    if (f) {
        pthread_barrier_wait(&w->barrier);
        pthread_barrier_wait(&w->barrier);
    } else {
        pthread_join(w->thread, NULL);
        pthread_barrier_destroy(&w->barrier);
    }
}

static void check(struct worker *w, const struct fixture *f)
{
    order(w, f);
    assert_int_equal(w->sums[0], FIRST);
    assert_int_equal(w->sums[1], SECOND);
    assert_ptr_not_equal(w->address, address_of_initialised(f));
}

/* ---- tests ---- */

static void each_thread_has_its_own(void **state)
{
    const char *way = *(const char **)*state;
    struct worker old, new;
    start(&old, true);
    for (int round = 0; round < 3; round++) { /* each finds what the previous one left behind */
        struct fixture f = open_tls(way);
        assert_int_equal(use_all(&f), FIRST);
        assert_int_equal(use_all(&f), SECOND);
        start(&new, false);
        check(&new, &f);
        check(&old, &f);
        order(&new, NULL);
        assert_int_equal(*address_of_initialised(&f), 43);
        assert_int_equal(call(&f, "read_initialised"), 43);
        close_fixture(&f);
    }
    order(&old, NULL);
}

/* True if code compiled in this way asks for the place of a variable: in another model it knows the distance. */
static bool asks(const char *way)
{
    return strstr(way, "-fPIC") && !strstr(way, "-ftls-model");
}

/* Threads that nobody announced: what they ask for has its initial values, and keeps what they stored. */
static void older_threads_ask(const char *way)
{
    struct worker old;
    start(&old, false);
    for (int round = 0; round < 3; round++) {
        struct fixture first = open_tls(way);
        check(&old, &first);
        struct fixture second = open_tls(way); /* another object: the values of the first one stay */
        check(&old, &second);
        order(&old, &first);
        assert_int_equal(old.sums[0], SECOND + SECOND - FIRST);
        assert_int_equal(use_all(&first), FIRST);
        close_fixture(&second);
        close_fixture(&first);
    }
    order(&old, NULL);
}

/* Code that does not ask is refused while there is such a thread, if the session is to check that; threads of its own
 * and attached ones are none. */
/* qemu-user has a thread of its own in the process. */
static bool are_there_strangers(void)
{
    size_t count = 0;
    DIR *list = opendir("/proc/self/task");
    assert_non_null(list);
    while (readdir(list))
        count++;
    closedir(list);
    return count > 3; /* this thread, and two that are no threads: . and .. */
}

static void nothing(void *context, int is_cancelled)
{
    (void)context, (void)is_cancelled;
}

static void older_threads_are_refused(const char *way)
{
    struct worker old, attached;
    const struct tn_session_options options = {.size = sizeof options, .threads = 1};
    struct fixture f = open_fixture(&options);
    struct tn_error err;
    char name[128], thread[64];
    tn_session_check_threads(f.session);
    assert_ok(tn_session_run_idle(f.session, nothing, NULL, &err), &err); /* by a thread that the session starts */
    start(&attached, true);
    start(&old, false);
    snprintf(name, sizeof name, "tls_1.%s.o", way);
    add_file(&f, name);
    snprintf(name, sizeof name, "tls_2.%s.o", way);
    add_file(&f, name);
    snprintf(thread, sizeof thread, "thread %u is not attached", old.id);
    assert_error(tn_link(f.library, &err), TN_ENOTSUP, &err, "tls_", thread);
    order(&old, NULL);
    link_all(&f);
    check(&attached, &f);
    order(&attached, NULL);
    close_fixture(&f);
}

static void threads_are_older_than_the_link(void **state)
{
    const char *way = *(const char **)*state;
    if (asks(way))
        older_threads_ask(way);
    else if (are_there_strangers())
        skip();
    else
        older_threads_are_refused(way);
}

static void sessions_side_by_side(void **state)
{
    (void)state;
    struct fixture f[4];
    struct worker worker;
    for (size_t i = 0; i < COUNT(f); i++)
        f[i] = open_tls(ways[i % COUNT(ways)]);
    start(&worker, false);
    for (size_t i = 0; i < COUNT(f); i++) {
        assert_int_equal(use_all(&f[i]), FIRST);
        check(&worker, &f[i]);
    }
    for (size_t i = 0; i < COUNT(f); i++) {
        assert_int_equal(use_all(&f[i]), SECOND);
        close_fixture(&f[i]);
    }
    order(&worker, NULL);
}

static void attaching_twice_and_detaching_alone_do_nothing(void **state)
{
    (void)state;
    tn_thread_detach();
    tn_thread_attach();
    tn_thread_attach();
    struct fixture f = open_tls(ways[0]);
    assert_int_equal(use_all(&f), FIRST);
    tn_thread_detach();
    assert_int_equal(use_all(&f), SECOND);
    close_fixture(&f);
}

/* ---- the reserve ---- */

static struct bytes tls_object(const char *name, uint64_t size, uint64_t alignment, bool zeros)
{
    static struct elf elf;
    static uint8_t contents[1 << 16];
    memset(&elf, 0, sizeof elf);
    memset(contents, 0x5a, sizeof contents);
    unsigned section = elf_section(&elf, zeros ? ".tbss" : ".tdata", zeros ? SHT_NOBITS : SHT_PROGBITS,
                                   SHF_ALLOC | SHF_WRITE | SHF_TLS, contents, size);
    elf.sections[section].header.sh_addralign = alignment;
    elf_symbol(&elf, name, STB_GLOBAL, STT_TLS, section, 0, size);
    return elf_finish(&elf);
}

static const struct size_row reserves[] = {
    {"1 byte", 1, 1, 0, ""},
    {"4000 bytes", 4000, 16, 0, ""},
    {"4097 bytes", 4097, 1, TN_ENOMEM, "TN_TLS_RESERVE"},
    {"2^40 bytes", 1ULL << 40, 1, TN_ENOMEM, "x.o"},
    {"2^63 bytes", 1ULL << 63, 1, TN_ENOMEM, "x.o"},
    {"aligned to 64", 100, 64, 0, ""},
    {"aligned to 128", 100, 128, TN_ENOTSUP, "128"},
};

static void the_reserve(void **state)
{
    const struct size_row *row = *state;
    for (int zeros = row->size > (1 << 16); zeros < 2; zeros++) {
        struct fixture f = open_fixture(NULL);
        struct bytes object = tls_object("x", row->size, row->alignment, zeros);
        check_size(&f, row, object.at, object.size);
        close_fixture(&f);
        free(object.at);
    }
}

static void a_full_reserve_says_so_and_is_empty_again_afterwards(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct fixture f = open_fixture(NULL);
        struct tn_error err;
        struct bytes objects[8];
        int code = 0;
        size_t n = 0;
        for (; n < COUNT(objects) && !code; n++) {
            char name[2] = {(char)('a' + n), '\0'};
            objects[n] = tls_object(name, 1000, 16, false);
            add_bytes(&f, "x.o", objects[n].at, objects[n].size);
            code = tn_link(f.library, &err);
        }
        assert_error(code, TN_ENOMEM, &err, "TN_TLS_RESERVE");
        assert_int_equal(n, 5);
        close_fixture(&f);
        while (n)
            free(objects[--n].at);
    }
}

/* ---- what does not fit together ---- */

static void the_hosts_thread_local_symbols_and_mismatches_are_refused(void **state)
{
    (void)state;
    static const struct {
        unsigned symbol_type;
        uint32_t type;
        bool defined;
        int code;
        const char *word;
    } rows[] = {
        {STT_TLS, MACHINE_TPOFF, false, TN_EUNDEF, "'variable'"},
        {STT_TLS, MACHINE_ADDRESS, true, TN_EFORMAT, "thread-local"},
        {STT_OBJECT, MACHINE_TPOFF, true, TN_EFORMAT, "thread-local"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        static struct elf elf;
        static uint64_t words[2];
        memset(&elf, 0, sizeof elf);
        unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
        unsigned tdata = elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, words, 8);
        unsigned place = rows[i].symbol_type == STT_TLS ? tdata : data;
        unsigned symbol =
            elf_symbol(&elf, "variable", STB_GLOBAL, rows[i].symbol_type, rows[i].defined ? place : SHN_UNDEF, 0, 8);
        elf_reloc(&elf, data, 0, symbol, rows[i].type, 0);
        struct bytes object = elf_finish(&elf);
        struct fixture f = open_fixture(NULL);
        struct tn_error err;
        add_bytes(&f, "mismatch.o", object.at, object.size);
        assert_error(tn_link(f.library, &err), rows[i].code, &err, "mismatch.o(.data+0x0)", rows[i].word);
        check_still_works(&f);
        close_fixture(&f);
        free(object.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_side_by_side),
        cmocka_unit_test(attaching_twice_and_detaching_alone_do_nothing),
        cmocka_unit_test(a_full_reserve_says_so_and_is_empty_again_afterwards),
        cmocka_unit_test(the_hosts_thread_local_symbols_and_mismatches_are_refused),
    };
    int failed = cmocka_run_group_tests_name("link/tls", tests, NULL, NULL);
    failed += run_rows("each thread has its own", ways, COUNT(ways), sizeof *ways, each_thread_has_its_own);
    failed += run_rows("older threads", ways, COUNT(ways), sizeof *ways, threads_are_older_than_the_link);
    return failed + RUN_ROWS("reserve", reserves, the_reserve);
}
