/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded code learns of itself from dladdr and dl_iterate_phdr, when libraries come and go. (In every kind of
 * program: tests/hosts/runtime_itself.sh.) */

#include "support.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "base/os.h"

static struct tn_error err;

static struct tn_library *add_library(const struct fixture *f, const char *name)
{
    struct tn_library *library;
    assert_ok(tn_library_create(f->session, name, &library, &err), &err);
    assert_ok(tn_add_resolver(library, tn_resolve_dlsym, NULL, &err), &err);
    assert_ok(tn_add_file(library, data_file("itself.o"), &err), &err);
    assert_ok(tn_link(library, &err), &err);
    return library;
}

static void *find(struct tn_library *library, const char *name)
{
    void *address;
    assert_ok(tn_lookup(library, name, &address, &err), &err);
    return address;
}

static void check(struct tn_library *library)
{
    static const char *const names[] = {"check_dladdr", "check_iterate"};
    for (size_t i = 0; i < COUNT(names); i++) {
        void *address = find(library, names[i]);
        assert_int_equal(((int (*)(const void *))address)((const void *)check), 0);
    }
}

/* Both are called `itself`, and each finds its own segments. */
static void several_libraries(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL), g = open_fixture(NULL);
    struct tn_library *first = add_library(&f, "itself"), *second = add_library(&f, "itself"),
                      *third = add_library(&g, "itself");
    check(first);
    check(second);
    check(third);
    assert_ok(tn_library_remove(first, &err), &err);
    check(second);
    close_fixture(&g);
    check(second);
    close_fixture(&f);
}

static unsigned long long count_changes(struct tn_library *library)
{
    void *address = find(library, "count_changes");
    return ((unsigned long long (*)(void))address)();
}

/* Callers keep what they have found until the counts change. */
static void counts_change(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *first = add_library(&f, "itself");
    unsigned long long before = count_changes(first);
    assert_int_equal(count_changes(first), before);
    struct tn_library *second = add_library(&f, "second");
    unsigned long long added = count_changes(first);
    assert_int_not_equal(added, before);
    assert_ok(tn_library_remove(second, &err), &err);
    assert_int_not_equal(count_changes(first), added);
    close_fixture(&f);
}

/* A function of a lazy library has the address of its stub. */
static void stubs(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *library = add_library(&f, "itself"), *lazy;
    const struct tn_lazy_symbol symbol = {.name = "late", .target = "function"};
    const struct tn_stub_options options = {.size = sizeof options, .on_failure = abort};
    assert_ok(tn_library_create(f.session, "lazy", &lazy, &err), &err);
    assert_ok(tn_define_lazy(lazy, &symbol, 1, library, &options, &err), &err);
    Dl_info info;
    void *ask = find(library, "ask");
    assert_int_equal(((int (*)(const void *, Dl_info *))ask)(find(lazy, "late"), &info), 1);
    assert_string_equal(info.dli_fname, "lazy");
    assert_string_equal(info.dli_sname, "late");
    assert_ptr_equal(info.dli_saddr, find(lazy, "late"));
    close_fixture(&f);
}

static void memory_is_out(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *library = add_library(&f, "itself");
    void *try = find(library, "try_iterate");
    int failing = 0, code = 0;
    do {
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", ++failing);
        tn__os_set_faults(plan);
        code = ((int (*)(void))try)();
        tn__os_set_faults(NULL);
        assert_true(!code || code == -1);
    } while (code);
    assert_true(failing > 3); /* pieces, names, headers */
    close_fixture(&f);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {cmocka_unit_test(several_libraries), cmocka_unit_test(counts_change),
                                              cmocka_unit_test(stubs), cmocka_unit_test(memory_is_out)};
    return cmocka_run_group_tests_name("itself", tests, NULL, NULL);
}
