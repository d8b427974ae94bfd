/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Symbols that are made when they are needed: what is called, when, and what happens after failures. */

#include <pthread.h>
#include <stdlib.h>

#include "functions.h"

/* A materializer that makes functions, and counts of its calls. */
struct maker {
    const char *name, *callee;
    int value;
    const char *looks_up; /* looked up before it makes anything */
    const char *other;    /* made instead of what it promised */
    int fails;            /* the code that it fails with; 0: succeeds */
    bool later;           /* keeps the responsibility in `kept` */
    uint64_t flags;       /* of its symbol */
    struct tn_tracker *owner;
    struct tn_library *library;
    struct tn_responsibility *kept;
    int made, discarded, destroyed;
    int lookup_code;
};

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    m->made++;
    if (m->looks_up) {
        void *address;
        m->lookup_code = tn_lookup(m->library, m->looks_up, &address, err);
        if (m->lookup_code)
            return m->lookup_code;
    }
    if (m->fails) {
        snprintf(err->text, sizeof err->text, "no way to make it");
        return m->fails;
    }
    struct tn_input input = input_of(m->name, function_object(m->other ? m->other : m->name, m->value, m->callee));
    int code = tn_responsibility_add_object(responsibility, &input, err);
    __atomic_store_n(&m->kept, responsibility, __ATOMIC_RELEASE); /* another thread may wait for it */
    return code ? code : m->later ? TN_LATER : 0;
}

static void discard(void *context, const char *symbol)
{
    struct maker *m = context;
    assert_string_equal(symbol, m->name);
    m->discarded++;
}

static void destroy(void *context)
{
    ((struct maker *)context)->destroyed++;
}

static int promise(struct tn_library *library, struct maker *m, struct tn_error *err)
{
    const struct tn_promised symbol = {m->name, m->flags};
    m->library = library;
    return tn_add_materializer(library,
                               &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                         .name = "maker",
                                                         .context = m,
                                                         .symbols = &symbol,
                                                         .count = 1,
                                                         .materialize = make,
                                                         .discard = discard,
                                                         .destroy = destroy,
                                                         .owner = m->owner},
                               err);
}

static void must_promise(struct tn_library *library, struct maker *m)
{
    struct tn_error err;
    assert_ok(promise(library, m, &err), &err);
}

static void made_when_needed(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 7}, unused = {.name = "unused"};
    must_promise(f.library, &m);
    must_promise(f.library, &unused);
    add_function(f.library, "caller", 1, "f", NULL);
    assert_int_equal(m.made, 0);
    assert_int_equal(call_in(f.library, "caller"), 8);
    assert_int_equal(call_in(f.library, "f"), 7);
    assert_int_equal(m.made, 1);
    assert_int_equal(m.destroyed, 1);
    assert_int_equal(unused.made + unused.destroyed, 0);
    close_fixture(&f);
    assert_int_equal(unused.destroyed, 1);
}

/* Makes something of no use first: one or two functions. Without `value` nothing else. */
struct trial {
    const char *names[2];
    int value, code, last_code;
};

static int make_by_trying(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct trial *t = context;
    for (int i = 0; i < 2; i++)
        if (t->names[i]) {
            struct tn_input input = input_of("of no use", function_object(t->names[i], 1, NULL));
            assert_ok(tn_responsibility_add_object(responsibility, &input, err), err);
        }
    t->code = tn_responsibility_try(responsibility, err);
    if (!t->code || !t->value)
        return t->code;
    struct tn_input input = input_of("f.o", function_object("f", t->value, NULL));
    assert_ok(tn_responsibility_add_object(responsibility, &input, err), err);
    t->last_code = tn_responsibility_try(responsibility, err);
    return t->last_code;
}

/* What is of no use leaves nothing behind, and something else is made. */
static void tried(void **state)
{
    (void)state;
    struct trial rows[] = {
        {.names = {"g", NULL}, .value = 7, .code = TN_EUNDEF}, {.names = {NULL, NULL}, .value = 7, .code = TN_EUNDEF},
        {.names = {"f", "f"}, .value = 7, .code = TN_EDUP},    {.names = {"f", "taken"}, .value = 7, .code = TN_EDUP},
        {.names = {"f", NULL}, .value = 7, .code = 0},         {.names = {"g", NULL}, .value = 0, .code = TN_EUNDEF},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct fixture f = open_fixture(NULL);
        struct trial t = rows[i];
        struct tn_error err;
        void *address;
        const struct tn_promised symbol = {"f", 0};
        const struct tn_materializer trying = {.size = sizeof trying,
                                               .name = "trial",
                                               .context = &t,
                                               .symbols = &symbol,
                                               .count = 1,
                                               .materialize = make_by_trying};
        add_function(f.library, "taken", 1, NULL, NULL);
        assert_ok(tn_add_materializer(f.library, &trying, &err), &err);
        int code = tn_lookup(f.library, "f", &address, &err);
        assert_int_equal(code, t.value ? 0 : t.code);
        assert_int_equal(t.code, rows[i].code);
        assert_int_equal(t.last_code, 0);
        assert_int_equal(tn_lookup(f.library, "g", &address, NULL), TN_EUNDEF);
        if (!code)
            assert_int_equal(call_in(f.library, "f"), t.code ? t.value : 1);
        close_fixture(&f);
    }
}

/* Two that refer to each other are linked together. */
static void cyclic_references(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker a = {.name = "a", .value = 1, .callee = "b"}, b = {.name = "b", .value = 2, .callee = "c"};
    must_promise(f.library, &a);
    must_promise(f.library, &b);
    add_function(f.library, "c", 4, NULL, NULL);
    assert_int_equal(call_in(f.library, "a"), 7);
    close_fixture(&f);
}

static void failures_stay_until_removed(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .fails = TN_ENOTSUP, .owner = new_tracker(&f)};
    must_promise(f.library, &m);
    add_function(f.library, "caller", 1, "f", NULL);
    void *address;
    for (int i = 0; i < 2; i++)
        assert_error(tn_lookup(f.library, "caller", &address, &err), TN_ENOTSUP, &err, "'f'", "maker", "no way");
    assert_int_equal(m.made, 1);
    assert_error(promise(f.library, &(struct maker){.name = "f"}, &err), TN_EDUP, &err, "'f'", "maker");
    assert_ok(tn_tracker_remove(m.owner, &err), &err);
    assert_int_equal(m.destroyed, 1);
    struct maker again = {.name = "f", .value = 5};
    must_promise(f.library, &again);
    assert_int_equal(call_in(f.library, "caller"), 6);
    close_fixture(&f);
}

static void broken_promises(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .other = "g"};
    must_promise(f.library, &m);
    void *address;
    assert_error(tn_lookup(f.library, "f", &address, &err), TN_EUNDEF, &err, "maker", "'f'", "did not define");
    assert_error(tn_lookup(f.library, "g", &address, &err), TN_EUNDEF, &err, "'g'");
    close_fixture(&f);
}

static void weak_ones_give_way(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker early = {.name = "f", .value = 1, .flags = TN_SYMBOL_WEAK}, late = early, strong = {.name = "f"};
    must_promise(f.library, &early);
    add_function(f.library, "f", 2, NULL, NULL);
    must_promise(f.library, &late);
    assert_int_equal(early.discarded, 1);
    assert_int_equal(late.discarded, 1);
    assert_error(promise(f.library, &strong, &err), TN_EDUP, &err, "'f'", "maker");
    assert_int_equal(strong.discarded + strong.destroyed, 0);
    assert_int_equal(call_in(f.library, "f"), 2);
    assert_int_equal(early.made + late.made, 0);
    close_fixture(&f);
}

/* What a lookup's `done` was called with. */
struct answer {
    int calls, code;
    void *address;
};

static void note(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    struct answer *answer = context;
    answer->calls++;
    answer->code = err ? err->code : 0;
    answer->address = count ? symbols[0].address : NULL;
}

static void ask(struct tn_library *library, struct tn_wanted *wanted, struct answer *answer)
{
    struct tn_error err;
    assert_ok(tn_lookup_async(library, wanted, 1, note, answer, &err), &err);
}

static void ended_later(void **state)
{
    (void)state;
    struct tn_error err, why = {TN_EIO, "the disk is gone"};
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 3, .later = true}, failing = {.name = "g", .later = true};
    must_promise(f.library, &m);
    must_promise(f.library, &failing);
    struct tn_wanted wanted[3] = {{.name = "f"}, {.name = "f"}, {.name = "g"}};
    struct answer answers[3] = {0};
    for (size_t i = 0; i < COUNT(wanted); i++)
        ask(f.library, &wanted[i], &answers[i]);
    assert_int_equal(answers[0].calls + answers[1].calls + answers[2].calls, 0);
    assert_int_equal(m.made, 1);
    assert_ok(tn_responsibility_ready(m.kept, &err), &err);
    tn_responsibility_fail(failing.kept, &why);
    for (size_t i = 0; i < COUNT(wanted); i++) {
        assert_int_equal(answers[i].calls, 1);
        assert_int_equal(answers[i].code, i < 2 ? 0 : TN_EIO);
        assert_int_equal(answers[i].address != NULL, i < 2);
    }
    assert_int_equal(call_in(f.library, "f"), 3);
    close_fixture(&f);
}

/* A definition that was overridden meanwhile needed it: its failure does not matter, and nothing more is made for
 * it. */
static void overridden_while_waited_for(void **state)
{
    (void)state;
    for (int fails = 0; fails < 2; fails++) {
        struct tn_error err, why = {TN_EIO, "the disk is gone"};
        struct fixture f = open_fixture(NULL);
        struct maker needed = {.name = "needed", .callee = "further", .later = true}, further = {.name = "further"};
        must_promise(f.library, &needed);
        must_promise(f.library, &further);
        struct bytes weak = function_object("f", 1, "needed");
        struct tn_input input = input_of("weak.o", weak);
        input.flags = TN_INPUT_WEAK;
        assert_ok(tn_add_object(f.library, &input, &err), &err);
        struct tn_wanted wanted = {.name = "f"};
        struct answer answer = {0};
        ask(f.library, &wanted, &answer);
        assert_int_equal(needed.made, 1);
        add_function(f.library, "f", 2, NULL, NULL);
        if (fails)
            tn_responsibility_fail(needed.kept, &why);
        else
            assert_ok(tn_responsibility_ready(needed.kept, &err), &err);
        assert_int_equal(answer.calls, 1);
        assert_int_equal(answer.code, 0);
        assert_int_equal(further.made, 0);
        assert_int_equal(call_in(f.library, "f"), 2);
        close_fixture(&f);
    }
}

static void *end_it(void *context)
{
    struct maker *m = context;
    struct tn_error err;
    while (!__atomic_load_n(&m->kept, __ATOMIC_ACQUIRE))
        sched_yield();
    assert_ok(tn_responsibility_ready(m->kept, &err), &err);
    return NULL;
}

/* A blocking lookup waits for the thread that ends it. */
static void ended_by_another_thread(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 3, .later = true};
    must_promise(f.library, &m);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, end_it, &m), 0);
    assert_int_equal(call_in(f.library, "f"), 3);
    pthread_join(thread, NULL);
    close_fixture(&f);
}

static void removed_while_running(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .value = 3, .later = true, .owner = new_tracker(&f)};
    must_promise(f.library, &m);
    struct tn_wanted wanted = {.name = "f"};
    struct answer answer = {0};
    ask(f.library, &wanted, &answer);
    assert_ok(tn_tracker_remove(m.owner, &err), &err);
    assert_int_equal(answer.calls, 1);
    assert_int_equal(answer.code, TN_EUNDEF);
    assert_int_equal(m.destroyed, 0);
    assert_error(tn_responsibility_ready(m.kept, &err), TN_EREMOVED, &err, "maker");
    assert_int_equal(m.destroyed, 1);
    close_fixture(&f);
}

/* Lookups that can no longer be answered are told so. */
static void session_ends(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker m = {.name = "f", .later = true};
    must_promise(f.library, &m);
    struct tn_wanted wanted = {.name = "f"};
    struct answer answer = {0};
    ask(f.library, &wanted, &answer);
    close_fixture(&f);
    assert_int_equal(answer.calls, 1);
    assert_int_equal(answer.code, TN_EREMOVED);
    assert_int_equal(m.destroyed, 1);
}

static void waiting_for_itself(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker self = {.name = "self", .looks_up = "self"};
    struct maker a = {.name = "a", .looks_up = "b"}, b = {.name = "b", .looks_up = "a"};
    must_promise(f.library, &self);
    must_promise(f.library, &a);
    must_promise(f.library, &b);
    void *address;
    assert_error(tn_lookup(f.library, "self", &address, &err), TN_ECYCLE, &err, "'self'", "maker");
    assert_error(tn_lookup(f.library, "a", &address, &err), TN_ECYCLE, &err, "'a'");
    assert_int_equal(b.lookup_code, TN_ECYCLE);
    close_fixture(&f);
}

static int make_two(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *second = context;
    static const char *const one[] = {"one"};
    struct tn_responsibility *delegate;
    const struct tn_promised symbol = {"two", 0};
    assert_true(tn_responsibility_is_wanted(responsibility, "one"));
    assert_false(tn_responsibility_is_wanted(responsibility, "two"));
    int code = tn_responsibility_delegate(responsibility, one, 1, &delegate, err);
    if (code)
        return code;
    struct tn_input input = input_of("one.o", function_object("one", 1, NULL));
    assert_ok(tn_responsibility_add_object(delegate, &input, err), err);
    assert_ok(tn_responsibility_ready(delegate, err), err);
    assert_int_equal(tn_responsibility_delegate(responsibility, one, 1, &delegate, err), TN_EINVAL);
    return tn_responsibility_replace(responsibility,
                                     &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                               .name = "second",
                                                               .context = second,
                                                               .symbols = &symbol,
                                                               .count = 1,
                                                               .materialize = make,
                                                               .destroy = destroy},
                                     err);
}

static void handed_on(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    struct maker second = {.name = "two", .value = 2};
    const struct tn_promised symbols[] = {{"one", 0}, {"two", 0}};
    assert_ok(tn_add_materializer(f.library,
                                  &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                            .name = "both",
                                                            .context = &second,
                                                            .symbols = symbols,
                                                            .count = 2,
                                                            .materialize = make_two},
                                  &err),
              &err);
    assert_int_equal(call_in(f.library, "one"), 1);
    assert_int_equal(second.made, 0);
    assert_int_equal(call_in(f.library, "two"), 2);
    assert_int_equal(second.destroyed, 1);
    close_fixture(&f);
}

static int define_with_need(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    const struct tn_definition definition = {"address", context, 0};
    static const char *const needs[] = {"needed"};
    return tn_responsibility_define(responsibility, &definition, 1, needs, 1, err);
}

/* An address is returned only once everything it needs is there. */
static void addresses_with_needs(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    static int datum;
    const struct tn_promised symbol = {"address", 0};
    struct maker needed = {.name = "needed", .value = 1};
    assert_ok(tn_add_materializer(f.library,
                                  &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                            .name = "definer",
                                                            .context = &datum,
                                                            .symbols = &symbol,
                                                            .count = 1,
                                                            .materialize = define_with_need},
                                  &err),
              &err);
    void *address;
    assert_error(tn_lookup(f.library, "address", &address, &err), TN_EUNDEF, &err, "needed");
    must_promise(f.library, &needed);
    assert_ok(tn_lookup(f.library, "address", &address, &err), &err);
    assert_ptr_equal(address, &datum);
    assert_int_equal(needed.made, 1);
    close_fixture(&f);
}

struct reports {
    int count, code;
};

static void note_error(void *context, const struct tn_error *error)
{
    struct reports *reports = context;
    reports->count++;
    reports->code = error->code;
}

/* Failures that no lookup waits for are reported. */
static void failures_without_listeners(void **state)
{
    (void)state;
    struct reports reports = {0};
    struct tn_error why = {TN_EIO, "gone"};
    const struct tn_session_options options = {.size = sizeof options, .on_error = note_error, .context = &reports};
    struct fixture f = open_fixture(&options);
    struct maker heard = {.name = "f", .later = true}, unheard = {.name = "g", .later = true, .owner = new_tracker(&f)};
    must_promise(f.library, &heard);
    must_promise(f.library, &unheard);
    struct tn_wanted wanted[] = {{.name = "f"}, {.name = "g"}};
    struct answer answers[2] = {0};
    ask(f.library, &wanted[0], &answers[0]);
    ask(f.library, &wanted[1], &answers[1]);
    tn_responsibility_fail(heard.kept, &why);
    assert_int_equal(reports.count, 0);
    struct tn_error err;
    assert_ok(tn_tracker_remove(unheard.owner, &err), &err);
    tn_responsibility_fail(unheard.kept, &why);
    assert_int_equal(reports.count, 1);
    assert_int_equal(reports.code, TN_EIO);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_when_needed),
        cmocka_unit_test(tried),
        cmocka_unit_test(cyclic_references),
        cmocka_unit_test(failures_stay_until_removed),
        cmocka_unit_test(broken_promises),
        cmocka_unit_test(weak_ones_give_way),
        cmocka_unit_test(ended_later),
        cmocka_unit_test(overridden_while_waited_for),
        cmocka_unit_test(ended_by_another_thread),
        cmocka_unit_test(removed_while_running),
        cmocka_unit_test(session_ends),
        cmocka_unit_test(waiting_for_itself),
        cmocka_unit_test(handed_on),
        cmocka_unit_test(addresses_with_needs),
        cmocka_unit_test(failures_without_listeners),
    };
    return cmocka_run_group_tests_name("materializers", tests, NULL, NULL);
}
