/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* First calls of lazy functions with references among their arguments. While the function is looked up, another thread
 * collects and everything moves. The collection does not wait for the calling thread, which could wait for it forever;
 * and the function (or on_failure) receives the updated references. */

#include "support.h"

/* ---- what is called ---- */

/* References are in rdi, rdx and r9, and in the second and fourth word on the stack. */
typedef uint64_t function(struct node *a, uint64_t b, struct node *c, double d, uint64_t e, uint64_t f, struct node *g,
                          uint64_t h, struct node *i, uint64_t j, struct node *k);

enum { REGISTERS = 1 << 0 | 1 << 2 | 1 << 5, STACK = 1 << 1 | 1 << 3, REFERENCES = 5 };

static struct node *seen[REFERENCES];

static uint64_t body(struct node *a, uint64_t b, struct node *c, double d, uint64_t e, uint64_t f, struct node *g,
                     uint64_t h, struct node *i, uint64_t j, struct node *k)
{
    struct node *all[REFERENCES] = {a, c, g, i, k};
    memcpy(seen, all, sizeof seen);
    return ((((b * 10 + (uint64_t)d) * 10 + e) * 10 + f) * 10 + h) * 10 + j;
}

static int failures;

static uint64_t instead(struct node *a, uint64_t b, struct node *c, double d, uint64_t e, uint64_t f, struct node *g,
                        uint64_t h, struct node *i, uint64_t j, struct node *k)
{
    failures++;
    return body(a, b, c, d, e, f, g, h, i, j, k);
}

/* ---- looking it up ---- */

struct world {
    struct tn_heap *heap;
    struct tn_session *session;
    struct tn_library *names, *bodies;
    bool stress;
    bool fails;                         /* no function is defined */
    void (*meanwhile)(struct world *w); /* called by the first materializer */
};

static void *collect(void *argument)
{
    tn_heap_collect(argument, TN_COLLECT_FULL);
    return NULL;
}

static void collect_elsewhere(const struct world *w)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, collect, w->heap), 0);
    pthread_join(thread, NULL);
}

static int materialize(void *context, struct tn_responsibility *responsibility, struct tn_error *error)
{
    static const char *const names[] = {"first", "second"};
    struct world *w = context;
    bool is_first = tn_responsibility_is_wanted(responsibility, names[0]);
    collect_elsewhere(w);
    if (is_first && w->meanwhile)
        w->meanwhile(w);
    collect_elsewhere(w);
    if (w->fails)
        return tn__fail(error, TN_ECOMPILE, "there is no such function");
    const struct tn_definition definition = {names[!is_first], (const void *)(uintptr_t)body, 0};
    return tn_responsibility_define(responsibility, &definition, 1, NULL, 0, error);
}

static void open_world(struct world *w, uint64_t flags)
{
    const struct tn_heap_options options = {.size = sizeof options, .collector = chosen_collector(), .flags = flags};
    const struct tn_promised promised[] = {{"first", 0}, {"second", 0}};
    const struct tn_stub_options stubs = {.size = sizeof stubs, .on_failure = (void (*)(void))instead};
    const struct tn_lazy_symbol symbols[] = {{"first", NULL, 0, REGISTERS, STACK},
                                             {"second", NULL, 0, REGISTERS, STACK}};
    assert_int_equal(tn_heap_create(&options, &w->heap, &err), 0);
    assert_int_equal(tn_heap_attach(w->heap, &err), 0);
    assert_int_equal(tn_session_create(NULL, &w->session, &err), 0);
    assert_int_equal(tn_library_create(w->session, "names", &w->names, &err), 0);
    assert_int_equal(tn_library_create(w->session, "bodies", &w->bodies, &err), 0);
    for (size_t i = 0; i < TN_COUNT(promised); i++) {
        const struct tn_materializer materializer = {.size = sizeof materializer,
                                                     .name = "bodies",
                                                     .context = w,
                                                     .symbols = &promised[i],
                                                     .count = 1,
                                                     .materialize = materialize};
        assert_int_equal(tn_add_materializer(w->bodies, &materializer, &err), 0);
    }
    assert_int_equal(tn_define_lazy(w->names, symbols, TN_COUNT(symbols), w->bodies, &stubs, &err), 0);
    w->stress = flags & TN_HEAP_STRESS;
    failures = 0;
}

static void close_world(const struct world *w)
{
    tn_session_destroy(w->session);
    tn_heap_destroy(w->heap);
}

/* ---- calling it ---- */

/* Calls with references to new objects, which are also held by handles, and checks that the function received the same
 * objects. */
static void call(const struct world *w, const char *name, bool looks_up)
{
    struct tn_handle *handles[REFERENCES];
    struct node *old[REFERENCES];
    function *f;
    void *stub;
    assert_int_equal(tn_lookup(w->names, name, &stub, &err), 0);
    memcpy(&f, &stub, sizeof f);
    for (int i = 0; i < REFERENCES; i++)
        assert_int_equal(tn_handle_new(w->heap, &node_type, 0, &handles[i], &err), 0);
    tn_managed_begin();
    for (int i = 0; i < REFERENCES; i++)
        old[i] = tn_handle_object(handles[i]);
    uint64_t answer = f(old[0], 1, old[1], 2.0, 3, 4, old[2], 5, old[3], 6, old[4]);
    for (int i = 0; i < REFERENCES; i++) {
        assert_ptr_equal(seen[i], tn_handle_object(handles[i]));
        if (w->stress || !looks_up) /* otherwise old addresses may be reused */
            assert_int_equal(seen[i] != old[i], looks_up);
    }
    tn_managed_end();
    assert_int_equal(answer, 123456);
    for (int i = 0; i < REFERENCES; i++)
        tn_handle_free(handles[i]);
}

/* ---- tests ---- */

static void arguments_are_moved(void **state)
{
    struct world w = {0};
    open_world(&w, *(uint64_t *)*state);
    call(&w, "first", true);
    call(&w, "first", false); /* no lookup any more */
    assert_int_equal(failures, 0);
    close_world(&w);
}

static void a_failing_call_has_them_too(void **state)
{
    struct world w = {.fails = true};
    open_world(&w, *(uint64_t *)*state);
    for (int i = 1; i <= 3; i++) {
        call(&w, "first", true);
        assert_int_equal(failures, i);
    }
    close_world(&w);
}

static void call_second(struct world *w)
{
    call(w, "second", true);
}

/* A materializer that uses the heap and itself calls lazy functions; after that, collections still do not wait for
 * it. */
static void calls_nest(void **state)
{
    struct world w = {.meanwhile = call_second};
    open_world(&w, *(uint64_t *)*state);
    call(&w, "first", true);
    call(&w, "second", false);
    close_world(&w);
}

/* Collections do not wait for these threads anyway, so the frames are not visited. */
static void from_outside(void **state)
{
    struct world w = {0};
    open_world(&w, *(uint64_t *)*state);
    function *f;
    void *stub;
    assert_int_equal(tn_lookup(w.names, "first", &stub, &err), 0);
    memcpy(&f, &stub, sizeof f);
    struct node *nowhere = (struct node *)(uintptr_t)1; /* no reference: a visit would crash */
    assert_int_equal(f(nowhere, 1, nowhere, 2.0, 3, 4, nowhere, 5, nowhere, 6, nowhere), 123456);
    assert_ptr_equal(seen[4], nowhere);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(arguments_are_moved),
        BOTH(a_failing_call_has_them_too),
        BOTH(calls_nest),
        BOTH(from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
