/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What calls cost a thread that must not wait: lookups that are cancelled, removals that do not wait for threads.
 *
 *     calls OBJECT SYMBOL     prints medians and 99th percentiles in us; OBJECT defines SYMBOL and needs nothing */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"
#include "tenon.h"

enum { TIMES = 5000, WARM_UP = 100 };

static double took[TIMES];
static struct tn_error error;
static _Atomic int ended;

static void check(int code)
{
    if (code) {
        fprintf(stderr, "calls: %s\n", error.text);
        exit(1);
    }
}

static void note(int at, uint64_t since)
{
    if (at >= 0)
        took[at] = (double)(now_ns() - since) / 1000;
}

static void print(const char *what)
{
    printf("%s median_us %.2f\n", what, median(took, TIMES));
    printf("%s p99_us %.2f\n", what, quantile(took, TIMES, 0.99));
}

static int later(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    (void)err;
    *(struct tn_responsibility **)context = responsibility;
    return TN_LATER;
}

static void looked_up(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)context, (void)symbols, (void)count, (void)err;
}

static void removed(void *context, const struct tn_error *err)
{
    (void)context;
    ended += err == NULL;
}

static void measure_cancel(struct tn_library *library)
{
    struct tn_responsibility *kept = NULL;
    const struct tn_promised promised = {.name = "later"};
    const struct tn_materializer m = {
        .size = sizeof m, .name = "later", .symbols = &promised, .count = 1, .materialize = later, .context = &kept};
    check(tn_add_materializer(library, &m, &error));
    for (int i = -WARM_UP; i < TIMES; i++) {
        struct tn_wanted wanted = {.name = "later"};
        struct tn_lookup_handle *handle;
        check(tn_lookup_start(library, &wanted, 1, looked_up, NULL, &handle, &error));
        uint64_t start = now_ns();
        check(tn_lookup_cancel(handle, &error));
        note(i, start);
    }
    tn_responsibility_fail(kept, NULL);
    print("cancel");
}

static void load(struct tn_library *library, struct tn_tracker *owner, const char *path, const char *symbol)
{
    static const void *bytes;
    static size_t length;
    if (!bytes && !(bytes = read_touched(path, &length)))
        exit(1);
    const struct tn_input input = {
        .size = sizeof input, .name = "f.o", .bytes = bytes, .length = length, .owner = owner};
    void *address;
    check(tn_add_object(library, &input, &error));
    check(tn_lookup(library, symbol, &address, &error));
}

static void measure_retire(struct tn_library *library, char **arguments)
{
    for (int i = -WARM_UP; i < TIMES; i++) {
        struct tn_tracker *tracker;
        check(tn_tracker_create(library, &tracker, &error));
        load(library, tracker, arguments[1], arguments[2]);
        uint64_t start = now_ns();
        check(tn_tracker_retire_start(tracker, removed, NULL, &error));
        note(i, start);
        tn_tracker_destroy(tracker);
    }
    print("retire");
}

static void measure_remove(struct tn_session *session, char **arguments)
{
    for (int i = -WARM_UP; i < TIMES; i++) {
        struct tn_library *library;
        check(tn_library_create(session, "removed", &library, &error));
        load(library, NULL, arguments[1], arguments[2]);
        int before = ended;
        uint64_t start = now_ns();
        check(tn_library_remove_start(library, removed, NULL, &error));
        note(i, start);
        while (ended == before)
            usleep(10);
        check(tn_library_destroy(library, &error));
    }
    print("remove");
}

int main(int argc, char **argv)
{
    struct tn_session *session;
    struct tn_library *library;
    if (argc != 3)
        return 2;
    check(tn_session_create(NULL, &session, &error));
    check(tn_library_create(session, "main", &library, &error));
    measure_cancel(library);
    measure_retire(library, argv);
    while (ended < TIMES + WARM_UP)
        usleep(100);
    measure_remove(session, argv);
    tn_session_destroy(session);
    return 0;
}
