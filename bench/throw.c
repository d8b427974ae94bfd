/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* throw OBJECT: how long exceptions take when many objects are loaded. OBJECT is what bench/throw_through.s makes.
 *
 * An exception is raised by a host function that a loaded one calls, with no handler on the stack: the time is that of
 * the search for one, which meets every frame; the search for the handler is what finds and sorts unwind tables.
 *
 *     one       with one object, from the second exception on: what all others have to be compared with
 *     first     the first one after 40,000 objects were linked
 *     again     the one after, when nothing has changed
 *     100 more  the first one after 100 more were linked
 *     removed   the first one after 100 of them, far from each other, were removed
 *
 * Medians of so many sessions, one after the other.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include <tenon.h>

#include "measure.h"

enum { OBJECTS = 40000, MORE = 100, USUAL_RUNS = 101, SESSIONS = 11 };

static const char name_pattern[] = "f0000000";

struct world {
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error error;
    const unsigned char *bytes;
    unsigned char *copy;
    size_t size, name_at;
    int (*through)(int (*function)(void *), void *context); /* the newest */
};

static int fail(const char *text)
{
    fprintf(stderr, "throw: %s\n", text);
    return 1;
}

/* Links object number `number`. */
static bool link_one(struct world *w, unsigned number, struct tn_tracker *owner)
{
    char name[sizeof name_pattern];
    void *address;
    snprintf(name, sizeof name, "f%07u", number % 10000000U);
    memcpy(w->copy + w->name_at, name, sizeof name - 1);
    struct tn_input input = {.size = sizeof input, .name = name, .bytes = w->copy, .length = w->size, .owner = owner};
    if (tn_add_object(w->library, &input, &w->error) || tn_lookup(w->library, name, &address, &w->error))
        return !fail(w->error.text);
    memcpy(&w->through, &address, sizeof address);
    return true;
}

static int raise(void *context)
{
    struct _Unwind_Exception exception = {0};
    uint64_t start = now_ns();
    *(bool *)context = _Unwind_RaiseException(&exception) == _URC_END_OF_STACK;
    return (int)(now_ns() - start);
}

/* Through the newest object, in microseconds. */
static double exception_us(const struct world *w)
{
    bool good = false;
    volatile int ns = w->through(raise, &good); /* a frame that stays */
    return good ? ns / 1e3 : -1;
}

static double usual_us(const struct world *w)
{
    static double times[USUAL_RUNS];
    exception_us(w);
    for (int i = 0; i < USUAL_RUNS; i++)
        times[i] = exception_us(w);
    return median(times, USUAL_RUNS);
}

enum figure { ONE, FIRST, AGAIN, MORE_LINKED, REMOVED, FIGURES };
static const char *const names[FIGURES] = {"one", "first", "again", "more", "removed"};

/* Links the 40,000; a hundred of them, far from each other, are owned by trackers. */
static bool link_many(struct world *w, struct tn_tracker **trackers)
{
    for (unsigned i = 1; i < OBJECTS; i++) {
        struct tn_tracker **tracker = i % (OBJECTS / MORE) == 1 ? &trackers[i / (OBJECTS / MORE)] : NULL;
        if (tracker && tn_tracker_create(w->library, tracker, &w->error))
            return !fail(w->error.text);
        if (!link_one(w, i, tracker ? *tracker : NULL))
            return false;
    }
    return true;
}

static bool measure_session(struct world *w, double us[FIGURES])
{
    struct tn_tracker *trackers[MORE];
    if (!link_one(w, 0, NULL))
        return false;
    us[ONE] = usual_us(w);
    if (!link_many(w, trackers))
        return false;
    us[FIRST] = exception_us(w);
    us[AGAIN] = usual_us(w);
    for (unsigned i = 0; i < MORE; i++)
        if (!link_one(w, OBJECTS + i, NULL))
            return false;
    us[MORE_LINKED] = exception_us(w);
    for (unsigned i = 0; i < MORE; i++)
        if (tn_tracker_remove(trackers[i], &w->error))
            return !fail(w->error.text);
    us[REMOVED] = exception_us(w);
    return true;
}

static int measure(struct world *w)
{
    double us[FIGURES][SESSIONS];
    for (int run = 0; run < SESSIONS; run++) {
        double of_run[FIGURES];
        if (tn_session_create(NULL, &w->session, &w->error) ||
            tn_library_create(w->session, "throw", &w->library, &w->error))
            return fail(w->error.text);
        bool good = measure_session(w, of_run);
        tn_session_destroy(w->session);
        if (!good)
            return 1;
        for (int i = 0; i < FIGURES; i++)
            us[i][run] = of_run[i];
    }
    for (int i = 0; i < FIGURES; i++)
        printf("%s us %.2f\n", names[i], median(us[i], SESSIONS));
    return 0;
}

int main(int argc, char **argv)
{
    struct world w = {0};
    if (argc != 2)
        return fail("usage: throw OBJECT");
    w.bytes = read_touched(argv[1], &w.size);
    const unsigned char *name = w.bytes ? memmem(w.bytes, w.size, name_pattern, sizeof name_pattern - 1) : NULL;
    w.copy = malloc(w.size + 1);
    if (!name || !w.copy)
        return fail("not the object that bench/throw_through.s makes");
    w.name_at = (size_t)(name - w.bytes);
    memcpy(w.copy, w.bytes, w.size);
    int failed = measure(&w);
    free(w.copy);
    return failed;
}
