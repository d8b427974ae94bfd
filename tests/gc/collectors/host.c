/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Creates a heap as the environment says, and prints why there is none. With OWN, the program chooses its default
 * collector itself: one that does nothing. */

#include <stdio.h>

#include "gc/threads/collector.h"

#ifdef OWN
static int open(struct tn_heap *heap, struct tn_error *err)
{
    (void)heap, (void)err;
    puts("own");
    return TN_ENOMEM;
}

static const struct tn_collector own = {.name = "own", .open = open};
const struct tn_collector *const tn_default_collector = &own;
#endif

int main(void)
{
    struct tn_error err;
    struct tn_heap_options options;
    struct tn_heap *heap;
    int code = tn_heap_options_from_environment(&options, &err);
    if (code)
        return printf("%d %s\n", code == TN_ENOTSUP, err.text), 1;
    if (tn_heap_create(&options, &heap, &err))
        return 2;
    tn_heap_collect(heap, TN_COLLECT_FULL);
    puts("collected");
    tn_heap_destroy(heap);
    return 0;
}
