/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What clients run at exit that may compile. */

#include "jit/jit.h"

static void call(struct tn__at_exit *what)
{
    const struct tn__jit_at_exit *each = tn__container_of(what, struct tn__jit_at_exit, registered);
    each->function(each->context); /* which may destroy the JIT */
}

int tn_jit_at_exit(struct tn_jit *jit, void (*function)(void *context), void *context, struct tn_error *err)
{
    if (!jit || !function)
        return tn__no_argument(err);
    struct tn__jit_at_exit *each = tn__alloc_zeroed(NULL, 1, sizeof *each);
    if (!each)
        return tn__no_memory(err, "a function for exit");
    *each = (struct tn__jit_at_exit){.registered.function = call, .function = function, .context = context};
    if (!tn__at_exit_add(&each->registered)) {
        tn__free(NULL, each);
        return tn__no_memory(err, "a function for exit");
    }
    tn__jit_lock();
    each->next = jit->at_exit;
    jit->at_exit = each;
    tn__jit_unlock();
    return 0;
}
