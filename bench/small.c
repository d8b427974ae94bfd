/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* link --small OBJECT: many one-function objects, made from one by giving each another name and number.
 *
 *     one by one     10,000 objects, each added and looked up before the next: median and 99th percentile of the time,
 *                    memory per object above the object's own code and data, mappings
 *     in one session 200,000 objects
 *     removed again  1,000,000 objects, at most 8 at a time: time to add and to remove, resident set at the beginning and end
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tenon.h>

#include "measure.h"
#include "modes.h"

enum { ONE_BY_ONE = 10000, MANY = 200000, CYCLES = 1000000, AT_A_TIME = 8, VARIANTS = 4096 };

static const char name_pattern[] = "f0000000";
static const unsigned char number_pattern[] = {0x78, 0x56, 0x34, 0x12};

struct template
{
    const unsigned char *bytes;
    size_t size, name_at, number_at;
};

static int fail(const char *text)
{
    fprintf(stderr, "link --small: %s\n", text);
    return 1;
}

static size_t position(const struct template *t, const void *pattern, size_t size)
{
    const unsigned char *found = memmem(t->bytes, t->size, pattern, size);
    return found ? (size_t)(found - t->bytes) : 0;
}

/* Makes object number `number` in `copy`, which holds an older one. */
static void make(const struct template *t, unsigned char *copy, unsigned number, char name[sizeof name_pattern])
{
    snprintf(name, sizeof name_pattern, "f%07u", number % 10000000U);
    memcpy(copy + t->name_at, name, sizeof name_pattern - 1);
    memcpy(copy + t->number_at, &number, sizeof number);
}

static long resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file) {
        if (fscanf(file, "%*d %ld", &pages) != 1)
            pages = 0;
        fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
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
static bool link_one(struct world *world, const struct template *t, unsigned char *object, unsigned number,
                     const char *name, struct tn_tracker *owner, double *us)
{
    struct tn_input input = {.size = sizeof input, .name = name, .bytes = object, .length = t->size, .owner = owner};
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
static bool link_series(struct world *world, const struct template *t, unsigned char *copy, unsigned count,
                        double *times)
{
    char name[sizeof name_pattern];
    if (!create(world))
        return !fail(world->error.text);
    for (unsigned i = 0; i < count; i++) {
        make(t, copy, i, name);
        if (!link_one(world, t, copy, i, name, NULL, &times[i]))
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

static int measure_one_by_one(const struct template *t, unsigned char *copy)
{
    static double times[ONE_BY_ONE];
    struct world world;
    memset(times, 0, sizeof times); /* backed by pages before the memory is looked at */
    long before = resident_kb();
    if (!link_series(&world, t, copy, ONE_BY_ONE, times))
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

static int measure_many(const struct template *t, unsigned char *copy)
{
    static double times[MANY];
    struct world world;
    if (!link_series(&world, t, copy, MANY, times))
        return 1;
    struct tn_stats stats = stats_of(&world);
    printf("many objects %llu\n", (unsigned long long)stats.objects);
    printf("many median_us %.2f\n", median(times, MANY));
    printf("many mappings %llu\n", (unsigned long long)stats.mappings);
    tn_session_destroy(world.session);
    return 0;
}

static int measure_cycles(const struct template *t, unsigned char *copy)
{
    char name[sizeof name_pattern];
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
        make(t, copy, i % VARIANTS, name);
        if (!link_one(&world, t, copy, i % VARIANTS, name, trackers[i % AT_A_TIME], &us))
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
    t.bytes = read_touched(template_path, &t.size);
    if (!t.bytes)
        return 1;
    t.name_at = position(&t, name_pattern, sizeof name_pattern);
    t.number_at = position(&t, number_pattern, sizeof number_pattern);
    unsigned char *copy = malloc(t.size);
    if (!t.name_at || !t.number_at || !copy)
        return fail("not the object that bench/small_function.s makes");
    memcpy(copy, t.bytes, t.size);
    int failed = measure_one_by_one(&t, copy) || measure_cycles(&t, copy) || measure_many(&t, copy);
    free(copy);
    return failed;
}
