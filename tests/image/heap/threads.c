/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Threads of one heap that open an image each, use it, save on top of it, collect and close it, all at once. */

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "oracle.h"
#include "base/base.h"
#include "zones.h"

enum { THREADS = 6, ROUNDS = 30 };

struct worker {
    pthread_t thread;
    unsigned number;
    struct tn_heap *heap;
    const char *path;
    char top[128];
    unsigned wrong;
    struct tn_error first; /* what was wrong */
};

static void expect(struct worker *w, bool good, const struct tn_error *error)
{
    if (!good && !w->wrong++)
        w->first = *error;
}

/* The image's first object refers to a new one, with which another image is saved. */
static void save_on_top(struct worker *w, struct tn_image *image, struct tn_handle *made)
{
    struct tn_error error = {.text = ""};
    const struct tn_save_options options = {
        .size = sizeof options, .name = "top", .images = &image, .image_count = 1, .name_of = zones_name};
    struct tn_save *save;
    if (tn_save_create(w->heap, &options, &save, &error)) {
        expect(w, false, &error);
        return;
    }
    expect(w, !tn_save_root(save, "root", made, &error) && !tn_save_take(save, NULL, &error), &error);
    expect(w, !tn_save_write(save, w->top, &error), &error);
    tn_save_destroy(save);
}

static void use(struct worker *w, unsigned round, struct tn_image *image)
{
    struct tn_error error = {.text = ""};
    struct tn_handle *first = NULL, *made = NULL;
    uint64_t value = 100 * w->number + round, read = 0;
    expect(w, !tn_handle_of(w->heap, NULL, &first, &error) && !tn_image_root(image, "root", first, &error), &error);
    expect(w, !tn_handle_new(w->heap, tn_image_type(image, "link"), 0, &made, &error), &error);
    if (!w->wrong) {
        tn_handle_write(made, offsetof(struct link, value), &value, sizeof value, NULL);
        expect(w, !tn_handle_store(first, offsetof(struct link, other), made, &error), &error);
        if (w->number < 2 && round % 4 == 0)
            save_on_top(w, image, made);
        if (round % 5 == 0)
            tn_heap_collect(w->heap, w->number % 2 ? TN_COLLECT_FULL : 0);
        expect(w, !tn_handle_load(first, offsetof(struct link, other), made, &error), &error);
        tn_handle_read(made, offsetof(struct link, value), &read, sizeof read, NULL);
        expect(w, read == value, &error);
    }
    tn_handle_free(first);
    tn_handle_free(made);
}

static void *work(void *context)
{
    static const uint64_t flags[] = {0, TN_IMAGE_VERIFY, TN_IMAGE_RELOCATE};
    struct worker *w = context;
    struct tn_error error = {.text = ""};
    expect(w, !tn_heap_attach(w->heap, &error), &error);
    for (unsigned round = 0; round < ROUNDS && !w->wrong; round++) {
        struct tn_image *image;
        struct tn_image_load_options options = zones_options(w->heap, flags[(w->number + round) % TN_COUNT(flags)]);
        int code = tn_image_open(w->path, &options, &image, &error);
        expect(w, !code, &error);
        if (!code)
            use(w, round, image);
        tn_image_close(image);
    }
    tn_heap_detach();
    return NULL;
}

static void threads_open_save_and_collect(void **state)
{
    const struct tn_collector *const collectors[] = {&tn_collector_generational, &tn_collector_copying,
                                                     &tn_collector_concurrent};
    const char *path = saved_path("threads");
    (void)state;
    zones_make(path, "threads");
    for (size_t c = 0; c < TN_COUNT(collectors); c++) {
        const struct tn_heap_options options = {
            .size = sizeof options, .flags = TN_HEAP_VERIFY, .limit = 64 << 20, .collector = collectors[c]};
        struct tn_heap *heap;
        struct worker workers[THREADS];
        assert_int_equal(tn_heap_create(&options, &heap, &err), 0);
        for (unsigned i = 0; i < THREADS; i++) {
            workers[i] = (struct worker){.number = i, .heap = heap, .path = path};
            snprintf(workers[i].top, sizeof workers[i].top, "%s-%u", path, i);
            assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_join(workers[i].thread, NULL);
            unlink(workers[i].top);
            if (workers[i].wrong)
                fail_msg("thread %u: %u mistakes, first: %s", i, workers[i].wrong, workers[i].first.text);
        }
        tn_heap_destroy(heap);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_open_save_and_collect)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
