/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The client's own passes. After each call, what they must not change is compared, because nothing later would notice:
 * the machine was made, and managed code was found, when the module was read; and barriers, leaves and entries know
 * nothing of calls that are added before roots are placed. */

#include <llvm-c/Analysis.h>

#include "codegen/llvm/llvm.h"
#include "codegen/managed/lower/lower.h"
#include "codegen/managed/passes/passes.h"

int tn__gc_examine(struct tn__gc *gc, bool is_asked_for)
{
    char *message = NULL;
    if (!is_asked_for && !gc->options->verify_ir && !TN__IS_CHECKING)
        return 0;
    bool broken = LLVMVerifyModule(gc->module, LLVMReturnStatusAction, &message);
    if (broken)
        tn__diagnostics_report(gc->diagnostics, NULL, 0, 0, message);
    LLVMDisposeMessage(message);
    return broken ? TN_ECOMPILE : 0;
}

/* ---- calls that may collect ---- */

#define KNOWN "tenon-known" /* attribute of those that were there before the hook; copies of them have it too */

static void mark_call(struct tn__gc *gc, LLVMValueRef call)
{
    LLVMAddCallSiteAttribute(call, TN__ON_FUNCTION,
                             LLVMCreateStringAttribute(gc->context, KNOWN, sizeof KNOWN - 1, "", 0));
}

static bool is_marked(LLVMValueRef i)
{
    return tn__is_call(i) && LLVMGetCallSiteStringAttribute(i, TN__ON_FUNCTION, KNOWN, sizeof KNOWN - 1);
}

static bool is_new(LLVMValueRef i)
{
    return tn__is_safepoint(i) && !is_marked(i) && !tn__is_naked(tn__function_of(i));
}

static void reject_call(struct tn__gc *gc, LLVMValueRef call)
{
    tn__gc_reject(gc, call, "hook",
                  "a pass of the client has added a call that may collect, where it is too late for that; a callee in "
                  "which no collection happens is marked gc-leaf-function");
}

static void unmark_call(struct tn__gc *gc, LLVMValueRef call)
{
    (void)gc;
    LLVMRemoveCallSiteStringAttribute(call, TN__ON_FUNCTION, KNOWN, sizeof KNOWN - 1);
}

/* ---- the module ---- */

struct before {
    bool is_managed;
    const char *triple, *layout;
};

static const char *copy_text(struct tn__gc *gc, const char *text)
{
    return memcpy(tn__gc_array(gc, strlen(text) + 1, 1), text, strlen(text) + 1);
}

static struct before remember(struct tn__gc *gc, enum tn_hook when)
{
    if (when == TN_HOOK_LOWERED)
        tn__each_call(gc, 0, tn__is_safepoint, mark_call);
    return (struct before){
        .is_managed = tn__gc_is_managed(gc->module),
        .triple = copy_text(gc, LLVMGetTarget(gc->module)),
        .layout = copy_text(gc, LLVMGetDataLayoutStr(gc->module)),
    };
}

static int check(struct tn__gc *gc, enum tn_hook when, const struct before *before)
{
    const char *changed = strcmp(LLVMGetTarget(gc->module), before->triple) != 0          ? "target triple"
                          : strcmp(LLVMGetDataLayoutStr(gc->module), before->layout) != 0 ? "data layout"
                                                                                          : NULL;
    if (changed)
        return tn__fail(gc->diagnostics->err, TN_ECOMPILE, "%s: error: a pass of the client has changed the %s",
                        gc->diagnostics->name, changed);
    if (!before->is_managed && tn__gc_is_managed(gc->module))
        return tn__fail(gc->diagnostics->err, TN_ECOMPILE,
                        "%s: error: a pass of the client has put managed code into a module that had none",
                        gc->diagnostics->name);
    if (when == TN_HOOK_LOWERED) {
        tn__each_call(gc, 0, is_new, reject_call);
        tn__each_call(gc, 0, is_marked, unmark_call);
    }
    return gc->diagnostics->errors ? TN_ECOMPILE : tn__gc_examine(gc, false);
}

static int call(struct tn__gc *gc, enum tn_hook when)
{
    const struct tn_compile_options *options = gc->options;
    struct tn_error *err = gc->diagnostics->err, unused = {0};
    err = err ? err : &unused;
    *err->text = 0;
    int code = options->hook(options->hook_context, when, gc->module, err);
    tn__diagnostics_attach(gc->diagnostics, gc->context); /* it may have had a handler of its own */
    if (!code)
        return 0;
    if (*err->text)
        err->code = TN_ECOMPILE;
    else
        tn__fail(err, TN_ECOMPILE, "%s: a pass of the client failed", gc->diagnostics->name);
    return TN_ECOMPILE;
}

int tn__gc_call_hook(struct tn__gc *gc, enum tn_hook when)
{
    if (!gc->options->hook || (when == TN_HOOK_LOWERED && !gc->is_hooked))
        return 0;
    gc->is_hooked = true;
    struct before before = remember(gc, when);
    int code = call(gc, when);
    if (!code)
        code = check(gc, when, &before);
    tn__arena_free(&gc->arena);
    return code;
}
