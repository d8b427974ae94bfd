/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Initializers that lookups and first calls run: when, in which order, once, on which thread, with which arguments. */

#include <pthread.h>
#include <stdlib.h>

#include "functions.h"
#include "link/demand/promise.h"
#include "link/redirect/cell.h"

extern char **environ;

/* ---- functions that note that they were called ---- */

static char heard[256];

static void hear(const char *word)
{
    assert_true(strlen(heard) + strlen(word) + 2 < sizeof heard);
    if (*heard)
        strcat(heard, " ");
    strcat(heard, word);
}

static void init_a(void)
{
    hear("a");
}

static void init_b(void)
{
    hear("b");
}

static void init_c(void)
{
    hear("c");
}

static void fini_a(void)
{
    hear("-a");
}

static void fini_b(void)
{
    hear("-b");
}

static int seen_argc;
static char **seen_argv, **seen_envp;

static void init_arguments(int argc, char **argv, char **envp)
{
    seen_argc = argc;
    seen_argv = argv;
    seen_envp = envp;
    hear("arguments");
}

static void (*inside)(void); /* what the next one does */

static void init_inside(void)
{
    hear("[");
    inside();
    hear("]");
}

static const struct {
    const char *name;
    void *function;
} functions[] = {{"init_a", init_a},
                 {"init_b", init_b},
                 {"init_c", init_c},
                 {"init_inside", init_inside},
                 {"init_arguments", init_arguments},
                 {"fini_a", fini_a},
                 {"fini_b", fini_b}};

static void define_functions(struct tn_library *library)
{
    struct tn_error err;
    for (size_t i = 0; i < COUNT(functions); i++)
        assert_ok(tn_define(library, functions[i].name, functions[i].function, &err), &err);
}

static struct fixture open_session(enum tn_initializers how)
{
    struct tn_session_options options = {.size = sizeof options, .initializers = how};
    struct fixture f = open_fixture(&options);
    define_functions(f.library);
    heard[0] = '\0';
    return f;
}

static struct tn_library *new_library(const struct fixture *f, const char *name)
{
    struct tn_library *library;
    struct tn_error err;
    assert_ok(tn_library_create(f->session, name, &library, &err), &err);
    define_functions(library);
    return library;
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void add_of(struct tn_library *library, const char *name, int value, const char *callee, const char *init,
                   const char *fini, struct tn_tracker *owner)
{
    struct tn_error err;
    struct tn_input input =
        input_of(name, initialized_function_object(name, value, callee, NAMES(init), fini ? NAMES(fini) : NULL));
    input.owner = owner;
    assert_ok(tn_add_object(library, &input, &err), &err);
}

static void add(struct tn_library *library, const char *name, int value, const char *callee, const char *init,
                const char *fini)
{
    add_of(library, name, value, callee, init, fini, NULL);
}

static void search(struct tn_library *library, struct tn_library *first, struct tn_library *second)
{
    struct tn_error err;
    const struct tn_search order[] = {{first, 0}, {second, 0}};
    assert_ok(tn_library_search(library, order, second ? 2 : 1, &err), &err);
}

static void not_called(void)
{
    fail_msg("a first call has failed");
}

static void define_lazy(const struct fixture *f, const char *name, struct tn_library *bodies)
{
    struct tn_error err;
    const struct tn_lazy_symbol symbol = {.name = name};
    const struct tn_stub_options options = {.size = sizeof options, .on_failure = not_called};
    assert_ok(tn_define_lazy(f->library, &symbol, 1, bodies, &options, &err), &err);
}

/* ---- when ---- */

static void a_lookup_runs_what_it_links(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    add(f.library, "f", 1, "g", "init_a", "fini_a");
    add(f.library, "g", 2, NULL, "init_b", NULL);
    add(f.library, "other", 3, NULL, "init_c", NULL);
    assert_non_null(lookup(&f, "f"));
    assert_string_equal(heard, "a b");
    assert_int_equal(call(&f, "f"), 3);
    assert_string_equal(heard, "a b");
    link_all(&f); /* gives no address */
    assert_string_equal(heard, "a b");
    assert_int_equal(call(&f, "g"), 2);
    assert_string_equal(heard, "a b c");
    tn_run_finalizers(f.library);
    assert_string_equal(heard, "a b c -a");
    close_fixture(&f);
}

static void so_does_a_first_call(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    struct tn_library *bodies = new_library(&f, "bodies");
    add(bodies, "f", 1, NULL, "init_a", "fini_a");
    define_lazy(&f, "f", bodies);
    assert_non_null(lookup(&f, "f"));
    assert_string_equal(heard, "");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(call(&f, "f"), 1);
        assert_string_equal(heard, "a");
    }
    tn_run_finalizers(bodies);
    assert_string_equal(heard, "a -a");
    close_fixture(&f);
}

static pthread_t called_by;

static void done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)context, (void)count;
    assert_null(err);
    assert_non_null(symbols[0].address);
    hear("done");
    called_by = pthread_self();
}

static void note_thread(void)
{
    assert_true(pthread_equal(pthread_self(), called_by));
}

static void and_a_lookup_that_does_not_wait(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    struct tn_wanted wanted = {"f", 0, NULL};
    struct tn_error err;
    called_by = pthread_self();
    inside = note_thread;
    add(f.library, "f", 1, NULL, "init_inside", NULL);
    assert_ok(tn_lookup_async(f.library, &wanted, 1, done, NULL, &err), &err);
    assert_string_equal(heard, "[ ] done");
    close_fixture(&f);
}

/* ---- order ---- */

static void libraries_that_are_searched_come_first(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    struct tn_library *b = new_library(&f, "b"), *c = new_library(&f, "c");
    search(f.library, b, c);
    search(b, c, f.library); /* a circle */
    add(f.library, "fa", 1, "fb", "init_a", "fini_a");
    add(b, "fb", 2, "fc", "init_b", "fini_b");
    add(c, "fc", 3, NULL, "init_c", NULL);
    assert_int_equal(call(&f, "fa"), 6);
    assert_string_equal(heard, "c b a");
    close_fixture(&f);
}

static void so_do_libraries_that_are_exported_from(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    struct tn_error err;
    struct tn_library *b = new_library(&f, "b");
    add(f.library, "fa", 1, "fb", "init_a", NULL);
    add(b, "fb", 2, NULL, "init_b", NULL);
    assert_ok(tn_reexport(f.library, &(struct tn_reexport){.name = "fb"}, 1, b, NULL, &err), &err);
    assert_int_equal(call(&f, "fa"), 3);
    assert_string_equal(heard, "b a");
    close_fixture(&f);
}

static void other_libraries_are_left_alone(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    struct tn_error err;
    struct tn_library *b = new_library(&f, "b");
    add(f.library, "fa", 1, NULL, "init_a", NULL);
    add(b, "fb", 2, NULL, "init_b", NULL);
    assert_ok(tn_link(b, &err), &err);
    assert_int_equal(call(&f, "fa"), 1);
    assert_string_equal(heard, "a");
    assert_int_equal(call_in(b, "fb"), 2);
    assert_string_equal(heard, "a b");
    close_fixture(&f);
}

/* ---- again, from an initializer ---- */

static struct fixture *inner;

static void call_f(void)
{
    assert_int_equal(call(inner, "f"), 1);
}

static void an_initializer_may_look_up_and_call(void **state)
{
    (void)state;
    for (int lazy = 0; lazy < 2; lazy++) {
        struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
        struct tn_library *bodies = new_library(&f, "bodies");
        inner = &f;
        inside = call_f;
        add(lazy ? bodies : f.library, "f", 1, NULL, "init_a", NULL);
        if (lazy)
            define_lazy(&f, "f", bodies);
        add(f.library, "g", 2, NULL, "init_inside", NULL);
        assert_int_equal(call(&f, "g"), 2);
        assert_string_equal(heard, "[ a ]");
        close_fixture(&f);
    }
}

/* Not inside, where the library is not initialised yet. */
static void start_lookup_of_f(void)
{
    static struct tn_wanted wanted = {"f", 0, NULL};
    struct tn_error err;
    assert_ok(tn_lookup_async(inner->library, &wanted, 1, done, NULL, &err), &err);
}

static void a_callback_comes_after_the_initializer(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    inner = &f;
    inside = start_lookup_of_f;
    add(f.library, "f", 1, NULL, "init_inside", NULL);
    assert_int_equal(call(&f, "f"), 1);
    assert_string_equal(heard, "[ ] done");
    close_fixture(&f);
}

static void a_finalizer_may_call_too(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    inner = &f;
    inside = call_f;
    add(f.library, "f", 1, NULL, "init_a", "fini_a");
    add(f.library, "g", 2, NULL, "init_b", "init_inside");
    assert_int_equal(call(&f, "g"), 2);
    tn_run_finalizers(f.library);
    assert_string_equal(heard, "b [ a ] -a");
    tn_run_finalizers(f.library);
    assert_string_equal(heard, "b [ a ] -a");
    close_fixture(&f);
}

static void call_g(void)
{
    assert_int_equal(call(inner, "g"), 3); /* whose library is being initialised */
}

static void a_circle_through_an_initializer_does_not_wait(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    inner = &f;
    inside = call_g;
    add(f.library, "f", 1, NULL, "init_a", NULL);
    add(f.library, "g", 2, "f", "init_inside", NULL);
    assert_int_equal(call(&f, "g"), 3);
    assert_true(!strcmp(heard, "[ ] a") || !strcmp(heard, "a [ ]"));
    close_fixture(&f);
}

/* ---- removed meanwhile ---- */

static struct tn_tracker *removed;

static void remove_tracker(void)
{
    struct tn_error err;
    assert_ok(tn_tracker_remove(removed, &err), &err);
}

static void what_is_removed_is_not_initialised(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    removed = new_tracker(&f);
    inside = remove_tracker;
    add(f.library, "f", 1, NULL, "init_inside", NULL);
    add_of(f.library, "g", 2, NULL, "init_a", "fini_a", removed);
    add(f.library, "h", 3, NULL, "init_b", NULL);
    link_all(&f);
    assert_int_equal(call(&f, "f"), 1);
    assert_string_equal(heard, "[ -a ] b"); /* they are finalised with those that were not reached, too */
    heard[0] = '\0';
    add_of(f.library, "g", 2, NULL, "init_a", "fini_a", removed);
    link_all(&f);
    remove_tracker();
    assert_int_equal(call(&f, "f"), 1);
    assert_string_equal(heard, "");
    close_fixture(&f);
}

/* ---- what they receive ---- */

static void arguments_are_those_of_the_first_request(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    struct tn_error err;
    char *argv[] = {"a", "b", NULL}, *envp[] = {"c=d", NULL};
    add(f.library, "f", 1, NULL, "init_arguments", NULL);
    lookup(&f, "f");
    assert_int_equal(seen_argc, 0);
    assert_null(seen_argv);
    assert_ptr_equal(seen_envp, environ);
    add(f.library, "g", 1, NULL, "init_arguments", NULL);
    link_all(&f);
    assert_ok(tn_run_initializers(f.library, 2, argv, envp, &err), &err);
    assert_string_equal(heard, "arguments arguments");
    assert_int_equal(seen_argc, 2);
    assert_ptr_equal(seen_argv, argv);
    assert_ptr_equal(seen_envp, envp);
    assert_ok(tn_run_initializers(f.library, 1, argv + 1, NULL, &err), &err);
    seen_argc = 0;
    add(f.library, "h", 1, NULL, "init_arguments", NULL);
    lookup(&f, "h");
    assert_int_equal(seen_argc, 2);
    assert_ptr_equal(seen_argv, argv);
    assert_ptr_equal(seen_envp, envp);
    close_fixture(&f);
}

/* ---- by the client ---- */

static void a_client_can_have_all_of_it(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_MANUAL);
    struct tn_error err;
    char *argv[] = {"a", NULL};
    struct tn_library *b = new_library(&f, "b"), *bodies = new_library(&f, "bodies");
    struct tn_wanted wanted = {"fa", 0, NULL};
    search(f.library, b, NULL);
    add(f.library, "fa", 1, "fb", "init_a", NULL);
    add(b, "fb", 2, NULL, "init_b", NULL);
    add(bodies, "lazy", 3, NULL, "init_arguments", NULL);
    define_lazy(&f, "lazy", bodies);
    assert_int_equal(call(&f, "fa"), 3);
    assert_int_equal(call(&f, "lazy"), 3);
    assert_string_equal(heard, "");
    assert_ok(tn_lookup_async(f.library, &wanted, 1, done, NULL, &err), &err);
    assert_string_equal(heard, "done");
    assert_ok(tn_run_initializers(f.library, 0, NULL, NULL, &err), &err);
    assert_string_equal(heard, "done a");
    assert_ok(tn_run_initializers(b, 0, NULL, NULL, &err), &err);
    assert_ok(tn_run_initializers(bodies, 1, argv, NULL, &err), &err);
    assert_string_equal(heard, "done a b arguments");
    assert_int_equal(seen_argc, 1);
    assert_null(seen_envp);
    close_fixture(&f);
    struct tn_session_options options = {.size = sizeof options, .initializers = (enum tn_initializers)2};
    struct tn_session *session;
    assert_error(tn_session_create(&options, &session, &err), TN_EINVAL, &err, "initializers");
}

/* ---- materializers ---- */

static int make_after_lookup(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct tn_library *library = context;
    void *address;
    int code = tn_lookup(library, "f", &address, err);
    assert_string_equal(heard, "");
    struct tn_input input = input_of("made", function_object("made", 5, NULL));
    return code ? code : tn_responsibility_add_object(responsibility, &input, err);
}

/* What it makes may be what an initializer waits for. */
static void a_lookup_of_a_materializer_runs_none(void **state)
{
    (void)state;
    struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
    struct tn_error err;
    const struct tn_promised symbol = {"made", 0};
    const struct tn_materializer maker = {.size = sizeof maker,
                                          .name = "maker",
                                          .context = f.library,
                                          .symbols = &symbol,
                                          .count = 1,
                                          .materialize = make_after_lookup};
    add(f.library, "f", 1, NULL, "init_a", NULL);
    assert_ok(tn_add_materializer(f.library, &maker, &err), &err);
    assert_int_equal(call(&f, "made"), 5);
    assert_string_equal(heard, "a");
    close_fixture(&f);
}

/* ---- better bodies ---- */

/* A thread that compiles a better body links it, and leaves what that needs to the next call. */
static void a_worker_runs_none(void **state)
{
    (void)state;
    for (int needs_none = 0; needs_none < 2; needs_none++) {
        struct fixture f = open_session(TN_INITIALIZERS_AUTOMATIC);
        struct tn_error err;
        bool changed;
        struct tn_wanted high = {"high", 0, NULL};
        const struct tn_lazy_symbol symbol = {.name = "f", .target = "low"};
        const struct tn_stub_options options = {.size = sizeof options, .on_failure = not_called};
        const struct tn__lazy_better better = {.name = "f", .best = "high", .body = 1};
        add_function(f.library, "low", 1, NULL, NULL);
        add_function(f.library, "high", 2, "helper", NULL);
        add(f.library, "helper", 3, NULL, "init_a", "fini_a");
        assert_ok(tn_define_lazy(f.library, &symbol, 1, f.library, &options, &err), &err);
        int (*function)(void) = (int (*)(void))lookup(&f, "f");
        assert_int_equal(function(), 1);
        assert_ok(tn__lookup_only(f.library, &high, 1, &err), &err);
        if (needs_none)
            assert_ok(tn_run_initializers(f.library, 0, NULL, NULL, &err), &err);
        struct tn__lazy_better of_another = better;
        of_another.maker = &f;
        assert_int_equal(tn__lazy_raise(f.library, &of_another, &changed, &err), TN_EDUP);
        assert_false(changed);
        assert_ok(tn__lazy_raise(f.library, &better, &changed, &err), &err);
        assert_true(changed);
        assert_string_equal(heard, needs_none ? "a" : "");
        for (int i = 0; i < 2; i++) {
            assert_int_equal(function(), 5);
            assert_string_equal(heard, "a");
        }
        close_fixture(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lookup_runs_what_it_links),
        cmocka_unit_test(so_does_a_first_call),
        cmocka_unit_test(and_a_lookup_that_does_not_wait),
        cmocka_unit_test(libraries_that_are_searched_come_first),
        cmocka_unit_test(so_do_libraries_that_are_exported_from),
        cmocka_unit_test(other_libraries_are_left_alone),
        cmocka_unit_test(an_initializer_may_look_up_and_call),
        cmocka_unit_test(a_finalizer_may_call_too),
        cmocka_unit_test(a_callback_comes_after_the_initializer),
        cmocka_unit_test(a_circle_through_an_initializer_does_not_wait),
        cmocka_unit_test(what_is_removed_is_not_initialised),
        cmocka_unit_test(arguments_are_those_of_the_first_request),
        cmocka_unit_test(a_client_can_have_all_of_it),
        cmocka_unit_test(a_lookup_of_a_materializer_runs_none),
        cmocka_unit_test(a_worker_runs_none),
    };
    return cmocka_run_group_tests_name("link/initializers", tests, NULL, NULL);
}
