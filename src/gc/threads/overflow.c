/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reports when managed code has filled its thread's stack, to programs that ask for it. Each thread that attaches has a
 * signal stack then, since its own has no space for a handler. */

#include "base/os.h"
#include "gc/threads/threads.h"

static struct {
    tn_on_stack_overflow *report;
    void *context;
} client;

/* ---- how deep it is ---- */

struct walk {
    const struct tn__mutator *thread;
    const struct tn_gc_anchor *anchor; /* of the level that is being walked */
    uint64_t ra, fp;
    struct tn_stack_overflow found;
};

/* The next level outside of this one that called out of managed code; false: there is none. */
static bool leave_level(struct walk *w)
{
    for (;; w->anchor--) {
        if (w->anchor <= w->thread->anchors + 1)
            return false;
        if (tn__sp_of(w->anchor) > w->fp)
            break;
    }
    w->fp = w->anchor->fp;
    w->ra = w->anchor->ra;
    return w->ra || tn__os_peek(tn__sp_of(w->anchor), &w->ra);
}

static bool peek_record(struct walk *w, uint64_t *outer)
{
    bool is_there = tn__os_peek(tn__return_address_at(w->fp), &w->ra) && tn__os_peek(tn__outer_frame_at(w->fp), outer);
    w->ra = is_there ? tn__plain_address(w->ra) : 0;
    return is_there;
}

/* Goes on to the caller. */
static bool leave_frame(struct walk *w)
{
    struct tn__map map;
    uint64_t outer;
    if (!tn__maps_peek(w->ra, &map))
        return false;
    if (tn__map_decode(&map).entry) {
        w->anchor--;
        return leave_level(w);
    }
    if (!w->found.depth++)
        w->found.code = (const void *)(uintptr_t)w->ra;
    if (!peek_record(w, &outer) || outer <= w->fp)
        return false;
    w->fp = outer;
    return true;
}

/* The function that found the stack full is managed, or native code that may use the frame pointer for something
 * else. */
static bool begin_walk(struct walk *w, const struct tn__os_access *access)
{
    uint64_t outer;
    struct tn__map map;
    w->fp = access->frame;
    if (peek_record(w, &outer) && tn__maps_peek(w->ra, &map))
        return true;
    w->fp = access->stack;
    return leave_level(w);
}

/* Leaves have no stack maps, and the level has none to begin with if it has not called out yet. Then all that is known
 * is the instruction that found the stack full. */
static bool is_in_level(const struct walk *w)
{
    return w->anchor > tn__native_level(w->thread);
}

/* ---- the signal ---- */

static void on_access(const struct tn__os_access *access)
{
    enum { BELOW = 1 << 20, ABOVE = 4096 }; /* distances from the stack pointer: the largest frame, and a push */
    const struct tn__mutator *self = tn__self();
    if (!self || access->address + BELOW < access->stack || access->address >= access->stack + ABOVE)
        return;
    struct walk w = {.thread = self, .anchor = self->block->top, .found = {.size = sizeof w.found}};
    w.found.thread = self->thread;
    bool is_managed = is_in_level(&w);
    for (bool more = begin_walk(&w, access); more;)
        more = leave_frame(&w);
    if (!w.found.depth)
        w.found.code = (const void *)(uintptr_t)access->code;
    if (is_managed)
        client.report(client.context, &w.found);
}

/* ---- threads ---- */

/* Without memory for a stack, nothing is reported for this thread. */
static void attach(struct tn__mutator *mutator)
{
    tn__os_give_signal_stack(64 << 10, &mutator->signal_stack, &mutator->signal_stack_size);
}

static void detach(struct tn__mutator *mutator)
{
    (void)mutator;
    tn__os_take_signal_stack();
}

int tn_report_stack_overflow(tn_on_stack_overflow *report, void *context, struct tn_error *err)
{
    static const struct tn__stack_watch watch = {attach, detach};
    static _Atomic bool done;
    if (!report)
        return tn__no_argument(err);
    if (done)
        return tn__fail(err, TN_EINVAL, "stack overflows are reported already");
    client.report = report;
    client.context = context;
    int error = tn__os_watch_accesses(on_access);
    if (error)
        return tn__fail(err, TN_ENOMEM, "no signal handler: %s", strerror(error));
    done = true;
    __atomic_store_n(&tn__stack_watch, &watch, __ATOMIC_RELEASE);
    if (tn__self() && !tn__self()->signal_stack)
        attach(tn__self());
    return 0;
}
