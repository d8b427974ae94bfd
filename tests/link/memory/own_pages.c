/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Links of 64 KiB and more: their pages are private, and never writable and executable. */

#include "answers.h"
#include "elf_builder.h"
#include "maps.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { SMALL = 1000, LARGE = 64 << 10 };

static void large_links_have_private_pages(void **state)
{
    (void)state;
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    struct answer small, large, again;
    answer_link(&f, &small, 1, SMALL);
    check_aliases(2, 0);
    answer_link(&f, &large, 2, LARGE);
    check_aliases(0, 2); /* it was not written through them, but this is a good time to seal them */
    void *code = lookup(&f, large.name), *constants = answer_constants(&f, &large);
    assert_prot(code, "r-xp");
    assert_false(mapping_at(code)->memfd);
    assert_prot(constants, "r--p");
    answer_remove(&large);
    assert_prot(code, "rw-p"); /* no gadgets are left */
    answer_link(&f, &again, 3, LARGE);
    assert_ptr_equal(lookup(&f, again.name), code);
    assert_prot(code, "r-xp");
    answer_remove(&again);
    answer_remove(&small);
    close_fixture(&f);
}

/* A link whose parts in both zones are smaller than that, but not together. */
static void aliases_are_sealed_after_large_links(void **state)
{
    (void)state;
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    struct answer answers[3];
    answer_link(&f, &answers[0], 0, LARGE / 2 - 16);
    check_aliases(2, 0);
    answer_link(&f, &answers[1], 1, LARGE / 2);
    check_aliases(0, 2);
    answer_link(&f, &answers[2], 2, SMALL);
    check_aliases(2, 0);
    for (unsigned i = 0; i < COUNT(answers); i++)
        answer_remove(&answers[i]);
    close_fixture(&f);
}

static size_t count_near(const void *address)
{
    size_t count = 0;
    read_mappings();
    for (size_t i = 0; i < mapping_count; i++)
        count += mappings[i].start - (uintptr_t)address + (1ULL << 30) < 1ULL << 31;
    return count;
}

static void many_large_links_share_mappings(void **state)
{
    (void)state;
    enum { LINKS = 300, SIZE = 70000 };
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    struct answer *answers = calloc(LINKS, sizeof *answers);
    for (unsigned i = 0; i < LINKS; i++)
        answer_link(&f, &answers[i], i, SIZE);
    assert_in_range(count_near(lookup(&f, answers[0].name)), 4, 100);
    assert_in_range(stats_of(&f).mappings, 3, 40);
    for (unsigned i = 0; i < LINKS; i += 2)
        answer_remove(&answers[i]);
    assert_in_range(count_near(lookup(&f, answers[1].name)), 4, 4 * LINKS);
    for (unsigned i = 0; i < LINKS; i += 2)
        answer_link(&f, &answers[i], i + LINKS, SIZE);
    for (unsigned i = 0; i < LINKS; i++) {
        answer_check(&f, &answers[i]);
        answer_remove(&answers[i]);
    }
    assert_int_equal(stats_of(&f).code_bytes, 0);
    close_fixture(&f);
    free(answers);
}

/* Several objects of one link, some of them small; they are removed one by one. */
static void objects_of_one_link_share_a_run(void **state)
{
    (void)state;
    struct fixture f = answer_open(TN_STRATEGY_DUAL);
    struct answer answers[20];
    struct tn_error err;
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < COUNT(answers); i++) {
            /* Not linked before all are there. */
            answer_add(&f, &answers[i], 100 * round + i, i % 3 ? 5000 : 40 + 16 * i);
        }
        assert_ok(tn_link(f.library, &err), &err);
        check_aliases(0, 0);
        for (unsigned i = 0; i < COUNT(answers); i++) {
            assert_prot(lookup(&f, answers[i].name), "r-xp");
            answer_check(&f, &answers[i]);
        }
        for (unsigned i = 0; i < COUNT(answers); i++) {
            answer_remove(&answers[i * 7 % COUNT(answers)]);
            for (unsigned k = i + 1; k < COUNT(answers); k++)
                answer_check(&f, &answers[k * 7 % COUNT(answers)]);
        }
        assert_int_equal(stats_of(&f).code_bytes, 0);
    }
    close_fixture(&f);
}

/* ---- pages that come at once ---- */

enum { PAGE = 4096, SEEN = 64 };

static size_t resident(const void *address)
{
    unsigned char there[SEEN];
    size_t count = 0;
    assert_int_equal(mincore((void *)((uintptr_t)address & -(uintptr_t)PAGE), SEEN * PAGE, there), 0);
    while (count < SEEN && there[count] & 1)
        count++;
    return count;
}

static void *add_data(const struct fixture *f, const char *name, size_t size)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    void *bytes = calloc(1, size), *address;
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, bytes, size);
    elf_symbol(&elf, name, STB_GLOBAL, STT_OBJECT, data, 0, size);
    struct bytes object = elf_finish(&elf);
    add_bytes(f, name, object.at, object.size);
    address = lookup(f, name);
    free(object.at);
    free(bytes);
    return address;
}

/* The first object of a session does not pay for the pages of those that may follow. */
static void few_pages_are_touched_at_first(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    void *first = add_data(&f, "first", 8);
    assert_int_equal(resident(first), 4);
    add_data(&f, "second", 3 * PAGE);
    assert_int_equal(resident(first), 4);
    add_data(&f, "third", PAGE); /* as many again */
    assert_int_equal(resident(first), 8);
    add_data(&f, "fourth", 4 * PAGE);
    assert_int_equal(resident(first), 16);
    add_data(&f, "fifth", 40 * PAGE); /* what it needs */
    assert_int_equal(resident(first), 49);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_links_have_private_pages),  cmocka_unit_test(aliases_are_sealed_after_large_links),
        cmocka_unit_test(many_large_links_share_mappings), cmocka_unit_test(objects_of_one_link_share_a_run),
        cmocka_unit_test(few_pages_are_touched_at_first),
    };
    return cmocka_run_group_tests_name("link/own_pages", tests, NULL, NULL);
}
