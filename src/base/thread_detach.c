/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Detaching threads that end, from heaps and from quiescence. The destructors of thread-specific data run in rounds, in
 * no particular order, as long as they set values again and at most PTHREAD_DESTRUCTOR_ITERATIONS times (POSIX,
 * pthread_key_create). Ours waits for the last round but one: others may still use handles or call loaded code, and the
 * allocator (or ThreadSanitizer) ends its own data in the last one. Destructors of loaded thread-local objects
 * (thread_end.h) run in the first one. */

#include <limits.h>

#include "os.h"
#include "thread.h"

static uint64_t key;

static __thread struct {
    void (*functions[TN__ENDS])(bool last);
    int rounds;
    bool is_set, over;
} ending __attribute__((tls_model("initial-exec")));

static void end_thread(void *value)
{
    bool last = ++ending.rounds >= PTHREAD_DESTRUCTOR_ITERATIONS - 1 || tn__os_at_thread_end(&key, end_thread, value);
    bool first = ending.rounds == 1;
    ending.over = last;
    for (int i = 0; i < TN__ENDS; i++)
        if (ending.functions[i] && first && !last)
            ending.functions[i](false);
    for (int i = 0; i < TN__ENDS; i++)
        if (ending.functions[i] && last)
            ending.functions[i](true);
}

bool tn__thread_at_end(enum tn__end which, void (*function)(bool last))
{
    if (ending.over)
        return false;
    if (!ending.is_set)
        ending.is_set = !tn__os_at_thread_end(&key, end_thread, &ending);
    if (ending.is_set)
        ending.functions[which] = function;
    return ending.is_set;
}

bool tn__thread_has_ended(void)
{
    return ending.over;
}
