/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Shared by the tests of the heap: a few types, and objects by handles. */

#ifndef TENON_TESTS_GC_SUPPORT_H
#define TENON_TESTS_GC_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>
#include <pthread.h>

#include "oracle.h"
#include "base/base.h"
#include "tenon_heap.h"

struct node {
    struct node *next;
    uint64_t value;
};

struct table {
    uint64_t length;
    struct node *items[];
};

/* nodes_type: an array of nodes; bytes_type: an array of bytes; aligned_type: a node with a payload aligned to 16. */
extern const struct tn_type node_type, aligned_type, table_type, nodes_type, bytes_type;

/* ThreadSanitizer ends children of forks that start threads: tests whose children do skip themselves. */
#ifdef __SANITIZE_THREAD__
enum { HAS_TSAN = 1 };
#else
enum { HAS_TSAN = 0 };
#endif

/* One per thread. */
extern _Thread_local struct tn_error err;

/* The one that TENON_GC names: the tests pass with each. NULL: the default one. */
const struct tn_collector *chosen_collector(void);
extern const struct tn_collector *const tests_collectors[3];
/* Creates a heap with this collector and the flags that *state points to, and attaches the calling thread. */
struct tn_heap *make_heap(void **state, uint64_t limit);
struct tn_handle *make(struct tn_heap *heap, const struct tn_type *type, uint64_t length);
struct tn_handle *make_node(struct tn_heap *heap, const struct tn_type *type, uint64_t value, struct tn_handle *next);
struct tn_handle *copy_of(struct tn_heap *heap, const struct tn_handle *handle);
uint64_t value_of(const struct tn_handle *node);
/* Makes `node` refer to its successor; false if there is none. */
bool step(struct tn_handle *node);

struct census {
    uint64_t count, bytes;
};

struct census take_census(struct tn_heap *heap);

/* Runs the test in the child of a fork, for at most a minute, and returns the child's exit status, or 128 + signal. */
int in_child(CMUnitTestFunction body, void *argument);

/* Each test runs on a plain heap and on one that moves everything at each safepoint, both verified. */
extern uint64_t plain, stress;

#define BOTH(test)                                                                                                     \
    {#test, test, NULL, NULL, &plain},                                                                                 \
    {                                                                                                                  \
#test ", stress", test, NULL, NULL, &stress                                                                    \
    }

#endif
