/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Words outside of heaps that hold references: the globals of managed code, from tables that the compiler emits, and
 * ranges that the program adds. One list serves all heaps: a collection ignores references into other heaps. */

#include "base/fork.h"
#include "gc/object/object.h"

struct range {
    void **words;
    uint64_t count;
    uint64_t owner; /* 0: added by the program */
};

static struct {
    struct tn__mutex lock;
    struct range *items;
    size_t count, capacity;
    bool has_program;
} roots = {.lock = TN__MUTEX(TN__LEVEL_ROOTS)};

extern const uint8_t __start_tenon_roots[] __attribute__((weak, visibility("hidden")));
extern const uint8_t __stop_tenon_roots[] __attribute__((weak, visibility("hidden")));

static void lock_roots(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &roots.lock};
    tn__forks_watch(TN__LEVEL_ROOTS, &hooks);
    tn__mutex_lock(&roots.lock);
}

static bool add_range(struct range range)
{
    if (!tn__grow(NULL, &roots.items, &roots.capacity, roots.count + 1, sizeof *roots.items))
        return false;
    roots.items[roots.count++] = range;
    return true;
}

static void drop(uint64_t owner, const void *words)
{
    size_t kept = 0;
    for (size_t i = 0; i < roots.count; i++)
        if (roots.items[i].owner != owner || (words && roots.items[i].words != words))
            roots.items[kept++] = roots.items[i];
    roots.count = kept;
    if (!kept && !roots.has_program) {
        tn__free(NULL, roots.items);
        roots.items = NULL;
        roots.capacity = 0;
    }
}

/* ---- the program's ---- */

int tn_roots_add(void *words, size_t count, struct tn_error *err)
{
    if (!words)
        return tn__no_argument(err);
    int code = tn__refuse_in(TN__IN_VISITOR, err);
    if (code)
        return code;
    lock_roots();
    bool added = add_range((struct range){words, count, 0});
    tn__mutex_unlock(&roots.lock);
    return added ? 0 : tn__no_memory(err, NULL);
}

void tn_roots_remove(void *words)
{
    if (!words) /* (0, NULL) would drop every range that the program added */
        return;
    lock_roots();
    drop(0, words);
    tn__mutex_unlock(&roots.lock);
}

/* ---- tables ---- */

static int add_table(uint64_t owner, const uint8_t *section, size_t size, struct tn_range data, struct tn_error *err)
{
    if (size % TN_GC_ROOT_RANGE_SIZE)
        return tn__fail(err, TN_EFORMAT, "root ranges: %zu bytes are no whole number of ranges", size);
    for (size_t at = 0; at < size; at += TN_GC_ROOT_RANGE_SIZE) {
        uint64_t words = (uintptr_t)(section + at) + (uint64_t)(int64_t)(int32_t)tn__get32(section + at);
        uint64_t count = tn__get32(section + at + 4);
        if (words % sizeof(void *) || words < data.address ||
            !tn__inside(words - data.address, count * sizeof(void *), data.size))
            return tn__fail(err, TN_EFORMAT, "root ranges: entry %zu names %llu words that are no data of its object",
                            at / TN_GC_ROOT_RANGE_SIZE, (unsigned long long)count);
        if (!add_range((struct range){(void **)(uintptr_t)words, count, owner}))
            return tn__no_memory(err, NULL);
    }
    return 0;
}

int tn__roots_add_section(uint64_t owner, const uint8_t *section, size_t size, struct tn_range data,
                          struct tn_error *err)
{
    lock_roots();
    int code = add_table(owner, section, size, data, err);
    if (code)
        drop(owner, NULL);
    tn__mutex_unlock(&roots.lock);
    return code;
}

void tn__roots_remove_owner(uint64_t owner)
{
    lock_roots();
    drop(owner, NULL);
    tn__mutex_unlock(&roots.lock);
}

int tn__roots_add_program(struct tn_error *err)
{
    enum { PROGRAM = 1 }; /* no linked object has this id */
    struct tn_range everything = {0, UINT64_MAX};
    int code = 0;
    lock_roots();
    if (!roots.has_program && &__start_tenon_roots[0] != &__stop_tenon_roots[0])
        code = add_table(PROGRAM, __start_tenon_roots, (size_t)(__stop_tenon_roots - __start_tenon_roots), everything,
                         err);
    roots.has_program |= !code;
    tn__mutex_unlock(&roots.lock);
    return code;
}

/* ---- visiting ---- */

void tn__visit_roots(tn_visit_slot *slot, void *context)
{
    lock_roots();
    for (size_t i = 0; i < roots.count; i++)
        for (uint64_t word = 0; word < roots.items[i].count; word++)
            slot(context, &roots.items[i].words[word]);
    tn__mutex_unlock(&roots.lock);
}
