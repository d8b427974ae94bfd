/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the contract says in one call or bundle, as ordinary IR, before anything is optimised:
 *     atomicmodify.iN.pM                    an atomic operation, or a loop around a weak exchange
 *     "julia.gc_alloc_zeroinit_indirect"    memory that the new object refers to is zeroed */

#include "codegen/managed/lower/lower.h"

/* ---- atomicmodify ---- */

/* {iN, iN} atomicmodify.iN.pM(pM address, ptr operation, i8 order, i8 scope, ...): what was there, and what the
 * operation made of it and the other arguments. */
struct modification {
    struct tn__gc *gc;
    LLVMValueRef call, address, operation;
    LLVMTypeRef type;
    LLVMAtomicOrdering order;
    bool is_for_thread; /* alone */
    unsigned count;     /* of arguments behind the first four */
};

enum { FIXED = 4, SYSTEM_SCOPE = 1 };

static bool is_modification(LLVMValueRef i)
{
    LLVMValueRef callee = tn__is_call(i) ? LLVMGetCalledValue(i) : NULL;
    return callee && LLVMIsAFunction(callee) && tn__is_atomic_modify(callee);
}

static bool is_integer(LLVMTypeRef type)
{
    unsigned width = LLVMGetTypeKind(type) == LLVMIntegerTypeKind ? LLVMGetIntTypeWidth(type) : 0;
    return width >= 8 && width <= 128 && (width & (width - 1)) == 0;
}

/* False: it is not what the contract says. */
static bool read_modification(struct tn__gc *gc, LLVMValueRef call, struct modification *m)
{
    LLVMTypeRef result = LLVMTypeOf(call);
    bool is_pair = LLVMGetTypeKind(result) == LLVMStructTypeKind && LLVMCountStructElementTypes(result) == 2 &&
                   LLVMStructGetTypeAtIndex(result, 0) == LLVMStructGetTypeAtIndex(result, 1);
    unsigned count = LLVMGetNumArgOperands(call);
    if (!is_pair || !is_integer(LLVMStructGetTypeAtIndex(result, 0)) || count < FIXED || !LLVMIsACallInst(call))
        return false;
    LLVMValueRef order = LLVMGetOperand(call, 2), scope = LLVMGetOperand(call, 3);
    if (tn__space_of(LLVMGetOperand(call, 0)) < 0 || tn__space_of(LLVMGetOperand(call, 1)) != 0 ||
        !LLVMIsAConstantInt(order) || !LLVMIsAConstantInt(scope))
        return false;
    *m = (struct modification){.gc = gc,
                               .call = call,
                               .address = LLVMGetOperand(call, 0),
                               .operation = LLVMGetOperand(call, 1),
                               .type = LLVMStructGetTypeAtIndex(result, 0),
                               .order = (LLVMAtomicOrdering)LLVMConstIntGetZExtValue(order),
                               .is_for_thread = LLVMConstIntGetZExtValue(scope) != SYSTEM_SCOPE,
                               .count = count - FIXED};
    switch (m->order) {
    case LLVMAtomicOrderingMonotonic:
    case LLVMAtomicOrderingAcquire:
    case LLVMAtomicOrderingRelease:
    case LLVMAtomicOrderingAcquireRelease:
    case LLVMAtomicOrderingSequentiallyConsistent:
        return true;
    default:
        return false;
    }
}

/* The atomic operation that the function is: `return old + argument;` and the like. -1: none. */
static int simple_operation(const struct modification *m)
{
    static const struct {
        LLVMOpcode opcode;
        LLVMAtomicRMWBinOp operation;
        bool commutes;
    } rows[] = {{LLVMAdd, LLVMAtomicRMWBinOpAdd, true},
                {LLVMSub, LLVMAtomicRMWBinOpSub, false},
                {LLVMAnd, LLVMAtomicRMWBinOpAnd, true},
                {LLVMOr, LLVMAtomicRMWBinOpOr, true},
                {LLVMXor, LLVMAtomicRMWBinOpXor, true}};
    LLVMValueRef f = m->operation;
    if (m->count != 1 || !LLVMIsAFunction(f) || LLVMIsDeclaration(f) || LLVMCountParams(f) != 2 ||
        LLVMTypeOf(LLVMGetParam(f, 1)) != m->type || LLVMTypeOf(LLVMGetOperand(m->call, FIXED)) != m->type ||
        !(tn__is_local(f) || LLVMGetLinkage(f) == LLVMExternalLinkage))
        return -1;
    LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)), end = LLVMGetNextInstruction(i);
    LLVMValueRef old = LLVMGetParam(f, 0), argument = LLVMGetParam(f, 1);
    if (LLVMIsAReturnInst(i) && LLVMGetNumOperands(i) == 1 && LLVMGetOperand(i, 0) == argument)
        return LLVMAtomicRMWBinOpXchg;
    if (!end || !LLVMIsAReturnInst(end) || LLVMGetNumOperands(end) != 1 || LLVMGetOperand(end, 0) != i)
        return -1;
    for (size_t r = 0; r < TN_COUNT(rows); r++)
        if (LLVMGetInstructionOpcode(i) == rows[r].opcode) {
            bool is_forward = LLVMGetOperand(i, 0) == old && LLVMGetOperand(i, 1) == argument;
            bool is_backward = LLVMGetOperand(i, 0) == argument && LLVMGetOperand(i, 1) == old;
            return is_forward || (is_backward && rows[r].commutes) ? (int)rows[r].operation : -1;
        }
    return -1;
}

static LLVMValueRef call_operation(const struct modification *m, LLVMValueRef old)
{
    struct tn__gc *gc = m->gc;
    LLVMTypeRef *types = tn__gc_array(gc, m->count + 1, sizeof *types);
    LLVMValueRef *arguments = tn__gc_array(gc, m->count + 1, sizeof *arguments);
    arguments[0] = old;
    for (unsigned i = 0; i < m->count; i++)
        arguments[i + 1] = LLVMGetOperand(m->call, FIXED + i);
    for (unsigned i = 0; i <= m->count; i++)
        types[i] = LLVMTypeOf(arguments[i]);
    return LLVMBuildCall2(gc->builder, LLVMFunctionType(m->type, types, m->count + 1, 0), m->operation, arguments,
                          m->count + 1, "new");
}

static void replace(const struct modification *m, LLVMValueRef old, LLVMValueRef new)
{
    LLVMBuilderRef builder = m->gc->builder;
    LLVMValueRef pair = LLVMBuildInsertValue(builder, LLVMGetPoison(LLVMTypeOf(m->call)), old, 0, "");
    pair = LLVMBuildInsertValue(builder, pair, new, 1, "");
    LLVMReplaceAllUsesWith(m->call, pair);
    LLVMInstructionEraseFromParent(m->call);
}

/* What a failed exchange orders: nothing was written. */
static LLVMAtomicOrdering order_of_failure(LLVMAtomicOrdering order)
{
    return order == LLVMAtomicOrderingRelease          ? LLVMAtomicOrderingMonotonic
           : order == LLVMAtomicOrderingAcquireRelease ? LLVMAtomicOrderingAcquire
                                                       : order;
}

static void make_loop(const struct modification *m)
{
    struct tn__gc *gc = m->gc;
    LLVMBasicBlockRef before = LLVMGetInstructionParent(m->call), done,
                      loop = tn__make_detour(gc, m->call, "modify", &done);
    LLVMValueRef first = LLVMBuildLoad2(gc->builder, m->type, m->address, "first");
    LLVMSetOrdering(first, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(first, LLVMGetIntTypeWidth(m->type) / 8);
    LLVMBuildBr(gc->builder, loop);
    LLVMPositionBuilderAtEnd(gc->builder, loop);
    LLVMValueRef old = LLVMBuildPhi(gc->builder, m->type, "old"), new = call_operation(m, old);
    LLVMValueRef exchange = LLVMBuildAtomicCmpXchg(gc->builder, m->address, old, new, m->order,
                                                   order_of_failure(m->order), m->is_for_thread);
    LLVMSetWeak(exchange, 1);
    LLVMValueRef values[] = {first, LLVMBuildExtractValue(gc->builder, exchange, 0, "seen")};
    LLVMBasicBlockRef blocks[] = {before, loop};
    LLVMAddIncoming(old, values, blocks, 2);
    LLVMBuildCondBr(gc->builder, LLVMBuildExtractValue(gc->builder, exchange, 1, "done"), done, loop);
    LLVMPositionBuilderBefore(gc->builder, m->call);
    replace(m, old, new);
}

static void expand_modification(struct tn__gc *gc, LLVMValueRef call)
{
    struct modification m;
    if (!read_modification(gc, call, &m)) {
        tn__gc_reject(gc, call, "intrinsic",
                      "atomicmodify.iN.pM has the type {iN, iN} (pM, ptr, i8, i8, ...), and constant orders of atomic "
                      "accesses");
        return;
    }
    gc->stats->expanded_modifications++;
    int simple = simple_operation(&m);
    LLVMPositionBuilderBefore(gc->builder, call);
    if (simple < 0) {
        make_loop(&m);
        return;
    }
    LLVMValueRef old = LLVMBuildAtomicRMW(gc->builder, (LLVMAtomicRMWBinOp)simple, m.address,
                                          LLVMGetOperand(call, FIXED), m.order, m.is_for_thread);
    replace(&m, old, call_operation(&m, old));
}

void tn__expand_atomic_modify(struct tn__gc *gc)
{
    tn__each_call(gc, 0, is_modification, expand_modification);
    for (LLVMValueRef f = LLVMGetFirstFunction(gc->module), next; f; f = next) {
        next = LLVMGetNextFunction(f);
        if (tn__is_atomic_modify(f) && !LLVMGetFirstUse(f))
            LLVMDeleteFunction(f);
    }
}

/* ---- memory of a new object ---- */

#define ZERO_INDIRECT "julia.gc_alloc_zeroinit_indirect" /* (offset of the pointer, size of the memory) */

static bool zeroes_indirectly(LLVMValueRef i)
{
    return tn__is_call(i) && tn__has_bundle(i, ZERO_INDIRECT);
}

static void zero_memory(struct tn__gc *gc, LLVMValueRef call)
{
    LLVMValueRef offset = NULL, size = NULL;
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(call); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(call, b);
        const char *tag = LLVMGetOperandBundleTag(bundle, &(size_t){0});
        if (strcmp(tag, ZERO_INDIRECT) == 0 && LLVMGetNumOperandBundleArgs(bundle) == 2) {
            offset = LLVMGetOperandBundleArgAtIndex(bundle, 0);
            size = LLVMGetOperandBundleArgAtIndex(bundle, 1);
        }
        LLVMDisposeOperandBundle(bundle);
    }
    if (!LLVMIsACallInst(call) || tn__space_of(call) != TRACKED || !size || LLVMTypeOf(offset) != gc->i64 ||
        LLVMTypeOf(size) != gc->i64) {
        tn__gc_reject(gc, call, "bundle", ZERO_INDIRECT " has two i64, at a call that returns a new object");
        return;
    }
    LLVMPositionBuilderBefore(gc->builder, LLVMGetNextInstruction(call));
    LLVMValueRef object = LLVMBuildAddrSpaceCast(gc->builder, call, gc->derived, "");
    LLVMValueRef place = LLVMBuildGEP2(gc->builder, gc->i8, object, &offset, 1, "");
    LLVMTypeRef loaded = LLVMPointerTypeInContext(gc->context, LOADED);
    LLVMValueRef memory = LLVMBuildLoad2(gc->builder, loaded, place, "memory");
    LLVMBuildMemSet(gc->builder, memory, LLVMConstNull(gc->i8), size, 1);
    tn__llvm_drop_bundle(call, ZERO_INDIRECT);
    gc->stats->zeroed_indirectly++;
}

void tn__zero_indirectly(struct tn__gc *gc)
{
    tn__each_call(gc, 0, zeroes_indirectly, zero_memory);
}
