/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Aliases defined by the client: what they resolve to, and when they are rejected. */

#include "elf_builder.h"

#include <stdlib.h>
#include <time.h>

/* An object that defines `name`, which returns a number, and has no references. */
static struct bytes function_object(const char *name, int answer, unsigned bind)
{
    static struct elf elf;
    uint8_t code[ANSWER_SIZE];
    memset(&elf, 0, sizeof elf);
    put_answer(code, (uint32_t)answer);
    unsigned text = elf_code(&elf, code, sizeof code);
    elf_symbol(&elf, name, bind, STT_FUNC, text, 0, sizeof code);
    return elf_finish(&elf);
}

/* An object whose `start` jumps to `name`. */
static struct bytes jump_object(const char *name)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, jump_code, sizeof jump_code);
    elf_function(&elf, "start", text, 0);
    elf_reloc(&elf, text, machine_jump.offset, elf_undefined(&elf, name), machine_jump.type, machine_jump.addend);
    return elf_finish(&elf);
}

static void add_and_free(const struct fixture *f, const char *name, struct bytes *kept, struct bytes object)
{
    add_bytes(f, name, object.at, object.size);
    *kept = object;
}

static void define_alias(const struct fixture *f, const char *name, const char *of)
{
    struct tn_error err;
    assert_ok(tn_define_alias(f->library, name, of, &err), &err);
}

/* An alias resolves before and after its target is defined, through other aliases, and from objects that refer to
 * it. */
static void test_leads_to_its_target(void **state)
{
    (void)state;
    struct fixture f = open_fixture(NULL);
    struct bytes kept[2];
    define_alias(&f, "second", "first");
    define_alias(&f, "first", "function");
    add_and_free(&f, "function.o", &kept[0], function_object("function", 1, STB_GLOBAL));
    add_and_free(&f, "jump.o", &kept[1], jump_object("second"));
    define_alias(&f, "third", "second");
    assert_int_equal(call(&f, "start"), 1);
    assert_ptr_equal(lookup(&f, "third"), lookup(&f, "function"));
    assert_ptr_equal(lookup(&f, "second"), lookup(&f, "function"));
    close_fixture(&f);
    free(kept[0].at), free(kept[1].at);
}

static void test_leads_to_the_host(void **state)
{
    (void)state;
    static int datum;
    struct fixture f = open_fixture(NULL);
    define(&f, "datum", &datum);
    define_alias(&f, "other", "datum");
    define_alias(&f, "length", "strlen");
    assert_ptr_equal(lookup(&f, "other"), &datum);
    assert_ptr_equal(lookup(&f, "length"), lookup(&f, "strlen"));
    close_fixture(&f);
}

/* A weak definition in an object yields to the alias, a strong one clashes, in either order. */
static void test_definitions_beside_it(void **state)
{
    (void)state;
    struct tn_error err;
    for (int alias_first = 0; alias_first < 2; alias_first++) {
        struct fixture f = open_fixture(NULL);
        struct bytes kept[2];
        add_and_free(&f, "function.o", &kept[0], function_object("function", 1, STB_GLOBAL));
        if (alias_first)
            define_alias(&f, "weak", "function");
        add_and_free(&f, "weak.o", &kept[1], function_object("weak", 2, STB_WEAK));
        if (!alias_first)
            define_alias(&f, "weak", "function");
        assert_int_equal(call(&f, "weak"), 1);
        assert_error(tn_define_alias(f.library, "function", "weak", &err), TN_EDUP, &err, "'function'", "function.o");
        assert_error(tn_define_alias(f.library, "weak", "function", &err), TN_EDUP, &err, "'weak'", "the client");
        assert_error(tn_define(f.library, "weak", &err, &err), TN_EDUP, &err, "'weak'");
        struct bytes strong = function_object("weak", 2, STB_GLOBAL);
        assert_error(try_add_bytes(&f, "strong.o", strong.at, strong.size, &err), TN_EDUP, &err, "'weak'", "strong.o");
        close_fixture(&f);
        free(kept[0].at), free(kept[1].at), free(strong.at);
    }
}

static void test_cycles_are_refused(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    assert_error(tn_define_alias(f.library, "a", "a", &err), TN_EINVAL, &err, "'a'", "itself");
    define_alias(&f, "a", "b");
    assert_error(tn_define_alias(f.library, "b", "a", &err), TN_EINVAL, &err, "'b'", "through 'a'");
    define_alias(&f, "b", "c");
    assert_error(tn_define_alias(f.library, "c", "a", &err), TN_EINVAL, &err, "'c'", "through 'a'");
    close_fixture(&f);
}

/* The error names the target, not the alias; once the target is defined, lookups succeed. */
static void test_undefined_target(void **state)
{
    (void)state;
    struct tn_error err;
    void *address;
    struct fixture f = open_fixture(NULL);
    struct bytes kept[2];
    define_alias(&f, "alias", "nowhere_defined");
    add_and_free(&f, "jump.o", &kept[0], jump_object("alias"));
    assert_error(tn_lookup(f.library, "start", &address, &err), TN_EUNDEF, &err, "'nowhere_defined'", "jump.o");
    assert_error(tn_lookup(f.library, "alias", &address, &err), TN_EUNDEF, &err, "'nowhere_defined'");
    add_and_free(&f, "function.o", &kept[1], function_object("nowhere_defined", 2, STB_GLOBAL));
    assert_int_equal(call(&f, "start"), 2);
    close_fixture(&f);
    free(kept[0].at), free(kept[1].at);
}

enum { FROM_THE_END, FROM_THE_BEGINNING, SHUFFLED, ORDERS, EVERY_OTHER_FIRST = ORDERS };

static int number_at(int i, int length, int order)
{
    int half = length / 2;
    if (order == EVERY_OTHER_FIRST)
        return i < half ? 2 * i + 2 : 2 * (i - half) + 1;
    return order == FROM_THE_BEGINNING ? length - i : i + 1;
}

/* The numbers from 1 to `length`, which is even, in this order. */
static int *order_numbers(int length, int order)
{
    int *numbers = malloc((size_t)length * sizeof *numbers);
    assert_non_null(numbers);
    unsigned random = 1;
    for (int i = 0; i < length; i++) {
        random = random * 1664525 + 1013904223;
        int other = order == SHUFFLED ? (int)((random >> 8) % (unsigned)(i + 1)) : i;
        numbers[i] = numbers[other];
        numbers[other] = number_at(i, length, order);
    }
    return numbers;
}

static double seconds(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* The CPU seconds that it takes to define `length` aliases, each of the next one, and, if `lookups` is not NULL, to
 * look them all up. */
static double time_of_chain(int length, int order, double *lookups)
{
    struct fixture f = open_fixture(NULL);
    char name[16], of[16];
    define(&f, "a0", &f);
    int *numbers = order_numbers(length, order), failed = 0;
    double start = seconds();
    for (int i = 0; i < length; i++) {
        snprintf(name, sizeof name, "a%d", numbers[i]);
        snprintf(of, sizeof of, "a%d", numbers[i] - 1);
        failed |= tn_define_alias(f.library, name, of, NULL);
    }
    double defined = seconds();
    for (int i = 1; lookups && i <= length; i++) {
        void *address = NULL;
        snprintf(name, sizeof name, "a%d", i);
        failed |= tn_lookup(f.library, name, &address, NULL) || address != &f;
    }
    if (lookups)
        *lookups = seconds() - defined;
    assert_int_equal(failed, 0);
    snprintf(name, sizeof name, "a%d", length);
    assert_ptr_equal(lookup(&f, name), &f);
    struct tn_error err;
    assert_error(tn_define_alias(f.library, "a0", name, &err), TN_EDUP, &err, "'a0'");
    free(numbers);
    close_fixture(&f);
    return defined - start;
}

/* Takes the smallest of up to ten measurements, as soon as one is below `limit`: a busy machine disturbs some of
 * them. */
static double measure_ratio(double (*measure)(int order), int order, double limit)
{
    double ratio = measure(order);
    for (int i = 1; i < 10 && ratio >= limit; i++) {
        double again = measure(order);
        ratio = again < ratio ? again : ratio;
    }
    return ratio;
}

static double long_to_short(int order)
{
    double less = time_of_chain(2000, order, NULL);
    return time_of_chain(32000, order, NULL) / less;
}

static double defining_to_looking_up(int order)
{
    double lookups, defined = time_of_chain(4000, order, &lookups);
    return defined / lookups;
}

/* Sixteen times as many aliases take about sixteen times as long to define; following the chain for each took two
 * hundred times as long. */
static void test_long_chains(void **state)
{
    (void)state;
    for (int order = 0; order < ORDERS; order++) {
        double ratio = measure_ratio(long_to_short, order, 100);
        print_message("32000 / 2000 aliases: %.1f times as long\n", ratio);
        assert_true(ratio < 100);
    }
}

/* In the worst order, half of the definitions follow the chain. So does each lookup: looking all of them up takes
 * longer than defining them. */
static void test_worst_order(void **state)
{
    (void)state;
    double ratio = measure_ratio(defining_to_looking_up, EVERY_OTHER_FIRST, 1);
    print_message("defining 4000 aliases in the worst order takes %.2f of the time that looking them up takes\n",
                  ratio);
    assert_true(ratio < 1);
}

static void test_arguments(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    assert_error(tn_define_alias(NULL, "a", "b", &err), TN_EINVAL, &err, "library");
    assert_error(tn_define_alias(f.library, "", "b", &err), TN_EINVAL, &err, "names");
    assert_error(tn_define_alias(f.library, "a", NULL, &err), TN_EINVAL, &err, "names");
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leads_to_its_target),   cmocka_unit_test(test_leads_to_the_host),
        cmocka_unit_test(test_definitions_beside_it), cmocka_unit_test(test_cycles_are_refused),
        cmocka_unit_test(test_undefined_target),      cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_long_chains),           cmocka_unit_test(test_worst_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
