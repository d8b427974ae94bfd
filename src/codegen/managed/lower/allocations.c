/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Allocation inline, as doc/GC.md says: bump, compare, header, and null for the references. Only the slow side calls,
 * and only that call is a safepoint. What the program stores at once need not be null before. */

#include "codegen/managed/lower/lower.h"
#include "tenon_gc.h"

enum { WORD = 8, MAX_WORDS = 64, LARGE_ALIGNMENT = 16 };

struct allocation {
    struct tn__gc *gc;
    LLVMValueRef call, type; /* the type's address */
    LLVMValueRef asked;      /* of the payload, in bytes */
    LLVMValueRef size;       /* the same rounded up, to a multiple of 8 that is not 0; for inline allocation only */
    uint64_t words;          /* of the payload; 0: not known */
    uint64_t nulls;          /* words that have to be null, if there are at most 64; others are all nulled */
    unsigned alignment;
};

static LLVMValueRef constant(const struct allocation *a, uint64_t value)
{
    return LLVMConstInt(a->gc->i64, value, 0);
}

/* ---- what has to be null ---- */

/* Takes away the words that are stored before anything could see them. */
static void leave_out_stored(struct allocation *a)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(a->gc->module);
    for (LLVMValueRef i = LLVMGetNextInstruction(a->call);; i = LLVMGetNextInstruction(i)) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
        if (tn__is_call(i) || LLVMIsATerminatorInst(i) || opcode == LLVMLoad || opcode == LLVMAtomicRMW ||
            opcode == LLVMAtomicCmpXchg || opcode == LLVMFence || opcode == LLVMVAArg)
            return;
        int64_t offset;
        if (opcode != LLVMStore || !tn__constant_distance(LLVMGetOperand(i, 1), a->call, &offset) || offset < 0 ||
            offset % WORD)
            continue;
        uint64_t size = LLVMStoreSizeOfType(layout, LLVMTypeOf(LLVMGetOperand(i, 0)));
        for (uint64_t w = (uint64_t)offset / WORD; w < MAX_WORDS && (w + 1) * WORD <= (uint64_t)offset + size; w++)
            a->nulls &= ~(1ull << w);
    }
}

static void set_words(struct allocation *a, uint64_t offset, uint64_t size)
{
    for (uint64_t w = offset / WORD; w < MAX_WORDS && w * WORD < offset + size; w++)
        a->nulls |= 1ull << w;
}

/* Bundles may say where the references are; without, all of the object is null. */
static void read_bundles(struct allocation *a)
{
    bool known = false;
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(a->call); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(a->call, b);
        size_t length;
        const char *tag = LLVMGetOperandBundleTag(bundle, &length);
        unsigned count = LLVMGetNumOperandBundleArgs(bundle);
        bool offsets = strstr(tag, "gc_alloc_ptr_offsets") != NULL, range = strstr(tag, "gc_alloc_zeroinit") != NULL;
        known |= offsets || range;
        for (unsigned i = 0; offsets && i < count; i++)
            set_words(a, LLVMConstIntGetZExtValue(LLVMGetOperandBundleArgAtIndex(bundle, i)), WORD);
        if (range && count == 2)
            set_words(a, LLVMConstIntGetZExtValue(LLVMGetOperandBundleArgAtIndex(bundle, 0)),
                      LLVMConstIntGetZExtValue(LLVMGetOperandBundleArgAtIndex(bundle, 1)));
        LLVMDisposeOperandBundle(bundle);
    }
    if (!known)
        a->nulls = a->words >= MAX_WORDS ? ~0ull : (1ull << a->words) - 1;
}

static void null_words(struct allocation *a, LLVMValueRef object)
{
    if (!a->words || a->words > MAX_WORDS) {
        LLVMBuildMemSet(a->gc->builder, object, LLVMConstNull(a->gc->i8), a->size, WORD);
        return;
    }
    for (uint64_t w = 0; w < a->words; w++) {
        uint64_t end = w;
        while (end < a->words && a->nulls >> end & 1)
            end++;
        if (end == w)
            continue;
        LLVMBuildMemSet(a->gc->builder, tn__field(a->gc, object, (int64_t)(w * WORD)), LLVMConstNull(a->gc->i8),
                        constant(a, (end - w) * WORD), WORD);
        w = end;
    }
}

/* ---- the two sides ---- */

/* Where the header goes: at `bump`, or behind a zero word if the payload would not be aligned. */
static LLVMValueRef align_header(struct allocation *a, LLVMValueRef bump)
{
    if (a->alignment < LARGE_ALIGNMENT)
        return bump;
    LLVMValueRef at = LLVMBuildPtrToInt(a->gc->builder, bump, a->gc->i64, "");
    at = LLVMBuildAdd(a->gc->builder, at, constant(a, WORD + LARGE_ALIGNMENT - 1), "");
    at = LLVMBuildAnd(a->gc->builder, at, constant(a, (uint64_t)-LARGE_ALIGNMENT), "");
    return LLVMBuildIntToPtr(a->gc->builder, LLVMBuildSub(a->gc->builder, at, constant(a, WORD), ""), a->gc->pointer,
                             "");
}

/* The new object's address in space 0, in a block of its own; leaves for `slow` if there is no room. */
static LLVMValueRef allocate_inline(struct allocation *a, LLVMValueRef block, LLVMBasicBlockRef slow,
                                    LLVMBasicBlockRef room)
{
    struct tn__gc *gc = a->gc;
    LLVMValueRef bump_field = tn__field(gc, block, TN_GC_BLOCK_BUMP);
    LLVMValueRef bump = tn__tag(gc, LLVMBuildLoad2(gc->builder, gc->pointer, bump_field, "bump"), TN__RUNTIME_MEMORY);
    LLVMValueRef header = align_header(a, bump);
    LLVMValueRef total = LLVMBuildAdd(gc->builder, a->size, constant(a, TN_GC_HEADER_SIZE), "");
    LLVMValueRef end = LLVMBuildGEP2(gc->builder, gc->i8, header, &total, 1, "end");
    LLVMValueRef limit = LLVMBuildLoad2(gc->builder, gc->pointer, tn__field(gc, block, TN_GC_BLOCK_LIMIT), "");
    LLVMSetOrdering(limit, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(limit, WORD);
    tn__tag(gc, limit, TN__RUNTIME_MEMORY);
    tn__likely(gc, LLVMBuildCondBr(gc->builder, LLVMBuildICmp(gc->builder, LLVMIntULE, end, limit, ""), room, slow));

    LLVMPositionBuilderAtEnd(gc->builder, room);
    tn__tag(gc, LLVMBuildStore(gc->builder, end, bump_field), TN__RUNTIME_MEMORY);
    if (header != bump)
        LLVMBuildStore(gc->builder, constant(a, 0), bump);
    tn__tag(gc, LLVMBuildStore(gc->builder, a->type, header), TN__HEADER_MEMORY);
    LLVMValueRef object = tn__field(gc, header, TN_GC_HEADER_SIZE);
    null_words(a, object);
    return object;
}

static LLVMValueRef allocate_slowly(struct allocation *a)
{
    LLVMValueRef arguments[] = {a->asked, a->type};
    return tn__call_runtime(a->gc, false, "tn__gc_allocate", a->gc->reference, arguments, 2);
}

/* ---- one allocation ---- */

static void describe_allocation(struct allocation *a)
{
    LLVMValueRef size = LLVMGetOperand(a->call, 1), type = LLVMGetOperand(a->call, 2);
    LLVMAttributeRef align = tn__attribute(a->call, LLVMAttributeReturnIndex, "align");
    a->alignment = align ? (unsigned)LLVMGetEnumAttributeValue(align) : WORD;
    a->asked = size;
    LLVMPositionBuilderBefore(a->gc->builder, a->call);
    a->type = tn__space_of(type) == TRACKED ? LLVMBuildAddrSpaceCast(a->gc->builder, type, a->gc->pointer, "type")
                                            : LLVMBuildIntToPtr(a->gc->builder, type, a->gc->pointer, "type");
    if (LLVMIsAConstantInt(size)) {
        uint64_t bytes = LLVMConstIntGetZExtValue(size);
        a->words = bytes / WORD + (bytes % WORD != 0);
        a->words += !a->words; /* there is room for a forwarding address, at least */
        a->size = constant(a, a->words * WORD);
        read_bundles(a);
        leave_out_stored(a);
        return;
    }
    LLVMValueRef none = LLVMBuildICmp(a->gc->builder, LLVMIntEQ, size, constant(a, 0), "");
    LLVMValueRef rounded = LLVMBuildAdd(a->gc->builder, size, constant(a, WORD - 1), "");
    rounded = LLVMBuildAdd(a->gc->builder, rounded, LLVMBuildZExt(a->gc->builder, none, a->gc->i64, ""), "");
    a->size = LLVMBuildAnd(a->gc->builder, rounded, constant(a, (uint64_t)-WORD), "");
}

static void lower_allocation(struct tn__gc *gc, LLVMValueRef call)
{
    struct allocation a = {.gc = gc, .call = call};
    describe_allocation(&a);
    if (a.words > TN_GC_LARGEST_INLINE / WORD || a.alignment > LARGE_ALIGNMENT) {
        LLVMReplaceAllUsesWith(call, allocate_slowly(&a));
        LLVMInstructionEraseFromParent(call);
        return;
    }
    LLVMValueRef block = tn__function_block(gc, tn__function_of(call));
    LLVMBasicBlockRef done, slow = tn__make_detour(gc, call, "slow", &done);
    LLVMBasicBlockRef room = LLVMInsertBasicBlockInContext(gc->context, slow, "room");
    if (!a.words) { /* of unknown size: perhaps too large */
        LLVMBasicBlockRef small = LLVMInsertBasicBlockInContext(gc->context, room, "small");
        LLVMValueRef fits = LLVMBuildICmp(gc->builder, LLVMIntULE, a.asked, constant(&a, TN_GC_LARGEST_INLINE), "");
        tn__likely(gc, LLVMBuildCondBr(gc->builder, fits, small, slow));
        LLVMPositionBuilderAtEnd(gc->builder, small);
    }
    LLVMValueRef quick = allocate_inline(&a, block, slow, room);
    quick = LLVMBuildAddrSpaceCast(gc->builder, quick, LLVMTypeOf(call), "");
    LLVMBuildBr(gc->builder, done);
    LLVMPositionBuilderAtEnd(gc->builder, slow);
    LLVMValueRef values[] = {quick, allocate_slowly(&a)};
    LLVMBasicBlockRef blocks[] = {room, slow};
    LLVMBuildBr(gc->builder, done);
    LLVMPositionBuilderBeforeInstrAndDbgRecords(gc->builder, call);
    LLVMValueRef object = LLVMBuildPhi(gc->builder, LLVMTypeOf(call), "object");
    LLVMAddIncoming(object, values, blocks, 2);
    LLVMReplaceAllUsesWith(call, object);
    LLVMInstructionEraseFromParent(call);
    gc->stats->inline_allocations++;
}

void tn__lower_allocations(struct tn__gc *gc)
{
    tn__each_call(gc, 1u << TN__ALLOC_OBJ | 1u << TN__ALLOC_BYTES, NULL, lower_allocation);
}
