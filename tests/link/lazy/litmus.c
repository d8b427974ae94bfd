/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Litmus programs over what the linker publishes: slots that are redirected, stubs that are new, code instances. */

#include "litmus.h"
#include "support.h"

static void *turns(uint64_t n)
{
    return (void *)(uintptr_t)n;
}

static void *address_of(uint64_t (*function)(void))
{
    void *address;
    memcpy(&address, &function, sizeof address);
    return address;
}

static uint64_t call_at(const void *address)
{
    uint64_t (*function)(void);
    memcpy(&function, &address, sizeof function);
    return function();
}

/* ---- message passing through a slot ---- */

/* Turn n writes what target n % TARGETS returns, then lets the slot lead there. */
enum { TARGETS = 8 };

static _Atomic uint64_t messages[TARGETS];

#define TARGET(i)                                                                                                      \
    static uint64_t target_##i(void)                                                                                   \
    {                                                                                                                  \
        return litmus_load(&messages[i]);                                                                              \
    }
TARGET(0)
TARGET(1)
TARGET(2)
TARGET(3)
TARGET(4)
TARGET(5)
TARGET(6)
TARGET(7)

static uint64_t (*const targets[TARGETS])(void) = {target_0, target_1, target_2, target_3,
                                                   target_4, target_5, target_6, target_7};

struct slot {
    struct fixture f;
    const void *stub;
};

static void *redirect(void *argument)
{
    const struct slot *s = argument;
    uint64_t n = TARGETS;
    for (; litmus_goes_on(); n++) {
        litmus_store(&messages[n % TARGETS], n);
        litmus_check(!tn_redirect(s->f.library, "slot", address_of(targets[n % TARGETS]), NULL), "not redirected");
    }
    return turns(n - TARGETS);
}

/* A message may be newer than the redirection that it was found by. It was written after the redirection before it, so
 * the next call leads at least there. */
static void *call_slot(void *argument)
{
    const struct slot *s = argument;
    uint64_t last = 0, calls = 0;
    for (; litmus_goes_on(); calls++) {
        uint64_t n = call_at(s->stub);
        litmus_check(n + 1 >= last, "a call does not see what was written before the slot");
        last = n;
    }
    return turns(calls);
}

static void messages_pass_through_a_slot(void **state)
{
    struct slot s = {.f = open_fixture(NULL)};
    const struct tn_stub_options options = {.size = sizeof options};
    struct tn_error err;
    for (uint64_t i = 0; i < TARGETS; i++)
        litmus_store(&messages[i], i);
    assert_ok(tn_define_redirectable(s.f.library, "slot", address_of(target_0), &options, &err), &err);
    s.stub = lookup(&s.f, "slot");
    litmus_run(redirect, call_slot, &s);
    close_fixture(&s.f);
    (void)state;
}

/* ---- new stubs ---- */

/* A new stub is handed over without any order. So is its number, in the message that the stub leads to. */
enum { STUBS = 4000 };

static _Atomic(const void *) handed_over[STUBS];

static void *make_stubs(void *argument)
{
    const struct slot *s = argument;
    const struct tn_stub_options options = {.size = sizeof options};
    uint64_t n = 0;
    for (; n < STUBS && litmus_goes_on(); n++) {
        char name[24];
        void *stub = NULL;
        snprintf(name, sizeof name, "stub%u", (unsigned)n);
        litmus_check(!tn_define_redirectable(s->f.library, name, address_of(targets[n % TARGETS]), &options, NULL) &&
                         !tn_lookup(s->f.library, name, &stub, NULL),
                     "no stub");
        atomic_store_explicit(&handed_over[n], stub, memory_order_relaxed);
    }
    return turns(n);
}

static void *call_stubs(void *unused)
{
    uint64_t n = 0, looks = 0;
    for (; n < STUBS && litmus_goes_on(); looks++) {
        const void *stub = atomic_load_explicit(&handed_over[n], memory_order_relaxed);
        if (!stub)
            continue;
        litmus_check(call_at(stub) == n % TARGETS, "a new stub leads elsewhere");
        n++;
    }
    (void)unused;
    return turns(looks);
}

static void new_stubs_are_called(void **state)
{
    struct slot s = {.f = open_fixture(NULL)};
    for (uint64_t i = 0; i < TARGETS; i++)
        litmus_store(&messages[i], i);
    for (int i = 0; i < STUBS; i++)
        atomic_store(&handed_over[i], NULL);
    litmus_run(make_stubs, call_stubs, &s);
    close_fixture(&s.f);
    (void)state;
}

/* ---- code instances ---- */

/* What is published is written just before; "code" is memory that says whose it is. */
enum { INSTANCES = 20000 };

static struct tn_instance instances[INSTANCES];
static _Atomic uint64_t entries[INSTANCES], bodies[INSTANCES];

static void *publish(void *unused)
{
    uint64_t n = 0;
    for (; n < INSTANCES && litmus_goes_on(); n++) {
        const struct tn_instance_code code = {.invoke = (void *)&entries[n], .specptr = (void *)&bodies[n]};
        litmus_store(&entries[n], n + 1);
        litmus_store(&bodies[n], n + 1);
        litmus_check(!tn_instance_publish(&instances[n], &code, NULL, NULL), "not published");
    }
    (void)unused;
    return turns(n);
}

static void *read_instances(void *unused)
{
    uint64_t n = 0, looks = 0;
    for (; n < INSTANCES && litmus_goes_on(); looks++) {
        const struct tn_instance_code code = tn_instance_read(&instances[n], 0);
        if (!code.invoke)
            continue;
        litmus_check(litmus_load(code.invoke) == n + 1, "an entry without its code");
        litmus_check(code.specptr == (void *)&bodies[n] && code.specsigflags & TN_INSTANCE_READY, "half of a pair");
        litmus_check(code.specptr && litmus_load(code.specptr) == n + 1, "a body without its code");
        n++;
    }
    (void)unused;
    return turns(looks);
}

static void instances_are_whole(void **state)
{
    static const struct tn_instance_entries none;
    for (int i = 0; i < INSTANCES; i++) {
        tn_instance_init(&instances[i], &none);
        litmus_store(&entries[i], 0);
        litmus_store(&bodies[i], 0);
    }
    litmus_run(publish, read_instances, NULL);
    for (int i = 0; i < INSTANCES; i++)
        tn_instance_finish(&instances[i]);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_pass_through_a_slot),
        cmocka_unit_test(new_stubs_are_called),
        cmocka_unit_test(instances_are_whole),
    };
    return cmocka_run_group_tests_name("link/litmus", tests, NULL, NULL);
}
