/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* __start_NAME and __stop_NAME delimit the sections called NAME of all objects of one link. */

#include "support.h"

#include <elf.h>
#include <stdlib.h>
#include <time.h>

#include "bounds.h"
#include "elf_builder.h"

/* The entries of both objects, in link order, and no others. */
static void in_link_order(void **state)
{
    const struct tn_session_options *options = *state;
    struct fixture f = open_fixture(options);
    add_file(&f, "gather_1.o");
    add_file(&f, "gather_2.o");
    link_all(&f);
    assert_int_equal(call(&f, "digits"), 1234);
    assert_int_equal(call(&f, "count_zeros"), 5);
    assert_int_equal(call(&f, "has_nothing"), 0);
    close_fixture(&f);

    f = open_fixture(options);
    add_file(&f, "gather_2.o");
    add_file(&f, "gather_1.o");
    assert_int_equal(call(&f, "digits"), 12); /* no reference between the two */
    close_fixture(&f);
}

/* A later link has a table of its own. */
static void each_link_has_its_own(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add_file(&f, "gather_1.o");
    link_all(&f);
    add_file(&f, "gather_2.o");
    link_all(&f);
    assert_int_equal(call(&f, "digits"), 12);
    assert_non_null(lookup(&f, "own_entry"));
    struct tn_error err;
    void *address;
    assert_error(tn_lookup(f.library, "__start_entries", &address, &err), TN_EUNDEF, &err, "__start_entries");
    close_fixture(&f);
}

static struct tn_tracker *add_tracked(const struct fixture *f, const char *name, struct bytes *kept)
{
    struct tn_tracker *tracker;
    struct tn_error err;
    assert_ok(tn_tracker_create(f->library, &tracker, &err), &err);
    *kept = read_bytes(data_file(name));
    const struct tn_input input = {
        .size = sizeof input, .name = name, .bytes = kept->at, .length = kept->size, .owner = tracker};
    assert_ok(tn_add_object(f->library, &input, &err), &err);
    return tracker;
}

/* The table exists as long as any of its objects. */
static void the_last_one_gives_it_back(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        struct tn_error err;
        struct bytes kept[2];
        struct fixture f = open_fixture(NULL);
        struct tn_stats before = stats_of(&f);
        struct tn_tracker *trackers[2] = {add_tracked(&f, "gather_1.o", &kept[0]),
                                          add_tracked(&f, "gather_2.o", &kept[1])};
        link_all(&f);
        const void *(*own)(void);
        void *address = lookup(&f, "own_entry");
        memcpy(&own, &address, sizeof own);
        assert_int_equal(call(&f, "digits"), 1234);
        assert_ok(tn_tracker_remove(trackers[first], &err), &err);
        if (first == 0) {
            int value;
            memcpy(&value, (const char *)own() + sizeof(char *), sizeof value);
            assert_int_equal(value, 4);
        } else {
            (void)call(&f, "digits"); /* reads the removed object's entries, whose memory remains */
        }
        assert_ok(tn_tracker_remove(trackers[!first], &err), &err);
        struct tn_stats after = stats_of(&f);
        assert_int_equal(after.code_bytes, before.code_bytes);
        assert_int_equal(after.rodata_bytes, before.rodata_bytes);
        assert_int_equal(after.data_bytes, before.data_bytes);
        close_fixture(&f);
        free(kept[0].at), free(kept[1].at);
    }
}

static void *answer(void *context, const char *name)
{
    return strcmp(name, "__start_elsewhere") == 0 ? context : NULL;
}

/* An object that refers to `name` and has a section `section` that nothing reads. */
static struct bytes referring_object(const char *name, const char *section, uint64_t flags)
{
    static struct elf elf;
    static const uint8_t data[16];
    memset(&elf, 0, sizeof elf);
    unsigned refs = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data, 8);
    if (section)
        elf_section(&elf, section, SHT_PROGBITS, SHF_ALLOC | flags, data, sizeof data);
    elf_symbol(&elf, "reference", STB_WEAK, STT_OBJECT, refs, 0, 8);
    elf_reloc(&elf, refs, 0, elf_undefined(&elf, name), MACHINE_ADDRESS, 0);
    return elf_finish(&elf);
}

/* If no section has the name, the symbol is undefined like any other, and resolvers are asked. */
static void without_sections(void **state)
{
    (void)state;
    static const struct {
        const char *name, *section;
    } rows[] = {{"__start_nowhere", NULL}, {"__stop_nowhere", "nowher"}, {"__start_.dotted", ".dotted"},
                {"__stop_", ""},           {"__start_1st", "1st"},       {"__begin_it", "it"}};
    struct tn_error err;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f = open_fixture(NULL);
        struct bytes object = referring_object(rows[i].name, rows[i].section, 0);
        add_bytes(&f, "refers.o", object.at, object.size);
        assert_error(tn_link(f.library, &err), TN_EUNDEF, &err, rows[i].name, "refers.o");
        close_fixture(&f);
        free(object.at);
    }
    struct fixture f = open_fixture(NULL);
    assert_ok(tn_add_resolver(f.library, answer, &err, &err), &err);
    struct bytes object = referring_object("__start_elsewhere", NULL, 0);
    add_bytes(&f, "refers.o", object.at, object.size);
    void **reference = lookup(&f, "reference");
    assert_ptr_equal(*reference, &err);
    close_fixture(&f);
    free(object.at);
}

/* Sections of the link take precedence over resolvers, definitions over both. */
static void which_one_wins(void **state)
{
    (void)state;
    for (int defined = 0; defined < 2; defined++) {
        struct tn_error err;
        struct fixture f = open_fixture(NULL);
        assert_ok(tn_add_resolver(f.library, answer, &err, &err), &err);
        if (defined)
            define(&f, "__start_elsewhere", &f);
        struct bytes object = referring_object("__start_elsewhere", "elsewhere", 0);
        add_bytes(&f, "refers.o", object.at, object.size);
        void **reference = lookup(&f, "reference");
        assert_ptr_not_equal(*reference, &err);
        assert_int_equal(*reference == (void *)&f, defined);
        close_fixture(&f);
        free(object.at);
    }
}

static void code_and_data_do_not_mix(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_stats before = stats_of(&f);
    struct bytes code = referring_object("__start_mixed", "mixed", SHF_EXECINSTR);
    struct bytes data = referring_object("__start_mixed", "mixed", SHF_WRITE);
    add_bytes(&f, "code.o", code.at, code.size);
    add_bytes(&f, "data.o", data.at, data.size);
    assert_error(tn_link(f.library, &err), TN_ENOTSUP, &err, "data.o", "sections mixed");
    struct tn_stats after = stats_of(&f);
    assert_same_memory(&before, &after);
    close_fixture(&f);
    free(code.at), free(data.at);
}

/* Entries reachable only by the bounds, and whatever they refer to, are not dead. */
static void stripping_keeps_them(void **state)
{
    (void)state;
    static const char *const digits[] = {"digits"}, *const none[] = {"has_nothing"};
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    add_file(&f, "gather_1.o");
    add_file(&f, "gather_2.o");
    assert_ok(tn_link_roots(f.library, digits, 1, &err), &err);
    assert_int_equal(call(&f, "digits"), 1234);
    close_fixture(&f);
    f = open_fixture(NULL);
    add_file(&f, "gather_2.o");
    assert_error(tn_link_roots(f.library, none, 1, &err), TN_EUNDEF, &err, "has_nothing");
    close_fixture(&f);
}

enum { MANY_OBJECTS = 500, MANY_SECTIONS = 60 };

/* Section s of object `number` is called many_NUMBER_s, and holds the address of the section of that number in the
 * next one. */
static struct bytes one_of_many(int number)
{
    static struct elf elf;
    static const uint8_t data[8];
    static char names[MANY_SECTIONS][32];
    memset(&elf, 0, sizeof elf);
    for (int s = 0; s < MANY_SECTIONS; s++) {
        char start[48];
        snprintf(names[s], sizeof *names, "many_%d_%d", number, s);
        snprintf(start, sizeof start, "__start_many_%d_%d", (number + 1) % MANY_OBJECTS, s);
        unsigned section = elf_section(&elf, names[s], SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data, sizeof data);
        elf_reloc(&elf, section, 0, elf_undefined(&elf, start), MACHINE_ADDRESS, 0);
    }
    elf_symbol(&elf, number ? "" : "first", number ? STB_LOCAL : STB_GLOBAL, STT_OBJECT, 1, 0, 8);
    return elf_finish(&elf);
}

/* 30,000 tables take 0.1 s of CPU time; looking through all sections for each of them took 20 s. */
static void many_tables(void **state)
{
    (void)state;
    struct tn_error err;
    struct bytes kept[MANY_OBJECTS];
    struct fixture f = open_fixture(NULL);
    for (int i = 0; i < MANY_OBJECTS; i++) {
        kept[i] = one_of_many(i);
        const struct tn_input input = {
            .size = sizeof input, .name = "m.o", .bytes = kept[i].at, .length = kept[i].size};
        assert_ok(tn_add_object(f.library, &input, &err), &err);
    }
    clock_t start = clock();
    assert_ok(tn_link(f.library, &err), &err);
    assert_true(clock() - start < BOUNDS_SLOWER * 5 * CLOCKS_PER_SEC);
    void *first = lookup(&f, "first"), *at = first;
    for (int i = 1; i <= MANY_OBJECTS; i++) {
        at = *(void **)at;
        assert_int_equal(at == first, i == MANY_OBJECTS);
    }
    close_fixture(&f);
    for (int i = 0; i < MANY_OBJECTS; i++)
        free(kept[i].at);
}

int main(void)
{
    static struct tn_session_options options[] = {{.size = sizeof *options, .strategy = TN_STRATEGY_DUAL},
                                                  {.size = sizeof *options, .strategy = TN_STRATEGY_SEALED},
                                                  {.size = sizeof *options, .strategy = TN_STRATEGY_MPROTECT}};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(in_link_order, &options[0]),
        cmocka_unit_test_prestate(in_link_order, &options[1]),
        cmocka_unit_test_prestate(in_link_order, &options[2]),
        cmocka_unit_test(each_link_has_its_own),
        cmocka_unit_test(the_last_one_gives_it_back),
        cmocka_unit_test(without_sections),
        cmocka_unit_test(which_one_wins),
        cmocka_unit_test(code_and_data_do_not_mix),
        cmocka_unit_test(stripping_keeps_them),
        cmocka_unit_test(many_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
