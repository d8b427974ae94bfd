/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Processors for which there is no managed code yet: there are no heaps, so nothing calls the entries below. They are
 * here because tables name them. */

#include "gc/managed/managed.h"
#include "link/arch/reloc.h"
#include "tenon_gc.h"

int tn__gc_look_at_machine(struct tn_error *err)
{
    return tn__fail(err, TN_ENOTSUP, "managed code is not supported on %s yet", tn__arch_host->name);
}

#define NEVER(name)                                                                                                    \
    void name(void)                                                                                                    \
    {                                                                                                                  \
        __builtin_trap();                                                                                              \
    }

NEVER(tn__gc_call_native)
NEVER(tn__gc_call_twice)
NEVER(tn__gc_return_twice)
NEVER(tn__gc_call_outside)
NEVER(tn__gc_call_outside_memory)

void tn__gc_log(void *object, void *slot, void *value)
{
    (void)object, (void)slot, (void)value;
    __builtin_trap();
}
