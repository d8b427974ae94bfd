/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code instances that rest on an assumption, when it is broken. */

#include "assume.h"

static long generic(long x)
{
    return -x;
}

static long wait_for_it(long x)
{
    return x - 1000;
}

static long invoke(long x)
{
    return x;
}

static void *address_of(long (*function)(long))
{
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

static struct tn_instance_entries entries;

static int try_add_instance(struct tn_jit *jit, struct tn_library *library, const char *program,
                            struct tn_instance *instance, const struct tn_jit_instance *with, struct tn_assumption *a,
                            struct tn_error *err)
{
    struct tn_jit_module module = toy_module(program);
    entries = (struct tn_instance_entries){address_of(generic), address_of(wait_for_it)};
    tn_instance_init(instance, &entries);
    struct tn_jit_instance one = *with;
    one.instance = instance;
    module.instances = &one;
    module.instance_count = 1;
    module.assumptions = &a;
    module.assumption_count = a ? 1 : 0;
    return tn_jit_add_module(jit, library, &module, err);
}

static void add_instance(struct tn_jit *jit, struct tn_library *library, const char *program,
                         struct tn_instance *instance, const struct tn_jit_instance *with, struct tn_assumption *a)
{
    struct tn_error err;
    check(try_add_instance(jit, library, program, instance, with, a, &err), &err);
}

/* With a specptr and the client's invoke entry; with an invoke entry of the module's. */
static void instances_fall_back(void **state)
{
    (void)state;
    const struct tn_jit_instance ways[] = {{.invoke_address = address_of(invoke), .specialized = "first"},
                                           {.invoke = "first"}};
    for (int i = 0; i < 4; i++) {
        struct tn_jit *jit = create(i & 1);
        struct tn_assumption *a = assume(jit);
        struct tn_instance resting, other;
        add_instance(jit, NULL, "program 1", &resting, &ways[i / 2], a);
        struct tn_instance_code code = tn_instance_read(&resting, 0);
        assert_int_equal(call(code.specptr ? code.specptr : code.invoke, 1), 43);
        struct tn_library *library;
        struct tn_error err;
        check(tn_library_create(tn_jit_session(jit), "other", &library, &err), &err);
        add_instance(jit, library, "data", &other, &(struct tn_jit_instance){.invoke_address = address_of(invoke)},
                     NULL);
        break_it(a);
        code = tn_instance_read(&resting, 0);
        assert_null(code.specptr);
        assert_ptr_equal(code.invoke, address_of(generic));
        assert_ptr_equal(tn_instance_read(&other, 0).invoke, address_of(invoke));
        struct tn_instance *const list[] = {&resting};
        tn_instances_withdraw(list, 1); /* then it may have other code */
        const struct tn_instance_code anew = {.invoke = address_of(invoke), .specptr = address_of(twice)};
        check(tn_instance_publish(&resting, &anew, NULL, &err), &err);
        break_it(a);
        assert_ptr_equal(tn_instance_read(&resting, 0).specptr, address_of(twice));
        end(jit);
        tn_assumption_destroy(a);
    }
}

/* Those that were published with other code, by the client, keep that. Instances may be gone before their module. */
static void instances_with_other_code(void **state)
{
    (void)state;
    struct tn_jit *jit = create(true);
    struct tn_error err;
    struct tn_assumption *a = assume(jit);
    struct tn_instance *instance = calloc(1, sizeof *instance), updated;
    assert_non_null(instance);
    add_instance(jit, NULL, "program 1", instance,
                 &(struct tn_jit_instance){.invoke_address = address_of(invoke), .specialized = "first"}, a);
    tn_instance_finish(instance);
    free(instance);
    struct tn_library *library;
    check(tn_library_create(tn_jit_session(jit), "other", &library, &err), &err);
    add_instance(jit, library, "program 2", &updated,
                 &(struct tn_jit_instance){.invoke_address = address_of(invoke), .specialized = "first"}, a);
    check(tn_instance_update(&updated, tn_instance_read(&updated, 0).specptr, address_of(twice),
                             tn_library_tracker(library), &err),
          &err);
    break_it(a);
    assert_ptr_equal(tn_instance_read(&updated, 0).specptr, address_of(twice));
    end(jit);
    tn_assumption_destroy(a);
}

static void instance_under_way(void **state)
{
    (void)state;
    struct tn_jit *jit = create(false);
    struct tn_error err;
    struct tn_instance instance;
    const struct tn_jit_instance with = {.invoke_address = address_of(invoke), .specialized = "first"};
    shared = assume(jit);
    toy_calls.before = break_shared;
    add_instance(jit, NULL, "program 2", &instance, &with, shared);
    assert_ptr_equal(tn_instance_read(&instance, 0).invoke, address_of(generic));
    assert_null(instance.specptr);
    assert_int_equal(try_add_instance(jit, NULL, "program 3", &instance, &with, shared, &err), TN_ECANCELLED);
    assert_null(instance.invoke);
    tn_assumption_destroy(shared);
    end(jit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_fall_back),
        cmocka_unit_test(instances_with_other_code),
        cmocka_unit_test(instance_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
