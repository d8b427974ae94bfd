/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Write barriers: before a reference is stored into an object, the object's header is tested (doc/GC.md). Explicit
 * julia.write_barrier calls follow the store and name no slot, so they are dropped in favour of these. */

#include "codegen/managed/ir/bases.h"
#include "codegen/managed/ir/blocks.h"
#include "codegen/managed/ir/llvm_gc.h"
#include "codegen/managed/lower/lower.h"
#include "tenon_gc.h"

enum { FAR = 64, PRESERVE_MOST = 14 }; /* instructions to look back; LLVM's number of the calling convention */

struct barriers {
    struct tn__gc *gc;
    LLVMBuilderRef builder;
    struct tn__bases *bases;
    struct tn__map parents; /* of the stores that have a barrier: number in `list`, + 1 */
    LLVMValueRef *list;
    uint32_t count;
};

/* ---- which stores ---- */

/* The address and the value of what stores a reference; false for other instructions. */
static bool stores_reference(LLVMValueRef i, LLVMValueRef *address, LLVMValueRef *value)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMCall:
        if (!tn__is_vector_store(i))
            return false;
        /* fallthrough */
    case LLVMStore:
        *address = LLVMGetOperand(i, 1);
        *value = LLVMGetOperand(i, 0);
        break;
    case LLVMAtomicRMW:
        *address = LLVMGetOperand(i, 0);
        *value = LLVMGetOperand(i, 1);
        break;
    case LLVMAtomicCmpXchg:
        *address = LLVMGetOperand(i, 0);
        *value = LLVMGetOperand(i, 2);
        break;
    default:
        return false;
    }
    return tn__space_of(*address) >= TRACKED && tn__type_holds(LLVMTypeOf(*value), IN_TRACKED);
}

/* Where the pointer comes from in the end, if that is no object: an argument, a variable of the stack ... */
static LLVMValueRef origin(LLVMValueRef address)
{
    while (LLVMIsAAddrSpaceCastInst(address) || LLVMIsAGetElementPtrInst(address))
        address = LLVMGetOperand(address, 0);
    return address;
}

/* The instruction before, also where only one way leads here. */
static LLVMValueRef step_back(LLVMValueRef i)
{
    LLVMValueRef before = LLVMGetPreviousInstruction(i);
    if (before)
        return before;
    LLVMBasicBlockRef block = LLVMGetInstructionParent(i), from = NULL;
    for (TN__EACH_USE(use, LLVMBasicBlockAsValue(block))) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsATerminatorInst(user) || from)
            return NULL;
        from = LLVMGetInstructionParent(user);
    }
    return from ? LLVMGetLastInstruction(from) : NULL;
}

/* True if since the object's allocation, or since a barrier for it, no collection can have happened. */
static bool is_covered(struct barriers *b, LLVMValueRef store, LLVMValueRef parent)
{
    LLVMValueRef i = step_back(store);
    for (unsigned far = 0; i && far < FAR; far++, i = step_back(i)) {
        if (i == parent && tn__is_allocation(i))
            return true;
        const uint32_t *number = tn__map_find(&b->parents, i);
        if (number && b->list[*number - 1] == parent)
            return true;
        if (i == parent || tn__is_safepoint(i))
            return false;
    }
    return false;
}

/* ---- the test ---- */

static LLVMValueRef in_space_0(struct barriers *b, LLVMValueRef pointer)
{
    LLVMTypeRef type = LLVMPointerTypeInContext(b->gc->context, 0);
    return tn__space_of(pointer) ? LLVMBuildAddrSpaceCast(b->builder, pointer, type, "") : pointer;
}

/* The runtime is told the word that a reference to an object of the heap is stored into; null: there may be none, or it
 * is one of several. */
static void log_object(struct barriers *b, LLVMValueRef store, LLVMValueRef parent)
{
    struct tn__gc *gc = b->gc;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(gc->context, 0), none = LLVMVoidTypeInContext(gc->context);
    LLVMValueRef address, value, object = in_space_0(b, parent);
    stores_reference(store, &address, &value);
    bool is_plain = LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind && !LLVMIsConstant(value);
    LLVMValueRef arguments[] = {object, is_plain ? in_space_0(b, address) : LLVMConstNull(pointer)};
    LLVMValueRef call = tn__call_runtime(gc, b->builder, true, "tn__gc_log", none, arguments, 2);
    LLVMSetFunctionCallConv(LLVMGetCalledValue(call), PRESERVE_MOST);
    LLVMSetInstructionCallConv(call, PRESERVE_MOST);
}

static void insert_test(struct barriers *b, LLVMValueRef store, LLVMValueRef parent)
{
    struct tn__gc *gc = b->gc;
    LLVMTypeRef word = LLVMInt64TypeInContext(gc->context);
    LLVMBasicBlockRef behind, slow = tn__make_detour(gc, b->builder, store, "log", &behind);
    if (tn__bases_may_be_null(b->bases, parent)) {
        LLVMBasicBlockRef test = LLVMInsertBasicBlockInContext(gc->context, slow, "object");
        LLVMValueRef null = LLVMConstNull(LLVMTypeOf(parent));
        LLVMBuildCondBr(b->builder, LLVMBuildICmp(b->builder, LLVMIntEQ, parent, null, ""), behind, test);
        LLVMPositionBuilderAtEnd(b->builder, test);
    }
    LLVMValueRef header = LLVMBuildLoad2(b->builder, word, tn__header_of(gc, b->builder, parent), "header");
    tn__tag(gc, header, TN__HEADER_MEMORY);
    LLVMValueRef bit = LLVMBuildAnd(b->builder, header, LLVMConstInt(word, TN_GC_UNLOGGED, 0), "");
    LLVMValueRef quiet = LLVMBuildICmp(b->builder, LLVMIntEQ, bit, LLVMConstNull(word), "");
    tn__likely(gc, LLVMBuildCondBr(b->builder, quiet, behind, slow));
    LLVMPositionBuilderAtEnd(b->builder, slow);
    log_object(b, store, parent);
    LLVMBuildBr(b->builder, behind);
    gc->stats->barriers++;
}

/* Whether a store needs a barrier; asked for all of them before the first is inserted. */
static bool is_needed(struct barriers *b, LLVMValueRef store)
{
    LLVMValueRef address, value;
    stores_reference(store, &address, &value);
    LLVMValueRef parent = tn__base_of(b->bases, address);
    bool needed = false;
    if (!parent && LLVMIsAArgument(origin(address)) && tn__space_of(origin(address)) != 0)
        tn__gc_reject(b->gc, store, NULL, "parent", "the object that this reference is stored into is not known here");
    else if (parent && !LLVMIsNull(value)) {
        needed = !is_covered(b, store, parent);
        TN__APPEND(b->gc, b->list, b->count, parent);
        *tn__map_add(b->gc, &b->parents, store) = b->count;
    }
    b->gc->stats->barriers_skipped += !needed;
    return needed;
}

/* ---- moves of memory ---- */

static bool is_move(LLVMValueRef i)
{
    bool move = tn__is_copy(i) && tn__space_of(LLVMGetOperand(i, 0)) >= TRACKED;
    return move || tn__intrinsic_called(i) == TN__MOVE;
}

/* The copy itself logs the object; word by word, so that the collector sees whole references. */
static void replace_move(struct barriers *b, LLVMValueRef call)
{
    struct tn__gc *gc = b->gc;
    LLVMTypeRef pointer = LLVMPointerTypeInContext(gc->context, 0), word = LLVMInt64TypeInContext(gc->context);
    LLVMValueRef to = LLVMGetOperand(call, 0), parent = tn__base_of(b->bases, to);
    LLVMPositionBuilderBefore(b->builder, call);
    LLVMValueRef arguments[] = {parent ? in_space_0(b, parent) : LLVMConstNull(pointer), in_space_0(b, to),
                                in_space_0(b, LLVMGetOperand(call, 1)),
                                LLVMBuildZExtOrBitCast(b->builder, LLVMGetOperand(call, 2), word, "")};
    tn__call_runtime(gc, b->builder, true, "tn__gc_move", LLVMVoidTypeInContext(gc->context), arguments, 4);
    LLVMInstructionEraseFromParent(call);
    gc->stats->barriers++;
}

/* ---- the pass ---- */

static void guard_function(struct barriers *b, LLVMValueRef function)
{
    LLVMValueRef *stores = NULL, address, value;
    size_t count = 0;
    for (TN__EACH_BLOCK(block, function))
        for (TN__EACH_INSTRUCTION(i, block)) {
            bool is_store = stores_reference(i, &address, &value);
            if (is_store && LLVMGetTypeKind(LLVMTypeOf(address)) != LLVMPointerTypeKind) /* `scalarize` has left it */
                tn__gc_reject(b->gc, i, NULL, "not-scalar", "references are stored into several objects at once");
            else if (is_store || is_move(i) || tn__intrinsic_called(i) == TN__WRITE_BARRIER)
                TN__APPEND(b->gc, stores, count, i);
        }
    for (size_t i = 0; i < count; i++) { /* bases first: their phis belong to blocks that are split afterwards */
        if (stores_reference(stores[i], &address, &value))
            tn__base_of(b->bases, address);
        else if (is_move(stores[i]))
            tn__base_of(b->bases, LLVMGetOperand(stores[i], 0));
    }
    tn__bases_simplify(b->bases);
    bool *needed = tn__gc_array(b->gc, count, sizeof *needed);
    for (size_t i = 0; i < count; i++)
        needed[i] = stores_reference(stores[i], &address, &value) && is_needed(b, stores[i]);
    for (size_t i = 0; i < count; i++) {
        if (needed[i])
            insert_test(b, stores[i], b->list[*tn__map_find(&b->parents, stores[i]) - 1]);
        else if (is_move(stores[i]))
            replace_move(b, stores[i]);
        else if (!stores_reference(stores[i], &address, &value))
            LLVMInstructionEraseFromParent(stores[i]);
    }
}

void tn__insert_barriers(struct tn__gc *gc)
{
    struct barriers b = {.gc = gc, .builder = LLVMCreateBuilderInContext(gc->context)};
    for (TN__EACH_FUNCTION(f, gc)) {
        if (LLVMIsDeclaration(f))
            continue;
        b.bases = tn__bases_begin(gc, f, b.builder);
        guard_function(&b, f);
        tn__bases_end(b.bases);
    }
    LLVMDisposeBuilder(b.builder);
}
