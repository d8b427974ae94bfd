/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "reclaiming.h"

#include <stdatomic.h>

static _Atomic int told_so_far;

static void init_told(struct told *told)
{
    told->calls = 0;
    told->code = 1;
    sem_init(&told->called, 0, 0);
}

void note_removed(void *context, const struct tn_error *err)
{
    struct told *told = context;
    told->order = ++told_so_far;
    told->code = err ? err->code : 0;
    told->calls++;
    if (told->also)
        told->also(told);
    sem_post(&told->called);
}

void retire_start(struct tn_tracker *tracker, struct told *told)
{
    struct tn_error err;
    init_told(told);
    assert_ok(tn_tracker_retire_start(tracker, note_removed, told, &err), &err);
}

void remove_start(struct tn_library *library, struct told *told)
{
    struct tn_error err;
    init_told(told);
    assert_ok(tn_library_remove_start(library, note_removed, told, &err), &err);
}

int await_removed(struct told *told)
{
    sem_wait(&told->called);
    assert_int_equal(told->calls, 1);
    return told->code;
}

static void *hold(void *argument)
{
    struct holder *h = argument;
    tn_thread_attach();
    h->address = lookup(h->f, "version");
    sem_post(&h->held);
    sem_wait(&h->release); /* not a blocking region: the thread may be running the code */
    h->answer = call_at(h->address);
    tn_thread_detach();
    return NULL;
}

void begin_holding(struct holder *h, const struct fixture *f)
{
    h->f = f;
    sem_init(&h->held, 0, 0);
    sem_init(&h->release, 0, 0);
    assert_int_equal(pthread_create(&h->thread, NULL, hold, h), 0);
    sem_wait(&h->held);
}

void end_holding(struct holder *h, int answer)
{
    sem_post(&h->release);
    pthread_join(h->thread, NULL);
    assert_int_equal(h->answer, answer);
    sem_destroy(&h->held);
    sem_destroy(&h->release);
}

struct fixture open_version(struct tn_tracker **tracker)
{
    struct tn_error err;
    struct fixture f = open_fixture(NULL);
    finalized = 0;
    *tracker = new_tracker(&f);
    add_version(f.library, 1, *tracker);
    add_finalizer(&f, *tracker);
    link_all(&f);
    assert_ok(tn_run_initializers(f.library, 0, NULL, NULL, &err), &err);
    return f;
}
