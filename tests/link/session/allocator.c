/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A session with its own allocator, which all memory comes from and returns to. */

#include "support.h"

#include <errno.h>
#include <stdlib.h>

#include "link/passes/link.h"

struct counting {
    long blocks;
    unsigned long calls;
};

/* Each block begins with its owner, to detect blocks that are released to another allocator. */
union header {
    struct counting *owner;
    max_align_t aligned;
};

static void *allocate(void *context, size_t size)
{
    struct counting *counting = context;
    counting->calls++;
    union header *block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->owner = counting;
    counting->blocks++;
    memset(block + 1, 0xdd, size); /* nobody may rely on zeros */
    return block + 1;
}

static void release(void *context, void *block)
{
    struct counting *counting = context;
    counting->calls++;
    if (!block)
        return;
    union header *header = (union header *)block - 1;
    assert_ptr_equal(header->owner, counting);
    counting->blocks--;
    free(header);
}

static void *reallocate(void *context, void *block, size_t size)
{
    struct counting *counting = context;
    if (!block)
        return allocate(context, size);
    counting->calls++;
    union header *header = (union header *)block - 1;
    assert_ptr_equal(header->owner, counting);
    header = realloc(header, sizeof *header + size);
    return header ? header + 1 : NULL;
}

static int host(int x)
{
    return x + 1;
}

static void everything_comes_from_it_and_goes_back(void **state)
{
    (void)state;
    struct counting counting = {0};
    const struct tn_allocator allocator = {&counting, allocate, reallocate, release};
    const struct tn_session_options options = {.size = sizeof options, .allocator = &allocator};
    struct fixture f;
    struct tn_error err;
    void *address;
    assert_ok(tn_session_create(&options, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "main", &f.library, &err), &err);
    assert_ok(tn_add_resolver(f.library, tn_resolve_dlsym, NULL, &err), &err);
    add_file(&f, "matrix_b.a");
    add_file(&f, "matrix_a.o");
    add_file(&f, "small.o");
    assert_error(tn_add_file(f.library, data_file("small.o"), &err), TN_EDUP, &err, "small.o");
    assert_error(tn_lookup(f.library, "nothing", &address, &err), TN_EUNDEF, &err, "nothing");
    define(&f, "one", &f);
    link_all(&f);
    assert_ok(tn_run_initializers(f.library, 0, NULL, NULL, &err), &err);
    int (*run)(int (*)(int));
    address = lookup(&f, "run");
    memcpy(&run, &address, sizeof run);
    assert_int_equal(run(host), 0);
    tn_run_finalizers(f.library);
    check_still_works(&f);
    assert_true(counting.blocks > 5 && counting.calls > 20);
    close_fixture(&f);
    assert_int_equal(counting.blocks, 0);
}

static void a_session_that_could_not_be_created_keeps_nothing(void **state)
{
    (void)state;
    struct counting counting = {0};
    const struct tn_allocator allocator = {&counting, allocate, reallocate, release};
    const struct tn_session_options options = {.size = sizeof options, .window_size = 1, .allocator = &allocator};
    struct tn_session *session;
    struct tn_error err;
    assert_error(tn_session_create(&options, &session, &err), TN_EINVAL, &err, "window");
    assert_int_equal(counting.blocks, 0);
}

static void an_allocator_that_gives_nothing(void **state)
{
    (void)state;
    struct counting counting = {0};
    const struct tn_allocator allocator = {&counting, allocate, reallocate, NULL};
    const struct tn_session_options options = {.size = sizeof options, .allocator = &allocator};
    struct tn_session *session;
    struct tn_error err;
    assert_error(tn_session_create(&options, &session, &err), TN_EINVAL, &err, "allocator");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_from_it_and_goes_back),
        cmocka_unit_test(a_session_that_could_not_be_created_keeps_nothing),
        cmocka_unit_test(an_allocator_that_gives_nothing),
    };
    return cmocka_run_group_tests_name("link/allocator", tests, NULL, NULL);
}
