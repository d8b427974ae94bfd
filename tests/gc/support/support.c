/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "support.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

const struct tn_type node_type = {
    .name = "node", .kind = TN_KIND_FIXED, .alignment = 8, .size = sizeof(struct node), .references = 1};
const struct tn_type aligned_type = {
    .name = "aligned", .kind = TN_KIND_FIXED, .alignment = 16, .size = sizeof(struct node), .references = 1};
const struct tn_type table_type = {
    .kind = TN_KIND_REFERENCES, .alignment = 8, .size = sizeof(struct table), .element = sizeof(struct node *)};
const struct tn_type nodes_type = {
    .kind = TN_KIND_STRUCTS, .alignment = 8, .size = 8, .element = sizeof(struct node), .references = 1};
const struct tn_type bytes_type = {.kind = TN_KIND_LEAF, .alignment = 8, .size = 8, .element = 1};

_Thread_local struct tn_error err;

/* The tests contain all. */
const struct tn_collector *const tests_collectors[] = {&tn_collector_copying, &tn_collector_generational,
                                                       &tn_collector_concurrent};

const struct tn_collector *chosen_collector(void)
{
    struct tn_heap_options options;
    assert_int_equal(tn_heap_options_from_environment(&options, &err), 0);
    return options.collector;
}

struct tn_heap *make_heap(void **state, uint64_t limit)
{
    struct tn_heap *heap;
    struct tn_heap_options options = {
        .size = sizeof options, .limit = limit, .flags = *(uint64_t *)*state, .collector = chosen_collector()};
    assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
    assert_int_equal(tn_heap_attach(heap, &err), 0);
    return heap;
}

struct tn_handle *make(struct tn_heap *heap, const struct tn_type *type, uint64_t length)
{
    struct tn_handle *handle;
    assert_int_equal(tn_handle_new(heap, type, length, &handle, &err), 0);
    return handle;
}

struct tn_handle *make_node(struct tn_heap *heap, const struct tn_type *type, uint64_t value, struct tn_handle *next)
{
    struct tn_handle *node = make(heap, type, 0);
    assert_int_equal(tn_handle_write(node, offsetof(struct node, value), &value, sizeof value, &err), 0);
    assert_int_equal(tn_handle_store(node, offsetof(struct node, next), next, &err), 0);
    return node;
}

uint64_t value_of(const struct tn_handle *node)
{
    uint64_t value = 0;
    assert_int_equal(tn_handle_read(node, offsetof(struct node, value), &value, sizeof value, &err), 0);
    return value;
}

bool step(struct tn_handle *node)
{
    assert_int_equal(tn_handle_load(node, offsetof(struct node, next), node, &err), 0);
    return !tn_handle_is_null(node);
}

struct tn_handle *copy_of(struct tn_heap *heap, const struct tn_handle *handle)
{
    struct tn_handle *copy;
    assert_int_equal(tn_handle_of(heap, NULL, &copy, &err), 0);
    tn_handle_set(copy, handle);
    return copy;
}

static void count_object(void *context, void *object, const struct tn_type *type, size_t payload)
{
    struct census *census = context;
    (void)object, (void)type;
    census->count++;
    census->bytes += payload;
}

struct census take_census(struct tn_heap *heap)
{
    struct census census = {0};
    tn_heap_walk(heap, count_object, &census);
    return census;
}

static CMUnitTestFunction child_body;

static void in_a_minute(void **state)
{
    alarm(60); /* a failure is usually a hang */
    child_body(state);
}

int in_child(CMUnitTestFunction body, void *argument)
{
    fflush(NULL);
    child_body = body;
    pid_t pid = fork();
    if (!pid) {
        unsetenv("CMOCKA_MESSAGE_OUTPUT"); /* its result is not that of the suite */
        const struct CMUnitTest test = {.name = "child", .test_func = in_a_minute, .initial_state = argument};
        _exit(_cmocka_run_group_tests("child", &test, 1, NULL, NULL) != 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

uint64_t plain = TN_HEAP_VERIFY, stress = TN_HEAP_VERIFY | TN_HEAP_STRESS;
