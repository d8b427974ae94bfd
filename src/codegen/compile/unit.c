/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* From IR in memory to a verified module that fits its target. */

#include "codegen/compile/unit.h"
#include "codegen/managed/passes/passes.h"
#include "codegen/llvm/idle.h"

/* ---- contexts ---- */

/* Contexts are used again after modest modules, because making one takes a tenth of the time of compiling a small
 * function. A context keeps the types, constants and metadata of all modules that it has had, so it is used a number of
 * times only: what the idle ones keep together is bounded by tens of megabytes for hostile modules, and is about a
 * megabyte for ordinary ones. They also number types of equal names, and bitcode lists the kinds of metadata that its
 * context has, so modules whose IR is shown to the client, and those of images, have contexts of their own. */

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

static void unit_take_context(struct tn__unit *unit, size_t length)
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

/* Sets unit->context, for IR of so many bytes; gives it back, without a module in it (unit.c). */
static void unit_give_context(struct tn__unit *unit)
{
    struct tn__context *context = unit->kept;
    if (context && unit->is_modest && ++context->uses < MOST_USES && tn__idle_give(idle, MOST_IDLE, (uintptr_t)context))
        return;
    LLVMContextDispose(unit->context);
    tn__free(NULL, context);
}

/* ---- units ---- */

/* Opens the target as soon as the module's triple is known. IR without a layout of its own is read with the
 * target's. */
static const char *choose_layout(void *user, const char *triple, const char *layout)
{
    struct tn__unit *unit = user;
    unit->target_code = tn__target_take(&unit->target, unit->options, triple, unit->diagnostics.err);
    if (unit->target_code != 0) {
        unit->diagnostics.err = NULL; /* this is the error to report, whatever the reader finds next */
        return NULL;
    }
    return *layout ? NULL : unit->target->layout;
}

/* The text reader needs a NUL behind the text; bitcode is read in place. */
static int read_module(struct tn__unit *unit, const char *ir, size_t length, enum tn__reading how, struct tn_error *err)
{
    char *copy = NULL;
    if (how == TN__READ_LAZILY && !tn__llvm_has_separable_bodies(ir, length, TRACKED, LOADED))
        how = TN__READ;
    if (!tn__llvm_is_bitcode(ir, length)) {
        copy = tn__alloc(NULL, length + 1);
        if (!copy)
            return tn__no_memory(err, NULL);
        memcpy(copy, ir, length);
        copy[length] = 0;
    }
    unit->module = tn__llvm_parse(unit->context, unit->file ? unit->file : unit->name, copy ? copy : ir, length, how,
                                  choose_layout, unit, tn__diagnostics_report, &unit->diagnostics);
    unit->diagnostics.module = unit->module;
    tn__free(NULL, copy);
    if (unit->module && !unit->target && unit->target_code == 0) /* bitcode without a single definition */
        choose_layout(unit, LLVMGetTarget(unit->module), LLVMGetDataLayoutStr(unit->module));
    if (unit->target_code != 0)
        return unit->target_code;
    return unit->module && unit->diagnostics.errors == 0 ? 0 : TN_ECOMPILE;
}

/* Front ends run the passes that split coroutines; without them the code generator gives up, without naming the
 * function. */
static int refuse_coroutines(const struct tn__unit *unit, struct tn_error *err)
{
    static const char attribute[] = "presplitcoroutine";
    unsigned kind = LLVMGetEnumAttributeKindForName(attribute, sizeof attribute - 1);
    for (LLVMValueRef f = LLVMGetFirstFunction(unit->module); f; f = LLVMGetNextFunction(f)) {
        size_t length;
        if (LLVMGetEnumAttributeAtIndex(f, LLVMAttributeFunctionIndex, kind))
            return tn__fail(err, TN_ECOMPILE,
                            "%s: error: '%s' is a coroutine which has not been split; front ends do that, unless their "
                            "passes are switched off",
                            unit->name, LLVMGetValueName2(f, &length));
    }
    return 0;
}

static int fit(struct tn__unit *unit, struct tn_error *err)
{
    const struct tn__target *target = unit->target;
    if (*LLVMGetDataLayoutStr(unit->module) == 0)
        LLVMSetDataLayout(unit->module, target->layout);
    LLVMSetTarget(unit->module, target->triple);
    unit->managed = tn__gc_is_managed(unit->module);
    struct tn__gc gc = {.module = unit->module, .context = unit->context, .diagnostics = &unit->diagnostics};
    bool is_integral = unit->managed && !strstr(LLVMGetDataLayoutStr(unit->module), "-ni:");
    if (is_integral && tn__gc_refuses_optimized(&gc))
        return TN_ECOMPILE;
    if (unit->managed)
        tn__gc_remove_ni(&gc);
    if (!tn__llvm_same_layout(unit->module, target->machine)) {
        tn__arena_free(&gc.arena);
        return tn__fail(err, TN_ECOMPILE, "%s: error: the module's data layout '%s' is not that of %s, '%s'",
                        unit->name, LLVMGetDataLayoutStr(unit->module), target->triple, target->layout);
    }
    if (unit->managed)
        tn__gc_add_ni(&gc);
    tn__arena_free(&gc.arena);
    return tn__target_apply(target, unit->module, unit->name, err);
}

int tn__unit_read(struct tn__unit *unit, const void *ir, size_t length, enum tn__reading how, struct tn_error *err)
{
    bool is_ours = how == TN__READ_VERIFIED;
    unit->diagnostics = (struct tn__diagnostics){.name = unit->name, .err = err, .observer = unit->observer};
    unit_take_context(unit, length);
    LLVMContextSetDiscardValueNames(unit->context, is_ours);
    tn__diagnostics_attach(&unit->diagnostics, unit->context);
    int code = read_module(unit, ir, length, how, err);
    unit->is_modest = !code && unit->kept && tn__llvm_is_modest(unit->module);
    if (!code && is_ours)
        unit->managed = tn__gc_is_managed(unit->module);
    if (code || is_ours)
        return code;
    code = refuse_coroutines(unit, err);
    return code ? code : fit(unit, err);
}

void tn__unit_dispose(struct tn__unit *unit)
{
    if (unit->module)
        LLVMDisposeModule(unit->module);
    if (unit->context && !unit->is_guest)
        unit_give_context(unit);
    tn__target_give(unit->target);
    *unit = (struct tn__unit){0};
}
