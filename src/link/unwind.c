/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tells the program's unwinder about .eh_frame tables, if it has one: the weak references pull none into a program that
 * does not unwind. */

#include "link.h"

extern void __register_frame(void *table) __attribute__((weak));
extern void __deregister_frame(void *table) __attribute__((weak));

void tn__unwind_register(struct tn__unwind *unwind, uint64_t table)
{
    if (!__register_frame || !__deregister_frame)
        return;
    unwind->tables[unwind->count++] = table; /* there is room: see reserve_lists */
    __register_frame((void *)(uintptr_t)table);
}

void tn__unwind_deregister_all(struct tn__unwind *unwind)
{
    while (unwind->count)
        __deregister_frame((void *)(uintptr_t)unwind->tables[--unwind->count]);
    tn__free(unwind->from, unwind->tables);
    *unwind = (struct tn__unwind){.from = unwind->from};
}
