/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Libraries that are opened and closed (tenon/dl.h): what is initialised and finalised when, what keeps a library open,
 * and what clients may not do meanwhile. That dlopen of loaded code does what the system's does is
 * tests/link/dl/sequences.sh. */

#include "functions.h"

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing.h"

static struct tn_error err;

/* ---- what happened ---- */

static char events[256];

static void note(char sign, char which)
{
    size_t length = strlen(events);
    assert_true(length + 3 < sizeof events);
    events[length] = sign;
    events[length + 1] = which;
    events[length + 2] = 0;
}

static void assert_events(const char *expected)
{
    assert_string_equal(events, expected);
    events[0] = 0;
}

#define NOTES(letter)                                                                                                  \
    static void begin_##letter(void)                                                                                   \
    {                                                                                                                  \
        note('+', #letter[0]);                                                                                         \
    }                                                                                                                  \
    static void end_##letter(void)                                                                                     \
    {                                                                                                                  \
        note('-', #letter[0]);                                                                                         \
    }
NOTES(a)
NOTES(b)
NOTES(c)

static void (*const begins[])(void) = {begin_a, begin_b, begin_c};
static void (*ends[])(void) = {end_a, end_b, end_c};

/* A library of one function of its name, which tells when it begins and ends. */
static struct tn_library *new_library(struct tn_session *session, char letter)
{
    const char name[] = {letter, 0}, *const begin[] = {"begin", NULL}, *const end[] = {"end", NULL};
    struct tn_library *library;
    assert_ok(tn_library_create(session, name, &library, &err), &err);
    struct tn_input input = input_of(name, initialized_function_object(name, letter, NULL, begin, end));
    assert_ok(tn_add_object(library, &input, &err), &err);
    assert_ok(tn_define(library, "begin", (const void *)begins[letter - 'a'], &err), &err);
    assert_ok(tn_define(library, "end", (const void *)ends[letter - 'a'], &err), &err);
    return library;
}

static void search(struct tn_library *library, struct tn_library *first, struct tn_library *second)
{
    const struct tn_search order[] = {{first, 0}, {second, 0}};
    assert_ok(tn_library_search(library, order, second ? 2 : first ? 1 : 0, &err), &err);
}

static void open_library(struct tn_library *library)
{
    assert_ok(tn_library_open(library, 0, &err), &err);
}

static void close_library(struct tn_library *library)
{
    assert_ok(tn_library_close(library, &err), &err);
}

/* ---- clients ---- */

static void as_often_as_it_was_opened(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *a = new_library(f.session, 'a');
    assert_error(tn_library_close(a, &err), TN_EINVAL, &err, "a is not open");
    open_library(a);
    open_library(a);
    assert_events("+a");
    close_library(a);
    assert_int_equal(call_in(a, "a"), 'a');
    assert_events("");
    close_library(a);
    assert_events("-a");
    assert_error(tn_library_close(a, &err), TN_EREMOVED, &err, "a");
    assert_error(tn_library_open(a, 0, &err), TN_EREMOVED, &err, "a");
    assert_ok(tn_library_destroy(a, &err), &err);
    assert_error(tn_library_open(f.library, 8, &err), TN_EINVAL, &err, "0x8");
    close_fixture(&f);
}

/* What a library needs is open with it if somebody has opened that; it ends when neither needs it. */
static void what_is_needed(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *a = new_library(f.session, 'a'), *b = new_library(f.session, 'b'),
                      *c = new_library(f.session, 'c');
    search(a, b, c);
    search(b, c, NULL);
    open_library(b);
    assert_events("+c+b");
    open_library(a);
    assert_events("+a");
    close_library(b);
    assert_events("");
    close_library(a);
    assert_events("-a-b"); /* c is the client's: it was never opened */
    assert_int_equal(call_in(c, "c"), 'c');
    assert_ok(tn_library_remove(c, &err), &err);
    assert_events("-c");
    close_fixture(&f);
}

static void circles_end(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *a = new_library(f.session, 'a'), *b = new_library(f.session, 'b');
    search(a, b, NULL);
    search(b, a, NULL);
    open_library(a);
    open_library(b);
    assert_events("+b+a");
    close_library(a);
    assert_events("");
    close_library(b);
    assert_events("-b-a"); /* the newer one first */
    close_fixture(&f);
}

/* What a library needs is what it needs now. */
static void search_order_changes(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *a = new_library(f.session, 'a'), *b = new_library(f.session, 'b');
    open_library(a);
    open_library(b);
    search(a, b, NULL);
    close_library(b);
    search(a, NULL, NULL);
    assert_events("+a+b");
    close_library(a);
    assert_events("-a-b");
    close_fixture(&f);
}

static void unused_done(void *context, const struct tn_error *why)
{
    (void)context, (void)why;
    fail();
}

static void open_ones_are_not_removed(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *a = new_library(f.session, 'a'), *b = new_library(f.session, 'b');
    search(a, b, NULL);
    open_library(a);
    open_library(b);
    assert_error(tn_library_remove(b, &err), TN_EINVAL, &err, "b is open", "1 times");
    assert_error(tn_library_clear(b, &err), TN_EINVAL, &err, "b is open");
    assert_error(tn_library_remove_start(b, unused_done, NULL, &err), TN_EINVAL, &err, "b is open");
    struct tn_tracker *contents = tn_library_tracker(b);
    assert_error(tn_tracker_remove(contents, &err), TN_EINVAL, &err, "b is open", "1 times");
    assert_error(tn_tracker_retire(contents, &err), TN_EINVAL, &err, "b is open");
    assert_error(tn_tracker_retire_start(contents, unused_done, NULL, &err), TN_EINVAL, &err, "b is open");
    close_library(b);
    assert_error(tn_library_remove(b, &err), TN_EINVAL, &err, "b is open", "a needs it");
    assert_error(tn_tracker_remove(contents, &err), TN_EINVAL, &err, "b is open", "a needs it");
    assert_events("+b+a");
    assert_int_equal(call_in(b, "b"), 'b');
    close_library(a);
    assert_events("-a-b");
    close_fixture(&f);
}

static void some_are_kept(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *a = new_library(f.session, 'a'), *b = new_library(f.session, 'b');
    search(a, b, NULL);
    assert_ok(tn_library_open(a, TN_DL_KEEP, &err), &err);
    open_library(b);
    close_library(b);
    close_library(a);
    assert_events("+b+a");
    assert_int_equal(call_in(b, "b"), 'b');
    assert_error(tn_library_remove(a, &err), TN_EINVAL, &err, "a stays open");
    close_fixture(&f);
}

static void errors_change_nothing(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_library *a = new_library(f.session, 'a'), *b = new_library(f.session, 'b');
    search(a, b, NULL);
    add_function(a, "f", 1, "missing", NULL);
    assert_error(tn_library_open(a, TN_DL_KEEP, &err), TN_EUNDEF, &err, "missing");
    assert_error(tn_library_close(a, &err), TN_EINVAL, &err, "not open");
    add_function(a, "missing", 1, NULL, NULL);
    open_library(a);
    assert_events("+b+a");
    close_library(a); /* the failed one has not asked to keep it */
    assert_events("-a");
    assert_ok(tn_library_remove(b, &err), &err);
    assert_events("-b");
    close_fixture(&f);
}

/* ---- from within ---- */

static struct tn_library *own;
static int said;

static void open_itself(void)
{
    said = tn_library_open(own, 0, NULL);
}

static void end_itself(void)
{
    said = tn_library_open(own, 0, NULL) == TN_EREMOVED && tn_library_remove(own, NULL) == TN_EINVAL
               ? tn_library_close(own, NULL)
               : -1;
}

static void from_its_own_functions(void **state)
{
    static const char *const begin[] = {"begin", NULL}, *const end[] = {"end", NULL};
    (void)state;
    struct fixture f = open_fixture(NULL);
    assert_ok(tn_library_create(f.session, "own", &own, &err), &err);
    struct tn_input input = input_of("own", initialized_function_object("f", 1, NULL, begin, end));
    assert_ok(tn_add_object(own, &input, &err), &err);
    assert_ok(tn_define(own, "begin", (const void *)open_itself, &err), &err);
    assert_ok(tn_define(own, "end", (const void *)end_itself, &err), &err);
    said = -1;
    open_library(own);
    assert_int_equal(said, 0);
    close_library(own);
    assert_int_equal(call_in(own, "f"), 1);
    close_library(own);
    assert_int_equal(said, TN_EINVAL);
    close_fixture(&f);
}

/* ---- loaded code ---- */

struct caller {
    struct fixture f;
    void *(*open)(const char *path, int mode);
    int (*close)(void *handle);
    void *(*find)(void *handle, const char *name);
    const char *(*error)(void);
};

static const char *needed_by(char path)
{
    static const char *const needed[] = {"pq", "qp", "sa", "uv", "vU"};
    for (size_t i = 0; i < COUNT(needed); i++)
        if (needed[i][0] == path)
            return needed[i] + 1;
    return NULL;
}

/* Paths are letters; "A" is another path to "a", and "U" to "u"; "p" needs "q" and "q" needs "p", "u" needs "v" and
 * "v" needs "U"; "e" cannot be loaded, "n" cannot be linked, "s" needs "a", but then cannot be loaded either, what
 * loads "r" tries to remove it, and "t" has much thread-local data. */
static int load(void *context, const char *path, struct tn_library *from, struct tn_library **library,
                struct tn_error *e)
{
    struct tn_library *needed = NULL;
    (void)context, (void)from;
    if (*path == 'e')
        return e->code = TN_EIO, strcpy(e->text, "no such file"), TN_EIO;
    if (strchr("AU", *path))
        return tn_dl_library(*library, *path == 'A' ? "a" : "u", library, e);
    if (*path == 'r') {
        assert_error(tn_library_remove(*library, e), TN_EINVAL, e, "r is being loaded");
        assert_error(tn_library_remove_start(*library, unused_done, NULL, e), TN_EINVAL, e, "r is being loaded");
        assert_error(tn_library_destroy(*library, e), TN_EINVAL, e, "r");
    }
    if (*path == 't')
        return tn_add_file(*library, data_file("dl_variables.o"), e);
    int code = needed_by(*path) ? tn_dl_library(*library, needed_by(*path), &needed, e) : 0;
    if (!code && *path == 's')
        return e->code = TN_EIO, strcpy(e->text, "half of it"), TN_EIO;
    if (!code && needed)
        code = tn_library_search(*library, &(struct tn_search){needed, 0}, 1, e);
    if (code)
        return code;
    add_function(*library, path, *path, *path == 'n' ? "missing" : *path == 'v' ? "u" : NULL, NULL);
    return 0;
}

static struct caller new_caller(void)
{
    struct caller c = {.f = open_fixture(NULL)};
    struct tn_dl_options options = {.size = sizeof options, .load = load, .program = c.f.library};
    assert_ok(tn_dl_offer(c.f.session, &options, &err), &err);
    assert_error(tn_dl_offer(c.f.session, &options, &err), TN_EINVAL, &err, "already");
    add_file(&c.f, data_file("dl_caller.o"));
    c.open = (void *(*)(const char *, int))lookup(&c.f, "open_path");
    c.close = (int (*)(void *))lookup(&c.f, "close_handle");
    c.find = (void *(*)(void *, const char *))lookup(&c.f, "find_symbol");
    c.error = (const char *(*)(void))lookup(&c.f, "last_error");
    return c;
}

static void assert_said(const struct caller *c, const char *word)
{
    const char *text = c->error();
    assert_non_null(text);
    assert_non_null(strstr(text, word));
    assert_null(c->error());
}

static void opened_by_loaded_code(void **state)
{
    (void)state;
    struct caller c = new_caller();
    void *a = c.open("a", RTLD_NOW), *again = c.open("A", RTLD_LAZY);
    assert_non_null(a);
    assert_ptr_equal(a, again);
    assert_int_equal(((int (*)(void))c.find(a, "a"))(), 'a');
    assert_null(c.error());
    assert_null(c.find(a, "b"));
    assert_said(&c, "b");
    assert_int_equal(c.close(a), 0);
    assert_int_equal(c.close(a), 0);
    assert_int_not_equal(c.close(a), 0);
    assert_said(&c, "no handle");
    assert_null(c.open("a", RTLD_NOW | RTLD_NOLOAD));
    assert_said(&c, "not open");
    close_fixture(&c.f);
}

/* While "u" is loaded by another path, what it needs asks for that path. */
static void a_circle_through_another_path(void **state)
{
    (void)state;
    struct caller c = new_caller();
    void *u = c.open("U", RTLD_NOW);
    assert_non_null(u);
    assert_int_equal(((int (*)(void))c.find(u, "v"))(), 'v' + 'u');
    assert_ptr_equal(c.open("u", RTLD_NOW), u);
    assert_int_equal(c.close(u), 0);
    assert_int_equal(c.close(u), 0);
    assert_null(c.open("v", RTLD_NOW | RTLD_NOLOAD));
    close_fixture(&c.f);
}

static void errors_of_loaded_code(void **state)
{
    (void)state;
    struct caller c = new_caller();
    struct tn_stats before = stats_of(&c.f);
    assert_null(c.open("e", RTLD_NOW));
    assert_said(&c, "no such file");
    assert_null(c.open("s", RTLD_NOW));
    assert_said(&c, "half of it");
    assert_null(tn_library_find(c.f.session, "a")); /* what only that one needs is gone */
    assert_null(c.open("n", RTLD_NOW));
    assert_said(&c, "missing");
    assert_null(tn_library_find(c.f.session, "n"));
    assert_null(c.open("a", RTLD_GLOBAL));
    assert_said(&c, "RTLD_NOW");
    assert_null(c.open("a", RTLD_NOW | RTLD_DEEPBIND));
    assert_said(&c, "RTLD_DEEPBIND");
    assert_null(c.find(&c, "a"));
    assert_said(&c, "no handle");
    struct tn_library *other;
    assert_error(tn_dl_library(c.f.library, "a", &other, &err), TN_EINVAL, &err, "load");
    struct tn_stats after = stats_of(&c.f);
    assert_same_memory(&before, &after);
    close_fixture(&c.f);
}

static void scopes(void **state)
{
    (void)state;
    struct caller c = new_caller();
    void *p = c.open("p", RTLD_NOW), *a = c.open("a", RTLD_NOW | RTLD_GLOBAL), *program = c.open(NULL, RTLD_NOW);
    assert_non_null(c.find(p, "q"));
    assert_null(c.find(RTLD_DEFAULT, "q"));
    assert_non_null(c.find(RTLD_DEFAULT, "a"));
    assert_null(c.find(RTLD_NEXT, "a"));
    assert_ptr_equal(c.find(RTLD_NEXT, "getpid"), (void *)getpid);
    assert_ptr_equal(c.find(program, "open_path"), (void *)c.open);
    assert_int_equal(c.close(program), 0);
    assert_int_equal(c.close(p), 0);
    assert_null(c.open("q", RTLD_NOW | RTLD_NOLOAD));
    assert_int_equal(c.close(a), 0);
    assert_null(c.find(RTLD_DEFAULT, "a"));
    assert_error(tn_library_remove(c.f.library, &err), TN_EINVAL, &err, "stays open");
    close_fixture(&c.f);
}

static void *find_variable(void *of)
{
    const struct caller *c = of;
    return c->find(RTLD_DEFAULT, "per_thread");
}

/* dlsym gives each thread its own variable, with its initial value. */
static void variables_of_threads(void **state)
{
    (void)state;
    struct caller c = new_caller();
    pthread_t thread;
    void *other;
    int *own_one = find_variable(&c);
    assert_int_equal(*own_one, 7);
    *own_one = 8;
    assert_int_equal(pthread_create(&thread, NULL, find_variable, &c), 0);
    pthread_join(thread, &other);
    assert_ptr_not_equal(other, own_one);
    assert_ptr_equal(find_variable(&c), own_one);
    close_fixture(&c.f);
}

static void handles_are_a_sessions_own(void **state)
{
    (void)state;
    struct caller c = new_caller(), d = new_caller();
    void *a = c.open("a", RTLD_NOW);
    assert_null(d.find(a, "a"));
    assert_said(&d, "no handle");
    assert_int_not_equal(d.close(a), 0);
    assert_int_equal(c.close(a), 0);
    close_fixture(&d.f);
    close_fixture(&c.f);
}

/* A library that is loaded belongs to the session. */
static void loaded_ones_are_not_removed(void **state)
{
    (void)state;
    struct caller c = new_caller();
    void *r = c.open("r", RTLD_NOW);
    assert_int_equal(((int (*)(void))c.find(r, "r"))(), 'r');
    assert_int_equal(c.close(r), 0);
    close_fixture(&c.f);
}

/* ---- memory of what was closed ---- */

static void *open_variables(void *of)
{
    return ((const struct caller *)of)->open("t", RTLD_NOW);
}

/* Its thread-local data is there until no attached thread can be using it. */
static void close_variables(const struct caller *c)
{
    void *handle = open_variables((void *)c);
    assert_non_null(handle);
    assert_int_equal(((int (*)(void))c->find(handle, "first_variable"))(), 1);
    assert_int_equal(c->close(handle), 0);
}

/* A thread for which no removal waits can wait for removals. */
static void waits_for_memory(void **state)
{
    enum { TURNS = 20 };
    (void)state;
    struct caller c = new_caller();
    tn_thread_attach();
    for (int i = 0; i < TURNS; i++) {
        pthread_t thread;
        void *handle;
        tn_thread_begin_blocking();
        close_variables(&c); /* waits for the one of the last turn */
        tn_thread_end_blocking();
        assert_int_equal(pthread_create(&thread, NULL, open_variables, &c), 0);
        usleep(1000); /* the chance to fail */
        tn_thread_begin_blocking();
        pthread_join(thread, &handle);
        tn_thread_end_blocking();
        assert_non_null(handle);
        assert_int_equal(c.close(handle), 0);
    }
    tn_thread_detach();
    close_fixture(&c.f);
}

/* Removals wait for it. */
static void an_attached_thread_does_not_wait(void **state)
{
    (void)state;
    struct caller c = new_caller();
    tn_thread_attach();
    close_variables(&c);
    assert_null(open_variables(&c));
    assert_said(&c, "must not wait");
    tn_thread_detach();
    assert_non_null(open_variables(&c));
    close_fixture(&c.f);
}

/* The host may not have said which library is called. */
static void without_a_program(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct tn_dl_options options = {.size = sizeof options};
    assert_error(tn_dl_offer(f.session, &options, &err), TN_EINVAL, &err, "loads");
    options.load = load;
    assert_ok(tn_dl_offer(f.session, &options, &err), &err);
    add_file(&f, data_file("dl_caller.o"));
    void *(*open)(const char *, int) = (void *(*)(const char *, int))lookup(&f, "open_path");
    assert_null(open(NULL, RTLD_NOW));
    assert_non_null(strstr(((const char *(*)(void))lookup(&f, "last_error"))(), "program"));
    close_fixture(&f);
}

/* ---- many threads ---- */

enum { THREADS = 64, ROUNDS = 50 };

static void *open_and_close(void *of)
{
    static const char paths[] = "abcpq";
    const struct caller *c = of;
    uint32_t random = (uint32_t)(uintptr_t)&random;
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 1103515245 + 12345;
        const char path[] = {paths[(random >> 16) % 5], 0};
        void *handle = c->open(path, RTLD_NOW);
        assert_non_null(handle);
        assert_int_equal(((int (*)(void))c->find(handle, path))(), *path);
        assert_int_equal(c->close(handle), 0);
    }
    return NULL;
}

static void by_many_threads(void **state)
{
    (void)state;
    struct caller c = new_caller();
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, &c), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (const char *path = "abcpq"; *path; path++) {
        const char name[] = {*path, 0};
        assert_null(c.open(name, RTLD_NOW | RTLD_NOLOAD));
    }
    close_fixture(&c.f);
}

#ifndef __SANITIZE_THREAD__
static int in_load[2], go_on[2];
static bool is_child;

static int load_slowly(void *context, const char *path, struct tn_library *from, struct tn_library **library,
                       struct tn_error *e)
{
    char byte = 0;
    if (!is_child) {
        assert_int_equal(write(in_load[1], &byte, 1), 1);
        assert_int_equal(read(go_on[0], &byte, 1), 1);
    }
    return load(context, path, from, library, e);
}

static void *open_a(void *open)
{
    return ((void *(*)(const char *, int))open)("a", RTLD_NOW);
}

/* The child does not wait for a thread that it does not have, and loads for itself what that has begun. */
/* ---- what is needed by a library that another thread is closing ---- */

static sem_t is_ending, may_end;

static void end_slowly(void)
{
    sem_post(&is_ending);
    sem_wait(&may_end);
    note('-', 'a');
}

static void *close_it(void *library)
{
    struct tn_error error;
    return tn_library_close(library, &error) ? library : NULL;
}

/* Its finalizers may call what it needs until they are done. */
static void needed_by_one_that_ends(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    pthread_t thread;
    void *failed;
    ends['a' - 'a'] = end_slowly;
    struct tn_library *a = new_library(f.session, 'a'), *b = new_library(f.session, 'b'),
                      *c = new_library(f.session, 'c');
    ends['a' - 'a'] = end_a;
    search(a, c, NULL);
    search(b, c, NULL);
    open_library(c);
    open_library(a);
    open_library(b);
    close_library(c);
    assert_events("+c+a+b");
    sem_init(&is_ending, 0, 0);
    sem_init(&may_end, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, close_it, a), 0);
    sem_wait(&is_ending);
    close_library(b);
    assert_events("-b");
    assert_int_equal(call_in(c, "c"), 'c');
    sem_post(&may_end);
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_events("-a-c");
    assert_error(tn_library_open(c, 0, &err), TN_EREMOVED, &err, "c");
    close_fixture(&f);
}

static void while_another_thread_loads(void **state)
{
    (void)state;
    char byte = 0;
    int status;
    void *handle;
    pthread_t thread;
    struct fixture f = open_fixture(NULL);
    struct tn_dl_options options = {.size = sizeof options, .load = load_slowly};
    assert_ok(tn_dl_offer(f.session, &options, &err), &err);
    add_file(&f, data_file("dl_caller.o"));
    void *open = lookup(&f, "open_path");
    assert_int_equal(pipe(in_load) | pipe(go_on), 0);
    assert_int_equal(pthread_create(&thread, NULL, open_a, open), 0);
    assert_int_equal(read(in_load[0], &byte, 1), 1);
    pid_t child = fork();
    if (!child) {
        is_child = true;
        _exit(open_a(open) ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(write(go_on[1], &byte, 1), 1);
    pthread_join(thread, &handle);
    assert_non_null(handle);
    close_fixture(&f);
    close(in_load[0]), close(in_load[1]), close(go_on[0]), close(go_on[1]);
}
#endif

/* ---- no memory ---- */

static int attempt(const void *context)
{
    const struct tn_session_options options = {.size = sizeof options, .allocator = &failing_allocator};
    (void)context;
    struct fixture f = open_fixture(&options);
    struct tn_library *a = new_library(f.session, 'a'), *b = new_library(f.session, 'b');
    search(a, b, NULL);
    failing_begin();
    int code = tn_library_open(a, TN_DL_GLOBAL, &err);
    if (!code) {
        code = tn_library_close(a, &err);
        if (code)
            assert_int_equal(code, TN_ENOMEM);
    }
    failing.fails_at = 0;
    events[0] = 0;
    close_fixture(&f);
    return code;
}

static void without_memory(void **state)
{
    (void)state;
    fail_each_request(attempt, NULL, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_often_as_it_was_opened),
        cmocka_unit_test(what_is_needed),
        cmocka_unit_test(circles_end),
        cmocka_unit_test(search_order_changes),
        cmocka_unit_test(open_ones_are_not_removed),
        cmocka_unit_test(some_are_kept),
        cmocka_unit_test(errors_change_nothing),
        cmocka_unit_test(from_its_own_functions),
        cmocka_unit_test(opened_by_loaded_code),
        cmocka_unit_test(a_circle_through_another_path),
        cmocka_unit_test(errors_of_loaded_code),
        cmocka_unit_test(scopes),
        cmocka_unit_test(variables_of_threads),
        cmocka_unit_test(handles_are_a_sessions_own),
        cmocka_unit_test(loaded_ones_are_not_removed),
        cmocka_unit_test(waits_for_memory),
        cmocka_unit_test(an_attached_thread_does_not_wait),
        cmocka_unit_test(without_a_program),
        cmocka_unit_test(by_many_threads),
#ifndef __SANITIZE_THREAD__ /* which allows no threads in the child, and what is lost is removed by one */
        cmocka_unit_test(needed_by_one_that_ends),
        cmocka_unit_test(while_another_thread_loads),
#endif
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
