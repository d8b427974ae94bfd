/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* link --threads N OBJECT...: what N threads that link at the same time get done, against one.
 *
 * Each thread has a library of its own and links each object into it, over and over, beginning with another one than
 * its neighbour; what it has linked it removes, so that memory is warm. A round is the same number of links for each
 * thread, and takes from its start until the last thread is done. Rounds of one thread, of all in one session, and
 * of all in sessions of their own, which is what the machine can do, follow one another, so that they meet the same
 * conditions. A round takes about half a second: in the first milliseconds it is the scheduler that decides, by
 * where it puts new threads. */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include <tenon.h>

#include "measure.h"
#include "modes.h"

enum { MAX_OBJECTS = 16, ROUNDS = 9, LINKS = 1200 /* per round and thread */ };

struct worker {
    struct tn_library *library;
    struct tn_tracker *tracker;
    const struct tn_input *objects;
    int count, first;
    pthread_barrier_t *start;
    uint64_t began, ended;
    bool failed;
};

static int fail(const char *text)
{
    fprintf(stderr, "link --threads: %s\n", text);
    return 1;
}

/* Answers any name, like link.c. */
static void *answer_anything(void *unused, const char *name)
{
    (void)unused, (void)name;
    return (void *)fail;
}

static bool link_and_remove(const struct worker *worker, const struct tn_input *object)
{
    struct tn_input input = *object;
    struct tn_error error;
    input.owner = worker->tracker;
    if (!tn_add_object(worker->library, &input, &error) && !tn_link(worker->library, &error) &&
        !tn_tracker_remove(worker->tracker, &error))
        return true;
    return !fail(error.text);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    pthread_barrier_wait(worker->start);
    worker->began = now_ns();
    for (int i = 0; i < LINKS && !worker->failed; i++)
        worker->failed = !link_and_remove(worker, &worker->objects[(worker->first + i) % worker->count]);
    worker->ended = now_ns();
    return NULL;
}

/* Links per second of the first `threads` workers; 0 if one has failed. */
static double run_round(struct worker *workers, int threads)
{
    pthread_t ids[MAX_THREADS];
    pthread_barrier_t start;
    uint64_t began = UINT64_MAX, ended = 0;
    bool failed = false;
    pthread_barrier_init(&start, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        workers[i].start = &start;
        if (pthread_create(&ids[i], NULL, work, &workers[i]))
            return fail("no thread"), 0;
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        began = workers[i].began < began ? workers[i].began : began;
        ended = workers[i].ended > ended ? workers[i].ended : ended;
        failed |= workers[i].failed;
    }
    pthread_barrier_destroy(&start);
    return failed ? 0 : threads * LINKS * 1e9 / (double)(ended - began);
}

static bool create_workers(struct worker *workers, int threads, struct tn_session **sessions, int session_count,
                           const struct tn_input *objects, int count)
{
    struct tn_error error;
    for (int i = 0; i < session_count; i++)
        if (tn_session_create(NULL, &sessions[i], &error))
            return !fail(error.text);
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.objects = objects, .count = count, .first = i};
        if (tn_library_create(sessions[i % session_count], "bench", &workers[i].library, &error) ||
            tn_add_resolver(workers[i].library, answer_anything, NULL, &error) ||
            tn_tracker_create(workers[i].library, &workers[i].tracker, &error))
            return !fail(error.text);
    }
    return true;
}

int measure_threads(int threads, char *const *paths, int count)
{
    static double one[ROUNDS], shared[ROUNDS], apart[ROUNDS];
    struct tn_input objects[MAX_OBJECTS];
    struct worker together[MAX_THREADS], alone[MAX_THREADS];
    struct tn_session *session, *sessions[MAX_THREADS];
    if (threads < 1 || threads > MAX_THREADS || count < 1 || count > MAX_OBJECTS)
        return fail("too many, or none");
    for (int i = 0; i < count; i++) {
        objects[i] = (struct tn_input){.size = sizeof objects[i], .name = paths[i]};
        objects[i].bytes = read_touched(paths[i], &objects[i].length);
        if (!objects[i].bytes)
            return 1;
    }
    if (!create_workers(together, threads, &session, 1, objects, count) ||
        !create_workers(alone, threads, sessions, threads, objects, count))
        return 1;
    for (int i = -1; i < ROUNDS; i++) { /* the first round of each touches the memory, and is not counted */
        int at = i < 0 ? 0 : i;
        one[at] = run_round(together, 1);
        shared[at] = run_round(together, threads);
        apart[at] = run_round(alone, threads);
        if (!one[at] || !shared[at] || !apart[at])
            return 1;
    }
    double single = median(one, ROUNDS);
    printf("threads one_links_per_s %.0f\n", single);
    printf("threads shared_links_per_s %.0f\n", median(shared, ROUNDS));
    printf("threads apart_links_per_s %.0f\n", median(apart, ROUNDS));
    printf("threads shared_speedup %.2f\n", median(shared, ROUNDS) / single);
    printf("threads apart_speedup %.2f\n", median(apart, ROUNDS) / single);
    tn_session_destroy(session);
    for (int i = 0; i < threads; i++)
        tn_session_destroy(sessions[i]);
    return 0;
}
