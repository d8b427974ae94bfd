/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Unwind tables are added and removed in every order, in two windows with another table between them. The program's
 * unwinder is the oracle: it finds the registered functions, even while tables are being registered or removed, and no
 * others. The functions are only addresses; nothing runs, and unwinders do not read code. */

#include "support.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>

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

void __register_frame(void *table);
void __deregister_frame(void *table);

static struct table foreign;
static struct tn__unwind unwind;
static bool busy;       /* inside a call */
static bool probing;    /* objects are libgcc's own */
static bool unsearched; /* nothing is looked up in this test */
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

/* ---- libgcc's objects ---- */

/* Those of deregistered sets that a search looked into: a thread that throws may still read them. By address. */
enum { OBJECT_SIZE = 6 * sizeof(void *), MOST_SEARCHED = 1 << 17 };
static struct searched {
    const unsigned char *object;
    unsigned char bytes[OBJECT_SIZE];
} searched[MOST_SEARCHED];
static size_t searched_count;

static struct searched *place_of(const void *object)
{
    size_t at = (uintptr_t)object / 16 * 2654435761u % MOST_SEARCHED;
    while (searched[at].object && searched[at].object != object)
        at = (at + 1) % MOST_SEARCHED;
    return &searched[at];
}

static void check_searched(void)
{
    size_t count = 0;
    for (size_t i = 0; i < MOST_SEARCHED; i++)
        if (searched[i].object) {
            assert_memory_equal(searched[i].object, searched[i].bytes, OBJECT_SIZE);
            count++;
        }
    assert_int_equal(count, searched_count);
    assert_int_equal(unwind.blocks.kept, searched_count);
}

static bool is_searched(const void *object)
{
    void *lowest;
    memcpy(&lowest, object, sizeof lowest);
    return (uintptr_t)lowest != UINTPTR_MAX;
}

static void keep_searched(const void *object)
{
    struct searched *kept = place_of(object);
    assert_null(kept->object);
    assert_true(++searched_count < MOST_SEARCHED);
    kept->object = object;
    memcpy(kept->bytes, object, OBJECT_SIZE);
}

/* A table that is registered alone is deregistered with its code, unless it goes over to a set. */
static bool goes_with_its_code(const void *table)
{
    uintptr_t at = (uintptr_t)table - (uintptr_t)functions;
    return at < sizeof functions && !functions[at / sizeof *functions].alive;
}

static void check_call(void)
{
    if (busy && !unsearched)
        check_sample();
}

/* The unwinder's functions as called by the library: after each call, every function that was registered before is
 * still found, and no object is used that a thread may still read. */
static void *real(const char *name)
{
    void *address = dlsym(RTLD_NEXT, name);
    assert_non_null(address);
    return address;
}

void __register_frame_info(const void *table, void *object);
void __register_frame_info(const void *table, void *object)
{
    void (*function)(const void *, void *);
    *(void **)&function = real(__func__);
    assert_true(probing || !place_of(object)->object);
    function(table, object);
    check_call();
}

void __register_frame_info_table(void *set, void *object);
void __register_frame_info_table(void *set, void *object)
{
    void (*function)(void *, void *);
    *(void **)&function = real(__func__);
    assert_true(probing || !place_of(object)->object);
    function(set, object);
    check_call();
}

void *__deregister_frame_info(const void *table);
void *__deregister_frame_info(const void *table)
{
    void *(*function)(const void *);
    *(void **)&function = real(__func__);
    void *object = function(table);
    check_call();
    if (object && !probing && !goes_with_its_code(table) && is_searched(object))
        keep_searched(object);
    return object;
}

/* Of objects that libgcc allocates, which it may do through the functions above. */
void __register_frame_table(void *set);
void __register_frame_table(void *set)
{
    void (*function)(void *);
    *(void **)&function = real(__func__);
    probing = true;
    function(set);
    probing = false;
}

void __deregister_frame(void *table)
{
    void (*function)(void *);
    *(void **)&function = real(__func__);
    probing = true;
    function(table);
    probing = false;
}

/* ---- changes ---- */

/* However many objects threads have looked into, there are blocks for the next removal and for every union of sets. */
static void check_reserve(void)
{
    if (unwind.sets.count)
        assert_true(unwind.blocks.count > unwind.sets.count);
}

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
        check_reserve();
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
    check_reserve();
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
    unsearched = false;
    memset(searched, 0, sizeof searched);
    searched_count = 0;
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
    check_searched();
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

/* An object that no search looked into is used again at once. */
static void without_searches(void **state)
{
    (void)state;
    enum { TABLES = 200, ROUNDS = 1000 };
    unsearched = true;
    add_some(TABLES, true, false);
    size_t blocks = unwind.blocks.count;
    for (int i = 0; i < ROUNDS; i++) {
        take_back(&functions[i % TABLES]);
        add_some(1, true, false);
    }
    assert_int_equal(unwind.blocks.kept, 0);
    assert_int_equal(unwind.blocks.count, blocks);
}

/* Nor is that of a full set lost at every change: it is searched once, until it was half empty. */
static void full_sets_without_searches(void **state)
{
    (void)state;
    enum { ROUNDS = 2000, HALF = PER_WINDOW / 2 };
    unsearched = true;
    add_some(PER_WINDOW, true, false);
    for (int i = 0; i < ROUNDS; i++) {
        take_back(&functions[i % PER_WINDOW]);
        add_some(1, true, false);
    }
    if (!unwind.sets.count)
        skip(); /* libgcc from version 13 on */
    size_t kept = unwind.blocks.kept;
    assert_in_range(kept, 1, 3 * PER_WINDOW / 512);
    for (int i = 0; i < ROUNDS; i++) {
        take_back(&functions[HALF]);
        add_some(1, true, false);
    }
    assert_int_equal(unwind.blocks.kept, kept);
}

/* One that was searched is never used again, whatever comes after it: every round leaves one for the addition and one
 * for the removal. */
static void after_searches(void **state)
{
    (void)state;
    enum { TABLES = 200, ROUNDS = 5000 };
    unsearched = true;
    add_some(TABLES, true, false);
    if (!unwind.sets.count)
        skip(); /* libgcc from version 13 on */
    assert_true(is_found(functions[0].code));
    for (size_t i = 1; i <= ROUNDS; i++) {
        take_back(&functions[TABLES / 2]);
        assert_true(is_found(functions[0].code));
        add_some(1, true, false);
        assert_true(is_found(functions[0].code));
        assert_int_equal(unwind.blocks.kept, 2 * i);
    }
}

/* Threads search while tables come and go beside those of their functions. */
static void *search(void *stop)
{
    size_t wrong = 0;
    while (!__atomic_load_n((int *)stop, __ATOMIC_RELAXED))
        for (size_t i = 0; i < FUNCTIONS; i += PER_WINDOW / 10)
            wrong += !is_found(functions[i].code);
    return (void *)(uintptr_t)wrong;
}

static void while_threads_search(void **state)
{
    (void)state;
    enum { THREADS = 2, ROUNDS = 3000 };
    struct function *chosen[64];
    size_t count = 0;
    for (size_t i = 0; i < FUNCTIONS; i += PER_WINDOW / 10)
        chosen[count++] = &functions[i];
    for (size_t i = 1; count < TN_COUNT(chosen); i += PER_WINDOW / 50)
        chosen[count++] = &functions[i];
    add(chosen, count, false);
    pthread_t threads[THREADS];
    int stop = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, search, &stop), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct function *one = &functions[3 + i % 7];
        add(&one, 1, false);
        take_back(one);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
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
        TEST(without_searches),
        TEST(full_sets_without_searches),
        TEST(after_searches),
        TEST(while_threads_search),
    };
    return cmocka_run_group_tests_name("link/unwind_sets", tests, NULL, NULL);
}
