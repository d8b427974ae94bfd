/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The table of names and its journal. */

#include "support.h"

#include <stdlib.h>

#include "base/os.h"
#include "link/passes/link.h"

enum { NAMES = 20000 };

static const char *name_of(int i)
{
    static char name[300];
    /* Every length up to 64 and names that differ only at their end or only in the middle. */
    int length = i % 64;
    snprintf(name, sizeof name, "%.*s%d%.*s", length,
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", i, length,
             "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz");
    return name;
}

static void every_name_has_one_entry_that_never_moves(void **state)
{
    (void)state;
    struct tn__symtab table = {0};
    struct tn__entry **entries = calloc(NAMES, sizeof(*entries));
    assert_null(tn__symtab_find(&table, "a"));
    for (int i = 0; i < NAMES; i++) {
        assert_null(tn__symtab_find(&table, name_of(i)));
        entries[i] = tn__symtab_intern(&table, name_of(i));
        assert_non_null(entries[i]);
        assert_string_equal(entries[i]->name, name_of(i));
        assert_int_equal(entries[i]->kind, TN__ENTRY_UNDEFINED);
    }
    for (int i = 0; i < NAMES; i++) {
        assert_ptr_equal(tn__symtab_find(&table, name_of(i)), entries[i]);
        assert_ptr_equal(tn__symtab_intern(&table, name_of(i)), entries[i]);
    }
    assert_int_equal(table.count, NAMES);
    assert_null(tn__symtab_find(&table, "not there"));
    assert_non_null(tn__symtab_intern(&table, ""));
    free(entries);
    tn__symtab_free(&table);
    assert_null(tn__symtab_find(&table, "a"));
}

static void the_journal_restores_the_first_values(void **state)
{
    (void)state;
    struct tn__symtab table = {0};
    struct tn__journal journal = {0};
    struct tn__entry *a = tn__symtab_intern(&table, "a"), *b = tn__symtab_intern(&table, "b");
    a->address = 1;
    b->address = 2;
    for (uint64_t i = 0; i < 100; i++) {
        assert_true(tn__journal_note(&journal, i % 2 ? a : b));
        (i % 2 ? a : b)->address = 1000 + i;
    }
    tn__journal_undo(&journal);
    assert_int_equal(a->address, 1);
    assert_int_equal(b->address, 2);
    assert_null(journal.last);
    tn__journal_free(&journal);
    tn__symtab_free(&table);
}

static void running_out_of_memory_loses_no_name(void **state)
{
    (void)state;
    for (int n = 1; n <= 6; n++) {
        struct tn__symtab table = {0};
        char plan[8];
        snprintf(plan, sizeof plan, "a%d", n);
        tn__os_set_faults(plan);
        int failures = 0;
        for (int i = 0; i < 2000; i++)
            if (!tn__symtab_intern(&table, name_of(i))) {
                failures++;
                assert_non_null(tn__symtab_intern(&table, name_of(i)));
            }
        tn__os_set_faults(NULL);
        assert_int_equal(table.count, 2000);
        for (int i = 0; i < 2000; i++)
            assert_non_null(tn__symtab_find(&table, name_of(i)));
        assert_int_equal(failures, 1);
        tn__symtab_free(&table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_has_one_entry_that_never_moves),
        cmocka_unit_test(the_journal_restores_the_first_values),
        cmocka_unit_test(running_out_of_memory_loses_no_name),
    };
    return cmocka_run_group_tests_name("link/symtab", tests, NULL, NULL);
}
