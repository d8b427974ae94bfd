/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* An allocator of which one request fails, counted from 1, and which knows how many blocks are in use. */

#ifndef TENON_TEST_FAILING_H
#define TENON_TEST_FAILING_H

#include <stdlib.h>

#include "support.h"

static struct {
    unsigned count, fails_at; /* 0: never */
    unsigned next;            /* what fails_at will be */
    size_t in_use;
} failing;

static bool may_allocate(void)
{
    return ++failing.count != failing.fails_at;
}

static void *failing_allocate(void *unused, size_t size)
{
    (void)unused;
    void *block = may_allocate() ? malloc(size) : NULL;
    failing.in_use += block != NULL;
    return block;
}

static void *failing_reallocate(void *unused, void *block, size_t size)
{
    (void)unused;
    void *moved = may_allocate() ? realloc(block, size) : NULL;
    failing.in_use += moved && !block;
    return moved;
}

static void failing_release(void *unused, void *block)
{
    (void)unused;
    failing.in_use -= block != NULL;
    free(block);
}

static const struct tn_allocator failing_allocator = {NULL, failing_allocate, failing_reallocate, failing_release};

/* From now on requests are counted. */
static void failing_begin(void)
{
    failing.count = 0;
    failing.fails_at = failing.next;
}

/* Calls `attempt` until no request of its fails any more: each time another one does, the first one, the second one,
 * and so on. It creates a session with the allocator, calls failing_begin, does what may fail, destroys the session and
 * returns the code. More than `least` of them have to fail. */
static void fail_each_request(int (*attempt)(const void *context), const void *context, unsigned least)
{
    unsigned refused = 0;
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        assert_true(n < 10000);
        failing.fails_at = 0;
        failing.next = n;
        int code = attempt(context);
        failed = failing.count >= n;
        assert_true(!code || (failed && code == TN_ENOMEM));
        refused += code != 0;
        assert_int_equal(failing.in_use, 0);
    }
    assert_true(refused > least);
}

#endif
