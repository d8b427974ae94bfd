/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Large pages for the old space: when they are asked for, for which memory (by the flag "hg" of /proc/self/smaps), and
 * that nothing depends on the answer. */

#include "support.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gc/generational/generational.h"

enum { MANY = 1200000, FEW = 900000, ENOUGH = 72 << 20, TOO_LITTLE = 40 << 20, GROWTH = 5 };

/* ---- what the system was asked for ---- */

/* Bytes from `start` to `end` for which large pages are wanted. */
static uint64_t count_huge(uint64_t start, uint64_t end)
{
    uint64_t first = 0, last = 0, count = 0;
    char line[512];
    FILE *file = fopen("/proc/self/smaps", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *rest;
        uint64_t from = strtoull(line, &rest, 16);
        if (*rest == '-') {
            first = tn__max64(from, start);
            last = tn__min64(strtoull(rest + 1, NULL, 16), end);
        } else if (!strncmp(line, "VmFlags:", 8) && strstr(line, " hg") && first < last) {
            count += last - first;
        }
    }
    fclose(file);
    return count;
}

static uint64_t count_huge_units(const struct tn__generational *g)
{
    return count_huge(g->base + TN__YOUNG_SIZE, g->base + g->size) / TN__UNIT;
}

static uint64_t count_units(const struct tn__generational *g)
{
    uint64_t count = 0;
    for (uint64_t unit = TN__YOUNG_SIZE / TN__UNIT; unit < g->size / TN__UNIT; unit++)
        count += g->units[unit];
    return count;
}

/* ---- a heap ---- */

struct store {
    struct tn_heap *heap;
    struct tn__generational *g;
    struct tn_handle *bytes, *table;
};

/* A table of so many references to one node, and as many bytes. */
static struct store make_store(uint64_t references, uint64_t bytes)
{
    struct store store;
    const struct tn_heap_options options = {.size = sizeof options,
                                            .limit = 1 << 30,
                                            .minimum = 256 << 20,
                                            .collector = &tn_collector_generational,
                                            .workers = 1};
    assert_int_equal(tn_heap_create(&options, &store.heap, &err), 0);
    assert_int_equal(tn_heap_attach(store.heap, &err), 0);
    store.g = tn__generational_of(store.heap);
    store.bytes = make(store.heap, &bytes_type, bytes);
    store.table = make(store.heap, &table_type, references);
    struct tn_handle *node = make_node(store.heap, &node_type, references, NULL);
    for (uint64_t i = 0; i < references; i++)
        assert_int_equal(tn_handle_store(store.table, 8 + 8 * i, node, &err), 0);
    tn_handle_free(node);
    return store;
}

static void check_store(const struct store *store, uint64_t references)
{
    struct tn_handle *node = copy_of(store->heap, NULL);
    for (uint64_t i = 0; i < references; i += references / 8) {
        assert_int_equal(tn_handle_load(store->table, 8 + 8 * i, node, &err), 0);
        assert_int_equal(value_of(node), references);
    }
    tn_handle_free(node);
}

/* The next full collection will look slow beside this one: 1 ns for a thousand objects. */
static void was_fast(const struct store *store)
{
    store->g->fastest = 1e-3;
}

/* ---- tests ---- */

static void large_heaps_whose_marking_has_become_slow_get_them(void **state)
{
    static const struct {
        uint64_t references, bytes;
        bool was_fast, wants;
    } rows[] = {{MANY, ENOUGH, true, true},
                {MANY, TOO_LITTLE, true, false},
                {FEW, ENOUGH, true, false},
                {MANY, ENOUGH, false, false}};
    (void)state;
    for (size_t i = 0; i < TN_COUNT(rows); i++) {
        struct store store = make_store(rows[i].references, rows[i].bytes);
        if (rows[i].was_fast)
            was_fast(&store);
        tn_heap_collect(store.heap, TN_COLLECT_FULL);
        if (rows[i].was_fast || !HAS_TSAN) /* with which marking takes 50 ns for a reference, which counts as slow */
            assert_int_equal(store.g->is_huge, rows[i].wants);
        assert_int_equal(count_huge_units(store.g), 0); /* pauses ask for none of the memory in use */
        tn_heap_destroy(store.heap);
    }
}

/* Tables at once; a unit in use for each 256 KiB that threads get; new units when they are committed. */
static void each_unit_gets_them_in_its_turn(void **state)
{
    (void)state;
    struct store store = make_store(MANY, ENOUGH);
    struct tn__generational *g = store.g;
    uint64_t units = count_units(g), table = (uint64_t)(uintptr_t)g->starts;
    assert_int_equal(count_huge(table, table + 2 * (g->size >> TN__TABLE_SHIFT)), 0);
    was_fast(&store);
    tn_heap_collect(store.heap, TN_COLLECT_FULL);
    uint64_t tables = 2 * (g->huge_end * TN__UNIT - TN__YOUNG_SIZE) >> TN__TABLE_SHIFT;
    assert_int_equal(count_huge(table, table + 2 * (g->size >> TN__TABLE_SHIFT)), tables);
    assert_int_equal(g->huge_end - TN__YOUNG_SIZE / TN__UNIT, units);
    g->new_bytes = 0;
    for (uint64_t i = 1; i <= units + 1; i++) {
        tn__gen_make_huge(g, TN__PIECE - 8);
        assert_int_equal(count_huge_units(g), tn__min64(i - 1, units));
        tn__gen_make_huge(g, 8);
        assert_int_equal(count_huge_units(g), tn__min64(i, units));
    }
    struct tn_handle *more = make(store.heap, &bytes_type, (uint64_t)GROWTH * TN__UNIT);
    assert_true(count_units(g) >= units + GROWTH);
    assert_int_equal(count_huge_units(g), count_units(g));
    tn_handle_free(more);
    tn_heap_trim(store.heap); /* memory that comes back gets them again */
    assert_true(count_units(g) < units + GROWTH);
    more = make(store.heap, &bytes_type, (uint64_t)GROWTH * TN__UNIT);
    assert_int_equal(count_huge_units(g), count_units(g));
    check_store(&store, MANY);
    tn_heap_destroy(store.heap);
}

/* Threads' own allocations do it, by the pieces they get. */
static void allocation_brings_them(void **state)
{
    enum { PIECES = 8, BYTES = 4096 };
    (void)state;
    struct store store = make_store(MANY, ENOUGH);
    was_fast(&store);
    tn_heap_collect(store.heap, TN_COLLECT_FULL);
    assert_int_equal(count_huge_units(store.g), 0);
    for (uint64_t bytes = 0; bytes < (uint64_t)PIECES * TN__PIECE; bytes += BYTES)
        tn_handle_free(make(store.heap, &bytes_type, BYTES - 16));
    assert_in_range(count_huge_units(store.g), PIECES - 1, PIECES + 2);
    check_store(&store, MANY);
    tn_heap_destroy(store.heap);
}

/* A new unit is asked for with a large page, once the heap is not small; if that took long, the next ones are not. */
static void new_units_are_tried(void **state)
{
    enum { SMALL = 8 << 20, SKIPPED = 3, TRIED = 40 };
    (void)state;
    struct store store = make_store(1, SMALL);
    struct tn__generational *g = store.g;
    uint64_t unit = g->size / TN__UNIT - 1;
    assert_true(tn__gen_commit(g, unit-- * TN__UNIT, TN__BLOCK));
    assert_int_equal(count_huge_units(g), 0);
    tn_heap_destroy(store.heap);

    store = make_store(1, TOO_LITTLE);
    g = store.g;
    g->untried = SKIPPED;
    for (uint64_t i = 1, wanted = 0; i <= TRIED; i++) {
        uint32_t untried = g->untried;
        wanted += !untried;
        assert_true(tn__gen_commit(g, unit-- * TN__UNIT + TN__BLOCK, TN__BLOCK));
        assert_int_equal(count_huge_units(g), wanted);
        if (untried)
            assert_int_equal(g->untried, untried - 1);
        assert_int_equal(i <= SKIPPED, wanted == 0);
    }
    uint64_t before = count_huge_units(g); /* several at once are an array, which may never be touched */
    assert_true(tn__gen_commit(g, (unit - 1) * TN__UNIT, (uint64_t)2 * TN__UNIT));
    assert_int_equal(count_huge_units(g), before);
    tn_heap_destroy(store.heap);
}

/* ---- a system without them ---- */

/* From now on, in this process, madvise refuses large pages. False: no filter can be set. */
static bool refuse_huge(void)
{
    enum { HUGEPAGE = 14, COLLAPSE = 25, ADVICE = 2 };
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[ADVICE])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, HUGEPAGE, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, COLLAPSE, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {TN_COUNT(filter), filter};
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

enum { NO_FILTER = 77 };

static void use_without(void **unused)
{
    (void)unused;
    if (!refuse_huge())
        _exit(NO_FILTER);
    struct store store = make_store(MANY, ENOUGH);
    assert_int_equal(madvise((void *)(store.g->base + TN__YOUNG_SIZE), TN__UNIT, MADV_HUGEPAGE), -1);
    was_fast(&store);
    tn_heap_collect(store.heap, TN_COLLECT_FULL);
    assert_true(store.g->is_huge);
    errno = 1234;
    for (uint64_t i = 0; i < store.g->huge_end; i++)
        tn__gen_make_huge(store.g, TN__PIECE);
    assert_int_equal(errno, 1234);
    struct tn_handle *more = make(store.heap, &bytes_type, (uint64_t)GROWTH * TN__UNIT);
    assert_int_equal(count_huge_units(store.g), 0);
    tn_handle_free(more);
    tn_heap_collect(store.heap, TN_COLLECT_FULL);
    check_store(&store, MANY);
    tn_heap_destroy(store.heap);
}

static void a_system_may_refuse_them(void **state)
{
    (void)state;
    int status = in_child(use_without, NULL);
    if (status == NO_FILTER)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_heaps_whose_marking_has_become_slow_get_them),
        cmocka_unit_test(each_unit_gets_them_in_its_turn),
        cmocka_unit_test(allocation_brings_them),
        cmocka_unit_test(new_units_are_tried),
        cmocka_unit_test(a_system_may_refuse_them),
    };
    return cmocka_run_group_tests_name("large_pages", tests, NULL, NULL);
}
