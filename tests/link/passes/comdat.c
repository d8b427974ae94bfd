/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* COMDAT groups (gABI, "Section Groups"), those of compilers in data/comdat_1.s and comdat_2.s. */

#include "elf_builder.h"
#include "words.h"

#include <stdlib.h>

static void the_first_copy_of_a_group_is_kept(void **state)
{
    (void)state;
    for (int swapped = 0; swapped < 2; swapped++) {
        struct fixture f = open_fixture(NULL);
        add_file(&f, swapped ? "comdat_2.o" : "comdat_1.o");
        add_file(&f, swapped ? "comdat_1.o" : "comdat_2.o");
        int kept = swapped ? 2 : 1;
        assert_int_equal(call(&f, "call_1"), kept);
        assert_int_equal(call(&f, "call_2"), kept);
        assert_int_equal(call(&f, "data_1"), kept);
        assert_int_equal(call(&f, "data_2"), kept);
        assert_int_equal(call(&f, "inlined"), kept);
        close_fixture(&f);
    }
}

static void a_group_whose_owner_could_not_be_added_is_free_again(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    define(&f, "call_1", &f);
    assert_error(tn_add_file(f.library, data_file("comdat_1.o"), &err), TN_EDUP, &err, "'call_1'", "comdat_1.o");
    add_file(&f, "comdat_2.o");
    assert_int_equal(call(&f, "call_2"), 2);
    close_fixture(&f);
}

/* A group of the same name that lacks one of the symbols. References to that symbol must not resolve to null. */
static struct bytes object_with_group(uint32_t word, bool with_second)
{
    static struct elf elf;
    static uint32_t words[2][2], group[2][2];
    static uint64_t reference[2];
    memset(&elf, 0, sizeof elf);
    words[with_second][0] = words[with_second][1] = word;
    group[with_second][0] = GRP_COMDAT;
    group[with_second][1] = 1;
    unsigned data =
        elf_section(&elf, ".data.g", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_GROUP, words[with_second], 8);
    unsigned grp = elf_section(&elf, ".group", SHT_GROUP, 0, group[with_second], sizeof group[0]);
    elf.sections[grp].header.sh_info = elf_symbol(&elf, "signature", STB_WEAK, STT_OBJECT, data, 0, 4);
    if (with_second) {
        unsigned second = elf_symbol(&elf, "second", STB_WEAK, STT_OBJECT, data, 4, 4);
        unsigned refs = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, reference, sizeof reference);
        elf_reloc(&elf, refs, 0, second, MACHINE_ADDRESS, 0);
    }
    return elf_finish(&elf);
}

static void a_symbol_that_was_discarded_with_its_group_is_undefined(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct bytes kept = object_with_group(1, false), discarded = object_with_group(2, true);
    add_bytes(&f, "kept.o", kept.at, kept.size);
    add_bytes(&f, "discarded.o", discarded.at, discarded.size);
    assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, "'second'", "discarded.o(.data+0x0)");
    assert_int_equal(word_at(&f, "signature"), 1);
    close_fixture(&f);
    free(kept.at);
    free(discarded.at);
}

/* A copy of the group "g", which holds `word`, and behind it, in no group, a section that accompanies its data. */
static struct bytes object_with_follower(uint32_t word, struct elf *elf)
{
    static uint32_t words[2], group[2] = {GRP_COMDAT, 1};
    static uint64_t address;
    memset(elf, 0, sizeof *elf);
    words[word - 1] = word;
    unsigned data = elf_section(elf, ".data.g", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_GROUP, &words[word - 1], 4);
    unsigned about =
        elf_section(elf, "about", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_LINK_ORDER, &address, sizeof address);
    unsigned grp = elf_section(elf, ".group", SHT_GROUP, 0, group, sizeof group);
    unsigned local = elf_symbol(elf, "", STB_LOCAL, STT_SECTION, data, 0, 0);
    elf->sections[about].header.sh_link = data;
    elf->sections[grp].header.sh_info = elf_symbol(elf, "g", STB_WEAK, STT_OBJECT, data, 0, 4);
    elf_symbol(elf, "about", STB_WEAK, STT_OBJECT, about, 0, 8);
    elf_reloc(elf, about, 0, local, MACHINE_ADDRESS, 0);
    return elf_finish(elf);
}

static void a_section_that_accompanies_a_discarded_one_is_discarded(void **state)
{
    (void)state;
    static struct elf elf[2];
    struct bytes kept = object_with_follower(1, &elf[0]), discarded = object_with_follower(2, &elf[1]);
    for (int all = 0; all < 2; all++) {
        struct fixture f = open_fixture(NULL);
        struct tn_error err;
        struct tn_tracker *tracker;
        assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
        struct tn_input input = {
            .size = sizeof input, .name = "kept.o", .bytes = kept.at, .length = kept.size, .owner = tracker};
        assert_ok(tn_add_object(f.library, &input, &err), &err);
        add_bytes(&f, "discarded.o", discarded.at, discarded.size);
        if (all)
            assert_ok(tn_link(f.library, &err), &err);
        uint32_t **about = lookup(&f, "about");
        assert_int_equal(**about, 1);
        assert_ok(tn_tracker_remove(tracker, &err), &err);
        if (!all) {
            about = lookup(&f, "about"); /* back with its group */
            assert_int_equal(**about, 2);
        }
        close_fixture(&f);
    }
    free(kept.at);
    free(discarded.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_copy_of_a_group_is_kept),
        cmocka_unit_test(a_group_whose_owner_could_not_be_added_is_free_again),
        cmocka_unit_test(a_symbol_that_was_discarded_with_its_group_is_undefined),
        cmocka_unit_test(a_section_that_accompanies_a_discarded_one_is_discarded),
    };
    return cmocka_run_group_tests_name("link/comdat", tests, NULL, NULL);
}
