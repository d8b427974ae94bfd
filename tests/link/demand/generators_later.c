/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Generators that end later, on other threads; generators and resolvers that are removed, while they are asked too.
 * Also run under ThreadSanitizer. */

#include <pthread.h>
#include <unistd.h>

#include "base/os.h"
#include "cancelling.h"

/* A generator that knows names with a certain first letter. */
struct source {
    char letter;
    enum { DEFINES, STAGES, FAILS, GIVES_UP, FORGETS, SAYS_AT_ONCE, COUNTS_ONLY } how;
    bool removes_itself;
    struct fixture *f;
    pthread_t thread;
    struct tn_responsibility *_Atomic kept;
    const char *const *names;
    size_t count;
    _Atomic int calls, destroyed;
};

static void note_destroyed(void *context)
{
    struct source *source = context;
    assert_int_equal(source->destroyed++, 0);
}

static int generate(void *context, struct tn_library *library, const char *const *names, size_t count,
                    struct tn_error *err);

static void remove_source(struct source *source)
{
    struct tn_error err;
    assert_ok(tn_remove_generator(source->f->library, generate, source, note_destroyed, &err), &err);
}

/* What it does in the end, on whatever thread. */
static void finish(struct source *source)
{
    struct tn_error err = {.code = TN_EIO, .text = "the shelf is empty"};
    struct tn_responsibility *kept = source->kept;
    for (size_t i = 0; i < source->count && source->how != FAILS && source->how != GIVES_UP; i++) {
        const char *name = source->names[i];
        if (name[0] != source->letter)
            continue;
        if (source->how == STAGES) {
            struct tn_input input = input_of(name, function_object(name, source->letter, NULL));
            assert_ok(tn_responsibility_add_object(kept, &input, &err), &err);
        } else
            add_function(source->f->library, name, source->letter, NULL, NULL);
    }
    if (source->how == FAILS || source->how == GIVES_UP) {
        err.code = source->how == FAILS ? TN_EIO : TN_ECANCELLED;
        tn_responsibility_fail(kept, &err);
    } else
        assert_ok(tn_responsibility_ready(kept, &err), &err);
}

static void *finish_in_thread(void *source)
{
    usleep(2000);
    finish(source);
    return NULL;
}

static int generate(void *context, struct tn_library *library, const char *const *names, size_t count,
                    struct tn_error *err)
{
    struct source *source = context;
    (void)err;
    source->calls++;
    if (source->removes_itself)
        remove_source(source);
    if (source->how == COUNTS_ONLY)
        return 0;
    source->names = names;
    source->count = count;
    if (source->how != FORGETS) {
        assert_null(tn_generator_keep(NULL));
        source->kept = tn_generator_keep(library);
        assert_non_null(source->kept);
    }
    if (source->how == SAYS_AT_ONCE)
        finish(source);
    else if (source->thread)
        assert_int_equal(pthread_create(&source->thread, NULL, finish_in_thread, source), 0);
    return TN_LATER;
}

static void add(struct fixture *f, struct source *source)
{
    struct tn_error err;
    source->f = f;
    assert_ok(tn_add_generator(f->library, generate, source, &err), &err);
}

/* ---- later ---- */

static void ended_by_a_thread(void **state)
{
    (void)state;
    for (int how = DEFINES; how <= STAGES; how++) {
        struct fixture f = open_fixture(NULL);
        struct source a = {.letter = 'a', .how = how, .thread = pthread_self()},
                      b = {.letter = 'b', .how = SAYS_AT_ONCE};
        add(&f, &a);
        add(&f, &b);
        add_function(f.library, "caller", 1, "bee", NULL);
        struct tn_wanted wanted[] = {{.name = "caller"}, {.name = "ant"}};
        struct tn_error err;
        assert_ok(tn_lookup_all(f.library, wanted, COUNT(wanted), &err), &err);
        pthread_join(a.thread, NULL);
        assert_int_equal(call_in(f.library, "caller"), 'b' + 1);
        assert_int_equal(call_in(f.library, "ant"), 'a');
        assert_int_equal(a.calls, 1);
        assert_int_equal(b.calls, 1);
        assert_null(tn_generator_keep(f.library));
        close_fixture(&f);
    }
}

static void failing_later(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct source a = {.letter = 'a', .how = FAILS, .thread = pthread_self()};
    struct tn_error err;
    void *address;
    add(&f, &a);
    for (int i = 1; i <= 2; i++) { /* it may be asked again */
        assert_error(tn_lookup(f.library, "ant", &address, &err), TN_EIO, &err, "ant", "shelf");
        pthread_join(a.thread, NULL);
        assert_int_equal(a.calls, i);
    }
    a.how = DEFINES;
    assert_int_equal(call_in(f.library, "ant"), 'a');
    pthread_join(a.thread, NULL);
    close_fixture(&f);
}

/* TN_LATER without the responsibility would be a wait for ever. */
static void not_kept(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct source a = {.letter = 'a', .how = FORGETS};
    struct tn_error err;
    void *address;
    add(&f, &a);
    assert_error(tn_lookup(f.library, "ant", &address, &err), TN_EINVAL, &err, "ant");
    close_fixture(&f);
}

/* A lookup that is cancelled ends at once. A generator that stops then is asked again by the next one. */
static void cancelled(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct source a = {.letter = 'a', .how = GIVES_UP};
    struct asked asked = {0};
    add(&f, &a);
    start_lookup(&f, &asked, "ant");
    assert_false(tn_responsibility_is_cancelled(a.kept));
    cancel_lookup(&asked);
    assert_int_equal(asked.code, TN_ECANCELLED);
    assert_true(tn_responsibility_is_cancelled(a.kept));
    finish(&a);
    a.how = SAYS_AT_ONCE;
    assert_int_equal(call_in(f.library, "ant"), 'a');
    assert_int_equal(a.calls, 2);
    close_fixture(&f);
}

/* Neither the library nor the session waits for what is kept. */
static void library_removed(void **state)
{
    (void)state;
    for (int ends = 0; ends < 2; ends++) {
        struct fixture f = open_fixture(NULL);
        struct source a = {.letter = 'a', .how = DEFINES};
        struct asked asked = {0};
        struct tn_error err;
        add(&f, &a);
        start_lookup(&f, &asked, "ant");
        assert_ok(tn_library_remove(f.library, &err), &err);
        assert_int_equal(asked.calls, 1);
        assert_int_equal(asked.code, TN_EREMOVED);
        if (ends)
            assert_int_equal(tn_responsibility_ready(a.kept, &err), TN_EREMOVED);
        close_fixture(&f);
        assert_int_equal(a.destroyed, 0); /* it is called for tn_remove_generator only */
    }
}

/* ---- removed ---- */

static void not_asked_any_more(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct source sources[] = {{.letter = 'a', .how = SAYS_AT_ONCE},
                               {.letter = 'b', .how = SAYS_AT_ONCE},
                               {.letter = 'c', .how = SAYS_AT_ONCE},
                               {.letter = 'd', .how = SAYS_AT_ONCE}};
    struct tn_error err;
    void *address;
    for (size_t i = 0; i < 3; i++)
        add(&f, &sources[i]);
    assert_int_equal(call_in(f.library, "bee"), 'b');
    static const size_t order[] = {1, 2, 0};
    for (size_t i = 0; i < COUNT(order); i++) {
        struct source *source = &sources[order[i]];
        remove_source(source);
        assert_int_equal(source->destroyed, 1);
        assert_error(tn_remove_generator(f.library, generate, source, NULL, &err), TN_EUNDEF, &err, "generator");
        const char name[] = {source->letter, 'x', 0};
        source->calls = 0;
        assert_error(tn_lookup(f.library, name, &address, &err), TN_EUNDEF, &err, name);
        assert_int_equal(source->calls, 0);
    }
    assert_int_equal(call_in(f.library, "bee"), 'b'); /* what was generated stays */
    add(&f, &sources[3]);
    assert_int_equal(call_in(f.library, "dog"), 'd');
    close_fixture(&f);
    assert_int_equal(sources[3].destroyed, 0);
}

/* It is destroyed when the last call has returned, and what it keeps has ended; the next one is asked. */
static void removed_while_asked(void **state)
{
    (void)state;
    for (int itself = 0; itself < 2; itself++) {
        struct fixture f = open_fixture(NULL);
        struct source a = {.letter = 'a', .how = DEFINES, .removes_itself = itself};
        struct source b = {.letter = 'b', .how = SAYS_AT_ONCE};
        struct asked asked[2] = {{.code = 0}, {.code = 0}};
        add(&f, &a);
        add(&f, &b);
        start_lookup(&f, &asked[0], "ant");
        if (!itself)
            remove_source(&a);
        start_lookup(&f, &asked[1], "bee");
        assert_int_equal(asked[1].calls, 1);
        assert_int_equal(asked[1].code, 0);
        assert_int_equal(asked[0].calls, 0);
        assert_int_equal(a.destroyed, 0);
        finish(&a);
        assert_int_equal(asked[0].calls, 1);
        assert_int_equal(asked[0].code, 0);
        cancel_lookup(&asked[0]);
        cancel_lookup(&asked[1]);
        assert_int_equal(a.destroyed, 1);
        assert_int_equal(a.calls, 1);
        close_fixture(&f);
    }
}

/* With the session, what was removed and still keeps something is destroyed. */
static void removed_and_never_ended(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct source a = {.letter = 'a', .how = DEFINES};
    struct asked asked = {0};
    add(&f, &a);
    start_lookup(&f, &asked, "ant");
    remove_source(&a);
    assert_int_equal(a.destroyed, 0);
    close_fixture(&f);
    assert_int_equal(asked.calls, 1);
    assert_int_equal(a.destroyed, 1);
}

/* Numbers of generators are used again, so they do not run out. */
static void many(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct source first = {.letter = 'f', .how = SAYS_AT_ONCE}, a = {.letter = 'a', .how = COUNTS_ONLY};
    struct asked asked = {0};
    struct source waiting = {.letter = 'w', .how = DEFINES};
    add(&f, &first);
    add(&f, &waiting);
    start_lookup(&f, &asked, "wxyz");
    for (int i = 0; i < 70000; i++) {
        a.destroyed = 0;
        add(&f, &a);
        remove_source(&a);
    }
    finish(&waiting);
    assert_int_equal(asked.calls, 1);
    cancel_lookup(&asked);
    struct tn_error err;
    int code = 0, count = 0;
    for (; !code && count < 70000; count++)
        code = tn_add_generator(f.library, generate, &first, &err);
    assert_int_equal(code, TN_ENOMEM);
    assert_int_equal(count, 65534); /* 65,535 in all, with two of before */
    assert_int_equal(call_in(f.library, "fly"), 'f');
    close_fixture(&f);
}

/* ---- resolvers ---- */

static void *resolve(void *context, const char *name)
{
    return strcmp(name, "host") == 0 ? context : NULL;
}

static int one(void)
{
    return 1;
}

static int two(void)
{
    return 2;
}

static void resolvers(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_error err;
    struct tn_library *user;
    void *first, *second, *address;
    int (*functions[])(void) = {one, two};
    memcpy(&first, &functions[0], sizeof first);
    memcpy(&second, &functions[1], sizeof second);
    assert_ok(tn_add_resolver(f.library, resolve, first, &err), &err);
    assert_ok(tn_add_resolver(f.library, resolve, second, &err), &err);
    assert_ok(tn_library_create(f.session, "user", &user, &err), &err);
    assert_ok(tn_library_search(user, &(struct tn_search){f.library, 0}, 1, &err), &err);
    add_function(f.library, "caller", 10, "host", NULL);
    assert_int_equal(call_in(f.library, "caller"), 11);
    assert_int_equal(call_in(user, "host"), 1);
    assert_ok(tn_remove_resolver(f.library, resolve, first, &err), &err);
    assert_int_equal(call_in(f.library, "caller"), 11); /* linked before */
    assert_int_equal(call_in(f.library, "host"), 2);
    assert_int_equal(call_in(user, "host"), 2);
    assert_error(tn_remove_resolver(f.library, resolve, first, &err), TN_EUNDEF, &err, "resolver");
    assert_ok(tn_remove_resolver(f.library, resolve, second, &err), &err);
    assert_error(tn_lookup(f.library, "host", &address, &err), TN_EUNDEF, &err, "host");
    assert_error(tn_lookup(user, "host", &address, &err), TN_EUNDEF, &err, "host");
    assert_ok(tn_add_resolver(f.library, resolve, second, &err), &err);
    assert_int_equal(call_in(user, "host"), 2);
    assert_ok(tn_library_remove(f.library, &err), &err);
    assert_int_equal(tn_remove_resolver(f.library, resolve, second, &err), TN_EREMOVED);
    assert_int_equal(tn_remove_generator(f.library, generate, NULL, NULL, &err), TN_EREMOVED);
    close_fixture(&f);
}

/* ---- threads and memory ---- */

enum { ROUNDS = 300, THREADS = 3 };

static void *look_up_often(void *fixture)
{
    struct fixture *f = fixture;
    for (int i = 0; i < ROUNDS; i++) {
        char name[20];
        void *address;
        snprintf(name, sizeof name, "a%d", i);
        int code = tn_lookup(f->library, name, &address, NULL);
        if (code && code != TN_EUNDEF)
            return f;
    }
    return NULL;
}

static int define_one(void *context, struct tn_library *library, const char *const *names, size_t count,
                      struct tn_error *err)
{
    struct source *source = context;
    source->calls++;
    for (size_t i = 0; i < count; i++) {
        const struct tn_definition definition = {.name = names[i], .address = (void *)&one};
        int code = tn_define_all(library, &definition, 1, NULL, err);
        if (code && code != TN_EDUP)
            return code;
    }
    return 0;
}

/* A generator comes and goes while threads ask it: no call begins after it was destroyed. */
static void come_and_go(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    pthread_t threads[THREADS];
    struct tn_error err;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up_often, &f), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct source *source = calloc(1, sizeof *source);
        assert_non_null(source);
        assert_ok(tn_add_generator(f.library, define_one, source, &err), &err);
        usleep(20);
        assert_ok(tn_remove_generator(f.library, define_one, source, free, &err), &err);
    }
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    close_fixture(&f);
}

static void no_memory(void **state)
{
    (void)state;
    char plan[16];
    int codes[2] = {0};
    for (int i = 1; !codes[0]; i++) {
        struct fixture f = open_fixture(NULL);
        struct source a = {.letter = 'a', .how = SAYS_AT_ONCE};
        struct tn_error err;
        void *address;
        add(&f, &a);
        snprintf(plan, sizeof plan, "a%d", i);
        a.how = COUNTS_ONLY;
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = tn_lookup(f.library, "ant", &address, &err);
        tn__os_set_faults(NULL);
        assert_true(code == TN_EUNDEF || code == TN_ENOMEM);
        codes[code == TN_ENOMEM]++;
        a.how = SAYS_AT_ONCE;
        assert_int_equal(call_in(f.library, "ant"), 'a');
        remove_source(&a);
        assert_int_equal(a.destroyed, 1);
        close_fixture(&f);
    }
    assert_in_range(codes[1], 2, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ended_by_a_thread),
        cmocka_unit_test(failing_later),
        cmocka_unit_test(not_kept),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(library_removed),
        cmocka_unit_test(not_asked_any_more),
        cmocka_unit_test(removed_while_asked),
        cmocka_unit_test(removed_and_never_ended),
        cmocka_unit_test(many),
        cmocka_unit_test(resolvers),
        cmocka_unit_test(come_and_go),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests_name("generators_later", tests, NULL, NULL);
}
