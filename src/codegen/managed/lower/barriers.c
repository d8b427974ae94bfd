/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Write barriers: before a reference is stored into an object, the object's header is tested, and unless it is
 * permanent, whether the reference is to a young object (doc/GC.md). Explicit julia.write_barrier calls follow the
 * store and name no slot, so they are dropped in favour of these. */

#include "codegen/llvm/remarks.h"
#include "codegen/managed/lower/lower.h"
#include "codegen/managed/optimize/optimize.h"
#include "codegen/managed/verify/verify.h"
#include "tenon_gc.h"

enum { FAR = 64, PRESERVE_MOST = 14 }; /* instructions to look back; LLVM's number of the calling convention */

struct barriers {
    struct tn__gc *gc;
    struct tn__bases *bases;
};

/* ---- which stores ---- */

/* Where the pointer comes from in the end, if that is no object: an argument, a variable of the stack, a choice ... */
static LLVMValueRef origin_of(LLVMValueRef address)
{
    while (LLVMIsAAddrSpaceCastInst(address) || LLVMIsAGetElementPtrInst(address))
        address = LLVMGetOperand(address, 0);
    return address;
}

/* True if the pointer is, or may have been chosen to be, one into an object that only the caller knows. */
static bool may_be_argument(struct barriers *b, LLVMValueRef address)
{
    struct tn__values origins = {0};
    tn__values_add(b->gc, &origins, origin_of(address));
    for (size_t i = 0; i < origins.count; i++) {
        LLVMValueRef origin = origins.list[i];
        bool is_select = LLVMIsASelectInst(origin);
        if (LLVMIsAArgument(origin) && tn__space_of(origin) != 0 && tn__space_of(origin) != TRACKED)
            return true;
        if (!is_select && !LLVMIsAPHINode(origin) && !LLVMIsAFreezeInst(origin))
            continue;
        for (int k = is_select; k < LLVMGetNumOperands(origin); k++)
            tn__values_add(b->gc, &origins, origin_of(LLVMGetOperand(origin, (unsigned)k)));
    }
    return false;
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

/* True if no collection can have happened since the object's allocation. A barrier before is not enough: the runtime
 * remembers words, not objects. */
static bool is_fresh(LLVMValueRef store, LLVMValueRef parent)
{
    if (!tn__is_allocation(parent))
        return false;
    LLVMValueRef i = step_back(store);
    for (unsigned far = 0; i && i != parent && far < FAR; far++, i = step_back(i))
        if (tn__is_safepoint(i))
            return false;
    return i == parent;
}

/* ---- the test ---- */

static LLVMValueRef in_space_0(struct tn__gc *gc, LLVMValueRef pointer)
{
    return tn__space_of(pointer) ? LLVMBuildAddrSpaceCast(gc->builder, pointer, gc->pointer, "") : pointer;
}

/* What the runtime is told of a store. `slot`: the word that is stored to. Null: it is one of several; or the value is
 * no object of the heap, and the word may be no reference; or the memory is not the object's own, so that it need not
 * last as long as the object. `value`: null if several are stored. */
struct report {
    LLVMValueRef place; /* before which the barrier is */
    LLVMValueRef object, slot, value;
    bool may_be_null; /* the object */
};

static struct report report_of(struct barriers *b, LLVMValueRef store, LLVMValueRef parent)
{
    struct tn__reference_store s;
    LLVMValueRef null = LLVMConstNull(b->gc->pointer);
    tn__stores_reference(store, &s);
    bool is_plain = LLVMGetTypeKind(LLVMTypeOf(s.value)) == LLVMPointerTypeKind;
    bool has_slot = is_plain && !LLVMIsConstant(s.value) && tn__space_of(s.address) != LOADED;
    return (struct report){store, parent, has_slot ? s.address : null, is_plain ? s.value : null,
                           tn__bases_may_be_null(b->bases, parent)};
}

static LLVMValueRef lacks_bit(struct tn__gc *gc, LLVMValueRef header, unsigned bit)
{
    LLVMValueRef found = LLVMBuildAnd(gc->builder, header, LLVMConstInt(gc->i64, bit, 0), "");
    return LLVMBuildICmp(gc->builder, LLVMIntEQ, found, LLVMConstNull(gc->i64), "");
}

/* Goes on to `behind` unless the object is permanent or the value young: then to a new block, where the builder is
 * afterwards. */
static void test_value(struct tn__gc *gc, LLVMValueRef header, LLVMValueRef value, LLVMBasicBlockRef behind)
{
    LLVMBasicBlockRef young = LLVMInsertBasicBlockInContext(gc->context, behind, "young");
    LLVMBasicBlockRef ordinary = LLVMInsertBasicBlockInContext(gc->context, young, "ordinary");
    tn__likely(gc, LLVMBuildCondBr(gc->builder, lacks_bit(gc, header, TN_GC_PERMANENT), ordinary, young));
    LLVMPositionBuilderAtEnd(gc->builder, ordinary);
    LLVMValueRef block = tn__thread_block(gc);
    LLVMValueRef start = LLVMBuildLoad2(gc->builder, gc->i64, tn__field(gc, block, TN_GC_BLOCK_YOUNG), "");
    LLVMValueRef size = LLVMBuildLoad2(gc->builder, gc->i64, tn__field(gc, block, TN_GC_BLOCK_YOUNG_SIZE), "");
    tn__tag(gc, start, TN__RUNTIME_MEMORY);
    tn__tag(gc, size, TN__RUNTIME_MEMORY);
    LLVMValueRef distance = LLVMBuildXor(gc->builder, LLVMBuildPtrToInt(gc->builder, value, gc->i64, ""), start, "");
    LLVMBuildCondBr(gc->builder, LLVMBuildICmp(gc->builder, LLVMIntUGE, distance, size, "old"), behind, young);
    LLVMPositionBuilderAtEnd(gc->builder, young);
}

/* It preserves most registers. */
static LLVMValueRef log_function(struct tn__gc *gc)
{
    LLVMTypeRef types[] = {gc->pointer, gc->pointer, gc->pointer}, type = LLVMFunctionType(gc->nothing, types, 3, 0);
    LLVMValueRef function = tn__runtime_function(gc, "tn__gc_log", type);
    if (!tn__has_text(function, TN__LEAF))
        tn__set_text(function, TN__LEAF, "");
    LLVMSetFunctionCallConv(function, PRESERVE_MOST);
    return function;
}

static void insert_test(struct tn__gc *gc, const struct report *report)
{
    LLVMBasicBlockRef behind, slow = tn__make_detour(gc, report->place, "log", &behind);
    if (report->may_be_null) {
        LLVMBasicBlockRef test = LLVMInsertBasicBlockInContext(gc->context, slow, "object");
        LLVMValueRef null = LLVMConstNull(LLVMTypeOf(report->object));
        LLVMBuildCondBr(gc->builder, LLVMBuildICmp(gc->builder, LLVMIntEQ, report->object, null, ""), behind, test);
        LLVMPositionBuilderAtEnd(gc->builder, test);
    }
    LLVMValueRef header = LLVMBuildLoad2(gc->builder, gc->i64, tn__header_of(gc, report->object), "header");
    tn__tag(gc, header, TN__HEADER_MEMORY);
    tn__likely(gc, LLVMBuildCondBr(gc->builder, lacks_bit(gc, header, TN_GC_UNLOGGED), behind, slow));
    LLVMPositionBuilderAtEnd(gc->builder, slow);
    LLVMValueRef arguments[] = {in_space_0(gc, report->object), in_space_0(gc, report->slot),
                                in_space_0(gc, report->value)};
    if (!LLVMIsAConstantPointerNull(arguments[2]))
        test_value(gc, header, arguments[2], behind);
    LLVMValueRef log = log_function(gc);
    LLVMValueRef call = LLVMBuildCall2(gc->builder, LLVMGlobalGetValueType(log), log, arguments, 3, "");
    LLVMSetInstructionCallConv(call, PRESERVE_MOST);
    LLVMBuildBr(gc->builder, behind);
}

/* ---- barriers that are expanded later ---- */

static void leave_barrier(struct tn__gc *gc, const struct report *report)
{
    LLVMTypeRef type = LLVMFunctionType(gc->nothing, NULL, 0, 1);
    LLVMValueRef arguments[] = {
        report->object,   report->slot,
        report->value,    LLVMConstInt(LLVMInt1TypeInContext(gc->context), report->may_be_null, 0),
        log_function(gc), tn__block_variable(gc)};
    LLVMValueRef row = LLVMGetNamedFunction(gc->module, TN__BARRIER_ROW);
    if (!row) { /* nothing of it may be seen in the object */
        row = LLVMAddFunction(gc->module, TN__BARRIER_ROW, type);
        tn__set_text(row, TN__LEAF, "");
    }
    LLVMPositionBuilderBefore(gc->builder, report->place);
    LLVMBuildCall2(gc->builder, type, row, arguments, TN_COUNT(arguments), "");
}

/* IR that was read may have others. */
static bool is_row(LLVMValueRef i)
{
    LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    if (!callee || !LLVMIsAFunction(callee) || LLVMGetNumArgOperands(i) <= 3 ||
        strcmp(LLVMGetValueName2(callee, &(size_t){0}), TN__BARRIER_ROW) != 0)
        return false;
    for (unsigned k = 0; k < 3; k++)
        if (LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(i, k))) != LLVMPointerTypeKind)
            return false;
    return LLVMIsAConstantInt(LLVMGetOperand(i, 3));
}

void tn__expand_barriers(struct tn__gc *gc, LLVMValueRef function)
{
    LLVMValueRef *rows = NULL;
    size_t count = 0;
    if (!LLVMGetNamedFunction(gc->module, TN__BARRIER_ROW))
        return;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (is_row(i))
                TN__APPEND(gc, rows, count, i);
    for (size_t i = 0; i < count; i++) {
        struct report report = {rows[i], LLVMGetOperand(rows[i], 0), LLVMGetOperand(rows[i], 1),
                                LLVMGetOperand(rows[i], 2), !LLVMIsNull(LLVMGetOperand(rows[i], 3))};
        insert_test(gc, &report);
        LLVMInstructionEraseFromParent(rows[i]);
    }
}

static void tell(LLVMValueRef store, bool removed)
{
    if (removed)
        tn__llvm_remark(store, "insert-barriers", "BarrierRemoved", true,
                        "the object is new, or the value is outside of the heap or does not change");
    else
        tn__llvm_remark(store, "insert-barriers", "Barrier", false,
                        "the object may be old, and the value may be a young object");
}

/* The object that the store needs a barrier for, or NULL; asked for all stores before the first barrier is inserted. */
static LLVMValueRef parent_to_test(struct barriers *b, LLVMValueRef store)
{
    struct tn__reference_store s;
    tn__stores_reference(store, &s);
    LLVMValueRef parent = tn__base_of(b->bases, s.address);
    bool needed = parent && !LLVMIsNull(s.value) && !is_fresh(store, parent);
    bool removed = needed && tn__needs_no_barrier(b->gc, store, parent);
    if (may_be_argument(b, s.address))
        tn__gc_reject(b->gc, store, "parent", "the object that this reference is stored into is not known here");
    if (parent && !LLVMIsNull(s.value))
        tell(store, !needed || removed);
    b->gc->stats->barriers_skipped += !needed || removed;
    b->gc->stats->removed_barriers += removed;
    return needed && !removed ? parent : NULL;
}

/* ---- moves of memory ---- */

static bool is_move(struct tn__gc *gc, LLVMValueRef i)
{
    if (!tn__is_copy(i) || tn__space_of(LLVMGetOperand(i, 0)) < TRACKED)
        return tn__intrinsic_called(i) == TN__MOVE;
    LLVMValueRef length = LLVMGetOperand(i, 2);
    return !LLVMIsAConstantInt(length) ||
           !tn__holds_no_reference(gc, LLVMGetOperand(i, 0), LLVMConstIntGetZExtValue(length));
}

/* The copy itself logs the object; word by word, so that the collector sees whole references. */
static void replace_move(struct barriers *b, LLVMValueRef call)
{
    struct tn__gc *gc = b->gc;
    LLVMValueRef to = LLVMGetOperand(call, 0), parent = tn__base_of(b->bases, to);
    LLVMPositionBuilderBefore(gc->builder, call);
    LLVMValueRef arguments[] = {parent ? in_space_0(gc, parent) : LLVMConstNull(gc->pointer), in_space_0(gc, to),
                                in_space_0(gc, LLVMGetOperand(call, 1)),
                                LLVMBuildZExtOrBitCast(gc->builder, LLVMGetOperand(call, 2), gc->i64, "")};
    tn__call_runtime(gc, true, "tn__gc_move", gc->nothing, arguments, 4);
    LLVMInstructionEraseFromParent(call);
    gc->stats->barriers++;
}

/* ---- the pass ---- */

static void guard_store(struct barriers *b, LLVMValueRef store, LLVMValueRef parent, bool leaves_rows)
{
    struct report report = report_of(b, store, parent);
    if (leaves_rows)
        leave_barrier(b->gc, &report);
    else
        insert_test(b->gc, &report);
    b->gc->stats->barriers++;
}

static void guard_function(struct barriers *b, LLVMValueRef function)
{
    struct tn__reference_store s;
    LLVMValueRef *stores = NULL;
    size_t count = 0;
    for (TN__EACH_BLOCK(block, function))
        for (TN__EACH_INSTRUCTION(i, block)) {
            bool is_store = tn__stores_reference(i, &s);
            if (is_store && LLVMGetTypeKind(LLVMTypeOf(s.address)) != LLVMPointerTypeKind) /* `scalarize` has left it */
                tn__gc_reject(b->gc, i, "not-scalar", "references are stored into several objects at once");
            else if (is_store || is_move(b->gc, i) || tn__intrinsic_called(i) == TN__WRITE_BARRIER)
                TN__APPEND(b->gc, stores, count, i);
        }
    for (size_t i = 0; i < count; i++) { /* bases first: their phis belong to blocks that are split afterwards */
        if (tn__stores_reference(stores[i], &s))
            tn__base_of(b->bases, s.address);
        else if (is_move(b->gc, stores[i]))
            tn__base_of(b->bases, LLVMGetOperand(stores[i], 0));
    }
    tn__bases_simplify(b->bases);
    LLVMValueRef *parents = tn__gc_array(b->gc, count, sizeof(LLVMValueRef));
    for (size_t i = 0; i < count; i++)
        if (tn__stores_reference(stores[i], &s))
            parents[i] = parent_to_test(b, stores[i]);
    bool leaves_rows = tn__leaves_rows(b->gc, function);
    for (size_t i = 0; i < count; i++) {
        if (parents[i])
            guard_store(b, stores[i], parents[i], leaves_rows);
        else if (is_move(b->gc, stores[i]))
            replace_move(b, stores[i]);
        else if (!tn__stores_reference(stores[i], &s))
            LLVMInstructionEraseFromParent(stores[i]);
    }
}

void tn__insert_barriers(struct tn__gc *gc)
{
    struct barriers b = {.gc = gc};
    for (TN__EACH_FUNCTION(f, gc)) {
        if (LLVMIsDeclaration(f))
            continue;
        b.bases = tn__bases_begin(gc, f);
        guard_function(&b, f);
        tn__bases_end(b.bases);
    }
}
