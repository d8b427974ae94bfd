/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code instances under load: every tuple that a reader observes was published, and can be called. Code is simulated by
 * plain memory, and calls by reading it. Removed code is overwritten and freed, so that ThreadSanitizer detects each
 * missing order. Uses only src/link/instance/instance.c and src/base, so that it also runs on other architectures
 * (tests/models). */

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon.h"

#ifndef ROUNDS
#define ROUNDS 150 /* a second or two under ThreadSanitizer */
#endif

enum { WRITERS = 3, READERS = 3, UPDATERS = 2, REMOVERS = 2, MAGIC = 0x7e707 };

static uint32_t wrong;

static void check(bool condition)
{
    if (!condition)
        __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static void count(uint32_t *counter)
{
    __atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static uint32_t random_below(uint32_t *seed, uint32_t limit)
{
    *seed = *seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)*seed * limit >> 32);
}

/* ---- code ---- */

/* An entry, and bodies that are equivalent and belong to it. Reading one stands for calling it. */
struct piece {
    uint32_t magic;
    struct group *group;
    struct piece *next;
};

struct group {
    struct piece entry, *bodies;
    bool with_body;
    uint32_t flags;
    struct group *next; /* in the list of what was published for an instance */
};

static struct group stand_ins[2] = {{.entry = {.magic = MAGIC, .group = &stand_ins[0]}},
                                    {.entry = {.magic = MAGIC, .group = &stand_ins[1]}}};
static const struct tn_instance_entries kinds[2] = {{&stand_ins[0].entry, &stand_ins[1].entry},
                                                    {NULL, &stand_ins[1].entry}};

static bool is_stand_in(const struct piece *entry)
{
    return entry == kinds[0].generic || entry == kinds[0].wait;
}

static struct piece *make_body(struct group *group)
{
    struct piece *body = malloc(sizeof *body);
    *body = (struct piece){.magic = MAGIC, .group = group};
    body->next = __atomic_load_n(&group->bodies, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&group->bodies, &body->next, body, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
    return body;
}

static struct group *make_group(uint32_t kind)
{
    struct group *group = calloc(1, sizeof *group);
    group->entry = (struct piece){.magic = MAGIC, .group = group};
    group->with_body = kind;
    group->flags = kind > 1 ? TN_INSTANCE_SPECSIG : 0;
    if (kind)
        make_body(group);
    return group;
}

static void spoil(struct group *group)
{
    while (group->bodies) {
        struct piece *body = group->bodies;
        group->bodies = body->next;
        memset(body, 0xee, sizeof *body);
        free(body);
    }
    memset(group, 0xee, sizeof *group);
    free(group);
}

/* ---- instances, and all that was published for them ---- */

struct slot {
    struct tn_instance instance;
    struct group *groups;
};

static void make_slots(struct slot *slots, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        tn_instance_init(&slots[i].instance, &kinds[i % 4 == 0]);
        slots[i].groups = NULL;
    }
}

static uint32_t won, lost;

static void publish(struct slot *slot, uint32_t kind)
{
    struct group *group = make_group(kind);
    const struct tn_instance_code code = {&group->entry, group->bodies, group->flags};
    if (tn_instance_publish(&slot->instance, &code, NULL, NULL)) {
        count(&lost);
        spoil(group); /* never published */
        return;
    }
    count(&won);
    group->next = __atomic_load_n(&slot->groups, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&slot->groups, &group->next, group, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        ;
}

static void spoil_all(struct group *group)
{
    for (struct group *next; group; group = next) {
        next = group->next;
        spoil(group);
    }
}

/* ---- callers ---- */

static uint32_t seen_none, seen_stand_in, seen_entry, seen_bodies[2];

/* An entry reached through `invoke` may rely on finding a body of its own. */
static void call_entry(const struct tn_instance *instance, const struct piece *entry)
{
    check(entry->magic == MAGIC);
    if (entry->group->with_body) {
        const struct piece *body = __atomic_load_n(&instance->specptr, __ATOMIC_ACQUIRE);
        check(body && body->magic == MAGIC && body->group == entry->group);
    }
}

static void call(const struct tn_instance *instance, int waitcompile)
{
    struct tn_instance_code code = tn_instance_read(instance, waitcompile);
    const struct piece *entry = code.invoke, *body = code.specptr;
    if (!entry) {
        check(!body && !code.specsigflags);
        count(&seen_none);
        return;
    }
    call_entry(instance, entry);
    if (!body) {
        check(!code.specsigflags);
        count(is_stand_in(entry) ? &seen_stand_in : &seen_entry);
        return;
    }
    check(body->magic == MAGIC && body->group == entry->group);
    check(code.specsigflags == (body->group->flags | TN_INSTANCE_READY));
    count(&seen_bodies[code.specsigflags & TN_INSTANCE_SPECSIG]);
}

static void update(struct tn_instance *instance)
{
    struct tn_instance_code code = tn_instance_read(instance, 0);
    if (code.specptr) {
        struct piece *body = code.specptr;
        tn_instance_update(instance, body, make_body(body->group), NULL, NULL);
    }
}

/* ---- threads ---- */

enum role { WRITER, READER, UPDATER, REMOVER, ROLES };

struct part {
    pthread_t thread;
    enum role role;
    uint32_t number, seed;
};

static pthread_barrier_t all_there;

static void run(const uint32_t *counts, void *(*body)(void *))
{
    struct part parts[16];
    uint32_t n = 0;
    pthread_barrier_init(&all_there, NULL, counts[WRITER] + counts[READER] + counts[UPDATER] + counts[REMOVER]);
    for (int role = 0; role < ROLES; role++)
        for (uint32_t k = 0; k < counts[role]; k++, n++) {
            parts[n] = (struct part){.role = (enum role)role, .number = k, .seed = 77 * n + 1};
            pthread_create(&parts[n].thread, NULL, body, &parts[n]);
        }
    while (n)
        pthread_join(parts[--n].thread, NULL);
    pthread_barrier_destroy(&all_there);
}

/* ---- first publications: all writers want to publish each of many new instances ---- */

enum { NEW = 256, SLOTS = 12 };

static struct slot slots[NEW];
static const uint32_t publishers[ROLES] = {[WRITER] = WRITERS, [READER] = READERS, [UPDATER] = UPDATERS};

static void *publish_new(void *argument)
{
    struct part *part = argument;
    tn_thread_attach();
    pthread_barrier_wait(&all_there);
    for (uint32_t n = 0; n < NEW; n++) { /* starting from different places */
        uint32_t i = (n + part->number * NEW / 3) % NEW;
        struct tn_instance *instance = &slots[i].instance;
        if (part->role == READER)
            call(instance, (int)(i & 1));
        else if (part->role == UPDATER)
            update(instance);
        else if (random_below(&part->seed, 4))
            publish(&slots[i], random_below(&part->seed, 3));
        else
            (i & 1 ? tn_instance_promise : tn_instance_fall_back)(instance);
    }
    tn_thread_detach();
    return NULL;
}

static void first_publications(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        make_slots(slots, NEW);
        run(publishers, publish_new);
        for (size_t i = 0; i < NEW; i++) {
            call(&slots[i].instance, 1);
            spoil_all(slots[i].groups);
        }
    }
}

/* ---- a storm: published, updated and removed all the time ---- */

static uint32_t removed, removers_left;
static const uint32_t everybody[ROLES] = {
    [WRITER] = WRITERS, [READER] = READERS, [UPDATER] = UPDATERS, [REMOVER] = REMOVERS};

/* Everything in the list was published before; after the withdrawal, none of it is visible or running. */
static void remove_some(uint32_t number)
{
    struct tn_instance *instances[SLOTS / REMOVERS];
    struct group *groups[SLOTS / REMOVERS];
    for (size_t i = 0; i < SLOTS / REMOVERS; i++) {
        struct slot *slot = &slots[i * REMOVERS + number];
        instances[i] = &slot->instance;
        groups[i] = __atomic_exchange_n(&slot->groups, NULL, __ATOMIC_ACQ_REL);
    }
    tn_instances_withdraw(instances, SLOTS / REMOVERS);
    for (size_t i = 0; i < SLOTS / REMOVERS; i++) {
        spoil_all(groups[i]);
        count(&removed);
    }
}

static void act(struct part *part)
{
    struct slot *slot = &slots[random_below(&part->seed, SLOTS)];
    uint32_t dice = random_below(&part->seed, 8);
    if (part->role == READER)
        call(&slot->instance, (int)(dice & 1));
    else if (part->role == UPDATER)
        update(&slot->instance);
    else if (dice > 1)
        publish(slot, dice % 3);
    else
        (dice ? tn_instance_promise : tn_instance_fall_back)(&slot->instance);
}

static void *take_part(void *argument)
{
    struct part *part = argument;
    tn_thread_attach();
    tn_thread_begin_blocking();
    pthread_barrier_wait(&all_there);
    tn_thread_end_blocking();
    if (part->role == REMOVER) {
        for (int i = 0; i < 10 * ROUNDS; i++, sched_yield())
            remove_some(part->number);
        __atomic_sub_fetch(&removers_left, 1, __ATOMIC_RELAXED);
    }
    while (__atomic_load_n(&removers_left, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 10; i++)
            act(part);
        tn_thread_quiescent();
        sched_yield();
    }
    tn_thread_detach();
    return NULL;
}

static void storm(void)
{
    make_slots(slots, SLOTS);
    removers_left = REMOVERS;
    run(everybody, take_part);
    for (size_t i = 0; i < SLOTS; i++)
        spoil_all(slots[i].groups);
}

/* ---- */

static int report(const char *name, void (*test)(void))
{
    won = lost = removed = seen_none = seen_stand_in = seen_entry = seen_bodies[0] = seen_bodies[1] = wrong = 0;
    test();
    printf("# published %u, discarded %u, withdrawn %u; read: nothing %u, stand-ins %u, entries %u, bodies %u and %u\n",
           won, lost, removed, seen_none, seen_stand_in, seen_entry, seen_bodies[0], seen_bodies[1]);
    if (!won || !lost || !seen_none || !seen_stand_in || !seen_entry || !seen_bodies[0] || !seen_bodies[1])
        printf("not ok %s: something never happened\n", name);
    else if (wrong)
        printf("not ok %s: a reader found what was never published\n", name);
    else
        return printf("ok %s\n", name), 0;
    return 1;
}

int main(void)
{
    int failed = report("first publications", first_publications);
    return failed + report("storm", storm);
}
