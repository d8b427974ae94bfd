/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The frame in which a call saves its arguments while its function is looked up, for a collector that moves objects.
 * The linker's lazy stubs create such frames and the collector visits them; neither knows the other. */

#ifndef TENON_LAZY_FRAME_H
#define TENON_LAZY_FRAME_H

#include "base.h"

#pragma GCC visibility push(hidden)

enum { TN__LAZY_REGISTERS = 18 };

struct tn__cell;

/* Lies on the stack of the calling thread and ends where its arguments in memory begin. The vector registers lie below
 * it. The function receives whatever is written here. Each processor uses as many of the registers as it needs, from
 * the first one on:
 *     x86-64   rdi rsi rdx rcx r8 r9 r10 rax; r10 is the static chain, rax is never managed
 *     AArch64  x0 ... x15 x18; x15 is the static chain, x8 ... x14 and x18 are never managed
 *     RISC-V   a0 ... a7 t2 t0 t4 t5 t6; t2 is the static chain, the last four are never managed */
struct tn__lazy_frame {
    struct tn__lazy_frame *outer; /* for the watcher: the previous frame in this thread's list */
    struct tn__cell *cell;
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
