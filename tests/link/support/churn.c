/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "churn.h"

#include <stdlib.h>

enum { MOST_MAPPINGS = 200, EARLY = 1000, AT_A_TIME = 8, NAMES = 1000, OWNERS = 1000 };

static const char name_pattern[] = "f0000000";
static const uint8_t number_pattern[] = {0x78, 0x56, 0x34, 0x12};

/* ---- an object of which there are many ---- */

struct many {
    struct fixture f;
    struct bytes object;
    uint8_t *name, *number; /* in it */
};

static uint8_t *find(struct bytes object, const void *pattern, size_t size)
{
    uint8_t *found = memmem(object.at, object.size, pattern, size);
    assert_non_null(found);
    return found;
}

static struct many open_many(const struct tn_session_options *options)
{
    struct many many = {.f = open_fixture(options), .object = read_bytes(data_file("many.o"))};
    many.name = find(many.object, name_pattern, sizeof name_pattern - 1);
    many.number = find(many.object, number_pattern, sizeof number_pattern);
    return many;
}

static void close_many(struct many *many)
{
    close_fixture(&many->f);
    free(many->object.at);
}

/* Unlike assert_ok, does not check all mappings. */
static void must(int code, const struct tn_error *err)
{
    if (code)
        fail_msg("%s", err->text);
}

typedef uint32_t function(void);

/* Links one that returns `number`, under a name that may be reused. */
static function *link_one(struct many *many, uint32_t number, uint32_t name_number, struct tn_tracker *owner)
{
    char name[sizeof name_pattern];
    struct tn_error err;
    void *address;
    function *answer;
    snprintf(name, sizeof name, "f%07u", name_number % 10000000);
    memcpy(many->name, name, sizeof name - 1);
    memcpy(many->number, &number, sizeof number);
    const struct tn_input input = {
        .size = sizeof input, .name = name, .bytes = many->object.at, .length = many->object.size, .owner = owner};
    must(tn_add_object(many->f.library, &input, &err), &err);
    must(tn_lookup(many->f.library, name, &address, &err), &err);
    memcpy(&answer, &address, sizeof answer);
    assert_int_equal(answer(), number);
    return answer;
}

static void empty_tracker(struct tn_tracker *tracker)
{
    struct tn_error err;
    must(tn_tracker_remove(tracker, &err), &err);
}

struct bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *pc, struct bases *bases);

static bool can_be_unwound(function *answer)
{
    struct bases bases;
    void *address;
    memcpy(&address, &answer, sizeof address);
    return _Unwind_Find_FDE((char *)address + 1, &bases) && bases.function == address;
}

static void assert_same_bytes(const struct tn_stats *a, const struct tn_stats *b)
{
    assert_int_equal(a->code_bytes, b->code_bytes);
    assert_int_equal(a->rodata_bytes, b->rodata_bytes);
    assert_int_equal(a->data_bytes, b->data_bytes);
}

/* ---- many that stay ---- */

void churn_keep(size_t count)
{
    static struct tn_tracker *owners[OWNERS];
    struct many many = open_many(NULL);
    function **functions = calloc(count, sizeof *functions);
    struct tn_stats empty = stats_of(&many.f), full, end;
    for (size_t i = 0; i < OWNERS; i++)
        owners[i] = new_tracker(&many.f);
    for (size_t i = 0; i < count; i++)
        functions[i] = link_one(&many, (uint32_t)i, (uint32_t)i, owners[i % OWNERS]);
    full = stats_of(&many.f);
    if (!strcmp(full.strategy, "dual"))
        assert_in_range(full.mappings, 1, MOST_MAPPINGS - 1);
    for (size_t i = 0; i < OWNERS; i += 2)
        empty_tracker(owners[i]);
    for (size_t i = 0; i < count; i++) {
        bool there = i % OWNERS % 2;
        if ((there && functions[i]() != i) || can_be_unwound(functions[i]) != there)
            fail_msg("object %zu of %zu", i, count);
    }
    for (size_t i = 1; i < OWNERS; i += 2)
        empty_tracker(owners[i]);
    end = stats_of(&many.f);
    assert_same_bytes(&empty, &end);
    check_maps();
    free(functions);
    close_many(&many);
}

/* ---- many that come and go ---- */

/* Counts the session's memory; each block is preceded by its size. */
struct use {
    size_t bytes;
};

union header {
    size_t size;
    max_align_t aligned;
};

static void *reallocate(void *context, void *block, size_t size)
{
    struct use *use = context;
    union header *old = block ? (union header *)block - 1 : NULL;
    size_t old_size = old ? old->size : 0;
    union header *header = realloc(old, sizeof *header + size);
    if (!header)
        return NULL;
    header->size = size;
    use->bytes += size - old_size;
    return header + 1;
}

static void *allocate(void *context, size_t size)
{
    return reallocate(context, NULL, size);
}

static void release(void *context, void *block)
{
    if (!block)
        return;
    union header *header = (union header *)block - 1;
    ((struct use *)context)->bytes -= header->size;
    free(header);
}

void churn_cycles(size_t count)
{
    struct use use = {0};
    const struct tn_allocator allocator = {&use, allocate, reallocate, release};
    const struct tn_session_options options = {.size = sizeof options, .allocator = &allocator};
    struct many many = open_many(&options);
    struct tn_tracker *owners[AT_A_TIME];
    struct tn_stats early = {0}, end;
    size_t early_use = 0;
    for (size_t i = 0; i < AT_A_TIME; i++)
        owners[i] = new_tracker(&many.f);
    for (size_t i = 0; i < count; i++) {
        struct tn_tracker *owner = owners[i % AT_A_TIME];
        empty_tracker(owner);
        link_one(&many, (uint32_t)i, i % NAMES, owner);
        if (i + 1 == EARLY + AT_A_TIME) { /* by now, every name was used */
            early = stats_of(&many.f);
            early_use = use.bytes;
        }
    }
    end = stats_of(&many.f);
    assert_same_bytes(&early, &end);
    assert_int_equal(early.mappings, end.mappings);
    assert_int_equal(early_use, use.bytes);
    check_maps();
    close_many(&many);
    assert_int_equal(use.bytes, 0);
}
