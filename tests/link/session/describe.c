/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What is known of symbols without linking them: by name, as a lookup would search, and all of a library. */

#include <stdlib.h>

#include "failing.h"
#include "functions.h"

enum {
    DEFINED = TN_KNOWN_DEFINED,
    READY = TN_KNOWN_DEFINED | TN_KNOWN_READY,
    MADE_LATER = TN_KNOWN_DEFINED | TN_KNOWN_PROMISED,
};

static uint64_t flags_in(struct tn_library *library, const char *name)
{
    struct tn_error err;
    struct tn_known known = {.name = name, .flags = ~0ull};
    assert_ok(tn_lookup_flags(library, &known, 1, &err), &err);
    return known.flags;
}

static struct tn_library *new_library(const struct fixture *f, const char *name)
{
    struct tn_library *library;
    struct tn_error err;
    assert_ok(tn_library_create(f->session, name, &library, &err), &err);
    return library;
}

static void search(struct tn_library *library, struct tn_library *other, uint64_t flags)
{
    struct tn_error err;
    assert_ok(tn_library_search(library, &(struct tn_search){other, flags}, 1, &err), &err);
}

static void add_weak(struct tn_library *library, const char *name)
{
    struct tn_error err;
    struct tn_input input = input_of(name, weak_function_object(name, 1));
    assert_ok(tn_add_object(library, &input, &err), &err);
}

/* ---- one name ---- */

static void objects_before_and_after_linking(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add_function(f.library, "f", 1, NULL, NULL);
    add_weak(f.library, "w");
    assert_int_equal(flags_in(f.library, "f"), DEFINED | TN_KNOWN_CALLABLE);
    assert_int_equal(flags_in(f.library, "w"), DEFINED | TN_KNOWN_CALLABLE | TN_KNOWN_WEAK);
    assert_int_equal(flags_in(f.library, "nothing"), 0);
    assert_int_equal(call_in(f.library, "f"), 1);
    assert_int_equal(flags_in(f.library, "f"), READY | TN_KNOWN_CALLABLE);
    assert_int_equal(flags_in(f.library, "w"), DEFINED | TN_KNOWN_CALLABLE | TN_KNOWN_WEAK);
    assert_int_equal(stats_of(&f).objects, 1);
    close_fixture(&f);
}

static void archives_and_variables(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    add_file(&f, "matrix_b.a");
    assert_int_equal(flags_in(f.library, "add_b"), DEFINED | TN_KNOWN_IN_ARCHIVE);
    add_file(&f, "tls_1.o");
    assert_int_equal(flags_in(f.library, "initialised"), DEFINED | TN_KNOWN_THREAD_LOCAL);
    assert_int_equal(stats_of(&f).objects, 0);
    close_fixture(&f);
}

static void what_the_client_defines(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    static int datum;
    const struct tn_definition all[] = {
        {"plain", &datum, 0},
        {"weak", &datum, TN_SYMBOL_WEAK},
        {"hidden", &datum, TN_SYMBOL_HIDDEN},
        {"local", (void *)16, TN_SYMBOL_THREAD_LOCAL},
    };
    assert_ok(tn_define_all(f.library, all, COUNT(all), NULL, &err), &err);
    assert_int_equal(flags_in(f.library, "plain"), READY);
    assert_int_equal(flags_in(f.library, "weak"), READY | TN_KNOWN_WEAK);
    assert_int_equal(flags_in(f.library, "hidden"), READY | TN_KNOWN_HIDDEN);
    assert_int_equal(flags_in(f.library, "local"), READY | TN_KNOWN_THREAD_LOCAL);
    close_fixture(&f);
}

static void stub_fails(void)
{
    fail();
}

/* They can be called, whatever they lead to; an address that happens to be a stub's is an address. */
static void stubs_are_callable(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    const struct tn_stub_options options = {.size = sizeof options, .on_failure = stub_fails};
    const struct tn_lazy_symbol lazy = {.name = "lazy", .target = "f", .flags = TN_SYMBOL_WEAK};
    assert_ok(tn_define_lazy(f.library, &lazy, 1, f.library, &options, &err), &err);
    assert_ok(tn_define_redirectable(f.library, "nowhere", NULL, &options, &err), &err);
    assert_int_equal(flags_in(f.library, "lazy"), READY | TN_KNOWN_CALLABLE | TN_KNOWN_WEAK);
    assert_int_equal(flags_in(f.library, "nowhere"), READY | TN_KNOWN_CALLABLE);
    define(&f, "address", lookup(&f, "lazy"));
    assert_int_equal(flags_in(f.library, "address"), READY);
    close_fixture(&f);
}

static int make_callable(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    const struct tn_definition made = {"promise", context, TN_SYMBOL_CALLABLE | TN_SYMBOL_HIDDEN},
                               wrong[] = {{"promise", context, TN_SYMBOL_THREAD_LOCAL}, {"promise", context, 32}};
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_error(tn_responsibility_define(responsibility, &wrong[i], 1, NULL, 0, err), TN_EINVAL, err,
                     "flags that it cannot have");
    return tn_responsibility_define(responsibility, &made, 1, NULL, 0, err);
}

/* Addresses and promises say nothing of what is there, but the client may. */
static void declarations_are_believed(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    static int datum;
    const struct tn_definition addresses[] = {{"callable", &datum, TN_SYMBOL_CALLABLE | TN_SYMBOL_WEAK},
                                              {"not", &datum, 0}},
                               both = {"both", NULL, TN_SYMBOL_CALLABLE | TN_SYMBOL_THREAD_LOCAL};
    const struct tn_promised symbol = {"promise", TN_SYMBOL_CALLABLE};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = "callable",
                                                 .context = &datum,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = make_callable};
    assert_ok(tn_define_all(f.library, addresses, COUNT(addresses), NULL, &err), &err);
    assert_ok(tn_add_materializer(f.library, &materializer, &err), &err);
    assert_ok(tn_define_alias(f.library, "alias", "promise", &err), &err);
    assert_int_equal(flags_in(f.library, "callable"), READY | TN_KNOWN_CALLABLE | TN_KNOWN_WEAK);
    assert_int_equal(flags_in(f.library, "not"), READY);
    assert_int_equal(flags_in(f.library, "promise"), MADE_LATER | TN_KNOWN_CALLABLE);
    assert_int_equal(flags_in(f.library, "alias"), MADE_LATER | TN_KNOWN_CALLABLE);
    assert_ptr_equal(lookup(&f, "alias"), &datum);
    assert_int_equal(flags_in(f.library, "promise"), READY | TN_KNOWN_CALLABLE | TN_KNOWN_HIDDEN);
    assert_error(tn_define_all(f.library, &both, 1, NULL, &err), TN_EINVAL, &err, "'both': unknown flags");
    assert_ok(tn_define(f.library, "callable", &datum, &err), &err); /* which nothing is said of */
    assert_int_equal(flags_in(f.library, "callable"), READY);
    close_fixture(&f);
}

static void aliases_are_as_their_targets(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *other = new_library(&f, "other");
    add_function(other, "f", 1, NULL, NULL);
    assert_ok(tn_define_alias(f.library, "second", "first", &err), &err);
    assert_int_equal(flags_in(f.library, "second"), 0); /* its target is not defined yet */
    const struct tn_reexport again = {"first", "f", TN_SYMBOL_HIDDEN | TN_SYMBOL_WEAK};
    assert_ok(tn_reexport(f.library, &again, 1, other, NULL, &err), &err);
    assert_int_equal(flags_in(f.library, "first"), DEFINED | TN_KNOWN_CALLABLE | TN_KNOWN_HIDDEN | TN_KNOWN_WEAK);
    assert_int_equal(flags_in(f.library, "second"), DEFINED | TN_KNOWN_CALLABLE);
    assert_ok(tn_define_alias(f.library, "own", "host", &err), &err);
    struct tn_library *third = new_library(&f, "third");
    add_weak(third, "host");
    search(f.library, third, 0);
    assert_int_equal(flags_in(f.library, "own"), DEFINED | TN_KNOWN_CALLABLE | TN_KNOWN_WEAK);
    close_fixture(&f);
}

/* Searching finds what a lookup would find, before and after one has; and nothing that has gone since. */
static void searched_as_a_lookup_does(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL); /* its resolver is dlsym */
    struct tn_library *other = new_library(&f, "other");
    static int datum;
    add_function(other, "f", 1, NULL, NULL);
    const struct tn_definition hidden = {"hidden", &datum, TN_SYMBOL_HIDDEN};
    assert_ok(tn_define_all(other, &hidden, 1, NULL, &err), &err);
    assert_int_equal(flags_in(f.library, "f"), 0);
    search(f.library, other, 0);
    assert_int_equal(flags_in(f.library, "f"), DEFINED | TN_KNOWN_CALLABLE);
    assert_int_equal(flags_in(f.library, "hidden"), 0);
    search(f.library, other, TN_SEARCH_HIDDEN);
    assert_int_equal(flags_in(f.library, "hidden"), READY | TN_KNOWN_HIDDEN);
    assert_int_equal(flags_in(f.library, "strlen"), READY);
    assert_int_equal(flags_in(other, "strlen"), 0);
    assert_int_equal(call_in(f.library, "f"), 1);
    assert_int_equal(flags_in(f.library, "f"), READY | TN_KNOWN_CALLABLE);
    assert_ok(tn_library_clear(other, &err), &err);
    assert_int_equal(flags_in(f.library, "f"), 0);
    close_fixture(&f);
}

static int made;

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    made++;
    if (context)
        return snprintf(err->text, sizeof err->text, "on purpose") ? TN_EIO : 0;
    struct tn_input input = input_of("promised", function_object("promised", 7, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

static void promise(struct tn_library *library, const char *name, void *context)
{
    struct tn_error err;
    const struct tn_promised symbol = {name, TN_SYMBOL_WEAK};
    const struct tn_materializer m = {
        .size = sizeof m, .name = name, .context = context, .symbols = &symbol, .count = 1, .materialize = make};
    assert_ok(tn_add_materializer(library, &m, &err), &err);
}

static int generate(void *context, struct tn_library *library, const char *const *names, size_t count,
                    struct tn_error *err)
{
    (void)library, (void)names, (void)count, (void)err;
    ++*(int *)context;
    return 0;
}

static void nothing_is_made_or_asked_for(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    int asked = 0;
    void *address;
    made = 0;
    assert_ok(tn_add_generator(f.library, generate, &asked, &err), &err);
    promise(f.library, "promised", NULL);
    promise(f.library, "fails", &asked);
    assert_int_equal(flags_in(f.library, "promised"), MADE_LATER | TN_KNOWN_WEAK);
    assert_int_equal(flags_in(f.library, "unheard_of"), 0);
    assert_int_equal(made + asked, 0);
    assert_int_equal(call_in(f.library, "promised"), 7);
    assert_int_equal(flags_in(f.library, "promised"), READY | TN_KNOWN_CALLABLE);
    assert_error(tn_lookup(f.library, "fails", &address, &err), TN_EIO, &err, "on purpose");
    assert_int_equal(flags_in(f.library, "fails"), DEFINED | TN_KNOWN_FAILED | TN_KNOWN_WEAK);
    close_fixture(&f);
}

static void bad_arguments(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_known known[] = {{.name = "f"}, {.name = NULL}};
    assert_error(tn_lookup_flags(f.library, known, 2, &err), TN_EINVAL, &err, "symbol 1");
    assert_error(tn_library_each_symbol(f.library, NULL, NULL, &err), TN_EINVAL, &err, "function");
    assert_ok(tn_lookup_flags(f.library, NULL, 0, &err), &err);
    assert_ok(tn_library_remove(f.library, &err), &err);
    assert_error(tn_lookup_flags(f.library, known, 1, &err), TN_EREMOVED, &err, "removed");
    close_fixture(&f);
}

/* ---- all names ---- */

struct listing {
    const char *expected[8];
    uint64_t flags[8];
    size_t count, seen;
    int ends_at, result;
    struct tn_library *library;
};

static int see(void *context, const struct tn_known *symbol)
{
    struct listing *l = context;
    struct tn_error err;
    size_t i = 0;
    while (i < l->count && strcmp(l->expected[i], symbol->name))
        i++;
    if (i == l->count)
        fail_msg("'%s' is listed", symbol->name);
    assert_int_equal(symbol->flags, l->flags[i]);
    l->seen++;
    if (l->library) /* no lock is held */
        assert_ok(tn_library_clear(l->library, &err), &err);
    return (int)l->seen == l->ends_at ? l->result : 0;
}

static void fill(struct tn_library *library, struct listing *l)
{
    struct tn_error err;
    static int datum;
    add_function(library, "f", 1, "strlen", NULL);
    assert_ok(tn_define(library, "datum", &datum, &err), &err);
    assert_ok(tn_define_alias(library, "open_alias", "undefined", &err), &err);
    promise(library, "promised", NULL);
    *l = (struct listing){
        .expected = {"f", "datum", "open_alias", "promised"},
        .flags = {DEFINED | TN_KNOWN_CALLABLE, READY, DEFINED, MADE_LATER | TN_KNOWN_WEAK},
        .count = 4,
    };
}

static void each_symbol_once(void **state)
{
    (void)state;
    struct tn_error err;
    struct listing l;
    struct fixture f = open_fixture(NULL);
    assert_ok(tn_library_each_symbol(f.library, see, &(struct listing){.count = 0}, &err), &err);
    fill(f.library, &l);
    lookup(&f, "strlen"); /* what a resolver knows is not the library's */
    assert_ok(tn_library_each_symbol(f.library, see, &l, &err), &err);
    assert_int_equal(l.seen, 4);
    l.seen = 0, l.ends_at = 2, l.result = 42;
    assert_int_equal(tn_library_each_symbol(f.library, see, &l, &err), 42);
    assert_int_equal(l.seen, 2);
    l.seen = 0, l.ends_at = 0, l.library = f.library;
    assert_ok(tn_library_each_symbol(f.library, see, &l, &err), &err);
    assert_int_equal(l.seen, 4);
    l.count = 0;
    assert_ok(tn_library_each_symbol(f.library, see, &l, &err), &err);
    close_fixture(&f);
}

static int list_with_failures(const void *unused)
{
    (void)unused;
    struct tn_error err;
    const struct tn_session_options options = {.size = sizeof options, .allocator = &failing_allocator};
    struct fixture f = open_fixture(&options);
    struct listing l;
    fill(f.library, &l);
    failing_begin();
    int code = tn_library_each_symbol(f.library, see, &l, &err);
    assert_int_equal(l.seen, code ? 0 : 4);
    close_fixture(&f);
    return code;
}

static void no_memory_to_list(void **state)
{
    (void)state;
    fail_each_request(list_with_failures, NULL, 0);
}

/* ---- libraries ---- */

static void libraries_are_found_by_name(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct tn_library *one = new_library(&f, "twice"), *two = new_library(&f, "twice");
    assert_ptr_equal(tn_library_find(f.session, "twice"), one);
    assert_null(tn_library_find(f.session, "never"));
    assert_null(tn_library_find(NULL, "twice"));
    assert_null(tn_library_find(f.session, NULL));
    assert_ok(tn_library_remove(one, &err), &err);
    assert_ptr_equal(tn_library_find(f.session, "twice"), two);
    assert_ok(tn_library_remove(two, &err), &err);
    assert_null(tn_library_find(f.session, "twice"));
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_before_and_after_linking),
        cmocka_unit_test(archives_and_variables),
        cmocka_unit_test(what_the_client_defines),
        cmocka_unit_test(stubs_are_callable),
        cmocka_unit_test(declarations_are_believed),
        cmocka_unit_test(aliases_are_as_their_targets),
        cmocka_unit_test(searched_as_a_lookup_does),
        cmocka_unit_test(nothing_is_made_or_asked_for),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(each_symbol_once),
        cmocka_unit_test(no_memory_to_list),
        cmocka_unit_test(libraries_are_found_by_name),
    };
    return cmocka_run_group_tests_name("link/describe", tests, NULL, NULL);
}
