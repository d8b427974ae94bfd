/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The names of stubs of lazy and redirectable functions: what observers and tn_symbolize are told. perf.c and
 * runtime_lazy.sh check what perf and gdb get. */

#include "observed.h"
#include "stubs.h"

enum { STUB_SIZE = 16, MOST = 64 };

/* What an observer was told. */
struct seen {
    size_t calls, objects, removed, unknown; /* unknown: removed without having been announced */
    uint64_t ids[MOST + 1];                  /* of present objects; 0: removed */
    char text[1024];                         /* from the last call */
    int answer;
};

static int linked(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    struct seen *seen = context;
    size_t at = 0;
    seen->calls++;
    for (size_t i = 0; i < count; i++) {
        const struct tn_linked_object *o = objects[i];
        assert_int_equal(o->size, sizeof *o);
        assert_null(o->bytes);
        assert_int_equal(o->length + o->section_count + o->symbol_count, 0);
        assert_int_equal(o->zones[TN_ZONE_CODE].size, o->function_count * STUB_SIZE);
        assert_int_equal(o->zones[TN_ZONE_RODATA].size + o->zones[TN_ZONE_DATA].size, 0);
        at += (size_t)snprintf(seen->text + at, sizeof seen->text - at, "%s/%s:", o->library, o->name);
        for (size_t k = 0; k < o->function_count; k++) {
            assert_int_equal(o->functions[k].address, o->zones[TN_ZONE_CODE].address + k * STUB_SIZE);
            assert_int_equal(o->functions[k].size, STUB_SIZE);
            at += (size_t)snprintf(seen->text + at, sizeof seen->text - at, " %s", o->functions[k].name);
        }
        at += (size_t)snprintf(seen->text + at, sizeof seen->text - at, "\n");
        assert_true(o->id && seen->objects < MOST);
        seen->ids[seen->objects++] = o->id;
    }
    snprintf(err->text, sizeof err->text, "not today");
    return seen->answer;
}

static void removed(void *context, const struct tn_linked_object *const *objects, size_t count)
{
    struct seen *seen = context;
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < seen->objects && seen->ids[k] != objects[i]->id)
            k++;
        assert_string_equal(objects[i]->name, "stubs");
        *(k < seen->objects ? &seen->removed : &seen->unknown) += 1;
        seen->ids[k] = 0;
    }
}

static void observe(const struct fixture *f, struct seen *seen)
{
    struct tn_error err;
    const struct tn_observer observer = {
        .size = sizeof observer, .context = seen, .linked = linked, .removed = removed};
    assert_ok(tn_add_observer(f->session, &observer, &err), &err);
}

static int define_owned(const struct fixture *f, struct tn_tracker *owner, const struct tn_lazy_symbol *symbols,
                        size_t count, struct tn_error *err)
{
    struct tn_stub_options options = stub_options;
    options.owner = owner;
    struct tn_library *bodies = f->library; /* with names of its own */
    return tn_define_lazy(f->library, symbols, count, bodies, &options, err);
}

/* Defines lazy functions with these names, one letter each. */
static void define_letters(const struct fixture *f, struct tn_tracker *owner, const char *letters)
{
    char names[MOST][2];
    struct tn_lazy_symbol symbols[MOST] = {0};
    struct tn_error err;
    size_t count = strlen(letters);
    for (size_t i = 0; i < count; i++) {
        names[i][0] = letters[i], names[i][1] = '\0';
        symbols[i] = (struct tn_lazy_symbol){.name = names[i], .target = "body"};
    }
    assert_ok(define_owned(f, owner, symbols, count, &err), &err);
}

static void assert_named(const struct fixture *f, const char *name, const char *wanted)
{
    char *stub = lookup(f, name);
    struct tn_error err;
    for (size_t offset = 0; offset < STUB_SIZE; offset++) {
        struct tn_place place = {.size = sizeof place};
        assert_ok(tn_symbolize(f->session, stub + offset, &place, &err), &err);
        assert_string_equal(place.function, wanted);
        assert_string_equal(place.object, "stubs");
        assert_string_equal(place.library, "main");
        assert_int_equal(place.function_address, (uintptr_t)stub);
        assert_int_equal(place.function_size, STUB_SIZE);
        assert_int_equal(place.offset, offset);
    }
}

static void assert_unknown(const void *address)
{
    struct tn_place place = {.size = sizeof place};
    struct tn_error err;
    assert_error(tn_symbolize(NULL, address, &place, &err), TN_EUNDEF, &err, "0x");
}

static int twice(int n)
{
    return 2 * n;
}

static void stubs_have_the_names_of_their_functions(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct seen seen = {0};
    struct tn_error err;
    const struct tn_lazy_symbol symbols[] = {{.name = "first", .target = "body"},
                                             {.name = "body", .target = "first", .flags = TN_SYMBOL_WEAK},
                                             {.name = "second", .target = "body"}};
    define(&f, "body", __extension__(void *) twice);
    observe(&f, &seen);
    assert_ok(tn_observe_functions(f.session, &err), &err);
    assert_ok(define_owned(&f, NULL, symbols, COUNT(symbols), &err), &err);
    assert_int_equal(seen.calls, 1);
    assert_string_equal(seen.text, "main/stubs: first@stub second@stub\n"); /* not the weak one, which yielded */
    assert_ok(tn_define_redirectable(f.library, "led", __extension__(void *) twice, &stub_options, &err), &err);
    assert_int_equal(seen.calls, 2);
    assert_string_equal(seen.text, "main/stubs: led@stub\n");
    for (int call = 0; call < 2; call++) { /* they keep them when they lead to their functions */
        assert_named(&f, "first", "first@stub");
        assert_named(&f, "second", "second@stub");
        assert_named(&f, "led", "led@stub");
        assert_int_equal(call_int(lookup(&f, "first"), 3), 6);
    }
    assert_unknown((char *)lookup(&f, "first") - 1);
    assert_unknown((char *)lookup(&f, "led") + STUB_SIZE);
    close_fixture(&f);
    assert_int_equal(seen.removed, seen.objects);
}

static void names_go_with_their_owner(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct seen seen = {0};
    struct tn_error err;
    struct tn_tracker *tracker = new_tracker(&f);
    define_letters(&f, tracker, "byte"); /* not announced to anybody */
    observe(&f, &seen);
    assert_ok(tn_observe_functions(f.session, &err), &err);
    define_letters(&f, NULL, "x");
    const void *unseen = lookup(&f, "b");
    assert_unknown(unseen);
    remove_all(tracker);
    assert_int_equal(seen.removed, 0);
    assert_int_equal(seen.unknown, 1);
    for (int round = 0; round < 3; round++) {
        define_letters(&f, tracker, "pqrs");
        assert_string_equal(seen.text, "main/stubs: p@stub q@stub r@stub s@stub\n");
        assert_ptr_equal(lookup(&f, "p"), unseen); /* places are reused in order */
        assert_named(&f, "p", "p@stub");
        assert_named(&f, "s", "s@stub");
        remove_all(tracker);
        assert_unknown(unseen);
        assert_named(&f, "x", "x@stub");
    }
    close_fixture(&f);
    assert_int_equal(seen.removed, seen.objects);
}

/* In gaps left by others, and so many that their removal is announced in portions. */
static void stubs_that_lie_apart(void **state)
{
    (void)state;
    enum { GAPS = 20 };
    static const char letters[] = "abcdefghijklmnopqrst", later[] = "ABCDEFGHIJKLMNOPQRST";
    struct fixture f = open_fixture(NULL);
    struct seen seen = {0};
    struct tn_error err;
    struct tn_tracker *gaps = new_tracker(&f), *filled = new_tracker(&f);
    for (int i = 0; i < GAPS; i++) {
        const char first[] = {letters[i], '\0'}, second[] = {(char)('!' + i), '\0'};
        define_letters(&f, gaps, first);
        define_letters(&f, NULL, second);
    }
    remove_all(gaps);
    observe(&f, &seen);
    assert_ok(tn_observe_functions(f.session, &err), &err);
    define_letters(&f, filled, later);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.objects, GAPS);
    for (int i = 0; i < GAPS; i++) {
        const char name[] = {later[i], '\0'}, wanted[] = {later[i], '@', 's', 't', 'u', 'b', '\0'};
        assert_named(&f, name, wanted);
    }
    remove_all(filled);
    assert_int_equal(seen.removed, GAPS);
    assert_int_equal(seen.unknown, 0);
    close_fixture(&f);
}

static void observers_may_refuse_definitions(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct seen first = {0}, second = {.answer = TN_ENOTSUP};
    struct tn_error err;
    define_letters(&f, NULL, "kept");
    observe(&f, &first);
    observe(&f, &second);
    struct tn_stats before = stats_of(&f);
    for (size_t i = 1; i <= 3; i++) {
        void *address;
        assert_error(tn_define_redirectable(f.library, "f", &f, &stub_options, &err), TN_ENOTSUP, &err, "not today");
        assert_error(tn_lookup(f.library, "f", &address, &err), TN_EUNDEF, &err, "'f'");
        struct tn_stats after = stats_of(&f);
        assert_same_memory(&before, &after);
        assert_int_equal(first.removed, i); /* it had accepted */
        assert_int_equal(second.removed, 0);
    }
    second.answer = 0;
    define_letters(&f, NULL, "f");
    assert_string_equal(second.text, "main/stubs: f@stub\n");
    assert_int_equal(first.ids[3], second.ids[3]);
    assert_ptr_equal(lookup(&f, "f"), (void *)(uintptr_t)second.ids[3]);
    close_fixture(&f);
    assert_int_equal(second.removed, 1);
    assert_int_equal(second.unknown, 1); /* those defined before it was added */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stubs_have_the_names_of_their_functions),
        cmocka_unit_test(names_go_with_their_owner),
        cmocka_unit_test(stubs_that_lie_apart),
        cmocka_unit_test(observers_may_refuse_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
