/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* link --small OBJECT: many one-function objects, made from one by giving each another name and number.
 *
 *     one by one     10,000 objects, each added and looked up before the next: median and 99th percentile of the time,
 *                    memory per object above the object's own code and data, mappings
 *     in one session 200,000 objects
 *     removed again  1,000,000 objects, at most 8 at a time: time to add and to remove, resident set at the beginning
 *                    and end
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon.h>

#include "measure.h"
#include "resident.h"
#include "modes.h"
#include "template.h"

enum { ONE_BY_ONE = 10000, MANY = 200000, CYCLES = 1000000, AT_A_TIME = 8, VARIANTS = 4096 };

static int fail(const char *text)
{
    fprintf(stderr, "link --small: %s\n", text);
    return 1;
}

struct world {
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error error;
};

static bool create(struct world *world)
{
    return !tn_session_create(NULL, &world->session, &world->error) &&
           !tn_library_create(world->session, "small", &world->library, &world->error);
}

/* Adds the object and calls its function. */
static bool link_one(struct world *world, const struct template *t, unsigned number, const char *name,
                     struct tn_tracker *owner, double *us)
{
    struct tn_input input = {.size = sizeof input, .name = name, .bytes = t->bytes, .length = t->size, .owner = owner};
    void *address;
    uint64_t start = now_ns();
    if (tn_add_object(world->library, &input, &world->error) ||
        tn_lookup(world->library, name, &address, &world->error))
        return false;
    *us = (double)(now_ns() - start) / 1e3;
    unsigned (*function)(unsigned);
    memcpy(&function, &address, sizeof function);
    return function(1) == number + 1;
}

/* Links objects number 0 to count - 1, one after the other, into a new session; fills times[count]. */
static bool link_series(struct world *world, const struct template *t, unsigned count, double *times)
{
    char name[NAME_SIZE];
    if (!create(world))
        return !fail(world->error.text);
    for (unsigned i = 0; i < count; i++) {
        make_object(t, i, name);
        if (!link_one(world, t, i, name, NULL, &times[i]))
            return !fail("an object was not linked");
    }
    return true;
}

static struct tn_stats stats_of(const struct world *world)
{
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(world->session, &stats);
    return stats;
}

static int measure_one_by_one(const struct template *t)
{
    static double times[ONE_BY_ONE];
    struct world world;
    memset(times, 0, sizeof times); /* backed by pages before the memory is looked at */
    long before = resident_kb();
    if (!link_series(&world, t, ONE_BY_ONE, times))
        return 1;
    struct tn_stats stats = stats_of(&world);
    double own = (double)(stats.code_bytes + stats.rodata_bytes + stats.data_bytes) / ONE_BY_ONE;
    printf("small bytes_per_object %.0f\n", (double)(resident_kb() - before) * 1024 / ONE_BY_ONE - own);
    printf("small own_bytes %.0f\n", own);
    printf("small mappings %llu\n", (unsigned long long)stats.mappings);
    printf("small median_us %.2f\n", median(times, ONE_BY_ONE));
    printf("small p99_us %.2f\n", quantile(times, ONE_BY_ONE, 0.99));
    tn_session_destroy(world.session);
    return 0;
}

static int measure_many(const struct template *t)
{
    static double times[MANY];
    struct world world;
    if (!link_series(&world, t, MANY, times))
        return 1;
    struct tn_stats stats = stats_of(&world);
    printf("many objects %llu\n", (unsigned long long)stats.objects);
    printf("many median_us %.2f\n", median(times, MANY));
    printf("many mappings %llu\n", (unsigned long long)stats.mappings);
    tn_session_destroy(world.session);
    return 0;
}

static int measure_cycles(const struct template *t)
{
    char name[NAME_SIZE];
    struct world world;
    struct tn_tracker *trackers[AT_A_TIME];
    double adding = 0, removing = 0, us;
    long early = 0;
    if (!create(&world))
        return fail(world.error.text);
    for (int i = 0; i < AT_A_TIME; i++)
        if (tn_tracker_create(world.library, &trackers[i], &world.error))
            return fail(world.error.text);
    for (unsigned i = 0; i < CYCLES; i++) {
        make_object(t, i % VARIANTS, name);
        if (!link_one(&world, t, i % VARIANTS, name, trackers[i % AT_A_TIME], &us))
            return fail("an object was not linked");
        adding += us;
        uint64_t start = now_ns();
        if (tn_tracker_remove(trackers[(i + 1) % AT_A_TIME], &world.error))
            return fail(world.error.text);
        removing += (double)(now_ns() - start) / 1e3;
        if (i == VARIANTS) /* every name is known by now */
            early = resident_kb();
    }
    printf("cycles add_us %.3f\n", adding / CYCLES);
    printf("cycles remove_us %.3f\n", removing / CYCLES);
    printf("cycles rss_kb_early %ld\n", early);
    printf("cycles rss_kb_end %ld\n", resident_kb());
    tn_session_destroy(world.session);
    return 0;
}

int measure_small(const char *template_path)
{
    struct template t;
    if (!load_template(&t, template_path))
        return 1;
    int failed = measure_one_by_one(&t) || measure_cycles(&t) || measure_many(&t);
    free(t.bytes);
    return failed;
}
