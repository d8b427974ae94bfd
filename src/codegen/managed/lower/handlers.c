/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* lower-handlers: try and catch by setjmp. Each `except_enter` gets the buffer of its depth, is told to the front end's
 * runtime, and becomes a call of __sigsetjmp. The depth must be the same on each way to a block, so a function needs
 * one buffer per depth. From then on, root placement does what functions that return twice need: references that the
 * handler uses are in stack memory which the stack map names. */

#include "codegen/managed/lower/lower.h"

enum { BUFFER_WORDS = 64, MOST_HANDLERS = 64 }; /* at once */

struct handlers {
    struct tn__gc *gc;
    LLVMValueRef function;
    struct tn__values blocks; /* that were reached */
    unsigned *depths;         /* at their beginnings */
    struct enter {
        LLVMValueRef call;
        unsigned depth;
    } * enters;
    size_t enter_count;
    LLVMValueRef buffers[MOST_HANDLERS];
    bool is_wrong;
};

static void reject(struct handlers *h, LLVMValueRef i, const char *text)
{
    tn__gc_reject(h->gc, i, "handler", text);
    h->is_wrong = true;
}

/* ---- depths ---- */

static bool is_pop(LLVMValueRef i)
{
    static const char *const names[] = {"ijl_pop_handler", "ijl_pop_handler_noexcept", "tenon_pop_handler"};
    LLVMValueRef callee = tn__is_call(i) ? LLVMGetCalledValue(i) : NULL;
    for (size_t n = 0; callee && LLVMIsAFunction(callee) && n < TN_COUNT(names); n++)
        if (strcmp(LLVMGetValueName2(callee, &(size_t){0}), names[n]) == 0)
            return LLVMGetNumArgOperands(i) > 0;
    return false;
}

/* The number of handlers is the last argument: Julia's functions have the task before it. */
static unsigned pop(struct handlers *h, LLVMValueRef call, unsigned depth)
{
    LLVMValueRef count = LLVMGetOperand(call, LLVMGetNumArgOperands(call) - 1);
    if (!LLVMIsAConstantInt(count))
        reject(h, call, "how many handlers end here is not a constant");
    else if (LLVMConstIntGetZExtValue(count) > depth)
        reject(h, call, "more handlers end here than have begun");
    else
        return depth - (unsigned)LLVMConstIntGetZExtValue(count);
    return depth;
}

static void reach(struct handlers *h, LLVMBasicBlockRef block, unsigned depth)
{
    size_t count = h->blocks.count;
    tn__values_add(h->gc, &h->blocks, LLVMBasicBlockAsValue(block));
    if (h->blocks.count > count) {
        TN__APPEND(h->gc, h->depths, count, depth);
        return;
    }
    for (size_t b = 0; b < h->blocks.count; b++)
        if (h->blocks.list[b] == LLVMBasicBlockAsValue(block) && h->depths[b] != depth)
            reject(h, LLVMGetFirstInstruction(block), "the ways that lead here have begun different handlers");
}

static unsigned enter(struct handlers *h, LLVMValueRef call, unsigned depth)
{
    if (tn__intrinsic_mismatch(TN__EXCEPT_ENTER, LLVMGetCalledFunctionType(call)))
        reject(h, call, "except_enter has no parameters, and returns an i32");
    else if (depth == MOST_HANDLERS)
        reject(h, call, "too many handlers at once");
    else
        TN__APPEND(h->gc, h->enters, h->enter_count, (struct enter){call, depth});
    return h->is_wrong ? depth : depth + 1;
}

static void walk_block(struct handlers *h, LLVMBasicBlockRef block, unsigned depth)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && !h->is_wrong; i = LLVMGetNextInstruction(i))
        if (tn__intrinsic_called(i) == TN__EXCEPT_ENTER)
            depth = enter(h, i, depth);
        else if (is_pop(i))
            depth = pop(h, i, depth);
        else if (LLVMIsAReturnInst(i) && depth > 0)
            reject(h, i, "the function returns while handlers of its own have not ended");
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(end) && !h->is_wrong; s++)
        reach(h, LLVMGetSuccessor(end, s), depth);
}

/* ---- calls ---- */

static LLVMValueRef declare(struct handlers *h, const char *name, LLVMTypeRef type)
{
    LLVMValueRef function = LLVMGetNamedFunction(h->gc->module, name);
    return function ? function : LLVMAddFunction(h->gc->module, name, type);
}

static void set_call_attribute(struct handlers *h, LLVMValueRef call, const char *name, bool is_text)
{
    LLVMContextRef context = h->gc->context;
    unsigned length = (unsigned)strlen(name);
    LLVMAddCallSiteAttribute(call, TN__ON_FUNCTION,
                             is_text
                                 ? LLVMCreateStringAttribute(context, name, length, "", 0)
                                 : LLVMCreateEnumAttribute(context, LLVMGetEnumAttributeKindForName(name, length), 0));
}

static void lower_enter(struct handlers *h, const struct enter *e)
{
    struct tn__gc *gc = h->gc;
    LLVMValueRef *buffer = &h->buffers[e->depth];
    bool is_julia = strncmp(LLVMGetValueName2(LLVMGetCalledValue(e->call), &(size_t){0}), "julia.", 6) == 0;
    LLVMTypeRef note = LLVMFunctionType(gc->nothing, &gc->pointer, 1, 0), types[] = {gc->pointer, gc->i32};
    LLVMTypeRef jump = LLVMFunctionType(gc->i32, types, 2, 0);
    if (!*buffer) {
        *buffer = tn__make_variable(gc, h->function, LLVMArrayType2(gc->i64, BUFFER_WORDS), "handler");
        LLVMSetAlignment(*buffer, 16);
    }
    LLVMPositionBuilderBefore(gc->builder, e->call);
    LLVMValueRef enter = declare(h, is_julia ? "ijl_enter_handler" : "tenon_enter_handler", note);
    set_call_attribute(h, LLVMBuildCall2(gc->builder, note, enter, buffer, 1, ""), TN__LEAF, true);
    LLVMValueRef arguments[] = {*buffer, LLVMConstNull(gc->i32)};
    LLVMValueRef result = LLVMBuildCall2(gc->builder, jump, declare(h, "__sigsetjmp", jump), arguments, 2, "caught");
    set_call_attribute(h, result, "returns_twice", false);
    LLVMReplaceAllUsesWith(e->call, result);
    LLVMInstructionEraseFromParent(e->call);
    gc->stats->handlers++;
}

static bool has_handlers(LLVMValueRef function)
{
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (tn__intrinsic_called(i) == TN__EXCEPT_ENTER)
                return true;
    return false;
}

static void lower_function(struct tn__gc *gc, LLVMValueRef function)
{
    struct handlers h = {.gc = gc, .function = function};
    tn__llvm_remove_unreachable(function);
    reach(&h, LLVMGetEntryBasicBlock(function), 0);
    for (size_t b = 0; b < h.blocks.count && !h.is_wrong; b++)
        walk_block(&h, LLVMValueAsBasicBlock(h.blocks.list[b]), h.depths[b]);
    for (size_t i = 0; i < h.enter_count && !h.is_wrong; i++)
        lower_enter(&h, &h.enters[i]);
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (is_pop(i))
                set_call_attribute(&h, i, TN__LEAF, true);
}

void tn__lower_handlers(struct tn__gc *gc)
{
    if (!tn__names_any(gc, 1u << TN__EXCEPT_ENTER))
        return;
    for (TN__EACH_FUNCTION(f, gc))
        if (!LLVMIsDeclaration(f) && has_handlers(f))
            lower_function(gc, f);
    for (LLVMValueRef f = LLVMGetFirstFunction(gc->module), next; f; f = next) {
        next = LLVMGetNextFunction(f);
        if (tn__intrinsic_of(f) == TN__EXCEPT_ENTER && !LLVMGetFirstUse(f))
            LLVMDeleteFunction(f);
    }
}
