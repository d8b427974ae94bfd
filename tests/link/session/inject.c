/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Sections added by the client (tn_add_section). */

#include "support.h"

#include <stdlib.h>

#include "elf_builder.h"

static int try_add(const struct fixture *f, struct tn_section section, struct tn_error *err)
{
    section.size = sizeof section;
    return tn_add_section(f->library, &section, err);
}

/* Each kind is placed in its zone, with its symbols; the bytes are copied. */
static void kinds(void **state)
{
    (void)state;
    uint8_t code[ANSWER_SIZE];
    put_answer(code, 42);
    uint32_t numbers[] = {1, 2, 3};
    const struct tn_section_symbol in_code[] = {{"answer", 0}}, in_numbers[] = {{"second", 4}, {"end", 12}};
    const struct tn_section_symbol in_zeros[] = {{"zeros", 8}};
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    assert_ok(try_add(&f,
                      (struct tn_section){.name = "code",
                                          .kind = TN_SECTION_CODE,
                                          .bytes = code,
                                          .length = sizeof code,
                                          .symbols = in_code,
                                          .symbol_count = 1},
                      &err),
              &err);
    assert_ok(try_add(&f,
                      (struct tn_section){.name = "numbers",
                                          .bytes = numbers,
                                          .length = sizeof numbers,
                                          .alignment = 4096,
                                          .symbols = in_numbers,
                                          .symbol_count = 2},
                      &err),
              &err);
    assert_ok(
        try_add(&f,
                (struct tn_section){
                    .name = "zeros", .kind = TN_SECTION_DATA, .length = 16, .symbols = in_zeros, .symbol_count = 1},
                &err),
        &err);
    memset(code, 0, sizeof code);
    memset(numbers, 0, sizeof numbers);
    assert_int_equal(call(&f, "answer"), 42);
    const uint32_t *second = lookup(&f, "second");
    assert_int_equal(*second, 2);
    assert_int_equal(((uintptr_t)second - 4) % 4096, 0);
    assert_ptr_equal(lookup(&f, "end"), second + 2);
    uint64_t *zeros = lookup(&f, "zeros");
    assert_int_equal(*zeros, 0);
    *zeros = 1;
    close_fixture(&f);
}

/* Objects refer to them, and they are gathered like other sections. */
static void objects_see_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        long value;
    } entries[] = {{"third", 3}, {"fourth", 4}};
    static const struct tn_section_symbol symbols[] = {{"target", 2}};
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    add_file(&f, "gather_1.o");
    assert_ok(
        try_add(
            &f,
            (struct tn_section){
                .name = "entries", .bytes = entries, .length = sizeof entries, .symbols = symbols, .symbol_count = 1},
            &err),
        &err);
    static struct elf elf;
    static const uint8_t word[8];
    memset(&elf, 0, sizeof elf);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, word, sizeof word);
    elf_symbol(&elf, "reference", STB_GLOBAL, STT_OBJECT, data, 0, 8);
    elf_reloc(&elf, data, 0, elf_undefined(&elf, "target"), MACHINE_ADDRESS, 0);
    struct bytes object = elf_finish(&elf);
    add_bytes(&f, "refers.o", object.at, object.size);
    link_all(&f);
    assert_int_equal(call(&f, "digits"), 1234);
    void **reference = lookup(&f, "reference");
    assert_ptr_equal(*reference, lookup(&f, "target"));
    close_fixture(&f);
    free(object.at);
}

static void trackers_remove_them(void **state)
{
    (void)state;
    static const struct tn_section_symbol symbols[] = {{"place", 0}};
    struct tn_error err;
    struct tn_tracker *tracker;
    void *address;
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f);
    assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
    for (int i = 0; i < 3; i++) {
        assert_ok(try_add(&f,
                          (struct tn_section){
                              .name = "own", .length = 100, .symbols = symbols, .symbol_count = 1, .owner = tracker},
                          &err),
                  &err);
        assert_non_null(lookup(&f, "place"));
        assert_ok(tn_tracker_remove(tracker, &err), &err);
        assert_error(tn_lookup(f.library, "place", &address, &err), TN_EUNDEF, &err, "'place'");
    }
    struct tn_stats after = stats_of(&f);
    assert_int_equal(after.rodata_bytes, before.rodata_bytes);
    close_fixture(&f);
}

/* Observers see them with and without objects. */
static void observers_are_told(void **state)
{
    (void)state;
    static const uint8_t code[] = {0xc3}; /* ret */
    static const struct tn_section_symbol symbols[] = {{"injected", 0}};
    struct tn_error err;
    struct tn_tracker *tracker;
    struct fixture f = open_fixture(NULL);
    assert_ok(tn_observe_functions(f.session, &err), &err);
    assert_ok(tn_observe_gdb(f.session, &err), &err);
    assert_ok(tn_tracker_create(f.library, &tracker, &err), &err);
    for (int with_object = 0; with_object < 2; with_object++) {
        assert_ok(try_add(&f,
                          (struct tn_section){.name = "code",
                                              .kind = TN_SECTION_CODE,
                                              .bytes = code,
                                              .length = sizeof code,
                                              .symbols = symbols,
                                              .symbol_count = 1,
                                              .owner = tracker},
                          &err),
                  &err);
        if (with_object)
            add_file(&f, "gather_1.o");
        link_all(&f);
        assert_non_null(lookup(&f, "injected"));
        assert_ok(tn_tracker_remove(tracker, &err), &err);
    }
    assert_int_equal(call(&f, "digits"), 12);
    close_fixture(&f);
}

static void mistakes(void **state)
{
    (void)state;
    static const struct tn_section_symbol outside[] = {{"a", 4}, {"b", 5}}, nameless[] = {{NULL, 0}},
                                          twice[] = {{"s", 0}};
    static const struct {
        struct tn_section section;
        const char *word;
    } rows[] = {
        {{.length = 4}, "name"},
        {{.name = "", .length = 4}, "name"},
        {{.name = "s", .kind = 3}, "kinds"},
        {{.name = "s", .alignment = 3}, "power of two"},
        {{.name = "s", .length = 4, .symbols = outside, .symbol_count = 2}, "symbol 1"},
        {{.name = "s", .length = 4, .symbols = nameless, .symbol_count = 1}, "symbol 0"},
        {{.name = "s", .symbol_count = 1}, "no symbols"},
    };
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_error(try_add(&f, rows[i].section, &err), TN_EINVAL, &err, rows[i].word);
    assert_error(tn_add_section(f.library, NULL, &err), TN_EINVAL, &err, "no section");
    assert_ok(try_add(&f, (struct tn_section){.name = "s", .symbols = twice, .symbol_count = 1}, &err), &err);
    assert_error(try_add(&f, (struct tn_section){.name = "s", .symbols = twice, .symbol_count = 1}, &err), TN_EDUP,
                 &err, "'s'");
    link_all(&f);
    assert_non_null(lookup(&f, "s"));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds),
        cmocka_unit_test(objects_see_them),
        cmocka_unit_test(trackers_remove_them),
        cmocka_unit_test(observers_are_told),
        cmocka_unit_test(mistakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
