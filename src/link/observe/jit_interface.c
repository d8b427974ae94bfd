/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What debuggers look for: names and layout are GDB's. */

#include "link/observe/jit_interface.h"

enum { JIT_NOACTION = 0, JIT_REGISTER, JIT_UNREGISTER };

struct jit_descriptor {
    uint32_t version, action_flag;
    struct tn__jit_entry *relevant_entry, *first_entry;
};

/* Weak, as a program may hold another JIT compiler, whose definitions are the same; retained, as nothing refers to the
 * function's name but the debugger. */
#define FOR_DEBUGGERS __attribute__((visibility("default"), weak, used, retain, noinline))

FOR_DEBUGGERS void __jit_debug_register_code(void);
extern struct jit_descriptor __jit_debug_descriptor;

/* The reference to the descriptor keeps linkers that fold identical functions from folding this one. */
FOR_DEBUGGERS void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::"r"(&__jit_debug_descriptor) : "memory");
}

__attribute__((visibility("default"), weak, used, retain)) struct jit_descriptor __jit_debug_descriptor = {.version =
                                                                                                               1};

static void act(struct tn__jit_entry *entry, uint32_t action)
{
    __jit_debug_descriptor.relevant_entry = entry;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
    __jit_debug_descriptor.action_flag = JIT_NOACTION;
    __jit_debug_descriptor.relevant_entry = NULL;
}

void tn__jit_register(struct tn__jit_entry *entry)
{
    struct tn__jit_entry *next = __jit_debug_descriptor.first_entry;
    entry->previous = NULL;
    entry->next = next;
    if (next)
        next->previous = entry;
    __jit_debug_descriptor.first_entry = entry;
    act(entry, JIT_REGISTER);
}

void tn__jit_unregister(struct tn__jit_entry *entry)
{
    struct tn__jit_entry *next = entry->next, *previous = entry->previous;
    if (next)
        next->previous = previous;
    if (previous)
        previous->next = next;
    else
        __jit_debug_descriptor.first_entry = next;
    act(entry, JIT_UNREGISTER);
}
