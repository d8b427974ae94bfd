/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Unwind tables are added and removed in every order, in two windows with another table between them. The program's
 * unwinder is the oracle: it finds the registered functions, even while tables are being registered or removed, and no
 * others. The functions are only addresses; nothing runs, and unwinders do not read code. */

#include "support.h"

#include <dlfcn.h>
#include <inttypes.h>

#include "link/unwind/unwind.h"

enum {
    WINDOWS = 2,
    PER_WINDOW = 1500,
    FUNCTIONS = WINDOWS * PER_WINDOW,
    STEP = 32, /* distance of functions, which have 16 bytes */
    SAMPLE = 40,
};

static const uint64_t windows[WINDOWS] = {0x20000000, 0x700000000000};
static const uint64_t between = 0x300000000000;

/* A common entry and one function with absolute addresses. */
struct table {
    uint32_t common_length, common_id;
    uint8_t version, augmentation, code_align, data_align, return_register, padding[7];
    uint32_t length, distance;
    uint64_t start, size;
    uint32_t end;
} __attribute__((packed));

static struct function {
    struct table table;
    uint64_t code;
    struct tn__unwind_table *registered;
    bool alive; /* registered before the current call and after it */
} functions[FUNCTIONS];

static struct table foreign;
static struct tn__unwind unwind;
static bool busy; /* inside a call */
static uint32_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * limit >> 32);
}

static struct table table_of(uint64_t start)
{
    return (struct table){.common_length = 16,
                          .version = 1,
                          .code_align = 1,
                          .data_align = 0x78,
                          .return_register = 16,
                          .length = 20,
                          .distance = 24,
                          .start = start,
                          .size = 16};
}

/* ---- the oracle ---- */

struct bases {
    void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *pc, struct bases *bases);

static bool is_found(uint64_t code)
{
    struct bases bases;
    return _Unwind_Find_FDE((void *)(uintptr_t)(code + 3), &bases) && (uintptr_t)bases.function == code;
}

static void check_sample(void)
{
    for (int i = 0; i < SAMPLE; i++) {
        const struct function *f = &functions[random_below(FUNCTIONS)];
        if (f->alive && !is_found(f->code))
            fail_msg("%#" PRIx64 " is not found", f->code);
    }
    assert_true(is_found(between));
}

static void check_all(void)
{
    assert_true(is_found(between));
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (is_found(functions[i].code) != functions[i].alive)
            fail_msg("%#" PRIx64 " is %sfound", functions[i].code, functions[i].alive ? "not " : "");
}

/* The unwinder's functions as called by the library: after each call, every function that was registered before is
 * still found. */
#define WATCHED(name)                                                                                                  \
    void name(void *table);                                                                                            \
    void name(void *table)                                                                                             \
    {                                                                                                                  \
        void (*real)(void *);                                                                                          \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                                     \
        real(table);                                                                                                   \
        if (busy)                                                                                                      \
            check_sample();                                                                                            \
    }
WATCHED(__register_frame)
WATCHED(__register_frame_table)
WATCHED(__deregister_frame)

/* ---- changes ---- */

/* Registers functions as one link does. Some tables count as large, which are kept in small sets. */
static void add(struct function *const *chosen, size_t count, bool large)
{
    struct tn__unwind_table *tables;
    uint32_t size = large ? 20000 : sizeof(struct table);
    busy = true;
    assert_true(tn__unwind_prepare(&unwind, count, count * size, &tables));
    for (size_t i = 0; i < count; i++) {
        struct tn__unwind_table *table = tables;
        tables = table->next;
        table->next = NULL;
        struct tn__unwind_table as = {
            .address = (uintptr_t)&chosen[i]->table,
            .code = chosen[i]->code,
            .size = size,
            .window = chosen[i]->code >= windows[1],
        };
        tn__unwind_register(&unwind, table, as);
        chosen[i]->registered = table;
        chosen[i]->alive = true;
    }
    busy = false;
}

static void take_back(struct function *f)
{
    f->alive = false;
    busy = true;
    tn__unwind_remove(&unwind, f->registered);
    busy = false;
    f->registered = NULL;
}

/* Adds up to `count` functions that are not registered, the first ones or random ones. */
static void add_some(size_t count, bool first, bool large)
{
    static struct function *chosen[FUNCTIONS];
    size_t found = 0, from = first ? 0 : random_below(FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS && found < count; i++) {
        struct function *f = &functions[(from + i) % FUNCTIONS];
        if (!f->alive && (first || random_below(2)))
            chosen[found++] = f;
    }
    if (found)
        add(chosen, found, large);
}

static void take_back_some(size_t count)
{
    for (; count; count--) {
        struct function *f = &functions[random_below(FUNCTIONS)];
        if (f->alive)
            take_back(f);
    }
}

static int open_unwind(void **state)
{
    (void)state;
    seed = 1;
    for (size_t i = 0; i < FUNCTIONS; i++) {
        uint64_t code = windows[i / PER_WINDOW] + i % PER_WINDOW * STEP;
        functions[i] = (struct function){.table = table_of(code), .code = code};
    }
    unwind = (struct tn__unwind){0};
    foreign = table_of(between);
    __register_frame(&foreign);
    return 0;
}

static int close_unwind(void **state)
{
    (void)state;
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (functions[i].alive)
            take_back(&functions[i]);
    check_all();
    tn__unwind_close(&unwind);
    __deregister_frame(&foreign);
    return 0;
}

/* ---- tests ---- */

static void in_the_order_of_their_code(void **state)
{
    (void)state;
    for (int i = 0; i < FUNCTIONS; i++)
        add_some(1, true, false);
    check_all();
}

static void in_any_order(void **state)
{
    (void)state;
    for (int i = 0; i < FUNCTIONS; i++)
        add_some(1, false, false);
    check_all();
    for (int i = 0; i < 20; i++) {
        take_back_some(400);
        check_all();
        add_some(1 + random_below(300), i % 2, i % 3 == 0);
        check_all();
    }
}

static void many_at_once(void **state)
{
    (void)state;
    add_some(FUNCTIONS, true, false);
    check_all();
    take_back_some(3 * FUNCTIONS);
    check_all();
    for (int i = 0; i < 10; i++) {
        add_some(FUNCTIONS / 8, false, i % 2);
        check_all();
    }
}

/* Few objects are registered in another way, and must still be found after there are more. */
static void from_few_to_many(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        add_some(9, false, false);
        take_back_some(2000);
        check_all();
    }
    for (int i = 0; i < 3 * TN__UNWIND_FEW; i++) {
        add_some(1, false, false);
        check_all();
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_unwind, close_unwind)
    const struct CMUnitTest tests[] = {
        TEST(in_the_order_of_their_code),
        TEST(in_any_order),
        TEST(many_at_once),
        TEST(from_few_to_many),
    };
    return cmocka_run_group_tests_name("link/unwind_sets", tests, NULL, NULL);
}
