/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Contexts are used again after modest modules, because making one takes a tenth of the time of compiling a small
 * function. A context keeps the types, constants and metadata of all modules that it has had, so it is used a number of
 * times only: what the idle ones keep together is bounded by tens of megabytes for hostile modules, and is about a
 * megabyte for ordinary ones. They also number types of equal names, and bitcode lists the kinds of metadata that its
 * context has, so modules whose IR is shown to the client, and those of images, have contexts of their own. */

#include "codegen/compile/unit.h"
#include "codegen/llvm/idle.h"

enum { MOST_IDLE = 8, MOST_USES = 32, LARGEST = 16 << 10 }; /* LARGEST: bytes of IR */

struct tn__context {
    LLVMContextRef llvm;
    unsigned uses;
};

static atomic_uintptr_t idle[MOST_IDLE];

static bool shows_ir(const struct tn__unit *unit)
{
    const struct tn_compile_observer *o = unit->observer;
    return unit->is_written || unit->options->emit != TN_EMIT_OBJECT || unit->options->hook ||
           (o && (o->stage || o->before_pass || o->after_pass));
}

void tn__unit_take_context(struct tn__unit *unit, size_t length)
{
    struct tn__context *context = NULL;
    if (length <= LARGEST && !shows_ir(unit)) {
        context = (struct tn__context *)tn__idle_take(idle, MOST_IDLE);
        context = context ? context : tn__alloc_zeroed(NULL, 1, sizeof *context);
    }
    if (context && !context->llvm)
        context->llvm = LLVMContextCreate();
    unit->kept = context;
    unit->context = context ? context->llvm : LLVMContextCreate();
}

void tn__unit_give_context(struct tn__unit *unit)
{
    struct tn__context *context = unit->kept;
    if (context && unit->is_modest && ++context->uses < MOST_USES && tn__idle_give(idle, MOST_IDLE, (uintptr_t)context))
        return;
    LLVMContextDispose(unit->context);
    tn__free(NULL, context);
}
