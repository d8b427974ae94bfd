/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a call saves while its function is looked up, for a collector that moves objects: the linker's lazy stubs make such
 * frames, the collector visits them, and neither knows the other. */

#ifndef TENON_LAZY_FRAME_H
#define TENON_LAZY_FRAME_H

#include "base.h"

#pragma GCC visibility push(hidden)

enum { TN__LAZY_REGISTERS = 8 };

struct tn__lazy_slot;

/* Lies on the stack of the calling thread, and ends where the arguments that it passes in memory begin. The vector registers
 * lie below it, as the processor's own instruction lays them out. What is written here is what the function gets.
 * x86-64: rdi rsi rdx rcx r8 r9 r10 rax, of which rax is never managed; r10 is the static chain. */
struct tn__lazy_frame {
    struct tn__lazy_frame *outer; /* for who watches: the frame before it in this thread's list */
    struct tn__lazy_slot *slot;
    uint64_t managed_registers; /* bit i: registers[i] is a reference to a managed object */
    uint64_t managed_stack;     /* bit i: stack[i] is one */
    uint64_t registers[TN__LAZY_REGISTERS];
    uint64_t frame_pointer, return_address; /* of the caller */
    uint64_t stack[];                       /* what the caller passes in memory */
};

/* Who watches such calls, on the thread that makes them. */
struct tn__lazy_watch {
    /* A function is about to be looked up, which may take long. If the answer is true, `end` is called with the same frame,
     * which stays as it is in between, before the call goes on. */
    bool (*begin)(struct tn__lazy_frame *frame);
    void (*end)(struct tn__lazy_frame *frame);
};

/* NULL: nobody. Atomic; never taken back. */
extern const struct tn__lazy_watch *tn__lazy_watch;

#pragma GCC visibility pop
#endif
