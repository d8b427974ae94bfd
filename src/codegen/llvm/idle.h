/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A few things that wait for their next use. There is no lock, so forks need not wait: the child keeps what is idle. */

#ifndef TENON_CODEGEN_IDLE_H
#define TENON_CODEGEN_IDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of them, which is the caller's then; 0: none is idle. */
static inline uintptr_t tn__idle_take(atomic_uintptr_t *slots, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uintptr_t taken = atomic_exchange(&slots[i], 0);
        if (taken)
            return taken;
    }
    return 0;
}

/* False: there are enough of them; it stays the caller's. */
static inline bool tn__idle_give(atomic_uintptr_t *slots, size_t count, uintptr_t given)
{
    for (size_t i = 0; i < count; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&slots[i], &none, given))
            return true;
    }
    return false;
}

#endif
