/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy and redirectable functions: what is linked when, where calls go, what may be defined, removed and redirected. */

#include "stubs.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/os.h"
#include "link/file/detached.h"
#include "link/redirect/cell.h"

/* lazy_large.o takes more than the default. */
TN_TLS_RESERVE(4096);

struct row {
    const char *name;
    enum tn_strategy strategy;
};

static const struct row rows[] = {
    {"dual", TN_STRATEGY_DUAL}, {"sealed", TN_STRATEGY_SEALED}, {"mprotect", TN_STRATEGY_MPROTECT}};

static struct tn_error reported;

static void note(void *context, const struct tn_error *err)
{
    assert_ptr_equal(context, &reported);
    reported = *err;
}

static struct stubs open_row(void **state)
{
    const struct row *row = *state;
    if (row->strategy != TN_STRATEGY_MPROTECT && files_are_limited())
        skip();
    reported.code = 0;
    return open_stubs(&(struct tn_session_options){
        .size = sizeof(struct tn_session_options), .strategy = row->strategy, .on_error = note, .context = &reported});
}

static uint64_t linked(const struct stubs *s)
{
    return stats_of(&s->f).objects;
}

static void *body(const struct stubs *s, const char *name)
{
    void *address = NULL;
    struct tn_error err;
    assert_ok(tn_lookup(s->bodies, name, &address, &err), &err);
    return address;
}

static int one(int n)
{
    return n + 1;
}

static int two(int n)
{
    return n + 2;
}

static const void *address_of(int (*function)(int))
{
    return __extension__(const void *) function;
}

/* ---- calls ---- */

static void the_first_call_links(void **state)
{
    struct stubs s = open_row(state);
    void *stub = define_lazy(&s, "once");
    assert_int_equal(linked(&s), 0);
    assert_int_equal(call_int(stub, 1), 42);
    assert_int_equal(linked(&s), 1);
    assert_int_equal(call_int(stub, 2), 43);
    assert_int_equal(linked(&s), 1);
    assert_int_equal(witnessed, 2);
    assert_ptr_equal(lookup(&s.f, "once"), stub);
    assert_ptr_not_equal(body(&s, "once"), stub);
    check_maps();
    close_stubs(&s);
}

/* `twice` needs `once`, which is lazy in the same library. */
static void first_calls_nest(void **state)
{
    struct stubs s = open_row(state);
    const struct tn_lazy_symbol symbols[] = {{.name = "lazy_twice", .target = "twice"},
                                             {.name = "lazy_once", .target = "once"}};
    struct tn_error err;
    assert_ok(tn_define_lazy(s.bodies, symbols, COUNT(symbols), s.bodies, &stub_options, &err), &err);
    assert_int_equal(call_int(body(&s, "lazy_twice"), 1), 84);
    assert_int_equal(call_int(body(&s, "lazy_once"), 1), 42);
    close_stubs(&s);
}

static void errno_is_kept(void **state)
{
    struct stubs s = open_row(state);
    void *stub = define_lazy(&s, "read_errno");
    errno = EXDEV;
    int (*function)(void);
    memcpy(&function, &stub, sizeof function);
    assert_int_equal(function(), EXDEV);
    close_stubs(&s);
}

/* ---- failures ---- */

static void failures_are_told_and_tried_again(void **state)
{
    struct stubs s = open_row(state);
    void *stub = define_lazy(&s, "missing");
    for (int i = 1; i <= 3; i++) {
        reported.code = 0;
        assert_int_equal(call_int(stub, 5), -1);
        assert_int_equal(failed_calls, i);
        assert_error(reported.code, TN_EUNDEF, &reported, "'missing'", "bodies");
        assert_null(waiting);
    }
    struct tn_error err;
    assert_ok(tn_define(s.bodies, "missing", address_of(one), &err), &err);
    assert_int_equal(call_int(stub, 5), 6);
    assert_int_equal(failed_calls, 3);
    close_stubs(&s);
}

/* ---- redirectable functions ---- */

static void redirect_at(const struct stubs *s, const char *name, const void *address)
{
    struct tn_error err;
    assert_ok(tn_redirect(s->f.library, name, address, &err), &err);
}

static void redirectable_functions_lead_elsewhere(void **state)
{
    struct stubs s = open_row(state);
    struct tn_error err;
    assert_ok(tn_define_redirectable(s.f.library, "f", address_of(one), &stub_options, &err), &err);
    const void *f = lookup(&s.f, "f");
    assert_int_equal(call_int(f, 5), 6);
    redirect_at(&s, "f", address_of(two));
    assert_int_equal(call_int(f, 5), 7);
    redirect_at(&s, "f", NULL);
    assert_int_equal(call_int(f, 5), -1);
    assert_error(reported.code, TN_EUNDEF, &reported, "'f'", "nowhere");
    redirect_at(&s, "f", address_of(one));
    assert_int_equal(call_int(f, 5), 6);
    assert_ok(tn_define_redirectable(s.f.library, "g", NULL, &stub_options, &err), &err);
    assert_int_equal(call_int(lookup(&s.f, "g"), 5), -1);
    assert_int_equal(failed_calls, 2);
    assert_ptr_equal(lookup(&s.f, "f"), f);
    close_stubs(&s);
}

static void lazy_functions_can_be_redirected(void **state)
{
    struct stubs s = open_row(state);
    void *stub = define_lazy(&s, "once");
    redirect_at(&s, "once", address_of(two));
    assert_int_equal(call_int(stub, 1), 3);
    assert_int_equal(linked(&s), 0);
    redirect_at(&s, "once", NULL);
    assert_int_equal(call_int(stub, 1), 42);
    assert_int_equal(linked(&s), 1);
    redirect_at(&s, "once", address_of(one));
    assert_int_equal(call_int(stub, 1), 2);
    close_stubs(&s);
}

/* Called under the session's lock, so it sets the word itself, as tn_redirect does. */
static void redirect_now(void)
{
    waiting->cell->word = (uintptr_t)address_of(two);
}

static void a_redirection_wins_over_a_first_call(void **state)
{
    struct stubs s = open_row(state);
    void *stub = define_lazy(&s, "once");
    while_linking = redirect_now;
    assert_int_equal(call_int(stub, 1), 3);
    assert_int_equal(linked(&s), 1);
    close_stubs(&s);
}

static void circles_are_refused(void **state)
{
    struct stubs s = open_row(state);
    struct tn_error err;
    const struct tn_lazy_symbol a = {.name = "a", .target = "b"}, b = {.name = "b", .target = "a"};
    assert_error(tn_define_lazy(s.bodies, &(struct tn_lazy_symbol){.name = "self"}, 1, s.bodies, &stub_options, &err),
                 TN_EINVAL, &err, "'self'", "itself");
    assert_ok(tn_define_lazy(s.f.library, &a, 1, s.bodies, &stub_options, &err), &err);
    assert_ok(tn_define_lazy(s.bodies, &b, 1, s.f.library, &stub_options, &err), &err);
    assert_int_equal(call_int(lookup(&s.f, "a"), 1), -1); /* finds that b leads back */
    assert_error(reported.code, TN_EINVAL, &reported, "'b'", "itself");
    assert_ok(tn_define_redirectable(s.f.library, "f", address_of(one), &stub_options, &err), &err);
    assert_ok(tn_define_redirectable(s.f.library, "g", lookup(&s.f, "f"), &stub_options, &err), &err);
    assert_error(tn_redirect(s.f.library, "f", lookup(&s.f, "g"), &err), TN_EINVAL, &err, "'f'", "itself");
    assert_error(tn_redirect(s.f.library, "f", lookup(&s.f, "f"), &err), TN_EINVAL, &err, "'f'", "itself");
    assert_int_equal(call_int(lookup(&s.f, "g"), 1), 2);
    close_stubs(&s);
}

/* ---- definitions ---- */

static void names_clash_as_any_others(void **state)
{
    struct stubs s = open_row(state);
    struct tn_error err;
    struct tn_lazy_symbol symbols[] = {{.name = "fresh"}, {.name = "once"}, {.name = "fresh"}};
    define_lazy(&s, "once");
    for (size_t count = 2; count <= 3; count++) { /* another definition, then one in the same call */
        assert_error(tn_define_lazy(s.f.library, symbols, count, s.bodies, &stub_options, &err), TN_EDUP, &err,
                     count == 2 ? "'once'" : "'fresh'");
        void *address;
        assert_error(tn_lookup(s.f.library, "fresh", &address, &err), TN_EUNDEF, &err, "fresh");
        symbols[1].name = "other";
    }
    assert_error(tn_define(s.f.library, "once", &err, &err), TN_EDUP, &err, "'once'");
    assert_error(tn_define_redirectable(s.f.library, "once", &err, NULL, &err), TN_EDUP, &err, "'once'");
    assert_int_equal(call_int(lookup(&s.f, "once"), 1), 42);
    close_stubs(&s);
}

static void names_may_be_hidden_or_weak(void **state)
{
    struct stubs s = open_row(state);
    struct tn_error err;
    struct tn_tracker *tracker;
    const struct tn_lazy_symbol hidden = {.name = "hidden", .target = "once", .flags = TN_SYMBOL_HIDDEN},
                                weak[] = {{.name = "first", .target = "once", .flags = TN_SYMBOL_WEAK},
                                          {.name = "second", .target = "once", .flags = TN_SYMBOL_WEAK}};
    void *address;
    assert_ok(tn_tracker_create(s.f.library, &tracker, &err), &err);
    const struct tn_stub_options options = {
        .size = sizeof options, .on_failure = stub_options.on_failure, .owner = tracker};
    assert_ok(tn_define_lazy(s.f.library, &hidden, 1, s.bodies, &stub_options, &err), &err);
    assert_error(tn_lookup(s.f.library, "hidden", &address, &err), TN_EUNDEF, &err, "hidden");
    define(&s.f, "first", address_of(one));
    assert_ok(tn_define_lazy(s.f.library, weak, COUNT(weak), s.bodies, &options, &err), &err);
    assert_ptr_equal(lookup(&s.f, "first"), address_of(one));
    void *second = lookup(&s.f, "second");
    assert_int_equal(call_int(second, 1), 42);
    define(&s.f, "second", address_of(two)); /* replaces the stub, which keeps working */
    assert_ptr_equal(lookup(&s.f, "second"), address_of(two));
    assert_int_equal(call_int(second, 1), 42);
    assert_error(tn_redirect(s.f.library, "second", address_of(one), &err), TN_EINVAL, &err, "'second'");
    assert_ok(tn_tracker_remove(tracker, &err), &err); /* removes its own definitions only */
    assert_ptr_equal(lookup(&s.f, "first"), address_of(one));
    assert_ptr_equal(lookup(&s.f, "second"), address_of(two));
    close_stubs(&s);
}

static void removed_libraries_have_no_stubs(void **state)
{
    struct stubs s = open_row(state);
    struct tn_error err;
    const struct tn_lazy_symbol symbol = {.name = "f", .target = "once"};
    void *stub = define_lazy(&s, "once"), *address;
    assert_ok(tn_library_remove(s.bodies, &err), &err);
    assert_int_equal(call_int(stub, 1), -1);
    assert_int_equal(reported.code, TN_EREMOVED);
    assert_error(tn_define_lazy(s.f.library, &symbol, 1, s.bodies, &stub_options, &err), TN_EREMOVED, &err, "bodies");
    assert_ok(tn_library_clear(s.f.library, &err), &err);
    assert_error(tn_lookup(s.f.library, "once", &address, &err), TN_EUNDEF, &err, "'once'");
    assert_ok(tn_define_redirectable(s.f.library, "once", address_of(one), NULL, &err), &err);
    assert_ptr_equal(lookup(&s.f, "once"), stub); /* reused */
    assert_ok(tn_library_remove(s.f.library, &err), &err);
    assert_error(tn_redirect(s.f.library, "once", address_of(two), &err), TN_EREMOVED, &err, "main");
    assert_error(tn_define_redirectable(s.f.library, "f", address_of(one), NULL, &err), TN_EREMOVED, &err, "main");
    close_stubs(&s);
}

/* Loaded code reaches a lazy function of its library like any other function. */
static void loaded_code_calls_stubs(void **state)
{
    struct stubs s = open_row(state);
    struct tn_error err;
    define_lazy(&s, "once");
    assert_ok(tn_add_file(s.f.library, data_file("lazy.o"), &err), &err);
    int (*twice)(int);
    void *address = lookup(&s.f, "twice");
    memcpy(&twice, &address, sizeof twice);
    assert_int_equal(linked(&s), 1);
    assert_int_equal(twice(1), 84);
    assert_int_equal(linked(&s), 2);
    assert_int_equal(twice(2), 86);
    close_stubs(&s);
}

static void wrong_arguments_are_refused(void **state)
{
    struct stubs s = open_stubs(NULL), other = open_stubs(NULL);
    struct tn_tracker *tracker;
    struct tn_error err;
    assert_ok(tn_tracker_create(s.bodies, &tracker, &err), &err);
    const struct tn_lazy_symbol good = {.name = "f", .target = "once", .managed_registers = 0x7f};
    const struct {
        struct tn_lazy_symbol symbol;
        const char *says;
    } bad[] = {{{.name = NULL}, "without a name"},
               {{.name = ""}, "without a name"},
               {{.name = "f", .target = ""}, "without a name"},
               {{.name = "f", .managed_registers = 0x20000}, "'f': unknown managed registers 0x20000"}};
    const struct tn_stub_options no_failure = {.size = sizeof no_failure};
    const struct tn_stub_options foreign = {
        .size = sizeof foreign, .on_failure = stub_options.on_failure, .owner = tracker};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_error(tn_define_lazy(s.f.library, &bad[i].symbol, 1, s.bodies, &stub_options, &err), TN_EINVAL, &err,
                     bad[i].says);
    const struct {
        struct tn_library *library, *targets;
        const struct tn_lazy_symbol *symbols;
        const struct tn_stub_options *options;
        const char *says;
    } wrong[] = {{NULL, s.bodies, &good, &stub_options, "need a library"},
                 {s.f.library, NULL, &good, &stub_options, "need a library"},
                 {s.f.library, s.bodies, NULL, &stub_options, "need a library"},
                 {s.f.library, other.bodies, &good, &stub_options, "of another session"},
                 {s.f.library, s.bodies, &good, &no_failure, "no function to call"},
                 {s.f.library, s.bodies, &good, NULL, "no function to call"},
                 {s.f.library, s.bodies, &good, &foreign, "tracker"}};
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_error(tn_define_lazy(wrong[i].library, wrong[i].symbols, 1, wrong[i].targets, wrong[i].options, &err),
                     TN_EINVAL, &err, wrong[i].says);
    assert_error(tn_define_redirectable(NULL, "f", &err, NULL, &err), TN_EINVAL, &err, "needs a library and a name");
    assert_error(tn_define_redirectable(s.f.library, NULL, &err, NULL, &err), TN_EINVAL, &err,
                 "needs a library and a name");
    assert_error(tn_define_redirectable(s.f.library, "", &err, NULL, &err), TN_EINVAL, &err,
                 "needs a library and a name");
    assert_error(tn_define_redirectable(s.f.library, "f", NULL, NULL, &err), TN_EINVAL, &err, "no function to call");
    assert_error(tn_define_redirectable(s.f.library, "f", &err, &foreign, &err), TN_EINVAL, &err, "tracker");
    assert_error(tn_redirect(NULL, "f", &err, &err), TN_EINVAL, &err, "no library or no name");
    assert_error(tn_redirect(s.f.library, NULL, &err, &err), TN_EINVAL, &err, "no library or no name");
    assert_error(tn_redirect(s.f.library, "f", &err, &err), TN_EUNDEF, &err, "'f'");
    assert_null(s.f.session->lazy); /* no stub was needed so far */
    assert_ok(tn_define_lazy(s.f.library, NULL, 0, s.bodies, &stub_options, &err), &err);
    assert_ok(tn_define_lazy(s.f.library, &good, 1, s.bodies, &stub_options, &err), &err);
    /* Not everything at the address of a stub is one. */
    define(&s.f, "absolute", lookup(&s.f, "f"));
    assert_error(tn_redirect(s.f.library, "absolute", &err, &err), TN_EINVAL, &err, "'absolute'");
    assert_error(tn_redirect(s.bodies, "once", &err, &err), TN_EINVAL, &err, "'once'");
    assert_ok(tn_define_redirectable(s.f.library, "g", address_of(one), NULL, &err), &err);
    assert_error(tn_redirect(s.f.library, "g", NULL, &err), TN_EINVAL, &err, "'g'");
    assert_ok(tn_define_alias(s.f.library, "alias", "g", &err), &err);
    assert_ok(tn_redirect(s.f.library, "alias", address_of(two), &err), &err);
    assert_int_equal(call_int(lookup(&s.f, "g"), 1), 3);
    close_stubs(&other);
    close_stubs(&s);
    (void)state;
}

/* Stubs call into this process, so a link for another address space cannot have them. */
static void detached_sessions_have_none(void **state)
{
    struct tn__detached where = {.address = 0x10000000, .size = 1 << 20, .page_size = 4096};
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    assert_ok(tn__session_create_detached(NULL, &where, &session, &err), &err);
    assert_ok(tn_library_create(session, "elsewhere", &library, &err), &err);
    assert_error(tn_define_redirectable(library, "f", &err, NULL, &err), TN_ENOTSUP, &err, "address space");
    tn_session_destroy(session);
    (void)state;
}

/* ---- removal ---- */

static void *define_leading_to(const struct stubs *s, const char *name, const char *target, struct tn_tracker *owner)
{
    const struct tn_stub_options options = {
        .size = sizeof options, .on_failure = stub_options.on_failure, .owner = owner};
    const struct tn_lazy_symbol symbol = {.name = name, .target = target};
    struct tn_error err;
    assert_ok(tn_define_lazy(s->f.library, &symbol, 1, s->bodies, &options, &err), &err);
    return lookup(&s->f, name);
}

static void *define_owned(const struct stubs *s, const char *name, struct tn_tracker *owner)
{
    return define_leading_to(s, name, "once", owner);
}

struct stale {
    const void *stub;
};

static void call_stale(void **state)
{
    signal(SIGILL, SIG_DFL); /* cmocka would catch the signal */
    call_int(((struct stale *)*state)->stub, 1);
}

static void owners_remove_stubs(void **state)
{
    struct stubs s = open_row(state);
    struct tn_tracker *tracker = new_tracker(&s.f), *passing = new_tracker(&s.f);
    struct tn_error err;
    void *kept = define_owned(&s, "kept", passing), *called = define_owned(&s, "called", tracker), *address;
    void *stub = define_owned(&s, "not_called", tracker);
    assert_int_equal(call_int(called, 1), 42);
    tn_tracker_destroy(passing); /* its stubs belong to the library now */
    for (int i = 0; i < 3; i++) {
        assert_ok(tn_tracker_remove(tracker, &err), &err);
        assert_error(tn_lookup(s.f.library, "called", &address, &err), TN_EUNDEF, &err, "'called'");
        assert_error(tn_redirect(s.f.library, "called", address_of(one), &err), TN_EUNDEF, &err, "'called'");
        assert_int_equal(in_child(call_stale, &(struct stale){stub}), 128 + SIGILL);
        assert_ptr_equal(define_owned(&s, "called", tracker), stub); /* the most recently freed one */
        assert_ptr_equal(define_owned(&s, "not_called", tracker), called);
        assert_int_equal(call_int(stub, 1), 42);
        void *swap = stub;
        stub = called;
        called = swap;
    }
    assert_int_equal(call_int(kept, 1), 42);
    tn_tracker_destroy(tracker);
    close_stubs(&s);
}

/* An allocator that calls a function once, as soon as a link runs without the lock. */
static struct {
    struct tn_tracker *tracker;
    int removals;
} meanwhile;

static void *allocate(void *context, size_t size)
{
    (void)context;
    struct tn_tracker *tracker = meanwhile.tracker;
    struct tn__mutex *lock = tracker ? &tracker->library->session->lock : NULL;
    if (lock && tn__mutex_try(lock)) {
        struct tn_error err;
        tn__mutex_unlock(lock);
        meanwhile.tracker = NULL;
        meanwhile.removals += !tn_tracker_remove(tracker, &err);
    }
    return malloc(size);
}

static void *reallocate(void *context, void *block, size_t size)
{
    (void)context;
    return realloc(block, size);
}

static void release(void *context, void *block)
{
    (void)context;
    free(block);
}

static const struct tn_allocator allocator = {.allocate = allocate, .reallocate = reallocate, .release = release};

/* Violates the contract, but must not damage the session. */
static void a_stub_is_removed_in_its_first_call(void **state)
{
    const struct tn_session_options options = {.size = sizeof options, .allocator = &allocator};
    struct stubs s = open_stubs(&options);
    struct tn_tracker *tracker = new_tracker(&s.f);
    void *stub = define_leading_to(&s, "f", "once_more", tracker), *address;
    struct tn_error err;
    assert_ok(tn_add_file(s.bodies, data_file("lazy_large.o"), &err), &err);
    meanwhile.tracker = tracker;
    assert_int_equal(call_int(stub, 1), 42);
    assert_int_equal(meanwhile.removals, 1);
    assert_error(tn_lookup(s.f.library, "f", &address, &err), TN_EUNDEF, &err, "'f'");
    assert_true(tn__list_is_empty(&s.f.session->later[TN__ACK_FIRST_CALLS]));
    assert_ptr_equal(define_owned(&s, "g", tracker), stub);
    assert_int_equal(call_int(stub, 2), 43);
    close_stubs(&s);
    (void)state;
}

/* ---- forks ---- */

static void in_the_child(void **state)
{
    struct stubs *s = *state;
    assert_int_equal(call_int(lookup(&s->f, "before"), 1), 42);
    assert_int_equal(call_int(lookup(&s->f, "once"), 1), 42); /* not called yet */
    define_owned(s, "new", NULL);
    assert_int_equal(call_int(lookup(&s->f, "new"), 1), 42);
    redirect_at(s, "before", address_of(two));
    assert_int_equal(call_int(lookup(&s->f, "before"), 1), 3);
    check_still_works(&s->f);
    close_stubs(s);
}

static void children_go_on(void **state)
{
    struct stubs s = open_row(state);
    struct tn_error err;
    assert_ok(tn_define_redirectable(s.f.library, "before", lookup(&s.f, "abs"), NULL, &err), &err);
    assert_ok(tn_redirect(s.f.library, "before", define_lazy(&s, "once"), &err), &err);
    for (int i = 0; i < 2; i++)
        assert_int_equal(in_child(in_the_child, &s), 0);
    assert_int_equal(linked(&s), 0);
    assert_int_equal(call_int(lookup(&s.f, "before"), 1), 42);
    assert_int_equal(call_int(lookup(&s.f, "once"), 1), 42);
    assert_int_equal(in_child(in_the_child, &s), 0);
    close_stubs(&s);
}

/* ---- many ---- */

enum { MANY = 100000, AT_ONCE = 1000 };

static void define_many(const struct stubs *s, struct tn_tracker *owner)
{
    static char names[AT_ONCE][24];
    static struct tn_lazy_symbol symbols[AT_ONCE];
    const struct tn_stub_options options = {
        .size = sizeof options, .on_failure = stub_options.on_failure, .owner = owner};
    struct tn_error err;
    for (int done = 0; done < MANY; done += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            snprintf(names[i], sizeof names[i], "function_%d", done + i);
            symbols[i] = (struct tn_lazy_symbol){.name = names[i], .target = "once"};
        }
        assert_int_equal(tn_define_lazy(s->f.library, symbols, AT_ONCE, s->bodies, &options, &err), 0);
    }
}

static void many_stubs_are_small(void **state)
{
    struct stubs s = open_row(state);
    struct tn_tracker *tracker = new_tracker(&s.f);
    struct tn_stats before = stats_of(&s.f), after, again;
    struct tn_error err;
    define_many(&s, tracker);
    after = stats_of(&s.f);
    assert_in_range(after.code_bytes - before.code_bytes, 16 * MANY, 16 * (MANY + 4096));
    assert_in_range(after.data_bytes - before.data_bytes, 16 * MANY, 16 * (MANY + 4096) + 64 * 40);
    assert_in_range(after.mappings - before.mappings, 1, 40);
    for (int i = 0; i < MANY; i += 9999) {
        char name[24];
        snprintf(name, sizeof name, "function_%d", i);
        assert_int_equal(call_int(lookup(&s.f, name), i), 41 + i);
    }
    assert_int_equal(linked(&s), 1);
    check_maps();
    for (int i = 0; i < 2; i++) { /* they are reused */
        assert_ok(tn_tracker_remove(tracker, &err), &err);
        define_many(&s, tracker);
    }
    again = stats_of(&s.f);
    assert_in_range(again.code_bytes, after.code_bytes, after.code_bytes + tn__os_page_size()); /* `once` */
    close_stubs(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(detached_sessions_have_none),
        cmocka_unit_test(a_stub_is_removed_in_its_first_call),
    };
    int failed = cmocka_run_group_tests_name("link/lazy", tests, NULL, NULL);
    failed += RUN_ROWS("the first call links", rows, the_first_call_links);
    failed += RUN_ROWS("first calls nest", rows, first_calls_nest);
    failed += RUN_ROWS("errno is kept", rows, errno_is_kept);
    failed += RUN_ROWS("failures are told and tried again", rows, failures_are_told_and_tried_again);
    failed += RUN_ROWS("redirectable functions lead elsewhere", rows, redirectable_functions_lead_elsewhere);
    failed += RUN_ROWS("lazy functions can be redirected", rows, lazy_functions_can_be_redirected);
    failed += RUN_ROWS("a redirection wins over a first call", rows, a_redirection_wins_over_a_first_call);
    failed += RUN_ROWS("circles are refused", rows, circles_are_refused);
    failed += RUN_ROWS("names clash as any others", rows, names_clash_as_any_others);
    failed += RUN_ROWS("names may be hidden or weak", rows, names_may_be_hidden_or_weak);
    failed += RUN_ROWS("removed libraries have no stubs", rows, removed_libraries_have_no_stubs);
    failed += RUN_ROWS("loaded code calls stubs", rows, loaded_code_calls_stubs);
    failed += RUN_ROWS("owners remove stubs", rows, owners_remove_stubs);
    failed += RUN_ROWS("children go on", rows, children_go_on);
    return failed + RUN_ROWS("many stubs are small", rows, many_stubs_are_small);
}
