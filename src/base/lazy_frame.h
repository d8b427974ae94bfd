/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The frame in which a call saves its arguments while its function is looked up, for a collector that moves objects.
 * The linker's lazy stubs create such frames and the collector visits them; neither knows the other. */

#ifndef TENON_LAZY_FRAME_H
#define TENON_LAZY_FRAME_H

#include "base.h"

#pragma GCC visibility push(hidden)

enum { TN__LAZY_REGISTERS = 8 };

struct tn__lazy_slot;

/* Lies on the stack of the calling thread and ends where its arguments in memory begin. The vector registers lie below
 * it, as laid out by the processor's own instruction. The function receives whatever is written here. x86-64: rdi rsi
 * rdx rcx r8 r9 r10 rax, of which rax is never managed; r10 is the static chain. */
struct tn__lazy_frame {
    struct tn__lazy_frame *outer; /* for the watcher: the previous frame in this thread's list */
    struct tn__lazy_slot *slot;
    uint64_t managed_registers; /* bit i: registers[i] is a reference to a managed object */
    uint64_t managed_stack;     /* bit i: stack[i] is one */
    uint64_t registers[TN__LAZY_REGISTERS];
    uint64_t frame_pointer, return_address; /* of the caller */
    uint64_t stack[];                       /* the arguments in memory */
};

/* A watcher of such calls; called on the thread that makes them. */
struct tn__lazy_watch {
    /* A function is about to be looked up, which may take long. If the result is true, `end` is called with the same
     * frame before the call continues; the frame does not move in between. */
    bool (*begin)(struct tn__lazy_frame *frame);
    void (*end)(struct tn__lazy_frame *frame);
};

/* NULL: none. Accessed atomically; never reset. */
extern const struct tn__lazy_watch *tn__lazy_watch;

#pragma GCC visibility pop
#endif
