/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local variables in a program whose reserve has no space for them: code that asks for them finds them, in old
 * and new threads, and other code is refused. Of data/tls_1.c and tls_2.c. */

#include "elf_builder.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os.h"
#include "link/tls/tls.h"
#include "maps.h"

static const char *const ways[] = {WAYS};

TN_TLS_RESERVE(16);

/* What use_all() returns for the first and the second time in a thread. */
enum { FIRST = 20741, SECOND = 131852 };

static bool asks(const char *way)
{
    return strstr(way, "-fPIC") && !strstr(way, "-ftls-model");
}

/* On other machines, what a TLS descriptor calls knows the reserve alone. */
static bool uses_descriptors(const char *way)
{
#ifdef __x86_64__
    (void)way;
    return false;
#elif defined(__aarch64__)
    return asks(way) && !strstr(way, "trad");
#else
    return strstr(way, "desc");
#endif
}

/* The first way in which code finds such variables. */
static const char *usual_way(void)
{
    for (size_t i = 0; i < COUNT(ways); i++)
        if (asks(ways[i]) && !uses_descriptors(ways[i]))
            return ways[i];
    return ways[0];
}

/* Libraries that are opened may have more than the reserve. */
static struct fixture open_dynamic(void)
{
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    assert_ok(tn_library_open(f.library, 0, &err), &err);
    return f;
}

static void add_part(const struct fixture *f, const char *part, const char *way)
{
    char name[128];
    snprintf(name, sizeof name, "%s.%s.o", part, way);
    add_file(f, name);
}

static struct fixture open_tls(const char *way)
{
    struct fixture f = open_dynamic();
    add_part(&f, "tls_1", way);
    add_part(&f, "tls_2", way);
    link_all(&f);
    return f;
}

static void close_tls(struct fixture *f)
{
    struct tn_error err;
    assert_ok(tn_library_close(f->library, &err), &err);
    close_fixture(f);
}

static long use_all(const struct fixture *f)
{
    long (*function)(void);
    *(void **)&function = lookup(f, "use_all");
    return function();
}

static void use_twice(const struct fixture *f)
{
    assert_int_equal(use_all(f), FIRST);
    assert_int_equal(use_all(f), SECOND);
}

/* ---- threads ---- */

struct worker {
    pthread_t thread;
    pthread_barrier_t barrier;
    const struct fixture *f; /* NULL: end */
    long sums[2];
};

static void *work(void *argument)
{
    struct worker *w = argument;
    for (;;) {
        pthread_barrier_wait(&w->barrier);
        if (!w->f)
            return NULL;
        w->sums[0] = use_all(w->f);
        w->sums[1] = use_all(w->f);
        pthread_barrier_wait(&w->barrier);
    }
}

static void start(struct worker *w)
{
    *w = (struct worker){0};
    pthread_barrier_init(&w->barrier, NULL, 2);
    assert_int_equal(pthread_create(&w->thread, NULL, work, w), 0);
}

static void check(struct worker *w, const struct fixture *f)
{
    w->f = f;
    pthread_barrier_wait(&w->barrier);
    pthread_barrier_wait(&w->barrier);
    assert_int_equal(w->sums[0], FIRST);
    assert_int_equal(w->sums[1], SECOND);
}

static void end(struct worker *w)
{
    w->f = NULL;
    pthread_barrier_wait(&w->barrier);
    pthread_join(w->thread, NULL);
    pthread_barrier_destroy(&w->barrier);
}

/* ---- each way ---- */

/* Objects come and go while a thread has memory: each round finds what the one before left behind. */
static void found_in_every_thread(const char *way)
{
    struct worker old, new;
    start(&old);
    for (int round = 0; round < 3; round++) {
        struct fixture first = open_tls(way);
        check(&old, &first);
        struct fixture second = open_tls(way);
        use_twice(&first);
        use_twice(&second);
        check(&old, &second);
        assert_int_equal(call(&first, "read_initialised"), 43);
        start(&new);
        check(&new, &first);
        close_tls(&first);
        check(&new, &second);
        end(&new);
        assert_int_equal(use_all(&second), SECOND + SECOND - FIRST);
        close_tls(&second);
    }
    end(&old);
}

static void refused(const char *way)
{
    struct fixture f = open_dynamic();
    struct tn_error err;
    add_part(&f, "tls_1", way);
    add_part(&f, "tls_2", way);
    assert_error(tn_link(f.library, &err), TN_ENOMEM, &err, "tls_", "TN_TLS_RESERVE");
    check_still_works(&f);
    close_tls(&f);
}

static void each_way(void **state)
{
    const char *way = *(const char **)*state;
    if (!asks(way) || uses_descriptors(way))
        refused(way);
    else
        found_in_every_thread(way);
}

/* Code that needs a distance comes later than the variables. */
static void a_later_distance_is_refused(void **state)
{
    const char *way = *(const char **)*state;
    struct fixture f = open_tls(usual_way());
    struct tn_error err;
    struct tn_library *user;
    char name[128];
    assert_ok(tn_library_create(f.session, "user", &user, &err), &err);
    assert_ok(tn_library_search(user, &(struct tn_search){f.library, 0}, 1, &err), &err);
    snprintf(name, sizeof name, "tls_user.%s.o", way);
    assert_ok(tn_add_file(user, data_file(name), &err), &err);
    int code = tn_link(user, &err);
    if (asks(way) && !uses_descriptors(way))
        assert_ok(code, &err);
    else
        assert_error(code, TN_ERANGE, &err, "tls_user", "tls_1", "-fPIC", "TN_TLS_RESERVE");
    use_twice(&f);
    close_tls(&f);
}

/* An absolute symbol whose value is as large as the place of a variable is none. */
static void large_values_are_no_variables(void **state)
{
    (void)state;
#ifdef __x86_64__
    static const uint8_t zeros[8];
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    struct fixture f = open_tls(usual_way());
    struct tn_error err;
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, zeros, sizeof zeros);
    unsigned large = elf_symbol(&elf, "large", STB_GLOBAL, STT_NOTYPE, SHN_ABS, TN__TLS_DYNAMIC + 16, 0);
    elf_reloc(&elf, data, 0, large, R_X86_64_32S, 0);
    struct bytes object = elf_finish(&elf);
    add_bytes(&f, "large.o", object.at, object.size);
    assert_error(tn_link(f.library, &err), TN_ERANGE, &err, "large.o", "R_X86_64_32S", "large");
    use_twice(&f);
    close_tls(&f);
    free(object.at);
#else
    skip();
#endif
}

/* ---- memory ---- */

static void a_thread_gives_its_memory_back(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* it has mappings of its own for threads */
#endif
    struct fixture f = open_tls(usual_way());
    struct worker worker;
    use_twice(&f);
    start(&worker); /* the C library keeps what threads need */
    check(&worker, &f);
    end(&worker);
    read_mappings();
    size_t before = mapping_count;
    for (int i = 0; i < 20; i++) {
        start(&worker);
        check(&worker, &f);
        end(&worker);
    }
    read_mappings();
    assert_int_equal(mapping_count, before);
    close_tls(&f);
}

static jmp_buf fault;

static void on_fault(int signal)
{
    longjmp(fault, signal);
}

/* In a child, which has one thread that has not asked so far. */
static void ask_without_memory(void **state)
{
    const struct fixture *f = *state;
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    assert_int_equal(sigaction(SIGSEGV, &action, NULL), 0);
    int *(*address)(void);
    *(void **)&address = lookup(f, "address_of_initialised");
    lookup(f, "use_all");
    assert_int_equal(tn__os_set_faults("F*"), 0);
    address(); /* is no access */
    if (!setjmp(fault)) {
        use_all(f);
        fail_msg("there was memory");
    }
    tn__os_set_faults(NULL);
    use_twice(f);
}

static void without_memory_an_access_fails(void **state)
{
    (void)state;
    struct fixture f = open_tls(usual_way());
    assert_int_equal(in_child(ask_without_memory, &f), 0);
    use_twice(&f);
    close_tls(&f);
}

static struct bytes tls_object(const char *name, uint64_t size, uint64_t alignment)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned section = elf_section(&elf, ".tbss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, NULL, size);
    elf.sections[section].header.sh_addralign = alignment;
    elf_symbol(&elf, name, STB_GLOBAL, STT_TLS, section, 0, size);
    return elf_finish(&elf);
}

/* A thread that has used some variables, and cannot get memory for those that came later. */
static void use_without_more_memory(void **state)
{
    const struct fixture *f = *state;
    lookup(f, "use_all");
    assert_int_equal(tn__os_set_faults("F*"), 0);
    long third = use_all(f), fourth = use_all(f);
    tn__os_set_faults(NULL);
    assert_int_equal(third, SECOND + (SECOND - FIRST));
    assert_int_equal(fourth, SECOND + 2 * (SECOND - FIRST));
    assert_int_equal(use_all(f), SECOND + 3 * (SECOND - FIRST));
}

static void older_variables_stay(void **state)
{
    const char *way = *(const char **)*state;
    if (!asks(way) || uses_descriptors(way))
        return;
    struct fixture f = open_tls(way), newer = open_dynamic();
    use_twice(&f);
    struct bytes object = tls_object("x", 1 << 20, 64);
    add_bytes(&newer, "x.o", object.at, object.size);
    uint64_t place = (uintptr_t)lookup(&newer, "x");
    assert_null(tn__tls_peek(place));
    assert_int_equal(in_child(use_without_more_memory, &f), 0);
    assert_int_equal(use_all(&f), SECOND + (SECOND - FIRST));
    assert_ptr_equal(tn__tls_peek(place), tn__tls_at(place));
    close_tls(&newer);
    close_tls(&f);
    free(object.at);
}

static void use_in_child(void **state)
{
    const struct fixture *f = *state;
    assert_int_equal(use_all(f), SECOND + SECOND - FIRST);
    struct worker worker;
    start(&worker);
    check(&worker, f);
    end(&worker);
}

static void a_forked_child_has_its_own(void **state)
{
    (void)state;
    struct fixture f = open_tls(usual_way());
    use_twice(&f);
    assert_int_equal(in_child(use_in_child, &f), 0);
    assert_int_equal(use_all(&f), SECOND + SECOND - FIRST);
    close_tls(&f);
}

/* A link fails at each of its allocations, and leaves nothing behind. */
static void each_allocation_fails(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (unsigned number = 1, ok = 0; !ok; number++) {
        struct fixture f = open_dynamic();
        struct tn_error err;
        char plan[32];
        add_part(&f, "tls_1", usual_way());
        add_part(&f, "tls_2", usual_way());
        snprintf(plan, sizeof plan, "a%u", number);
        tn__os_set_faults(plan);
        int code = tn_link(f.library, &err);
        tn__os_set_faults(NULL);
        ok = !code;
        failed += code == TN_ENOMEM;
        assert_true(ok || code == TN_ENOMEM);
        link_all(&f);
        use_twice(&f);
        close_tls(&f);
    }
    assert_true(failed > 3);
}

/* ---- sizes ---- */

static const struct size_row sizes[] = {
    {"1 byte", 1, 1, 0, ""},
    {"a page at a page", 4096, 4096, 0, ""},
    {"aligned to two pages", 100, 8192, TN_ENOTSUP, "8192"},
    {"60 MiB", 60 << 20, 64, 0, ""},
    {"64 MiB", 64 << 20, 1, TN_ENOMEM, "TN_TLS_RESERVE"},
    {"2^40 bytes", 1ULL << 40, 1, TN_ENOMEM, "x.o"},
    {"2^63 bytes", 1ULL << 63, 1, TN_ENOMEM, "x.o"},
};

static void each_size(void **state)
{
    const struct size_row *row = *state;
    struct fixture f = open_dynamic();
    struct bytes object = tls_object("x", row->size, row->alignment);
    check_size(&f, row, object.at, object.size);
    close_tls(&f);
    free(object.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_values_are_no_variables),  cmocka_unit_test(a_thread_gives_its_memory_back),
        cmocka_unit_test(without_memory_an_access_fails), cmocka_unit_test(a_forked_child_has_its_own),
        cmocka_unit_test(each_allocation_fails),
    };
    int failed = cmocka_run_group_tests_name("link/tls_dynamic", tests, NULL, NULL);
    failed += run_rows("each way", ways, COUNT(ways), sizeof *ways, each_way);
    failed += run_rows("older", ways, COUNT(ways), sizeof *ways, older_variables_stay);
    failed += run_rows("later", ways, COUNT(ways), sizeof *ways, a_later_distance_is_refused);
    return failed + RUN_ROWS("sizes", sizes, each_size);
}
