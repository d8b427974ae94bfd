/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What removal costs, whatever else there is, and that it gives back the memory that was used. */

#include "big_file.h"
#include "elf_builder.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "bounds.h"
#include "resident.h"

/* ---- time ---- */

enum order { OLDEST_FIRST, NEWEST_FIRST, INWARDS };

static const struct removal {
    const char *name;
    enum order order;
} removals[] = {{"removal, oldest first", OLDEST_FIRST},
                {"removal, newest first", NEWEST_FIRST},
                {"removal, from both ends", INWARDS}};

static size_t nth(enum order order, size_t i, size_t count)
{
    if (order == INWARDS)
        return i % 2 ? count - 1 - i / 2 : i / 2;
    return order == OLDEST_FIRST ? i : count - 1 - i;
}

/* Arrays of finalizers, each of one null pointer, which is not called. */
static struct bytes with_arrays(unsigned count)
{
    struct file file;
    Elf64_Shdr *more = calloc(count, sizeof *more);
    void *nulls = calloc(count, 8);
    file_begin(&file);
    size_t at = file_append(&file, nulls, count * 8);
    for (unsigned i = 0; i < count; i++)
        more[i] = (Elf64_Shdr){.sh_name = FINI_NAME,
                               .sh_type = SHT_FINI_ARRAY,
                               .sh_flags = SHF_ALLOC | SHF_WRITE,
                               .sh_offset = at + i * 8,
                               .sh_size = 8,
                               .sh_addralign = 8};
    struct bytes object = file_finish(&file, more, count);
    free(nulls);
    free(more);
    return object;
}

static struct tn_tracker *add_with_arrays(struct fixture *f, unsigned count)
{
    struct tn_error err;
    struct tn_tracker *tracker;
    assert_ok(tn_tracker_create(f->library, &tracker, &err), &err);
    struct bytes object = with_arrays(count);
    const struct tn_input input = {
        .size = sizeof input, .name = "arrays.o", .bytes = object.at, .length = object.size, .owner = tracker};
    assert_ok(tn_add_object(f->library, &input, &err), &err);
    link_all(f);
    assert_ok(tn_run_initializers(f->library, 0, NULL, NULL, &err), &err);
    free(object.at);
    return tracker;
}

enum { REMOVED = 200, OTHERS = 20, ARRAYS = 10000 };

/* Milliseconds for the removal of REMOVED objects, with others added before them and after. */
static double removal_among(int others, enum order order)
{
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *trackers[REMOVED];
    struct tn_error err;
    for (size_t i = 0; i < REMOVED; i++) {
        if (others && i % (REMOVED / OTHERS) == 0)
            add_with_arrays(&f, ARRAYS);
        trackers[i] = add_with_arrays(&f, 1);
    }
    double start = bounds_now();
    for (size_t i = 0; i < REMOVED; i++)
        assert_ok(tn_tracker_remove(trackers[nth(order, i, REMOVED)], &err), &err);
    double spent = bounds_now() - start;
    close_fixture(&f);
    return spent;
}

static void it_costs_the_same_among_others(void **state)
{
    const struct removal *removal = *state;
    double alone = removal_among(0, removal->order), among = removal_among(OTHERS, removal->order);
    print_message("%s: %.1f ms, among %d others %.1f ms\n", removal->name, alone, OTHERS * ARRAYS, among);
    assert_true(among < 5 + 5 * alone);
}

/* ---- memory: zeros ---- */

/* Of the pages that lie in it. */
static size_t resident_bytes(const void *address, size_t size)
{
    enum { PAGE = 4096 };
    static unsigned char in_memory[4096];
    uintptr_t start = ((uintptr_t)address + PAGE - 1) & -(uintptr_t)PAGE,
              end = ((uintptr_t)address + size) & -(uintptr_t)PAGE;
    size_t count = 0;
    assert_true((end - start) / PAGE <= sizeof in_memory);
    assert_int_equal(mincore((void *)start, end - start, in_memory), 0);
    for (size_t i = 0; i < (end - start) / PAGE; i++)
        count += in_memory[i] & 1;
    return count * PAGE;
}

/* Links an object with nothing but that many zeros, which `value` is then written to. */
static struct tn_tracker *link_zeros(const struct fixture *f, size_t size, int value)
{
    static struct elf elf;
    struct tn_error err;
    struct tn_library *library;
    struct tn_tracker *tracker;
    void *address;
    memset(&elf, 0, sizeof elf);
    unsigned zeros = elf_section(&elf, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, NULL, size);
    elf_symbol(&elf, "zeros", STB_GLOBAL, STT_OBJECT, zeros, 0, size);
    struct bytes object = elf_finish(&elf);
    assert_ok(tn_library_create(f->session, "zeros", &library, &err), &err);
    assert_ok(tn_tracker_create(library, &tracker, &err), &err);
    const struct tn_input input = {
        .size = sizeof input, .name = "zeros.o", .bytes = object.at, .length = object.size, .owner = tracker};
    assert_ok(tn_add_object(library, &input, &err), &err);
    assert_ok(tn_link(library, &err), &err);
    assert_ok(tn_lookup(library, "zeros", &address, &err), &err);
    if (value)
        memset(address, value, size);
    size_t resident = resident_bytes(address, size);
    assert_true(value ? resident > size / 2 : resident < size / 10);
    free(object.at);
    return tracker;
}

static const struct zeros {
    const char *name;
    size_t size, count;
} zeros[] = {{"16 MiB of zeros", 16 << 20, 1}, {"40 times 1 MiB of zeros", 1 << 20, 40}};

/* And an object that comes to lie there takes no memory until its zeros are used. */
static void what_was_used_is_given_back(void **state)
{
    const struct zeros *row = *state;
    struct fixture f = open_fixture(NULL);
    struct tn_tracker *trackers[40];
    struct tn_error err;
    long before = resident_kb(), used = (long)(row->size * row->count >> 10);
    for (size_t i = 0; i < row->count; i++)
        trackers[i] = link_zeros(&f, row->size, 1);
    for (size_t i = 0; i < row->count; i++)
        assert_ok(tn_tracker_remove(trackers[i], &err), &err);
    long left = resident_kb() - before;
    print_message("%s: %ld KB used, %ld KB left\n", row->name, used, left);
    for (size_t i = 0; i < row->count; i++)
        link_zeros(&f, row->size, 0);
#if !defined __SANITIZE_THREAD__ && !defined __SANITIZE_ADDRESS__ /* which take memory of their own, and keep it */
    assert_true(left < used / 10 + 1024);
    assert_true(resident_kb() - before < used / 10 + 1024);
#endif
    close_fixture(&f);
}

int main(void)
{
    return RUN_ROWS("removals", removals, it_costs_the_same_among_others) +
           RUN_ROWS("zeros", zeros, what_was_used_is_given_back);
}
