/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Removals, ends and lookups that overtake each other, and long chains. Freed blocks are overwritten, so that later
 * accesses show. */

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "functions.h"
#include "spoiling.h"

/* ---- a materializer that does one thing first ---- */

struct maker {
    const char *name, *callee;
    uint64_t flags;
    struct tn_tracker *owner;
    struct tn_library *library;
    bool later;
    void (*before)(struct maker *);
    void (*on_discard)(struct maker *);
    void *context;
    struct tn_responsibility *kept;
    int made, discarded, destroyed;
    const char *discarded_name;
};

static int make(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    m->made++;
    m->kept = responsibility;
    if (m->before)
        m->before(m);
    struct tn_input input = input_of(m->name, function_object(m->name, 1, m->callee));
    int code = tn_responsibility_add_object(responsibility, &input, err);
    return code ? code : m->later ? TN_LATER : 0;
}

static void discard(void *context, const char *symbol)
{
    struct maker *m = context;
    assert_int_equal(m->destroyed, 0); /* no further calls for it */
    m->discarded++;
    if (m->on_discard)
        m->on_discard(m);
    assert_int_equal(symbol[0], m->discarded_name ? m->discarded_name[0] : m->name[0]);
}

static void destroy(void *context)
{
    ((struct maker *)context)->destroyed++;
}

static void promise_all(struct tn_library *library, struct maker *m, const struct tn_promised *symbols, size_t count)
{
    struct tn_error err;
    m->library = library;
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = m->name,
                                                 .context = m,
                                                 .symbols = symbols,
                                                 .count = count,
                                                 .materialize = make,
                                                 .discard = discard,
                                                 .destroy = destroy,
                                                 .owner = m->owner};
    assert_ok(tn_add_materializer(library, &materializer, &err), &err);
}

static void promise(struct tn_library *library, struct maker *m)
{
    const struct tn_promised symbol = {m->name, m->flags};
    promise_all(library, m, &symbol, 1);
}

static struct tn_library *new_library(struct tn_session *session, const char *name)
{
    struct tn_library *library;
    struct tn_error err;
    assert_ok(tn_library_create(session, name, &library, &err), &err);
    return library;
}

struct answer {
    int calls, code;
};

static void note(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)symbols, (void)count;
    struct answer *answer = context;
    answer->calls++;
    answer->code = err ? err->code : 0;
}

static void ask(struct tn_library *library, struct tn_wanted *wanted, struct answer *answer)
{
    struct tn_error err;
    assert_ok(tn_lookup_async(library, wanted, 1, note, answer, &err), &err);
}

static struct tn_session_options spoiling_options(void)
{
    return (struct tn_session_options){.size = sizeof(struct tn_session_options), .allocator = &spoiling};
}

/* ---- what was removed does not begin ---- */

static void keep_task(void *context, struct tn_task *task)
{
    *(struct tn_task **)context = task;
}

static void removed_before_its_turn(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_task *task = NULL;
    struct tn_session_options options = spoiling_options();
    options.dispatch = keep_task;
    options.context = &task;
    struct fixture f = open_fixture(&options);
    struct maker m = {.name = "f", .owner = new_tracker(&f)};
    promise(f.library, &m);
    struct tn_wanted wanted = {.name = "f"};
    struct answer answer = {0};
    ask(f.library, &wanted, &answer);
    struct tn_task *first = task;
    assert_ok(tn_tracker_remove(m.owner, &err), &err);
    tn_task_run(first);
    if (task != first)
        tn_task_run(task);
    assert_int_equal(answer.calls, 1);
    assert_int_equal(answer.code, TN_EUNDEF);
    assert_int_equal(m.made, 0);
    assert_int_equal(m.destroyed, 1);
    close_spoiling(&f);
}

/* ---- a lookup outlives the materializer that began it ---- */

struct outliving {
    struct tn_wanted wanted;
    struct answer answer;
};

static void ask_for_later(struct maker *m)
{
    struct outliving *o = m->context;
    ask(m->library, &o->wanted, &o->answer);
}

static void lookups_outlive_materializers(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_session_options options = spoiling_options();
    struct fixture f = open_fixture(&options);
    struct outliving o = {.wanted.name = "later"};
    struct maker later = {.name = "later", .later = true};
    struct maker m = {.name = "f", .before = ask_for_later, .context = &o};
    promise(f.library, &later);
    promise(f.library, &m);
    assert_int_equal(call_in(f.library, "f"), 1);
    assert_int_equal(m.destroyed, 1);
    assert_int_equal(o.answer.calls, 0);
    assert_ok(tn_responsibility_ready(later.kept, &err), &err);
    assert_int_equal(o.answer.calls, 1);
    assert_int_equal(o.answer.code, 0);
    close_spoiling(&f);
}

/* ---- a library is removed by its own generator ---- */

static int remove_and_read(void *context, struct tn_library *library, const char *const *names, size_t count,
                           struct tn_error *err)
{
    int code = tn_library_remove(library, err);
    assert_int_equal(count, 1);
    assert_string_equal(names[0], "nowhere");
    *(int *)context += 1;
    return code;
}

static void removed_by_its_generator(void **state)
{
    (void)state;
    struct tn_error err;
    void *address;
    int calls = 0;
    struct tn_session_options options = spoiling_options();
    struct fixture f = open_fixture(&options);
    struct tn_library *gone = new_library(f.session, "gone");
    assert_ok(tn_add_generator(gone, remove_and_read, &calls, &err), &err);
    const struct tn_search search = {.library = gone};
    assert_ok(tn_library_search(f.library, &search, 1, &err), &err);
    assert_error(tn_lookup(f.library, "nowhere", &address, &err), TN_EUNDEF, &err, "nowhere");
    assert_int_equal(calls, 1);
    close_spoiling(&f);
}

/* ---- nothing is discarded after it was destroyed ---- */

static void look_up_kept(struct maker *m)
{
    if (m->discarded == 1)
        assert_int_equal(call_in(m->library, m->name), 1);
}

static void discarded_while_it_is_made(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    const struct tn_promised symbols[] = {{"kept", 0}, {"x1", TN_SYMBOL_WEAK}, {"x2", TN_SYMBOL_WEAK}};
    struct maker m = {.name = "kept", .on_discard = look_up_kept, .discarded_name = "x"};
    add_function(f.library, "x1", 1, NULL, NULL);
    add_function(f.library, "x2", 1, NULL, NULL);
    promise_all(f.library, &m, symbols, COUNT(symbols));
    assert_int_equal(m.discarded, 2);
    assert_int_equal(m.destroyed, 1);
    close_fixture(&f);
}

static void remove_the_other(struct maker *m)
{
    struct tn_error err;
    assert_ok(tn_tracker_remove(m->context, &err), &err);
}

static void overridden_and_removed(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_session_options options = spoiling_options();
    struct fixture f = open_fixture(&options);
    struct maker a = {.name = "a", .flags = TN_SYMBOL_WEAK, .owner = new_tracker(&f)};
    struct maker b = {.name = "b", .flags = TN_SYMBOL_WEAK, .owner = new_tracker(&f)};
    a.context = b.owner;
    b.context = a.owner;
    a.on_discard = b.on_discard = remove_the_other;
    promise(f.library, &a);
    promise(f.library, &b);
    const struct tn_definition definitions[] = {{"a", &f, 0}, {"b", &f, 0}};
    assert_ok(tn_define_all(f.library, definitions, COUNT(definitions), NULL, &err), &err);
    assert_int_equal(a.discarded, 1);
    assert_int_equal(b.discarded, 1);
    assert_int_equal(a.destroyed + b.destroyed, 2);
    close_spoiling(&f);
}

static void remove_the_library(struct maker *m)
{
    struct tn_error err;
    assert_ok(tn_library_remove(m->library, &err), &err);
}

static void discarded_with_its_library(void **state)
{
    (void)state;
    struct tn_error err;
    struct tn_session_options options = spoiling_options();
    struct fixture f = open_fixture(&options);
    struct maker m = {.name = "f", .flags = TN_SYMBOL_WEAK, .on_discard = remove_the_library};
    struct tn_library *library = new_library(f.session, "gone");
    promise(library, &m);
    assert_ok(tn_define(library, "f", &f, &err), &err);
    assert_int_equal(m.discarded, 1);
    assert_int_equal(m.destroyed, 1);
    close_spoiling(&f);
}

/* ---- nobody goes on with what may have to wait for the materializer below ---- */

static void end_the_other(struct maker *m)
{
    struct tn_error err;
    assert_ok(tn_responsibility_ready(((struct maker *)m->context)->kept, &err), &err);
}

static void look_up_below(struct maker *m)
{
    assert_int_equal(call_in(m->library, m->context), 1);
}

/* A lookup continues once `other` is made, and needs `late`, which needs `below`, in whose materializer `other` is
 * ended. */
static void goes_on_inside_of_a_materializer(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct maker other = {.name = "other", .callee = "late", .later = true};
    struct maker late = {.name = "late", .before = look_up_below, .context = "below"};
    struct maker below = {.name = "below", .before = end_the_other, .context = &other};
    promise(f.library, &other);
    promise(f.library, &late);
    promise(f.library, &below);
    struct tn_wanted wanted = {.name = "other"};
    struct answer answer = {0};
    ask(f.library, &wanted, &answer);
    assert_int_equal(call_in(f.library, "below"), 1);
    assert_int_equal(answer.calls, 1);
    assert_int_equal(answer.code, 0);
    close_fixture(&f);
}

/* ---- a failure is told at once ---- */

static void failures_at_once(void **state)
{
    (void)state;
    struct tn_error err, why = {TN_EIO, "the disk is gone"};
    struct fixture f = open_fixture(NULL);
    struct maker slow = {.name = "slow", .later = true}, failing = {.name = "failing", .later = true};
    promise(f.library, &slow);
    promise(f.library, &failing);
    struct tn_wanted wanted[] = {{.name = "slow"}, {.name = "failing"}};
    struct answer answer = {0};
    assert_ok(tn_lookup_async(f.library, wanted, COUNT(wanted), note, &answer, &err), &err);
    tn_responsibility_fail(failing.kept, &why);
    assert_int_equal(answer.calls, 1); /* although the other one has not ended */
    assert_int_equal(answer.code, TN_EIO);
    assert_ok(tn_responsibility_ready(slow.kept, &err), &err);
    assert_int_equal(answer.calls, 1);
    assert_error(tn_define(f.library, "failing", &f, &err), TN_EDUP, &err, "failing");
    close_fixture(&f);
}

/* ---- through several libraries ---- */

/* The library that `last` is re-exported from finds it only by its own search order. */
static void reexported_and_found(void **state)
{
    (void)state;
    struct tn_error err;
    void *address;
    struct fixture f = open_fixture(NULL);
    struct tn_library *middle = new_library(f.session, "middle"), *source = new_library(f.session, "source"),
                      *last = new_library(f.session, "last");
    assert_ok(tn_library_search(f.library, &(struct tn_search){.library = middle}, 1, &err), &err);
    assert_ok(tn_library_search(source, &(struct tn_search){.library = last}, 1, &err), &err);
    assert_ok(tn_reexport(middle, &(struct tn_reexport){.name = "x"}, 1, source, NULL, &err), &err);
    assert_ok(tn_define(last, "x", &f, &err), &err);
    assert_ok(tn_lookup(f.library, "x", &address, &err), &err);
    assert_ptr_equal(address, &f);
    close_fixture(&f);
}

/* Missing and hidden symbols are reported before anything is linked. */
static void all_or_none(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    add_function(f.library, "there", 1, NULL, NULL);
    struct tn_wanted wanted[] = {{.name = "there"}, {.name = "not there"}};
    assert_error(tn_lookup_all(f.library, wanted, COUNT(wanted), &err), TN_EUNDEF, &err, "'not there'");
    assert_int_equal(stats_of(&f).objects, 0);
    close_fixture(&f);
}

/* ---- chains ---- */

struct chain {
    struct fixture f;
    struct maker *makers;
    char (*names)[16];
    int length;
};

static struct chain open_chain(int length)
{
    struct chain c = {.f = open_fixture(NULL), .length = length};
    c.makers = calloc((size_t)length, sizeof *c.makers);
    c.names = calloc((size_t)length + 1, sizeof *c.names);
    assert_non_null(c.makers);
    assert_non_null(c.names);
    for (int i = 0; i <= length; i++)
        snprintf(c.names[i], sizeof *c.names, "f%d", i);
    for (int i = 0; i < length; i++) {
        c.makers[i].name = c.names[i];
        c.makers[i].callee = i + 1 < length ? c.names[i + 1] : NULL;
        promise(c.f.library, &c.makers[i]);
    }
    return c;
}

static void close_chain(struct chain *c)
{
    close_fixture(&c->f);
    free(c->makers);
    free(c->names);
}

static void *look_up_chain(void *context)
{
    struct chain *c = context;
    struct tn_wanted wanted = {.name = "f0"};
    struct answer answer = {0};
    ask(c->f.library, &wanted, &answer);
    assert_int_equal(answer.calls, 1);
    assert_int_equal(answer.code, 0);
    return NULL;
}

/* The needs of an object are known only when it was made, so there are as many rounds as objects. The stack does not
 * grow with them. */
static void on_a_small_stack(void **state)
{
    (void)state;
    struct chain c = open_chain(3000);
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 512 << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, look_up_chain, &c), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    assert_int_equal(call_in(c.f.library, "f2000"), 1000);
    close_chain(&c);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double time_of_chain(int length)
{
    struct chain c = open_chain(length);
    void *address;
    struct tn_error err;
    double start = cpu_seconds();
    assert_ok(tn_lookup(c.f.library, "f0", &address, &err), &err);
    double seconds = cpu_seconds() - start;
    close_chain(&c);
    return seconds;
}

/* A chain eight times as long takes eight times as long; examining everything again in each round took 40 times as
 * long. */
static void in_linear_time(void **state)
{
    (void)state;
    double ratio = 1e9;
    for (int i = 0; i < 3 && ratio > 20; i++) { /* the machine may be busy */
        double slow = time_of_chain(2000);
        double ratio_now = time_of_chain(16000) / slow;
        ratio = ratio_now < ratio ? ratio_now : ratio;
    }
    print_message("16000 / 2000 promises: %.1f times as long\n", ratio);
    assert_true(ratio < 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removed_before_its_turn),
        cmocka_unit_test(lookups_outlive_materializers),
        cmocka_unit_test(removed_by_its_generator),
        cmocka_unit_test(discarded_while_it_is_made),
        cmocka_unit_test(overridden_and_removed),
        cmocka_unit_test(discarded_with_its_library),
        cmocka_unit_test(goes_on_inside_of_a_materializer),
        cmocka_unit_test(failures_at_once),
        cmocka_unit_test(reexported_and_found),
        cmocka_unit_test(all_or_none),
        cmocka_unit_test(on_a_small_stack),
        cmocka_unit_test(in_linear_time),
    };
    return cmocka_run_group_tests_name("lifetimes", tests, NULL, NULL);
}
