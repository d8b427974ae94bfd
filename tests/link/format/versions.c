/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Names with versions in ELF objects (.symver): NAME@@VERSION defines NAME and NAME@VERSION; NAME@VERSION defines only
 * itself. */

#include <stdlib.h>

#include "elf_builder.h"
#include "words.h"

static const struct part versioned[PARTS] = {
    {STRONG, "foo@@V2", 2}, {STRONG, "foo@V1", 1}, {STRONG, "plain@", 3}, {STRONG, "@@odd", 4}};

/* A GNU archive of one member, with or without an index of these names. */
static struct bytes archive_of(struct bytes member, const char *const *names, uint32_t count)
{
    static uint8_t bytes[1 << 16];
    char index[256];
    size_t size = 0, used = 4 + 4 * (size_t)count;
    const uint32_t be_count = __builtin_bswap32(count);
    memcpy(index, &be_count, 4);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(index + used, names[i], strlen(names[i]) + 1);
        used += strlen(names[i]) + 1;
    }
    used += used & 1;
    const uint32_t at = __builtin_bswap32((uint32_t)(8 + (count ? 60 + used : 0)));
    for (uint32_t i = 0; i < count; i++)
        memcpy(index + 4 + 4 * i, &at, 4);
    size = (size_t)sprintf((char *)bytes, "!<arch>\n");
    if (count) {
        size += (size_t)sprintf((char *)bytes + size, "%-48s%-10zu`\n", "/", used);
        memcpy(bytes + size, index, used);
        size += used;
    }
    size += (size_t)sprintf((char *)bytes + size, "%-48s%-10zu`\n", "m.o/", member.size);
    memcpy(bytes + size, member.at, member.size);
    return (struct bytes){bytes, size + member.size};
}

static const char *const index_of_versioned[] = {"foo@@V2", "foo@V1", "plain@", "@@odd"};

enum how { OBJECT_FIRST, OBJECT_LAST, WITH_INDEX, WITHOUT_INDEX };

static void add_versioned(const struct fixture *f, enum how how)
{
    if (how == OBJECT_FIRST || how == OBJECT_LAST) {
        add_words(f, "versioned.o", versioned);
        return;
    }
    struct bytes member = words_object(versioned);
    struct bytes archive = archive_of(member, index_of_versioned, how == WITH_INDEX ? COUNT(index_of_versioned) : 0);
    struct tn_error err;
    struct tn_input input = {.size = sizeof input, .name = "a.a", .bytes = archive.at, .length = archive.size};
    assert_ok(tn_add_archive(f->library, &input, &err), &err);
    free(member.at);
}

static void references_mean_the_default_version(void **state)
{
    (void)state;
    for (enum how how = OBJECT_FIRST; how <= WITHOUT_INDEX; how++) {
        struct fixture f = open_fixture(NULL);
        if (how == OBJECT_FIRST)
            add_versioned(&f, how);
        add_words(&f, "user.o",
                  OBJECT({UNDEFINED, "foo"}, {UNDEFINED, "foo@V2"}, {UNDEFINED, "foo@V1"}, {UNDEFINED, "plain@"}));
        if (how != OBJECT_FIRST)
            add_versioned(&f, how);
        link_all(&f);
        static const struct {
            const char *name;
            uint32_t word;
        } rows[] = {{"ref_foo", 2}, {"ref_foo@V2", 2}, {"ref_foo@V1", 1}, {"ref_plain@", 3}};
        for (size_t i = 0; i < COUNT(rows); i++)
            assert_int_equal(**(uint32_t **)lookup(&f, rows[i].name), rows[i].word);
        assert_ptr_equal(lookup(&f, "foo"), lookup(&f, "foo@V2"));
        assert_int_equal(word_at(&f, "@@odd"), 4);
        close_fixture(&f);
    }
}

static void another_version_is_no_definition(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    add_words(&f, "old.o", OBJECT({STRONG, "foo@V1", 1}));
    add_words(&f, "user.o", OBJECT({UNDEFINED, "foo"}));
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'foo'", "user.o");
    close_fixture(&f);
}

static void two_default_versions_clash(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    add_words(&f, "one.o", OBJECT({STRONG, "foo@@V2", 2}));
    assert_error(try_add_words(&f, "two.o", OBJECT({STRONG, "foo@@V3", 3}), &err), TN_EDUP, &err, "'foo'", "one.o",
                 "two.o");
    assert_error(try_add_words(&f, "plain.o", OBJECT({STRONG, "foo", 3}), &err), TN_EDUP, &err, "'foo'", "plain.o");
    assert_int_equal(word_at(&f, "foo"), 2);
    close_fixture(&f);
}

/* Many symbols with the end of one long name, which would be copied as often. */
static void names_that_share_bytes_are_refused(void **state)
{
    (void)state;
    static struct elf elf;
    static char name[ELF_STRINGS / 2];
    static const uint32_t word;
    memset(name, 'a', sizeof name - 1);
    memcpy(name + sizeof name - 5, "@@V2", 4);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, &word, sizeof word);
    for (unsigned i = 1; i < ELF_SYMBOLS - 1; i++)
        elf_symbol(&elf, i == 1 ? name : "b", STB_GLOBAL, STT_OBJECT, data, 0, 4);
    struct bytes file = elf_finish(&elf);
    for (unsigned i = 2; i < ELF_SYMBOLS - 1; i++)
        elf_symbol_entry(file, i)->st_name = elf_symbol_entry(file, 1)->st_name + i;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    assert_error(try_add_bytes(&f, "shared.o", file.at, file.size, &err), TN_EFORMAT, &err, "shared.o", "too long");
    close_fixture(&f);
    free(file.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(references_mean_the_default_version),
        cmocka_unit_test(another_version_is_no_definition),
        cmocka_unit_test(two_default_versions_clash),
        cmocka_unit_test(names_that_share_bytes_are_refused),
    };
    return cmocka_run_group_tests_name("link/versions", tests, NULL, NULL);
}
