/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Destructors of loaded code's thread_local objects, which run when their threads end. They are counted by object,
 * because removed code stays until they have run (linger.c). */

#include "link/process/process.h"

int tn__object_add_thread_exit(struct tn__object *object, const struct tn__exit *what)
{
    struct tn_tracker *owner = object->owner;
    if (!tn__thread_end_add(&owner->library->session->thread_exits, object, what->function, what->argument))
        return -1;
    object->thread_exits++;
    owner->thread_exits += !tn__list_is_empty(&owner->lingering);
    return 0;
}

/* Those of the calling thread that belong to a library or tracker. */
struct selection {
    const struct tn_library *library;
    const struct tn_tracker *owner; /* NULL: any of the library's */
};

static bool is_selected(void *context, void *part)
{
    const struct selection *selection = context;
    const struct tn_tracker *owner = ((const struct tn__object *)part)->owner;
    return selection->owner ? owner == selection->owner : owner->library == selection->library;
}

/* False if none is left. Not inlined, because few removals come here. */
__attribute__((noinline)) static bool run_newest(struct tn_library *library, const struct tn_tracker *owner)
{
    struct tn_session *session = library->session;
    struct selection selection = {library, owner};
    tn__session_lock(session); /* which guards owners */
    struct tn__thread_end *end = tn__thread_end_take(&session->thread_exits, is_selected, &selection);
    tn__session_unlock(session);
    if (end)
        tn__thread_end_run(end);
    return end;
}

void tn__thread_exits_run(struct tn_library *library, const struct tn_tracker *owner)
{
    while (tn__thread_end_waits() && run_newest(library, owner))
        ;
}
