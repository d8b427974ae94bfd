/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stack maps and root ranges of linked objects are known until the object is removed. If they are malformed, or there
 * is no memory for them, the link fails without leaving anything behind. */

#include "support.h"

#include <stdio.h>

#include "base/os.h"
#include "gc/object/object.h"

struct linking {
    struct tn_session *session;
    struct tn_library *library;
    struct tn_tracker *tracker;
};

static struct linking observe(struct tn_session *session)
{
    struct linking l = {.session = session};
    assert_int_equal(tn_library_create(l.session, "library", &l.library, &err), 0);
    assert_int_equal(tn_tracker_create(l.library, &l.tracker, &err), 0);
    assert_int_equal(tn_observe_managed_code(l.session, &err), 0);
    return l;
}

static struct linking open_linking(void)
{
    struct tn_session *session;
    assert_int_equal(tn_session_create(NULL, &session, &err), 0);
    return observe(session);
}

/* The bytes are freed once the object is linked. */
static void release(void *context, const void *bytes, size_t length)
{
    (void)context, (void)length;
    free((void *)(uintptr_t)bytes);
}

static void add(const struct linking *l, const char *name)
{
    enum { MOST = 1 << 16 };
    char path[256], *bytes = malloc(MOST);
    snprintf(path, sizeof path, DATA "%s.o", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const struct tn_input input = {.size = sizeof input,
                                   .name = name,
                                   .bytes = bytes,
                                   .length = fread(bytes, 1, MOST, file),
                                   .release = release,
                                   .owner = l->tracker};
    fclose(file);
    assert_int_equal(tn_add_object(l->library, &input, &err), 0);
}

static bool is_known(const char *function, uint64_t offset)
{
    tn__maps_lock();
    bool found = tn__maps_find((uintptr_t)function + offset) != NULL;
    tn__maps_unlock();
    return found;
}

static void count_word(void *context, void **slot)
{
    (void)slot;
    ++*(size_t *)context;
}

static size_t root_count(void)
{
    size_t count = 0;
    tn__visit_roots(count_word, &count);
    return count;
}

static void tables_come_and_go(void **state)
{
    struct tn_heap *heap = make_heap(state, 0);
    struct linking l = open_linking();
    void *function, *at;
    add(&l, "managed");
    assert_int_equal(tn_lookup(l.library, "managed", &function, &err), 0);
    assert_int_equal(tn_lookup(l.library, "words", &at, &err), 0);
    assert_true(is_known(function, 1) && is_known(function, 2) && !is_known(function, 3));
    assert_int_equal(root_count(), 2);
    struct node **words = at;
    struct tn_handle *node = make_node(heap, &node_type, 5, NULL);
    tn_managed_begin();
    words[0] = words[1] = tn_handle_object(node);
    tn_managed_end();
    tn_handle_free(node);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    tn_managed_begin();
    assert_ptr_equal(words[0], words[1]);
    assert_int_equal(words[1]->value, 5);
    tn_managed_end();
    assert_int_equal((uintptr_t)words[2], 0x1234567); /* no reference */
    assert_int_equal(tn_tracker_remove(l.tracker, &err), 0);
    assert_false(is_known(function, 1) || is_known(function, 2));
    assert_int_equal(root_count(), 0);
    tn_heap_collect(heap, TN_COLLECT_FULL);
    assert_int_equal(take_census(heap).count, 0);
    tn_session_destroy(l.session);
    tn_heap_destroy(heap);
}

/* Notes where the code of the linked object is. */
static int note_code(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *error)
{
    (void)error;
    assert_int_equal(count, 1);
    *(const char **)context = (const char *)(uintptr_t)objects[0]->zones[0].address;
    return 0;
}

static const struct {
    const char *object, *text;
    int code;
} malformed[] = {
    {"bad_maps", "return addresses do not ascend", TN_EFORMAT},
    {"bad_roots", "entry 1 names 65536 words that are no data", TN_EFORMAT},
    {"odd_roots", "entry 0 names 1 words that are no data", TN_EFORMAT},
    {"cut_roots", "no whole number of ranges", TN_EFORMAT},
    {"other_abi", "other_abi: managed code for version 99 of the runtime ABI, and this is version", TN_ENOTSUP},
    {"no_abi", "no_abi: managed code that does not say for which version of the runtime ABI it is", TN_ENOTSUP},
};

static void malformed_tables_fail_links(void **state)
{
    (void)state;
    for (size_t i = 0; i < TN_COUNT(malformed); i++) {
        struct tn_session *session;
        const char *code_of = NULL;
        const struct tn_observer observer = {.size = sizeof observer, .context = &code_of, .linked = note_code};
        assert_int_equal(tn_session_create(NULL, &session, &err), 0);
        assert_int_equal(tn_add_observer(session, &observer, &err), 0);
        struct linking l = observe(session);
        void *function;
        add(&l, malformed[i].object);
        int code = tn_lookup(l.library, "managed", &function, &err);
        if (code != malformed[i].code || !strstr(err.text, malformed[i].text))
            fail_msg("%s: %d %s", malformed[i].object, code, err.text);
        assert_int_equal(root_count(), 0);
        assert_non_null(code_of);
        for (uint64_t offset = 0; offset < 64; offset++)
            assert_false(is_known(code_of, offset));
        tn_session_destroy(l.session);
    }
}

/* Each allocation of the link fails once, which leaves nothing behind. Some are tried for speed only: with
 * ThreadSanitizer a link works without one of them. */
static void no_memory_for_tables(void **state)
{
    enum { MOST = 200, IN_A_ROW = 8 };
    int failures = 0, successes = 0;
    (void)state;
    for (int n = 1; n < MOST && successes < IN_A_ROW; n++) {
        struct linking l = open_linking();
        char plan[16];
        void *function = NULL;
        snprintf(plan, sizeof plan, "a%d", n);
        add(&l, "managed");
        assert_int_equal(tn__os_set_faults(plan), 0);
        int code = tn_lookup(l.library, "managed", &function, &err);
        tn__os_set_faults(NULL);
        if (code) {
            assert_int_equal(code, TN_ENOMEM);
            assert_int_equal(root_count(), 0);
            failures++;
            successes = 0;
            assert_int_equal(tn_lookup(l.library, "managed", &function, &err), 0);
        }
        assert_true(is_known(function, 1));
        assert_int_equal(root_count(), 2);
        tn_session_destroy(l.session);
        assert_int_equal(root_count(), 0);
        successes += !code;
    }
    assert_in_range(failures, 4, MOST - IN_A_ROW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(tables_come_and_go),
        cmocka_unit_test(malformed_tables_fail_links),
        cmocka_unit_test(no_memory_for_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
