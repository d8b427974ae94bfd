/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Claims on one cell: which of them leads after each sequence of steps, where a call goes on that fails, and that all
 * are freed. tests/jit/claims.c has the same as clients see it. */

#include "stubs.h"

#include "link/redirect/cell.h"

enum { STUBS = 4 };

/* A cell, the stubs of versions v w (that rest on nothing) and a b (on assumptions), and who claims for each. */
struct claimed {
    struct stubs s;
    struct tn_tracker *versions;
    struct tn__cell *cell, *to[STUBS];
    struct tn__claims *claims[STUBS];
};

static const char letters[STUBS + 1] = "vwab", ends[STUBS + 1] = "VWAB", fails[STUBS + 1] = "1234";

static int low(int n)
{
    return n;
}

static int high(int n)
{
    return n;
}

static int own(int n)
{
    return n;
}

static uint64_t address_of(int (*function)(int))
{
    return (uintptr_t)function;
}

static struct claimed open_claimed(bool has_name)
{
    struct claimed c = {.s = open_stubs(NULL)};
    struct tn_library *library = c.s.f.library;
    struct tn_stub_options options = stub_options;
    struct tn_error err;
    assert_ok(tn_tracker_create(library, &options.owner, &err), &err);
    c.versions = options.owner;
    for (size_t i = 0; i < STUBS; i++) {
        char name[] = {letters[i], 0};
        assert_ok(tn_define_redirectable(library, name, NULL, &options, &err), &err);
        c.to[i] = tn__cell_find(library, name);
        assert_non_null(c.claims[i] = tn__claims_new());
    }
    if (has_name)
        define_lazy(&c.s, "once");
    else
        assert_ok(tn_define_redirectable(library, "once", NULL, &stub_options, &err), &err);
    c.cell = tn__cell_find(library, "once");
    return c;
}

static void close_claimed(struct claimed *c)
{
    tn_tracker_destroy(c->versions);
    close_stubs(&c->s);
    for (size_t i = 0; i < STUBS; i++) {
        assert_true(tn__claims_are_gone(c->claims[i]));
        tn__claims_release(c->claims[i]);
    }
}

static void lay(struct claimed *c, enum tn__claim_kind kind, uint64_t address, struct tn__claims *of)
{
    struct tn__claim *claim = tn__claim_new(c->s.f.session, kind, address, of);
    assert_non_null(claim);
    tn__cell_claim(c->cell, claim);
}

/* A letter of `letters`, `ends`, `fails`, or: t u: a tier; c: the client; r: it resets that. */
static void take_step(struct claimed *c, char step)
{
    const char *at;
    struct tn_error err;
    if ((at = strchr(letters, step)))
        lay(c, at - letters < 2 ? TN__CLAIM_VERSION : TN__CLAIM_RESTING, c->to[at - letters]->facts->stub,
            c->claims[at - letters]);
    else if ((at = strchr(ends, step)))
        tn__claims_drop(c->claims[at - ends]);
    else if ((at = strchr(fails, step)))
        tn__cell_fail(c->to[at - fails]);
    else if (step == 'r')
        tn__cell_reset(c->cell);
    else if (step == 'c')
        assert_ok(tn__cell_lead(c->cell, address_of(own), TN__CLAIM_CLIENT, &err), &err);
    else
        lay(c, TN__CLAIM_TIER, address_of(step == 't' ? low : high), NULL);
}

static char leader(const struct claimed *c)
{
    const uint64_t word = tn__cell_word(c->cell);
    for (size_t i = 0; i < STUBS; i++)
        if (word == c->to[i]->facts->stub)
            return letters[i];
    return word == address_of(low)                           ? 't'
           : word == address_of(high)                        ? 'u'
           : word == address_of(own)                         ? 'c'
           : word == tn__lazy_pool_of(c->s.f.session)->entry ? '-'
                                                             : '?';
}

/* After the steps: what leads. `nameless`: where the first claim has no name to look up; 0: the same. */
static const struct row {
    const char *steps;
    char leads, nameless;
} rows[] = {
    {"", '-'},
    {"t", 't'},
    {"tu", 'u'},
    {"tur", '-'},
    {"v", 'v'},
    {"vr", 'v'},
    {"vV", '-'},
    {"vw", 'w'},
    {"vwV", 'w'},
    {"vwW", '-'},
    {"va", 'a'},
    {"vaA", 'v'},
    {"vaV", 'a'},
    {"vaVA", '-'},
    {"vab", 'b'},
    {"vabA", 'b'},
    {"vabAB", 'v'},
    {"vabBA", 'v'},
    {"vabw", 'w'},
    {"vabwW", '-'},
    {"vwa", 'a'},
    {"vwaA", 'w'},
    /* The client's leads until it ends; what lies below is kept. */
    {"c", 'c'},
    {"cr", '-'},
    {"cv", 'c'},
    {"cvr", 'v'},
    {"cvVr", '-'},
    {"vcar", 'a'},
    {"vacAr", 'v'},
    {"vac", 'c'},
    /* A tier ends with what has covered it, but not with what could not be called. */
    {"ta", 'a'},
    {"taA", '-'},
    {"ta3", 't'},
    {"ta3A", 't'},
    {"tc", 'c'},
    {"tcr", '-'},
    {"tab3", 'b'},
    {"tab3B", '-', 'a'},
    {"tab43", 't'},
    /* A version that has failed does not lead, unless nothing else is left. */
    {"v1", '-', 'v'},
    {"v1V", '-'},
    {"v1w", 'w'},
    {"va3", 'v'},
    {"va31", '-', 'a'},
    {"va13", '-', 'a'},
    {"va1", 'a'},
    {"va1A", '-', 'v'},
    {"vab4", 'a'},
    {"vab4A", 'v'},
    {"vab34", 'v'},
    {"vca3r", 'v'},
    {"vc1r", '-', 'v'},
    {"va3a", 'a'},
};

static void claims_in_order(void **state)
{
    const bool has_name = *state;
    for (const struct row *row = rows; row < rows + COUNT(rows); row++) {
        struct claimed c = open_claimed(has_name);
        tn__session_lock(c.s.f.session);
        for (const char *step = row->steps; *step; step++)
            take_step(&c, *step);
        char wanted = !has_name && row->nameless ? row->nameless : row->leads, got = leader(&c);
        tn__session_unlock(c.s.f.session);
        if (got != wanted)
            fail_msg("\"%s\" leads to %c, not %c", row->steps, got, wanted);
        close_claimed(&c);
    }
}

/* A call that is on its way to a version goes on where the cell leads, also if the version has ended meanwhile. */
static void failing_calls_go_on(void **state)
{
    (void)state;
    static const struct {
        const char *steps;
        bool goes_on;
    } calls[] = {{"a", true}, {"va", true}, {"aA", true}, {"vaw", true}, {"ac", true}, {"", false}, {"v", false}};
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct claimed c = open_claimed(true);
        tn__session_lock(c.s.f.session);
        for (const char *step = calls[i].steps; *step; step++)
            take_step(&c, *step);
        struct tn__cell *below = tn__cell_fail(c.to[2]);
        tn__session_unlock(c.s.f.session);
        assert_ptr_equal(below, calls[i].goes_on ? c.cell : NULL);
        close_claimed(&c);
    }
}

/* Where there is no name, the highest is tried again, and a call that fails there ends in on_failure. */
static void failing_calls_end(void **state)
{
    (void)state;
    struct claimed c = open_claimed(false);
    tn__session_lock(c.s.f.session);
    take_step(&c, 'v');
    assert_null(tn__cell_fail(c.to[0]));
    take_step(&c, 'a');
    assert_null(tn__cell_fail(c.to[2]));
    assert_ptr_equal(tn__cell_fail(c.to[0]), c.cell);
    tn__session_unlock(c.s.f.session);
    close_claimed(&c);
}

/* The stub of a version is another function's later: no claim leads to it then. */
static void stubs_of_versions_go(void **state)
{
    (void)state;
    struct claimed c = open_claimed(true);
    struct tn_error err;
    tn__session_lock(c.s.f.session);
    take_step(&c, 'v');
    take_step(&c, 'a');
    tn__claims_drop(c.claims[2]);
    assert_true(tn__claims_are_gone(c.claims[2]));
    assert_non_null(c.cell->facts->top->below);
    tn__session_unlock(c.s.f.session);
    assert_ok(tn_tracker_retire(c.versions, &err), &err);
    assert_null(c.cell->facts->top);
    assert_true(tn__claims_are_gone(c.claims[0]));
    assert_int_equal(call_int(lookup(&c.s.f, "once"), 1), 42);
    close_claimed(&c);
}

/* A claim that leads back to the cell does not hold, for as long as it does. */
static void no_circles(void **state)
{
    (void)state;
    struct claimed c = open_claimed(true);
    struct tn_error err;
    const uint64_t stub = c.cell->facts->stub;
    tn__session_lock(c.s.f.session);
    take_step(&c, 'v');
    take_step(&c, 'a');
    take_step(&c, 'c');
    assert_ok(tn__cell_lead(c.to[2], stub, TN__CLAIM_CLIENT, &err), &err);
    tn__cell_reset(c.cell);
    assert_int_equal(leader(&c), 'v');
    assert_int_equal(tn__cell_check(c.cell, c.to[2]->facts->stub, &err), TN_EINVAL);
    tn__cell_reset(c.to[2]);
    tn__cell_reset(c.cell);
    assert_int_equal(leader(&c), 'a');
    tn__session_unlock(c.s.f.session);
    close_claimed(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"claims_in_order", claims_in_order, NULL, NULL, &(bool){true}},
        {"claims_in_order, without a name", claims_in_order, NULL, NULL, NULL},
        cmocka_unit_test(failing_calls_go_on),
        cmocka_unit_test(failing_calls_end),
        cmocka_unit_test(stubs_of_versions_go),
        cmocka_unit_test(no_circles),
    };
    return cmocka_run_group_tests_name("link/redirect/cell", tests, NULL, NULL);
}
