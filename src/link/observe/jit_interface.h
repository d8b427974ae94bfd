/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* GDB's interface for JIT compilers (GDB manual, "JIT Compilation Interface"). A debugger sets a breakpoint on
 * __jit_debug_register_code and looks at __jit_debug_descriptor when it is hit; LLDB does the same. */

#ifndef TENON_JIT_INTERFACE_H
#define TENON_JIT_INTERFACE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* An ELF file in memory that debuggers know of. The layout is GDB's. */
struct tn__jit_entry {
    struct tn__jit_entry *next, *previous;
    const void *bytes;
    uint64_t size;
};

/* Under tn__observers_lock. The file must not change in between. */
void tn__jit_register(struct tn__jit_entry *entry);
void tn__jit_unregister(struct tn__jit_entry *entry);

#pragma GCC visibility pop
#endif
