/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* See cancelling.h. */

#include <time.h>
#include <unistd.h>

#include "cancelling.h"

/* ---- materializers ---- */

int stage_made(const struct maker *m, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct tn_input input = input_of(m->name, function_object(m->name, m->value, NULL));
    return tn_responsibility_add_object(responsibility, &input, err);
}

void note_answer(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    (void)symbols, (void)count, (void)err;
    ((struct maker *)context)->answered++;
}

static int make_or_wait(void *context, struct tn_responsibility *responsibility, struct tn_error *err)
{
    struct maker *m = context;
    m->made++;
    if (m->needs) {
        m->wanted = (struct tn_wanted){.name = m->needs};
        assert_ok(tn_lookup_async(tn_responsibility_library(responsibility), &m->wanted, 1, note_answer, m, err), err);
    }
    while (m->polls && !tn_responsibility_is_cancelled(responsibility))
        usleep(1000);
    if (m->code < 0)
        snprintf(err->text, sizeof err->text, "%s stops", m->name);
    m->kept = responsibility;
    return m->code ? m->code : stage_made(m, responsibility, err);
}

static void note_destroyed(void *context)
{
    ((struct maker *)context)->destroyed++;
}

void promise_maker(const struct fixture *f, struct maker *m)
{
    struct tn_error err;
    const struct tn_promised symbol = {m->name, 0};
    const struct tn_materializer materializer = {.size = sizeof materializer,
                                                 .name = m->name,
                                                 .context = m,
                                                 .symbols = &symbol,
                                                 .count = 1,
                                                 .materialize = m->make ? m->make : make_or_wait,
                                                 .destroy = note_destroyed};
    assert_ok(tn_add_materializer(f->library, &materializer, &err), &err);
}

void stop_maker(struct maker *m, int code)
{
    struct tn_error why = {.code = code, .text = "stopped"};
    tn_responsibility_fail(m->kept, &why);
}

void finish_maker(struct maker *m)
{
    struct tn_error err;
    assert_ok(stage_made(m, m->kept, &err), &err);
    assert_ok(tn_responsibility_ready(m->kept, &err), &err);
}

/* ---- lookups ---- */

void note_done(void *context, struct tn_wanted *symbols, size_t count, const struct tn_error *err)
{
    struct asked *a = context;
    assert_ptr_equal(symbols, &a->wanted);
    assert_int_equal(count, 1);
    a->code = err ? err->code : 0;
    if (a->cancels)
        assert_int_equal(tn_lookup_cancel(a->handle, NULL), 0);
    a->calls++;
}

void start_lookup(const struct fixture *f, struct asked *a, const char *name)
{
    struct tn_error err;
    a->wanted = (struct tn_wanted){.name = name};
    assert_ok(tn_lookup_start(f->library, &a->wanted, 1, note_done, a, &a->handle, &err), &err);
    assert_non_null(a->handle);
}

void cancel_lookup(struct asked *a)
{
    struct tn_error err;
    assert_ok(tn_lookup_cancel(a->handle, &err), &err);
    assert_int_equal(a->calls, 1);
}

static void count_error(void *context, const struct tn_error *error)
{
    (void)error;
    ++*(_Atomic int *)context;
}

struct fixture open_counting(_Atomic int *errors)
{
    const struct tn_session_options options = {.size = sizeof options, .on_error = count_error, .context = errors};
    return open_fixture(&options);
}

uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
