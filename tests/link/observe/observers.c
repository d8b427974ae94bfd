/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What observers are told and when, and the two built-in ones that keep data in memory: functions, and the entries for
 * debuggers. runtime_gdb.sh checks what a debugger makes of these. */

#include "elf_builder.h"
#include "observed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/os.h"

/* ---- an observer ---- */

enum { MOST = 64 };

struct seen {
    int links, removals, closes, answer; /* answer: of `linked` */
    size_t objects, removed;
    uint64_t ids[MOST], removed_ids[MOST], starts[MOST];
    char text[2048];
};

static void describe(struct seen *seen, const struct tn_linked_object *o)
{
    size_t at = strlen(seen->text), room = sizeof seen->text;
    at += (size_t)snprintf(seen->text + at, room - at, "%s/%s:", o->library, o->name);
    for (size_t k = 0; k < o->function_count; k++)
        at += (size_t)snprintf(seen->text + at, room - at, " %s=%d+%d", o->functions[k].name,
                               (int)(o->functions[k].address - o->zones[TN_ZONE_CODE].address),
                               (int)o->functions[k].size);
    snprintf(seen->text + at, room - at, "\n");
}

static int linked(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    struct seen *seen = context;
    seen->links++;
    for (size_t i = 0; i < count; i++) {
        const struct tn_linked_object *o = objects[i];
        uint64_t start = o->zones[TN_ZONE_CODE].address;
        describe(seen, o);
        assert_int_equal(o->size, sizeof *o);
        assert_int_equal(memcmp(o->bytes, ELFMAG, SELFMAG), 0);
        assert_true(o->section_count > 1 && o->symbol_count > 1);
        assert_int_equal(o->section_addresses[0], 0);
        assert_int_equal(o->section_addresses[1], start);
        assert_int_equal(memcmp((const void *)(uintptr_t)start, code, 3), 0); /* the code is in place */
        seen->ids[seen->objects] = o->id;
        seen->starts[seen->objects++] = start;
    }
    if (seen->answer)
        snprintf(err->text, sizeof err->text, "not today");
    return seen->answer;
}

static void removed(void *context, const struct tn_linked_object *const *objects, size_t count)
{
    struct seen *seen = context;
    seen->removals++;
    for (size_t i = 0; i < count; i++) {
        assert_non_null(objects[i]->name);
        assert_int_equal(memcmp((const void *)(uintptr_t)objects[i]->zones[TN_ZONE_CODE].address, code, 3), 0);
        seen->removed_ids[seen->removed++] = objects[i]->id;
    }
}

static void closed(void *context)
{
    ((struct seen *)context)->closes++;
}

static void observe(const struct fixture *f, struct seen *seen)
{
    struct tn_error err;
    const struct tn_observer observer = {
        .size = sizeof observer, .context = seen, .linked = linked, .removed = removed, .closed = closed};
    assert_ok(tn_add_observer(f->session, &observer, &err), &err);
}

static void is_told_of_all_objects_of_a_link_at_once(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct seen seen = {0}, only_end = {0};
    struct tn_error err;
    const struct tn_observer end = {.size = sizeof end, .context = &only_end, .closed = closed};
    struct bytes before = simple_object("before", NULL), first = functions_object("first"),
                 second = simple_object("second", "first");
    add(&f, "before.o", before, NULL);
    link_all(&f);
    observe(&f, &seen);
    assert_ok(tn_add_observer(f.session, &end, &err), &err);
    add(&f, "first.o", first, NULL);
    add(&f, "second.o", second, NULL);
    assert_int_equal(seen.links, 0);
    void *address = lookup(&f, "second");
    assert_int_equal(seen.links, 1);
    /* One name for each address, global ones first. A label extends to the next one, or to the end of its section. */
    assert_string_equal(seen.text, "main/second.o: second=0+64\n"
                                   "main/first.o: first=0+16 inside=8+8 behind=32+16 local=48+8\n");
    assert_int_equal(seen.starts[0], (uintptr_t)address);
    link_all(&f);
    assert_int_equal(seen.links, 1);
    close_fixture(&f);
    assert_int_equal(seen.removed, 3); /* also the one that it was not told about */
    assert_int_equal(seen.closes, 1);
    assert_int_equal(only_end.closes, 1);
    free(before.at);
    free(first.at);
    free(second.at);
}

static void stubs_have_names(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct seen seen = {0};
    struct tn_error err;
    struct tn_place place = {.size = sizeof place};
    struct bytes object = simple_object("near", "far");
    observe(&f, &seen);
    assert_ok(tn_observe_functions(f.session, &err), &err);
    define(&f, "far", (void *)(uintptr_t)0x123456789abc); /* never called */
    add(&f, "near.o", object, NULL);
    char *address = lookup(&f, "near");
    assert_string_equal(seen.text, "main/near.o: near=0+64 far@stub=64+8\n");
    assert_ok(tn_symbolize(f.session, address + CODE_SIZE + 6, &place, &err), &err);
    assert_string_equal(place.function, "far@stub");
    assert_int_equal(place.offset, 6);
    close_fixture(&f);
    free(object.at);
}

static void is_told_of_removals(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct seen seen = {0};
    struct tn_tracker *a = new_tracker(&f), *b = new_tracker(&f);
    struct bytes object = simple_object("f", NULL), other = simple_object("g", NULL), third = simple_object("h", NULL);
    observe(&f, &seen);
    add(&f, "f.o", object, a);
    add(&f, "g.o", other, b);
    link_all(&f);
    add(&f, "h.o", third, a);
    remove_all(a); /* h.o was never linked */
    assert_int_equal(seen.removals, 1);
    assert_int_equal(seen.removed, 1);
    assert_int_equal(seen.removed_ids[0], seen.ids[0]);
    remove_all(a);
    assert_int_equal(seen.removals, 1);
    assert_int_equal(seen.closes, 0);
    close_fixture(&f);
    assert_int_equal(seen.removed, 2);
    assert_int_equal(seen.removed_ids[1], seen.ids[1]);
    free(object.at);
    free(other.at);
    free(third.at);
}

static void may_refuse_a_link(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct seen first = {0}, second = {.answer = TN_ENOTSUP};
    struct tn_error err;
    struct bytes object = simple_object("f", NULL);
    observe(&f, &first);
    observe(&f, &second);
    add(&f, "f.o", object, NULL);
    struct tn_stats before = stats_of(&f), after;
    for (int i = 1; i <= 3; i++) {
        assert_error(tn_link(f.library, &err), TN_ENOTSUP, &err, "not today");
        after = stats_of(&f);
        assert_same_memory(&before, &after);
        assert_int_equal(first.removed, i); /* it had accepted */
        assert_int_equal(second.removed, 0);
    }
    second.answer = 5; /* not an error code */
    assert_error(tn_link(f.library, &err), TN_EINVAL, &err, "not today");
    assert_int_equal(tn_link(f.library, NULL), TN_EINVAL);
    second.answer = 0;
    assert_int_equal(call(&f, "f"), 0);
    close_fixture(&f);
    assert_int_equal(first.removed, 6);
    assert_int_equal(second.removed, 1);
    free(object.at);
}

static void options_are_checked(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_observer observer = {.size = 3};
    struct tn_place place = {0};
    struct tn_error err;
    assert_error(tn_add_observer(f.session, &observer, &err), TN_EINVAL, &err, "struct tn_observer");
    assert_error(tn_add_observer(f.session, NULL, &err), TN_EINVAL, &err, "observer");
    assert_error(tn_add_observer(NULL, &observer, &err), TN_EINVAL, &err, "session");
    assert_error(tn_observe_functions(NULL, &err), TN_EINVAL, &err, "session");
    assert_error(tn_observe_gdb(NULL, &err), TN_EINVAL, &err, "session");
    assert_error(tn_symbolize(NULL, code, &place, &err), TN_EINVAL, &err, "size");
    assert_error(tn_symbolize(NULL, code, NULL, &err), TN_EINVAL, &err, "answer");
    close_fixture(&f);
}

/* ---- tn_symbolize ---- */

static struct tn_place place_of(const struct tn_session *session, uint64_t address)
{
    struct tn_place place = {.size = sizeof place};
    struct tn_error err;
    assert_ok(tn_symbolize(session, (const void *)(uintptr_t)address, &place, &err), &err);
    return place;
}

static void bodies_have_the_names_of_their_entries(void **state)
{
    static const char *const rows[][2] = {
        {"f", "f"},     {"f.m", "f"}, {"g", "g"},       {"g.m", "g.m"}, {"g.m.m", "g.m"},
        {"h.m", "h.m"}, {"i", "i"},   {"ii.m", "ii.m"}, {".m", ".m"},
    };
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    assert_ok(tn_observe_functions(f.session, &err), &err);
    add_file(&f, "bodies.o");
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_string_equal(place_of(f.session, (uintptr_t)lookup(&f, rows[i][0])).function, rows[i][1]);
    close_fixture(&f);
}

static void assert_unknown(const struct tn_session *session, uint64_t address)
{
    struct tn_place place = {.size = sizeof place};
    struct tn_error err;
    assert_error(tn_symbolize(session, (const void *)(uintptr_t)address, &place, &err), TN_EUNDEF, &err, "0x");
}

static const struct {
    uint64_t offset;
    const char *function; /* NULL: none */
    uint64_t start, size;
} places[] = {
    {0, "first", 0, 16},  {7, "first", 0, 16},  {8, "inside", 8, 8},    {15, "inside", 8, 8},
    {16, NULL, 0, 0},     {31, NULL, 0, 0},     {32, "behind", 32, 16}, {47, "behind", 32, 16},
    {48, "local", 48, 8}, {55, "local", 48, 8}, {56, NULL, 0, 0},       {63, NULL, 0, 0},
};

static void addresses_have_names(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL), other = open_fixture(NULL);
    struct tn_tracker *tracker = new_tracker(&f);
    struct tn_error err;
    struct bytes object = functions_object("first"), twin = functions_object("first");
    assert_ok(tn_observe_functions(f.session, &err), &err);
    assert_ok(tn_observe_functions(f.session, &err), &err); /* calling it again has no effect */
    add(&f, "first.o", object, tracker);
    add(&other, "other.o", twin, NULL);
    uint64_t start = (uintptr_t)lookup(&f, "first");
    for (size_t i = 0; i < COUNT(places); i++)
        for (int any = 0; any < 2; any++) {
            struct tn_place place = place_of(any ? NULL : f.session, start + places[i].offset);
            assert_string_equal(place.library, "main");
            assert_string_equal(place.object, "first.o");
            if (!places[i].function) {
                assert_null(place.function);
                continue;
            }
            assert_string_equal(place.function, places[i].function);
            assert_int_equal(place.function_address, start + places[i].start);
            assert_int_equal(place.function_size, places[i].size);
            assert_int_equal(place.offset, places[i].offset - places[i].start);
        }
    assert_unknown(f.session, start - 1);
    assert_unknown(f.session, start + sizeof code);
    assert_unknown(other.session, start);
    assert_unknown(NULL, (uintptr_t)lookup(&other, "first")); /* that session keeps none */
    assert_unknown(NULL, 0);
    assert_unknown(NULL, UINT64_MAX);
    remove_all(tracker);
    assert_unknown(NULL, start);
    close_fixture(&f);
    close_fixture(&other);
    free(object.at);
    free(twin.at);
}

/* Callers compiled with a shorter struct. */
static void an_older_caller_gets_what_it_knows(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct bytes object = functions_object("first");
    struct tn_place place = {.size = offsetof(struct tn_place, function_address), .offset = 99};
    assert_ok(tn_observe_functions(f.session, &err), &err);
    add(&f, "first.o", object, NULL);
    const char *start = lookup(&f, "first");
    assert_ok(tn_symbolize(NULL, start + 9, &place, &err), &err);
    assert_string_equal(place.function, "inside");
    assert_int_equal(place.offset, 99);
    close_fixture(&f);
    free(object.at);
}

enum { MANY = 3000 };

static void many_objects_come_and_go(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *trackers[2] = {new_tracker(&f), new_tracker(&f)};
    struct bytes *objects = calloc(MANY, sizeof *objects);
    uint64_t *starts = calloc(MANY, sizeof *starts);
    struct tn_error err;
    assert_ok(tn_observe_functions(f.session, &err), &err);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) {
            char name[32];
            snprintf(name, sizeof name, "f%d", i);
            if (round && i % 2)
                continue;
            objects[i] = simple_object(name, NULL);
            add(&f, name, objects[i], trackers[i % 2]);
        }
        link_all(&f);
        for (int i = 0; i < MANY; i++) {
            char name[32];
            void *address;
            snprintf(name, sizeof name, "f%d", i);
            assert_int_equal(tn_lookup(f.library, name, &address, &err), 0);
            starts[i] = (uintptr_t)address;
            assert_string_equal(place_of(NULL, starts[i] + 5).function, name);
        }
        remove_all(trackers[0]);
        for (int i = 0; i < MANY; i++)
            if (i % 2)
                assert_int_equal(place_of(NULL, starts[i] + 63).offset, 63);
            else
                assert_unknown(NULL, starts[i]);
        for (int i = 0; i < MANY; i += 2)
            free(objects[i].at);
    }
    close_fixture(&f);
    for (int i = 1; i < MANY; i += 2)
        free(objects[i].at);
    free(objects);
    free(starts);
}

/* ---- threads ---- */

static atomic_bool stop;

static void *ask(void *argument)
{
    const uint64_t *start = argument;
    unsigned long answers = 0;
    do { /* once at least: the others may be done before this thread first runs */
        struct tn_place place = {.size = sizeof place};
        for (uint64_t offset = 0; offset < 8192; offset += 64)
            answers += tn_symbolize(NULL, (const void *)(uintptr_t)(*start + offset), &place, NULL) == 0;
        assert_string_equal(place_of(NULL, *start).function, "kept");
    } while (!atomic_load(&stop));
    assert_true(answers > 0);
    return NULL;
}

static void addresses_are_looked_up_while_others_link_and_remove(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct bytes kept = simple_object("kept", NULL), object = functions_object("f");
    assert_ok(tn_observe_functions(f.session, &err), &err);
    add(&f, "kept.o", kept, NULL);
    uint64_t start = (uintptr_t)lookup(&f, "kept");
    struct tn_tracker *tracker = new_tracker(&f);
    pthread_t threads[2];
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &start), 0);
    for (int i = 0; i < 300; i++) {
        add(&f, "f.o", object, tracker);
        assert_int_equal(tn_link(f.library, &err), 0);
        assert_int_equal(tn_tracker_remove(tracker, &err), 0);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    close_fixture(&f);
    free(kept.at);
    free(object.at);
}

/* ---- entries for debuggers ---- */

struct jit_code_entry {
    struct jit_code_entry *next, *previous;
    const uint8_t *bytes;
    uint64_t size;
};

extern struct {
    uint32_t version, action;
    struct jit_code_entry *relevant, *first;
} __jit_debug_descriptor;

static size_t count_entries(void)
{
    size_t count = 0;
    const struct jit_code_entry *previous = NULL;
    for (const struct jit_code_entry *e = __jit_debug_descriptor.first; e; previous = e, e = e->next, count++)
        assert_ptr_equal(e->previous, previous);
    return count;
}

/* The symbol's value in the first entry; 0: not found. */
static uint64_t symbol_in_entry(const char *name)
{
    struct bytes file = {(uint8_t *)(uintptr_t)__jit_debug_descriptor.first->bytes, __jit_debug_descriptor.first->size};
    const Elf64_Shdr *symtab = elf_section_of_type(file, SHT_SYMTAB);
    const Elf64_Shdr *strings = elf_section_header(file, symtab->sh_link);
    for (unsigned i = 1; i < symtab->sh_size / sizeof(Elf64_Sym); i++) {
        const Elf64_Sym *symbol = elf_symbol_entry(file, i);
        assert_true(symbol->st_name < strings->sh_size);
        if (strcmp((const char *)file.at + strings->sh_offset + symbol->st_name, name))
            continue;
        assert_int_equal(ELF64_ST_BIND(symbol->st_info) == STB_LOCAL, i < symtab->sh_info);
        return symbol->st_value;
    }
    return 0;
}

static void each_link_has_one_entry(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct bytes first = functions_object("first"), second = simple_object("second", NULL),
                 third = simple_object("third", NULL);
    struct tn_tracker *a = new_tracker(&f), *b = new_tracker(&f);
    assert_ok(tn_observe_gdb(f.session, &err), &err);
    assert_ok(tn_observe_gdb(f.session, &err), &err);
    assert_string_not_equal(stats_of(&f).strategy, "dual"); /* with which no breakpoint can be set */
    assert_int_equal(__jit_debug_descriptor.version, 1);
    assert_int_equal(count_entries(), 0);
    add(&f, "first.o", first, a);
    add(&f, "second.o", second, b);
    link_all(&f);
    assert_int_equal(count_entries(), 1);
    assert_int_equal(symbol_in_entry("first"), (uintptr_t)lookup(&f, "first"));
    assert_int_equal(symbol_in_entry("local"), (uintptr_t)lookup(&f, "first") + 48);
    assert_int_equal(symbol_in_entry("second"), (uintptr_t)lookup(&f, "second"));
    assert_int_not_equal(symbol_in_entry("datum"), 0);
    remove_all(a); /* what remains is shown again, without it */
    assert_int_equal(count_entries(), 1);
    assert_int_equal(symbol_in_entry("first"), 0);
    assert_int_equal(symbol_in_entry("datum"), 0);
    assert_int_equal(symbol_in_entry("second"), (uintptr_t)lookup(&f, "second"));
    add(&f, "third.o", third, a);
    link_all(&f);
    assert_int_equal(count_entries(), 2);
    remove_all(b);
    assert_int_equal(count_entries(), 1);
    assert_int_equal(symbol_in_entry("third"), (uintptr_t)lookup(&f, "third"));
    close_fixture(&f);
    assert_int_equal(count_entries(), 0);
    free(first.at);
    free(second.at);
    free(third.at);
}

static void debuggers_come_first_or_not_at_all(void **state)
{
    (void)state;
    const struct tn_session_options dual = {.size = sizeof dual, .strategy = TN_STRATEGY_DUAL};
    struct fixture f = open_fixture(&dual);
    struct tn_error err;
    struct bytes object = simple_object("f", NULL);
    add(&f, "f.o", object, NULL);
    link_all(&f);
    assert_error(tn_observe_gdb(f.session, &err), TN_EINVAL, &err, "before anything is linked", "dual");
    close_fixture(&f);
    free(object.at);
}

/* ---- memory ---- */

/* Each allocation from the session's creation to a removal fails once: a clean error, nothing remains, and a retry
 * succeeds. */
static void each_allocation_fails(void **state)
{
    (void)state;
    struct bytes object = functions_object("f"), other = simple_object("g", "f");
    int n = 1;
    for (; n < 500; n++) {
        struct fixture f = open_fixture(NULL);
        struct tn_tracker *tracker = new_tracker(&f);
        struct tn_error err;
        char plan[16];
        int failed = 0, code_now = 0;
        add(&f, "f.o", object, tracker);
        add(&f, "g.o", other, tracker);
        snprintf(plan, sizeof plan, "a%d", n);
        tn__os_set_faults(plan);
        failed |= code_now = tn_observe_functions(f.session, &err);
        if (code_now)
            assert_ok(tn_observe_functions(f.session, &err), &err);
        failed |= code_now = tn_observe_gdb(f.session, &err);
        if (code_now)
            assert_ok(tn_observe_gdb(f.session, &err), &err);
        failed |= code_now = tn_link(f.library, &err);
        assert_int_equal(count_entries(), code_now ? 0 : 1);
        if (code_now)
            assert_ok(tn_link(f.library, &err), &err);
        assert_true(failed == 0 || failed == TN_ENOMEM);
        assert_string_equal(place_of(f.session, (uintptr_t)lookup(&f, "g")).function, "g");
        remove_all(tracker); /* removal needs no memory */
        tn__os_set_faults(NULL);
        assert_int_equal(count_entries(), 0);
        close_fixture(&f);
        if (!failed && n > 40)
            break;
    }
    assert_in_range(n, 20, 499);
    free(object.at);
    free(other.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_told_of_all_objects_of_a_link_at_once),
        cmocka_unit_test(stubs_have_names),
        cmocka_unit_test(bodies_have_the_names_of_their_entries),
        cmocka_unit_test(is_told_of_removals),
        cmocka_unit_test(may_refuse_a_link),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(addresses_have_names),
        cmocka_unit_test(an_older_caller_gets_what_it_knows),
        cmocka_unit_test(many_objects_come_and_go),
        cmocka_unit_test(addresses_are_looked_up_while_others_link_and_remove),
        cmocka_unit_test(each_link_has_one_entry),
        cmocka_unit_test(debuggers_come_first_or_not_at_all),
        cmocka_unit_test(each_allocation_fails),
    };
    return cmocka_run_group_tests_name("observers", tests, NULL, NULL);
}
