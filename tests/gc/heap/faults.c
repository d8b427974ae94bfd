/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Every allocation and every request to the system fails once, at each step of a heap's life. The step reports it,
 * works when it is tried again, and no object is lost. A collection without memory to copy to leaves objects in place,
 * and does not fail. */

#include "support.h"

#include <stdio.h>

#include "base/os.h"

enum { MOST = 400, SURVIVED = 8, NODES = 8, ARRAY = 20000, CHUNKFUL = 40000 };

struct life {
    struct tn_heap *heap;
    struct tn_handle *list, *table, *weak, *pair, *raw;
    void *words[2], *address;
    int finalized;
};

static void count(void *context, struct tn_handle *object)
{
    struct life *life = context;
    life->finalized += tn_handle_type(object) == &node_type;
}

/* ---- the steps ---- */

static int create(struct life *life)
{
    const struct tn_heap_options options = {
        .size = sizeof options, .collector = chosen_collector(), .flags = TN_HEAP_VERIFY, .limit = 64 << 20};
    return tn_heap_create(&options, &life->heap, &err);
}

static int attach(struct life *life)
{
    return tn_heap_attach(life->heap, &err);
}

static int make_list(struct life *life)
{
    while (!life->list || value_of(life->list) < NODES - 1) {
        struct tn_handle *node;
        uint64_t value = life->list ? value_of(life->list) + 1 : 0;
        int code = tn_handle_new(life->heap, &node_type, 0, &node, &err);
        if (code)
            return code;
        assert_int_equal(tn_handle_write(node, 8, &value, 8, &err), 0);
        assert_int_equal(tn_handle_store(node, 0, life->list, &err), 0);
        tn_handle_free(life->list);
        life->list = node;
    }
    return 0;
}

static int make_table(struct life *life)
{
    int code = tn_handle_new(life->heap, &table_type, ARRAY, &life->table, &err);
    if (!code)
        assert_int_equal(tn_handle_store(life->table, 8 + 8 * (ARRAY - 1), life->list, &err), 0);
    return code;
}

static int make_weak(struct life *life)
{
    int code = tn_handle_new(life->heap, &tn_weak_type, 0, &life->weak, &err);
    if (!code)
        assert_int_equal(tn_handle_store(life->weak, 0, life->list, &err), 0);
    return code;
}

static int make_pair(struct life *life)
{
    int code = tn_handle_new(life->heap, &tn_ephemeron_type, 0, &life->pair, &err);
    if (!code)
        assert_int_equal(tn_handle_store(life->pair, 0, life->list, &err), 0);
    return code;
}

static int make_raw(struct life *life)
{
    tn_managed_begin();
    int code = tn_handle_of(life->heap, tn_handle_object(life->list), &life->raw, &err);
    tn_managed_end();
    return code;
}

static int pin(struct life *life)
{
    return tn_handle_pin(life->list, &life->address, &err);
}

static int set_finalizer(struct life *life)
{
    return tn_handle_finalize(life->list, count, life, &err);
}

static int add_roots(struct life *life)
{
    return tn_roots_add(life->words, TN_COUNT(life->words), &err);
}

/* If the scope ended too early, its handles would be missed later. */
static int use_scope(struct life *life)
{
    struct tn_handle *node;
    tn_scope_begin();
    int code = tn_handle_new(life->heap, &node_type, 0, &node, &err);
    tn_scope_end();
    return code;
}

static int fill_chunks(struct life *life)
{
    for (int i = 0; i < 2 * CHUNKFUL / 1000; i++) {
        struct tn_handle *bytes;
        int code = tn_handle_new(life->heap, &bytes_type, 10000, &bytes, &err);
        tn_handle_free(bytes);
        if (code)
            return code;
    }
    return 0;
}

static int collect(struct life *life)
{
    tn_heap_collect(life->heap, TN_COLLECT_FULL);
    return 0;
}

static int trim(struct life *life)
{
    tn_heap_trim(life->heap);
    return 0;
}

static const struct {
    const char *name;
    int (*step)(struct life *life);
} steps[] = {
    {"create", create},           {"attach", attach},       {"make_list", make_list}, {"make_table", make_table},
    {"make_weak", make_weak},     {"make_pair", make_pair}, {"make_raw", make_raw},   {"pin", pin},
    {"finalizer", set_finalizer}, {"roots", add_roots},     {"scope", use_scope},     {"fill", fill_chunks},
    {"collect", collect},         {"again", collect},       {"trim", trim},           {"refill", fill_chunks},
    {"trim again", trim},
};

/* ---- what is there in the end ---- */

static void check(struct life *life)
{
    struct tn_handle *got = copy_of(life->heap, NULL);
    tn_heap_collect(life->heap, TN_COLLECT_FULL);
    assert_ptr_equal(tn_handle_object(life->list), life->address);
    assert_true(tn_handle_same(life->raw, life->list));
    struct tn_handle *const holders[] = {life->table, life->weak, life->pair};
    const uint64_t at[] = {8 + 8 * (ARRAY - 1), 0, 0};
    for (size_t i = 0; i < TN_COUNT(holders); i++) {
        assert_int_equal(tn_handle_load(holders[i], at[i], got, &err), 0);
        assert_true(tn_handle_same(got, life->list));
    }
    for (uint64_t i = NODES; i-- > 0;) {
        assert_int_equal(value_of(got), i);
        assert_int_equal(step(got), i != 0);
    }
    assert_int_equal(take_census(life->heap).count, NODES + 3);
    assert_int_equal(life->finalized, 0);
}

static void end(struct life *life)
{
    tn_handle_unpin(life->list);
    struct tn_handle *const all[] = {life->list, life->raw, life->table};
    for (size_t i = 0; i < TN_COUNT(all); i++)
        tn_handle_free(all[i]);
    tn_roots_remove(life->words);
    tn_heap_collect(life->heap, TN_COLLECT_FULL);
    tn_run_pending_finalizers(life->heap);
    assert_int_equal(life->finalized, 1);
    tn_heap_destroy(life->heap);
}

/* Runs all steps under the plan; returns what failed, or NULL. */
static const char *live(const char *plan)
{
    struct life life = {0};
    const char *failed = NULL;
    assert_int_equal(tn__os_set_faults(plan), 0);
    for (size_t i = 0; i < TN_COUNT(steps); i++) {
        int code = steps[i].step(&life);
        if (!code)
            continue;
        tn__os_set_faults(NULL);
        if (code != TN_ENOMEM || failed)
            fail_msg("%s under '%s': %d %s", steps[i].name, plan, code, err.text);
        failed = steps[i].name;
        assert_int_equal(steps[i].step(&life), 0);
    }
    tn__os_set_faults(NULL);
    check(&life);
    end(&life);
    return failed;
}

/* ---- tests ---- */

static void each_allocation_fails(void **state)
{
    int n = 1, survived = 0, failures = 0;
    (void)state;
    for (; n < MOST && survived < SURVIVED; n++) { /* collectors survive some: without a buffer, they look at more */
        char plan[16];
        snprintf(plan, sizeof plan, "a%d", n);
        bool failed = live(plan);
        survived = failed ? 0 : survived + 1;
        failures += failed;
    }
    assert_in_range(failures, NODES + 9, MOST - 1);
}

/* A plan fails one request, which heaps mostly survive, or all requests from one on, until a step fails. */
static const struct request {
    const char *fault;
    int least; /* at least this many plans make a step fail */
} once = {"F", 2}, always = {"F*", 5};

static void each_request_fails(void **state)
{
    enum { REQUESTS = 60 };
    const struct request *request = *state;
    int failures = 0;
    for (int n = 0; n < REQUESTS; n++) {
        char plan[2 * REQUESTS + 4] = "";
        for (int i = 0; i < n; i++)
            strcat(plan, ". ");
        strcat(plan, request->fault);
        failures += live(plan) != NULL;
    }
    assert_in_range(failures, request->least, REQUESTS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails),
        {"each_request_fails, once", each_request_fails, NULL, NULL, (void *)&once},
        {"each_request_fails, from then on", each_request_fails, NULL, NULL, (void *)&always},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
