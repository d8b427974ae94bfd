/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which functions are managed, and the ways into and out of them (doc/GC.md). Every defined function is managed, unless
 * it is a leaf (leaves.c) or naked. A managed function, or a leaf that touches managed memory, becomes two if it may be
 * called from elsewhere: an entry, which has its name and the C ABI, and the body, called `.m`. */

#include <llvm-c/Comdat.h>

#include "codegen/managed/lower/lower.h"
#include "tenon_gc.h"

#define BODY ".m" /* behind the name of the entry */

/* ---- which are managed ---- */

void tn__manage_functions(struct tn__gc *gc)
{
    tn__mark_leaves(gc);
    for (TN__EACH_FUNCTION(f, gc)) {
        if (tn__is_elsewhere(f) || tn__is_naked(f) || tn__has_text(f, TN__LEAF))
            continue;
        if (LLVMGetGC(f) && !tn__is_managed_function(f))
            tn__gc_reject(gc, f, "gc", "a function of managed code has another collector");
        LLVMSetGC(f, TN__GC_STRATEGY);
    }
    tn__mark_touching(gc);
}

/* ---- unwinding ---- */

/* `resume` would become a call that no pass of ours sees; it is one out of managed code like any other. */
static void lower_resumes(struct tn__gc *gc)
{
    LLVMTypeRef type = LLVMFunctionType(gc->nothing, &gc->pointer, 1, 0);
    for (TN__EACH_FUNCTION(f, gc))
        for (TN__EACH_BLOCK(b, f)) {
            LLVMValueRef resume = LLVMGetBasicBlockTerminator(b);
            if (!tn__is_managed_function(f) || !LLVMIsAResumeInst(resume))
                continue;
            LLVMPositionBuilderBefore(gc->builder, resume);
            LLVMValueRef exception = LLVMBuildExtractValue(gc->builder, LLVMGetOperand(resume, 0), 0, "");
            LLVMValueRef unwinder = LLVMGetNamedFunction(gc->module, "_Unwind_Resume");
            if (!unwinder)
                unwinder = LLVMAddFunction(gc->module, "_Unwind_Resume", type);
            LLVMBuildCall2(gc->builder, type, unwinder, &exception, 1, "");
            LLVMBuildUnreachable(gc->builder);
            LLVMInstructionEraseFromParent(resume);
        }
}

/* ---- which have entries ---- */

/* A call whose arguments do not name the function, by code that runs in a level of managed code. */
static bool is_managed_call(LLVMUseRef use, LLVMValueRef function)
{
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsAInstruction(user) || !tn__is_call(user) || LLVMGetCalledValue(user) != function)
        return false;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(user); i++)
        if (LLVMGetOperand(user, i) == function)
            return false;
    return tn__needs_level(tn__function_of(user));
}

/* Whether other code than the module's own managed code may call the function. */
static bool needs_entry(LLVMValueRef function)
{
    if (!tn__is_local(function))
        return true;
    for (TN__EACH_USE(use, function))
        if (!is_managed_call(use, function))
            return true;
    return false;
}

/* ---- calls that LLVM has no statepoints for ---- */

static bool is_extended(LLVMTypeRef type, unsigned unused)
{
    (void)unused;
    return LLVMGetTypeKind(type) == LLVMX86_FP80TypeKind;
}

/* LLVM returns these of x86-64 in the registers of the x87, and so a third float or double. `function` returns it, or
 * calls what does. */
static bool is_in_x87(struct tn__gc *gc, LLVMValueRef function, LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    bool has_parts = kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind;
    return tn__llvm_any_part(type, is_extended, 0) ||
           (has_parts && tn__llvm_is_returned_in_x87(gc->machine, function, type));
}

/* The builder keeps its location, which may be one of another function. */
static void begin_function(struct tn__gc *gc, LLVMValueRef function)
{
    LLVMPositionBuilderAtEnd(gc->builder, LLVMAppendBasicBlockInContext(gc->context, function, "entry"));
    LLVMSetCurrentDebugLocation2(gc->builder, NULL);
}

/* A function of ours with a fixed number of arguments makes the call: the callee comes first. If `out`, it stores the
 * result at its last argument. */
static LLVMValueRef make_forwarder(struct tn__gc *gc, LLVMValueRef call, bool out)
{
    LLVMTypeRef type = LLVMGetCalledFunctionType(call);
    unsigned count = LLVMGetNumArgOperands(call);
    LLVMTypeRef *types = tn__gc_array(gc, count + 2, sizeof(LLVMTypeRef));
    LLVMValueRef *parameters = tn__gc_array(gc, count + 2, sizeof(LLVMValueRef));
    types[0] = types[count + 1] = gc->pointer;
    for (unsigned i = 0; i < count; i++)
        types[i + 1] = LLVMTypeOf(LLVMGetOperand(call, i));
    LLVMTypeRef result_type = out ? gc->nothing : LLVMGetReturnType(type);
    LLVMValueRef f = LLVMAddFunction(gc->module, out ? "tn.extended_result" : "tn.variable_arguments",
                                     LLVMFunctionType(result_type, types, count + 1 + out, 0));
    LLVMSetLinkage(f, LLVMInternalLinkage);
    tn__set_text(f, TN__MODULE_NAME, "");
    LLVMGetParams(f, parameters);
    begin_function(gc, f);
    LLVMValueRef result = LLVMBuildCall2(gc->builder, type, parameters[0], parameters + 1, count, "");
    LLVMSetInstructionCallConv(result, LLVMGetInstructionCallConv(call));
    tn__copy_abi_attributes(call, count, result, 0);
    if (out)
        LLVMBuildStore(gc->builder, result, parameters[count + 1]);
    if (LLVMGetTypeKind(result_type) == LLVMVoidTypeKind)
        LLVMBuildRetVoid(gc->builder);
    else
        LLVMBuildRet(gc->builder, result);
    return f;
}

static void forward_call(struct tn__gc *gc, LLVMValueRef call)
{
    bool out = is_in_x87(gc, tn__function_of(call), LLVMTypeOf(call));
    LLVMValueRef forwarder = make_forwarder(gc, call, out);
    unsigned count = LLVMGetNumArgOperands(call);
    LLVMValueRef *arguments = tn__gc_array(gc, count + 2, sizeof(LLVMValueRef));
    arguments[0] = LLVMGetCalledValue(call);
    for (unsigned i = 0; i < count; i++)
        arguments[i + 1] = LLVMGetOperand(call, i);
    if (out) {
        tn__split_invokes(tn__function_of(call));
        arguments[count + 1] = tn__make_variable(gc, tn__function_of(call), LLVMTypeOf(call), "result");
        LLVMPositionBuilderBefore(gc->builder, tn__place_behind(call));
        LLVMReplaceAllUsesWith(call, LLVMBuildLoad2(gc->builder, LLVMTypeOf(call), arguments[count + 1], ""));
    }
    tn__replace_call(gc, call, LLVMGlobalGetValueType(forwarder), forwarder, arguments, count + 1 + out, 1);
}

static bool has_variable_arguments(LLVMValueRef function)
{
    return LLVMIsFunctionVarArg(LLVMGlobalGetValueType(function));
}

static bool returns_in_x87(struct tn__gc *gc, LLVMValueRef function)
{
    return is_in_x87(gc, function, LLVMGetReturnType(LLVMGlobalGetValueType(function)));
}

bool tn__may_be_managed(struct tn__gc *gc, LLVMValueRef function)
{
    return !has_variable_arguments(function) && !returns_in_x87(gc, function);
}

/* `of` is a function or a call. Calls become statepoints, with which these ways of passing an argument do not work. */
static void check_arguments(struct tn__gc *gc, LLVMValueRef of)
{
    if (tn__llvm_passes_unusually(of))
        tn__gc_reject(gc, of, "argument",
                      "managed code passes no argument as inalloca, preallocated, swifterror or swiftasync");
}

/* `of` is a managed function, or a call. */
static void check_convention(struct tn__gc *gc, LLVMValueRef of)
{
    bool is_function = LLVMIsAFunction(of);
    bool is_native = !is_function && !tn__is_managed_function(LLVMGetCalledValue(of));
    unsigned convention = is_function ? LLVMGetFunctionCallConv(of) : LLVMGetInstructionCallConv(of);
    if (tn__managed_convention(gc, convention) >= (is_native ? TN__NATIVE : TN__MANAGED_ONLY))
        return;
    tn__gc_reject(gc, of, "convention",
                  is_native ? "managed code calls no native function, nor through pointers, with this convention"
                            : "managed functions do not have this calling convention");
}

/* `function` is managed, or a leaf with an entry: the entry could not pass such arguments and results on either. */
static void check_definition(struct tn__gc *gc, LLVMValueRef function)
{
    if (has_variable_arguments(function))
        tn__gc_reject(gc, function, "variable-arguments",
                      tn__is_managed_function(function)
                          ? "a managed function has a fixed number of arguments"
                          : "a function that uses managed pointers, and that not only managed code of this module may "
                            "call, has a fixed number of arguments");
    if (returns_in_x87(gc, function))
        tn__gc_reject(gc, function, "extended-result",
                      "a managed function returns no long double, nor on x86-64 a third float or double in "
                      "registers; store it instead");
    check_arguments(gc, function);
    check_convention(gc, function);
}

static void check_definitions(struct tn__gc *gc)
{
    for (TN__EACH_FUNCTION(f, gc)) {
        if (tn__is_elsewhere(f))
            continue;
        if (tn__is_managed_function(f) || (tn__needs_level(f) && needs_entry(f)))
            check_definition(gc, f);
        if (tn__is_naked(f) && tn__takes_managed(f) && !tn__has_text(f, TN__JUMP) && needs_entry(f))
            tn__gc_reject(gc, f, "naked",
                          "a naked function that has managed pointers as arguments or result has no entry, so only "
                          "managed code of this module may call it, by its name: make it static");
    }
}

/* LLVM has no statepoint that calls with variable arguments and returns something; after one that returns a value in an
 * x87 register, it emits another call. */
static void forward_calls(struct tn__gc *gc)
{
    for (TN__EACH_FUNCTION(f, gc)) {
        if (!tn__is_managed_function(f))
            continue;
        for (TN__EACH_BLOCK(b, f))
            for (LLVMValueRef i = LLVMGetFirstInstruction(b), next; i; i = next) {
                next = LLVMGetNextInstruction(i);
                if (!tn__is_safepoint(i) || tn__intrinsic_called(i) != TN__NOT_INTRINSIC)
                    continue;
                check_arguments(gc, i);
                check_convention(gc, i);
                if (LLVMIsFunctionVarArg(LLVMGetCalledFunctionType(i)) || is_in_x87(gc, f, LLVMTypeOf(i)))
                    forward_call(gc, i);
            }
    }
}

/* ---- second returns ---- */

static bool is_second_return(LLVMValueRef i)
{
    return tn__is_call(i) && tn__returns_twice(i) && tn__is_managed_function(tn__function_of(i));
}

/* The C library's functions return 0 first and another number later, and neither wait nor call back. */
static bool is_setjmp(LLVMValueRef call)
{
    static const char *const names[] = {"setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp"};
    LLVMValueRef callee = LLVMGetCalledValue(call);
    if (!LLVMIsACallInst(call) || !tn__calls_builtin(call) || !LLVMIsDeclaration(callee) ||
        LLVMGetTypeKind(LLVMTypeOf(call)) != LLVMIntegerTypeKind)
        return false;
    for (size_t n = 0; n < TN_COUNT(names); n++)
        if (strcmp(LLVMGetValueName2(callee, &(size_t){0}), names[n]) == 0)
            return true;
    return false;
}

/* A block on the way that only the second return takes. Nothing but tests and branches lie between the call and it, for
 * a collector may be at work there; so it is an edge of the branch that the program makes at once, or a new branch. */
static LLVMBasicBlockRef way_of_second_return(struct tn__gc *gc, LLVMValueRef call)
{
    LLVMValueRef behind = LLVMGetNextInstruction(call), branch = LLVMGetNextInstruction(behind);
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(call));
    bool is_test = LLVMIsAICmpInst(behind) && LLVMGetOperand(behind, 0) == call && LLVMGetOperand(behind, 1) == zero;
    LLVMIntPredicate predicate = is_test ? LLVMGetICmpPredicate(behind) : LLVMIntULT;
    if ((predicate == LLVMIntEQ || predicate == LLVMIntNE) && branch && LLVMIsABranchInst(branch) &&
        LLVMIsConditional(branch) && LLVMGetCondition(branch) == behind)
        return tn__llvm_split_edge(branch, predicate == LLVMIntEQ);
    LLVMBasicBlockRef rest, way = tn__make_detour(gc, behind, "again", &rest);
    LLVMBuildCondBr(gc->builder, LLVMBuildICmp(gc->builder, LLVMIntEQ, call, zero, ""), rest, way);
    LLVMPositionBuilderAtEnd(gc->builder, way);
    LLVMBuildBr(gc->builder, rest);
    return way;
}

/* A longjmp may have come out of a transition. The runtime's function is called like a managed one: directly. */
static void come_back(struct tn__gc *gc, LLVMValueRef call)
{
    LLVMValueRef place = tn__place_behind(call);
    if (is_setjmp(call)) {
        LLVMAddCallSiteAttribute(
            call, TN__ON_FUNCTION,
            LLVMCreateStringAttribute(gc->context, TN__RETURNS_APART, sizeof TN__RETURNS_APART - 1, "", 0));
        place = LLVMGetFirstInstruction(way_of_second_return(gc, call));
    }
    LLVMPositionBuilderBefore(gc->builder, place);
    LLVMValueRef made = tn__call_runtime(gc, false, "tn__gc_return_twice", gc->nothing, NULL, 0);
    LLVMSetGC(LLVMGetCalledValue(made), TN__GC_STRATEGY);
}

/* ---- entries ---- */

/* The function's name, which renaming does not change, and something behind it. */
static char *copy_name(struct tn__gc *gc, LLVMValueRef function, const char *suffix)
{
    size_t length;
    const char *name = LLVMGetValueName2(function, &length);
    char *copy = tn__gc_array(gc, length + strlen(suffix) + 1, 1);
    memcpy(copy, name, length);
    memcpy(copy + length, suffix, strlen(suffix));
    return copy;
}

static void copy_attributes(LLVMValueRef from, LLVMValueRef to, LLVMAttributeIndex index)
{
    unsigned count = LLVMGetAttributeCountAtIndex(from, index);
    LLVMAttributeRef list[64];
    if (count > TN_COUNT(list))
        return;
    LLVMGetAttributesAtIndex(from, index, list);
    for (unsigned i = 0; i < count; i++)
        LLVMAddAttributeAtIndex(to, index, list[i]);
}

/* Makes `entry` a twin of `body` to the outside: name, linkage, attributes. What the body promises of memory is not
 * true of it. */
static LLVMValueRef declare_entry(struct tn__gc *gc, LLVMValueRef body)
{
    static const char *const untrue[] = {"memory", "speculatable", "alwaysinline", "naked", "noreturn"};
    const char *name = copy_name(gc, body, ""), *inner = copy_name(gc, body, BODY);
    LLVMSetValueName2(body, inner, strlen(inner));
    LLVMValueRef entry = LLVMAddFunction(gc->module, name, LLVMGlobalGetValueType(body));
    LLVMSetLinkage(entry, LLVMGetLinkage(body));
    LLVMSetVisibility(entry, LLVMGetVisibility(body));
    LLVMSetFunctionCallConv(entry, LLVMGetFunctionCallConv(body));
    if (LLVMGetComdat(body))
        LLVMSetComdat(entry, LLVMGetComdat(body));
    for (unsigned i = 0; i <= LLVMCountParams(body); i++)
        copy_attributes(body, entry, i);
    copy_attributes(body, entry, TN__ON_FUNCTION);
    for (size_t i = 0; i < TN_COUNT(untrue); i++)
        LLVMRemoveEnumAttributeAtIndex(entry, TN__ON_FUNCTION,
                                       LLVMGetEnumAttributeKindForName(untrue[i], strlen(untrue[i])));
    if (LLVMGetSection(body) && *LLVMGetSection(body))
        LLVMSetSection(entry, LLVMGetSection(body));
    LLVMSetGC(entry, TN__GC_STRATEGY);
    if (!tn__has_text(body, TN__MODULE_NAME))
        tn__set_text(body, TN__MODULE_NAME, name);
    tn__set_text(entry, TN__MODULE_NAME, "");
    if (!tn__is_local(body))
        LLVMSetVisibility(body, LLVMHiddenVisibility);
    return entry;
}

/* An entry whose frame is `fp` does (on x86-64 `fp` is the frame pointer; on AArch64 and RISC-V, where `sp` of a caller
 * that jumped to the entry is the stack pointer at its first instruction, 8 less than that):
 *
 *     p = block->top
 *     if (!(p->sp > fp && p[-1].sp > p->sp)) goto slow
 *     p[1].sp = 0;  p[1].fp = fp;  block->top = p + 1
 *     if (word at block->poll) goto slow                 compiled code does not exchange the store and this load
 *     call f.m
 *     block->top = p                                     release
 *     ...
 *     slow: block->top = p;  p = tn__gc_enter(fp);  call f.m
 *
 * The first test finds levels that a longjmp or a throw has left: their `sp` is below the entry's frame, or they are
 * not below the level before them. tn__gc_enter removes them: while p->sp is not 0 and <= fp, p--; while
 * p[-1].sp <= p->sp, p[-1] = *p, p--. */
static LLVMValueRef level_is_good(struct tn__gc *gc, LLVMValueRef anchor, LLVMValueRef sp, LLVMValueRef frame)
{
    LLVMValueRef outer =
        LLVMBuildLoad2(gc->builder, gc->i64, tn__field(gc, anchor, TN_GC_ANCHOR_SP - TN_GC_ANCHOR_SIZE), "outer_sp");
    return LLVMBuildAnd(gc->builder, LLVMBuildICmp(gc->builder, LLVMIntUGT, sp, frame, ""),
                        LLVMBuildICmp(gc->builder, LLVMIntUGT, outer, sp, ""), "");
}

static void set_top(struct tn__gc *gc, LLVMValueRef block, LLVMValueRef level)
{
    LLVMValueRef store = LLVMBuildStore(gc->builder, level, tn__field(gc, block, TN_GC_BLOCK_TOP));
    LLVMSetOrdering(store, LLVMAtomicOrderingRelease);
    LLVMSetAlignment(store, 8);
}

/* A new level on top of `anchor`. If the caller was outside managed code, this ends a transition: so the store comes
 * before the load of `poll`, for the compiler at least; `fences`, the second half of the word, says that the runtime
 * has to order the processor too. The load acquires: if no collection is asked for any more, its work is seen. Returns
 * a condition: nothing is wanted of this thread. */
static LLVMValueRef push_level(struct tn__gc *gc, LLVMValueRef block, LLVMValueRef anchor, LLVMValueRef frame)
{
    _Static_assert(TN_GC_BLOCK_FENCES == TN_GC_BLOCK_POLL + 4 && TN_GC_BLOCK_POLL % 8 == 0, "one word");
    LLVMValueRef next = tn__field(gc, anchor, TN_GC_ANCHOR_SIZE);
    LLVMBuildStore(gc->builder, LLVMConstNull(gc->i64), next);
    LLVMBuildStore(gc->builder, frame, tn__field(gc, next, TN_GC_ANCHOR_FP));
    set_top(gc, block, next);
    LLVMBuildFence(gc->builder, LLVMAtomicOrderingSequentiallyConsistent, 1, "");
    LLVMValueRef wanted = LLVMBuildLoad2(gc->builder, gc->i64, tn__field(gc, block, TN_GC_BLOCK_POLL), "wanted");
    LLVMSetOrdering(wanted, LLVMAtomicOrderingAcquire);
    LLVMSetAlignment(wanted, 8);
    return LLVMBuildICmp(gc->builder, LLVMIntEQ, wanted, LLVMConstNull(gc->i64), "");
}

static LLVMBasicBlockRef append_block(struct tn__gc *gc, LLVMValueRef function, const char *name)
{
    return LLVMAppendBasicBlockInContext(gc->context, function, name);
}

/* Goes on to a new block if the thread is outside managed code, else to `go`. */
static void branch_if_outside(struct tn__gc *gc, LLVMValueRef entry, LLVMValueRef sp, LLVMBasicBlockRef go)
{
    LLVMBasicBlockRef outside = append_block(gc, entry, "outside");
    LLVMValueRef state = LLVMBuildAnd(gc->builder, sp, LLVMConstInt(gc->i64, TN_GC_OUTSIDE, 0), "");
    LLVMValueRef is_outside = LLVMBuildICmp(gc->builder, LLVMIntNE, state, LLVMConstNull(gc->i64), "");
    tn__likely(gc, LLVMBuildCondBr(gc->builder, is_outside, outside, go));
    LLVMPositionBuilderAtEnd(gc->builder, outside);
}

/* Returns the anchor of the calling level. The slow path begins where the fast one did.
 *
 * A leaf needs no level of its own if collections wait for the thread already. It must not have one then: callers that
 * take it for no safepoint do not say in their anchor where they are, so what that says may look abandoned. */
static LLVMValueRef enter_level(struct tn__gc *gc, LLVMValueRef entry, LLVMValueRef block, bool is_leaf)
{
    LLVMBasicBlockRef first = LLVMGetEntryBasicBlock(entry), good = append_block(gc, entry, "good");
    LLVMBasicBlockRef slow = append_block(gc, entry, "slow"), go = append_block(gc, entry, "go");
    LLVMValueRef anchor = LLVMBuildLoad2(gc->builder, gc->pointer, tn__field(gc, block, TN_GC_BLOCK_TOP), "top");
    LLVMValueRef frame = tn__entry_frame(gc);
    LLVMValueRef sp = LLVMBuildLoad2(gc->builder, gc->i64, tn__field(gc, anchor, TN_GC_ANCHOR_SP), "sp");
    if (is_leaf)
        branch_if_outside(gc, entry, sp, go);
    tn__likely(gc, LLVMBuildCondBr(gc->builder, level_is_good(gc, anchor, sp, frame), good, slow));
    LLVMPositionBuilderAtEnd(gc->builder, good);
    tn__likely(gc, LLVMBuildCondBr(gc->builder, push_level(gc, block, anchor, frame), go, slow));
    LLVMPositionBuilderAtEnd(gc->builder, slow);
    set_top(gc, block, anchor);
    LLVMValueRef found = tn__call_runtime(gc, true, "tn__gc_enter", gc->pointer, &frame, 1);
    LLVMBuildBr(gc->builder, go);
    LLVMPositionBuilderAtEnd(gc->builder, go);
    LLVMValueRef level = LLVMBuildPhi(gc->builder, gc->pointer, "level"), values[] = {anchor, found, anchor};
    LLVMBasicBlockRef blocks[] = {good, slow, first};
    LLVMAddIncoming(level, values, blocks, is_leaf ? 3 : 2);
    return level;
}

static void define_entry(struct tn__gc *gc, LLVMValueRef entry, LLVMValueRef body)
{
    unsigned count = LLVMCountParams(body);
    LLVMValueRef *parameters = tn__gc_array(gc, count, sizeof(LLVMValueRef));
    LLVMGetParams(entry, parameters);
    begin_function(gc, entry);
    LLVMValueRef block = tn__thread_block(gc);
    LLVMValueRef level = enter_level(gc, entry, block, !tn__is_managed_function(body));
    LLVMValueRef result = LLVMBuildCall2(gc->builder, LLVMGlobalGetValueType(body), body, parameters, count, "");
    LLVMSetInstructionCallConv(result, LLVMGetFunctionCallConv(body));
    tn__copy_abi_attributes(body, count, result, 0);
    LLVMAddCallSiteAttribute(result, TN__ON_FUNCTION,
                             LLVMCreateStringAttribute(gc->context, TN__ENTRY_CALL, sizeof TN__ENTRY_CALL - 1, "", 0));
    set_top(gc, block, level);
    if (LLVMGetTypeKind(LLVMTypeOf(result)) == LLVMVoidTypeKind)
        LLVMBuildRetVoid(gc->builder);
    else
        LLVMBuildRet(gc->builder, result);
}

/* Managed calls go to the body, everything else to the entry. So do calls of what another definition may replace, which
 * need not be managed: the linker knows only the entry's name. */
static void redirect_calls(LLVMValueRef entry, LLVMValueRef body)
{
    if (tn__may_be_replaced(entry))
        return;
    LLVMUseRef next;
    for (LLVMUseRef use = LLVMGetFirstUse(entry); use; use = next) {
        LLVMValueRef call = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (is_managed_call(use, entry) && !LLVMIsFunctionVarArg(LLVMGetCalledFunctionType(call)))
            LLVMSetOperand(call, (unsigned)LLVMGetNumOperands(call) - 1, body);
    }
}

/* A declaration of a managed function stands for its entry; its body is declared too. */
static void declare_body(struct tn__gc *gc, LLVMValueRef entry)
{
    LLVMValueRef body = LLVMAddFunction(gc->module, copy_name(gc, entry, BODY), LLVMGlobalGetValueType(entry));
    LLVMSetVisibility(body, LLVMHiddenVisibility);
    LLVMSetFunctionCallConv(body, LLVMGetFunctionCallConv(entry));
    LLVMSetGC(body, TN__GC_STRATEGY);
    redirect_calls(entry, body);
    LLVMSetGC(entry, NULL);
    if (!LLVMGetFirstUse(body))
        LLVMDeleteFunction(body);
}

static void make_entry(struct tn__gc *gc, LLVMValueRef body)
{
    LLVMValueRef entry = declare_entry(gc, body);
    tn__llvm_replace_function(body, entry);
    redirect_calls(entry, body);
    if (!tn__is_local(body) || LLVMGetFirstUse(entry))
        define_entry(gc, entry, body);
}

void tn__make_transitions(struct tn__gc *gc)
{
    LLVMValueRef *functions = NULL;
    size_t count = 0;
    tn__mark_native_functions(gc);
    check_definitions(gc);
    lower_resumes(gc);
    forward_calls(gc);
    for (TN__EACH_FUNCTION(f, gc))
        TN__APPEND(gc, functions, count, f);
    for (size_t i = 0; i < count; i++) {
        LLVMValueRef f = functions[i];
        if (LLVMIsDeclaration(f) && tn__is_managed_function(f))
            declare_body(gc, f);
        else if (tn__needs_level(f) && needs_entry(f))
            make_entry(gc, f);
        else if (!LLVMIsDeclaration(f) && tn__has_text(f, TN__LEAF) && !tn__is_local(f) && !tn__may_be_replaced(f))
            LLVMSetVisibility(LLVMAddAlias2(gc->module, LLVMGlobalGetValueType(f), 0, f, copy_name(gc, f, BODY)),
                              LLVMHiddenVisibility); /* other modules may know the function as a managed one */
    }
    tn__each_call(gc, 0, is_second_return, come_back);
    if (TN__IS_CHECKING)
        tn__check_levels(gc);
}
