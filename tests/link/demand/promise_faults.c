/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every allocation of materializers, generators and lookups fails once: an error reports it, what failed can be removed
 * and done again, and nothing leaks (LeakSanitizer). */

#include <stdlib.h>

#include "base/os.h"
#include "functions.h"

enum { MOST_ALLOCATIONS = 1000 };

struct state {
    struct fixture f;
    struct tn_library *other;
    struct tn_tracker *tracker;
    int answers, answer;
};

/* ---- a materializer of two symbols, one of which it hands on ---- */

static int make_one(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct bytes object = function_object(context, 1, "two");
    struct tn_input input = input_of(context, object);
    int code = tn_responsibility_add_object(responsibility, &input, err);
    if (code)
        free(object.at);
    return code;
}

static int make_two(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    static int datum;
    static const char *const needs[] = {"generated"};
    const struct tn_definition definition = {"datum", &datum, 0};
    int code = tn_responsibility_define(responsibility, &definition, 1, needs, 1, err);
    return code ? code : make_one(context, responsibility, err);
}

static int replace(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    const struct tn_promised symbol = {context, 0};
    return tn_responsibility_replace(responsibility,
                                     &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                               .name = "replacement",
                                                               .context = context,
                                                               .symbols = &symbol,
                                                               .count = 1,
                                                               .materialize = make_one},
                                     err);
}

static int generate(void *context, struct tn_library *library, const char *const *names, size_t count,
                    struct tn_error *err)
{
    (void)context;
    int code = 0;
    for (size_t i = 0; !code && i < count; i++)
        if (!strcmp(names[i], "generated") || !strcmp(names[i], "two"))
            code = tn_define(library, names[i], &tn_version, err);
    return code;
}

static int promise(struct state *s, const struct tn_promised *symbols, size_t count,
                   int (*make)(void *, struct tn_responsibility *, struct tn_error *), struct tn_error *err)
{
    return tn_add_materializer(s->f.library,
                               &(struct tn_materializer){.size = sizeof(struct tn_materializer),
                                                         .name = "maker",
                                                         .context = (void *)(uintptr_t)symbols[0].name,
                                                         .symbols = symbols,
                                                         .count = count,
                                                         .materialize = make,
                                                         .owner = s->tracker},
                               err);
}

/* ---- the steps ---- */

static int create_session(struct state *s, struct tn_error *err)
{
    const struct tn_session_options options = {.size = sizeof options, .window_size = 64 << 20};
    return tn_session_create(&options, &s->f.session, err);
}

static int create_libraries(struct state *s, struct tn_error *err)
{
    int code = s->f.library ? 0 : tn_library_create(s->f.session, "library", &s->f.library, err);
    return code ? code : tn_library_create(s->f.session, "other", &s->other, err);
}

static int set_order(struct state *s, struct tn_error *err)
{
    return tn_library_search(s->f.library, &(struct tn_search){s->other, 0}, 1, err);
}

static int add_generator(struct state *s, struct tn_error *err)
{
    return tn_add_generator(s->other, generate, s, err);
}

static int create_tracker(struct state *s, struct tn_error *err)
{
    return tn_tracker_create(s->f.library, &s->tracker, err);
}

static int reexport(struct state *s, struct tn_error *err)
{
    return tn_reexport(s->f.library, &(struct tn_reexport){.name = "again", .target = "generated"}, 1, s->other,
                       s->tracker, err);
}

static int define_one(struct state *s, struct tn_error *err)
{
    return tn_define_all(s->f.library, &(struct tn_definition){"defined", &tn_version, 0}, 1, s->tracker, err);
}

/* Whatever failed is removed, promised again and looked up. */
static int make_all(struct state *s, struct tn_error *err)
{
    static const struct tn_promised one[] = {{"one", 0}}, other[] = {{"another", 0}, {"datum", 0}};
    struct tn_wanted wanted[] = {{.name = "one"}, {.name = "another"}, {.name = "datum"}};
    int code = tn_tracker_remove(s->tracker, err);
    if (!code)
        code = promise(s, one, COUNT(one), replace, err);
    if (!code)
        code = promise(s, other, COUNT(other), make_two, err);
    return code ? code : tn_lookup_all(s->f.library, wanted, COUNT(wanted), err);
}

static void note(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    struct state *s = context;
    (void)symbols, (void)count;
    s->answers++;
    s->answer = err ? err->code : 0;
}

static int look_up_async(struct state *s, struct tn_error *err)
{
    struct tn_wanted wanted = {.name = "two"};
    int before = s->answers;
    int code = tn_lookup_async(s->f.library, &wanted, 1, note, s, err);
    assert_int_equal(s->answers - before, !code);
    if (!code && s->answer)
        snprintf(err->text, sizeof err->text, "told the callback");
    return code ? code : (err->code = s->answer);
}

static int clear(struct state *s, struct tn_error *err)
{
    return tn_library_clear(s->other, err);
}

typedef int step(struct state *s, struct tn_error *err);

static step *const steps[] = {create_session, create_libraries, set_order, add_generator, create_tracker,
                              reexport,       define_one,       make_all,  look_up_async, clear};

/* ---- the test ---- */

static bool run_steps(const char *plan)
{
    struct state s = {0};
    struct tn_error err;
    bool failed = false;
    assert_int_equal(tn__os_set_faults(plan), 0);
    for (size_t i = 0; i < COUNT(steps); i++) {
        int code = steps[i](&s, &err);
        if (!code)
            continue;
        tn__os_set_faults(NULL);
        if (code != TN_ENOMEM || failed || err.code != code || !err.text[0])
            fail_msg("step %zu under '%s': %s: %s", i, plan, tn_error_name(code), err.text);
        failed = true;
        assert_ok(steps[i](&s, &err), &err);
    }
    tn__os_set_faults(NULL);
    tn_session_destroy(s.f.session);
    return failed;
}

static void each_allocation_fails(void **state)
{
    (void)state;
    char plan[16];
    int n = 1;
    do
        snprintf(plan, sizeof plan, "a%d", n);
    while (run_steps(plan) && ++n < MOST_ALLOCATIONS);
    assert_in_range(n, 20, MOST_ALLOCATIONS - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation_fails)};
    return cmocka_run_group_tests_name("promise_faults", tests, NULL, NULL);
}
