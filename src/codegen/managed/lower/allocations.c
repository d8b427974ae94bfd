/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Allocation inline, as doc/GC.md says: bump, compare, header, and null for the references. Only the slow side calls,
 * and only that call is a safepoint. What the program stores at once need not be null before.
 *
 * Allocations that follow each other in a block are made by one bump: if there is space for all objects. The slow side
 * then is a copy of all that the program does between them, and allocates one object after the other. So nothing is
 * stored earlier or later than the program says, with regard to safepoints. */

#include <llvm-c/DebugInfo.h>

#include "codegen/llvm/remarks.h"
#include "codegen/managed/lower/lower.h"
#include "tenon_gc.h"

enum {
    WORD = 8,
    MAX_WORDS = 64,
    LARGE_ALIGNMENT = 16,
    MOST_TOGETHER = 8, /* allocations by one bump */
    MOST_BETWEEN = 16, /* instructions from one to the next */
};

struct allocation {
    struct tn__gc *gc;
    LLVMValueRef call, type; /* the type's address */
    LLVMValueRef asked;      /* of the payload, in bytes */
    LLVMValueRef size;       /* the same rounded up, to a multiple of 8 that is not 0; for inline allocation only */
    uint64_t words;          /* of the payload; 0: not known */
    uint64_t nulls;          /* words that have to be null, if there are at most 64; others are all nulled */
    unsigned alignment;
    LLVMValueRef header; /* where it goes; of the first one of several */
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
        if (opcode != LLVMStore || !tn__has_known_size(LLVMTypeOf(LLVMGetOperand(i, 0))) ||
            !tn__constant_distance(LLVMGetOperand(i, 1), a->call, &offset) || offset < 0 || offset % WORD)
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

/* Bytes of the object and its header; of one of known size. */
static uint64_t total_of(const struct allocation *a)
{
    return a->words * WORD + TN_GC_HEADER_SIZE;
}

/* What allocations by one bump have in common. */
struct bump {
    LLVMValueRef field, old, end; /* the end is that of the last object */
};

/* Tests whether there is space, and leaves for one of the two blocks. */
static struct bump test_space(struct allocation *list, size_t count, LLVMValueRef block, LLVMBasicBlockRef space,
                              LLVMBasicBlockRef slow)
{
    struct tn__gc *gc = list->gc;
    struct bump b = {.field = tn__field(gc, block, TN_GC_BLOCK_BUMP)};
    b.old = tn__tag(gc, LLVMBuildLoad2(gc->builder, gc->pointer, b.field, "bump"), TN__RUNTIME_MEMORY);
    list->header = align_header(list, b.old);
    LLVMValueRef total = LLVMBuildAdd(gc->builder, list->size, constant(list, TN_GC_HEADER_SIZE), "");
    for (size_t i = 1; i < count; i++)
        total = LLVMBuildAdd(gc->builder, total, constant(list, total_of(&list[i])), "");
    b.end = LLVMBuildGEP2(gc->builder, gc->i8, list->header, &total, 1, "end");
    LLVMValueRef limit = LLVMBuildLoad2(gc->builder, gc->pointer, tn__field(gc, block, TN_GC_BLOCK_LIMIT), "");
    LLVMSetOrdering(limit, LLVMAtomicOrderingMonotonic);
    LLVMSetAlignment(limit, WORD);
    tn__tag(gc, limit, TN__RUNTIME_MEMORY);
    LLVMValueRef fits = LLVMBuildICmp(gc->builder, LLVMIntULE, b.end, limit, "");
    tn__likely(gc, LLVMBuildCondBr(gc->builder, fits, space, slow));
    return b;
}

/* Makes the objects in the space that there is, each where the program asked for it. */
static void allocate_inline(struct allocation *list, size_t count, const struct bump *b)
{
    struct tn__gc *gc = list->gc;
    uint64_t offset = 0;
    LLVMPositionBuilderBefore(gc->builder, list->call);
    tn__tag(gc, LLVMBuildStore(gc->builder, b->end, b->field), TN__RUNTIME_MEMORY);
    if (list->header != b->old)
        LLVMBuildStore(gc->builder, constant(list, 0), b->old);
    for (size_t i = 0; i < count; offset += total_of(&list[i++])) {
        struct allocation *a = &list[i];
        LLVMPositionBuilderBefore(gc->builder, a->call);
        LLVMValueRef header = tn__field(gc, list->header, (int64_t)offset);
        tn__tag(gc, LLVMBuildStore(gc->builder, a->type, header), TN__HEADER_MEMORY);
        LLVMValueRef object = tn__field(gc, header, TN_GC_HEADER_SIZE);
        null_words(a, object);
        tn__publish_object(gc);
        LLVMReplaceAllUsesWith(a->call, LLVMBuildAddrSpaceCast(gc->builder, object, LLVMTypeOf(a->call), ""));
        LLVMInstructionEraseFromParent(a->call);
    }
}

static LLVMValueRef allocate_slowly(const struct allocation *a, LLVMValueRef type)
{
    LLVMValueRef arguments[] = {a->asked, type};
    return tn__call_runtime(a->gc, false, "tn__gc_allocate", a->gc->reference, arguments, 2);
}

/* ---- the slow side ---- */

/* Instructions and their copies. */
struct copies {
    struct tn__map numbers; /* of the copies, + 1 */
    LLVMValueRef *list;
    size_t count;
};

static LLVMValueRef copy_of(const struct copies *copies, LLVMValueRef value)
{
    const uint32_t *number = tn__map_find(&copies->numbers, value);
    return number ? copies->list[*number - 1] : value;
}

static LLVMValueRef copy_instruction(struct tn__gc *gc, const struct copies *copies, LLVMValueRef i)
{
    LLVMValueRef copy = LLVMInstructionClone(i);
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(i); k++)
        LLVMSetOperand(copy, k, copy_of(copies, LLVMGetOperand(i, k)));
    LLVMInsertIntoBuilder(gc->builder, copy);
    return copy;
}

/* Copies what `space` contains to where the builder is; the objects come from calls. */
static void copy_slowly(struct allocation *list, LLVMBasicBlockRef space, struct copies *copies)
{
    struct tn__gc *gc = list->gc;
    for (LLVMValueRef i = LLVMGetFirstInstruction(space); !LLVMIsATerminatorInst(i); i = LLVMGetNextInstruction(i)) {
        LLVMValueRef copy =
            i == list->call ? allocate_slowly(list, copy_of(copies, list->type)) : copy_instruction(gc, copies, i);
        list += i == list->call;
        TN__APPEND(gc, copies->list, copies->count, copy);
        *tn__map_add(gc, &copies->numbers, i) = (uint32_t)copies->count;
    }
}

/* Outside of `space`, its values become phis of both sides'; for debug information too. */
static void join_value(struct tn__gc *gc, LLVMValueRef value, LLVMValueRef copy, LLVMBasicBlockRef done)
{
    LLVMBasicBlockRef space = LLVMGetInstructionParent(value);
    LLVMValueRef *inside = NULL;
    size_t count = 0, outside = 0;
    for (TN__EACH_USE(use, value))
        if (LLVMGetInstructionParent(LLVMGetUser(use)) == space)
            TN__APPEND(gc, inside, count, LLVMGetUser(use));
        else
            outside++;
    if (!outside)
        return;
    LLVMPositionBuilderBeforeInstrAndDbgRecords(gc->builder, LLVMGetFirstInstruction(done));
    LLVMValueRef phi = LLVMBuildPhi(gc->builder, LLVMTypeOf(value), "object"), values[] = {value, copy};
    LLVMBasicBlockRef blocks[] = {space, LLVMGetInstructionParent(copy)};
    LLVMReplaceAllUsesWith(value, phi);
    LLVMAddIncoming(phi, values, blocks, 2);
    for (size_t i = 0; i < count; i++)
        for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(inside[i]); k++)
            if (LLVMGetOperand(inside[i], k) == phi)
                LLVMSetOperand(inside[i], k, value);
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
        a->words += !a->words; /* there is space for a forwarding address, at least */
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

static bool is_inline(const struct allocation *a)
{
    return a->words <= TN_GC_LARGEST_INLINE / WORD && a->alignment <= LARGE_ALIGNMENT;
}

static void call_runtime(struct allocation *a)
{
    LLVMPositionBuilderBefore(a->gc->builder, a->call);
    LLVMReplaceAllUsesWith(a->call, allocate_slowly(a, a->type));
    LLVMInstructionEraseFromParent(a->call);
}

/* The baseline compiler makes the object in line where there is space. */
static void leave_allocation(struct allocation *a)
{
    struct tn__gc *gc = a->gc;
    LLVMValueRef arguments[] = {a->asked, a->type};
    LLVMValueRef block = tn__function_block(gc, tn__function_of(a->call));
    LLVMValueRef values[] = {block, a->size, constant(a, a->nulls), constant(a, a->alignment)};
    LLVMTypeRef types[] = {gc->i64, gc->pointer}, type = LLVMFunctionType(gc->reference, types, 2, 0);
    LLVMOperandBundleRef bundle = LLVMCreateOperandBundle(TN__INLINE, sizeof TN__INLINE - 1, values, TN_COUNT(values));
    LLVMPositionBuilderBefore(gc->builder, a->call);
    LLVMReplaceAllUsesWith(a->call, LLVMBuildCallWithOperandBundles(gc->builder, type,
                                                                    tn__runtime_function(gc, "tn__gc_allocate", type),
                                                                    arguments, 2, &bundle, 1, ""));
    LLVMDisposeOperandBundle(bundle);
    LLVMInstructionEraseFromParent(a->call);
    gc->stats->inline_allocations++;
}

/* Objects of which each is allocated behind the one before, in one block. */
static void lower_together(struct allocation *list, size_t count)
{
    struct tn__gc *gc = list->gc;
    struct copies copies = {.count = 0};
    LLVMValueRef block = tn__function_block(gc, tn__function_of(list->call));
    LLVMBasicBlockRef head = LLVMGetInstructionParent(list->call);
    LLVMBasicBlockRef done = tn__llvm_split(LLVMGetNextInstruction(list[count - 1].call));
    LLVMBasicBlockRef space = tn__llvm_split(list->call);
    LLVMBasicBlockRef slow = LLVMInsertBasicBlockInContext(gc->context, done, "slow");
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(head));
    LLVMSetValueName2(LLVMBasicBlockAsValue(space), "room", strlen("room"));
    LLVMSetCurrentDebugLocation2(gc->builder, LLVMInstructionGetDebugLoc(list->call));

    LLVMPositionBuilderAtEnd(gc->builder, slow);
    copy_slowly(list, space, &copies);
    LLVMBuildBr(gc->builder, done);
    size_t n = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(space); n < copies.count; i = LLVMGetNextInstruction(i))
        join_value(gc, i, copies.list[n++], done);

    LLVMSetCurrentDebugLocation2(gc->builder, LLVMInstructionGetDebugLoc(list->call));
    LLVMPositionBuilderAtEnd(gc->builder, head);
    if (!list->words) { /* of unknown size: perhaps too large */
        LLVMBasicBlockRef small = LLVMInsertBasicBlockInContext(gc->context, space, "small");
        LLVMValueRef fits =
            LLVMBuildICmp(gc->builder, LLVMIntULE, list->asked, constant(list, TN_GC_LARGEST_INLINE), "");
        tn__likely(gc, LLVMBuildCondBr(gc->builder, fits, small, slow));
        LLVMPositionBuilderAtEnd(gc->builder, small);
    }
    struct bump b = test_space(list, count, block, space, slow);
    allocate_inline(list, count, &b);
    gc->stats->inline_allocations += count;
    gc->stats->merged_allocations += count - 1;
}

/* ---- which ones together ---- */

/* What may be done twice in the code: without effects beyond values and memory, and without ends. */
static bool may_be_between(LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMStore:
    case LLVMLoad:
    case LLVMGetElementPtr:
    case LLVMICmp:
    case LLVMFCmp:
    case LLVMSelect:
    case LLVMFreeze:
    case LLVMFNeg:
    case LLVMExtractValue:
    case LLVMInsertValue:
    case LLVMExtractElement:
    case LLVMInsertElement:
        return true;
    default:
        return LLVMIsABinaryOperator(i) || LLVMIsACastInst(i);
    }
}

/* The next allocation in the block that may be done by the same bump, or NULL. */
static LLVMValueRef next_together(LLVMValueRef call)
{
    LLVMValueRef i = LLVMGetNextInstruction(call);
    for (unsigned between = 0; i && !tn__is_allocation(i); i = LLVMGetNextInstruction(i))
        if (between++ == MOST_BETWEEN || !may_be_between(i))
            return NULL;
    return i;
}

/* Bytes that the object takes; 0: it is not allocated together with others. */
static uint64_t bytes_together(LLVMValueRef call)
{
    LLVMValueRef size = LLVMGetOperand(call, 1);
    LLVMAttributeRef align = tn__attribute(call, LLVMAttributeReturnIndex, "align");
    uint64_t bytes = LLVMIsAConstantInt(size) ? LLVMConstIntGetZExtValue(size) : UINT64_MAX;
    if (bytes > TN_GC_LARGEST_INLINE || (align && LLVMGetEnumAttributeValue(align) > WORD))
        return 0;
    return (bytes ? (bytes + WORD - 1) / WORD * WORD : WORD) + TN_GC_HEADER_SIZE;
}

/* How many of the calls, from the first one on, one bump serves. */
static size_t count_together(const struct tn__gc *gc, LLVMValueRef *calls, size_t count)
{
    uint64_t total = bytes_together(*calls), more = 0;
    size_t n = 1;
    if (!total || gc->off & TN__MERGE_ALLOCATIONS)
        return 1;
    while (n < count && n < MOST_TOGETHER && next_together(calls[n - 1]) == calls[n] &&
           (more = bytes_together(calls[n])) && total + more <= TN_GC_LARGEST_INLINE) {
        total += more;
        n++;
    }
    return n;
}

static void tell(const struct allocation *list, size_t count)
{
    static const char pass[] = "lower-allocations";
    if (!is_inline(list))
        tn__llvm_remark(list->call, pass, "NotInline", false, "the object is large, or aligned to more than 16 bytes");
    else if (count > 1)
        tn__llvm_remark(list->call, pass, "Merged", true, "the objects that follow are allocated by the same bump");
    else
        tn__llvm_remark(list->call, pass, "NotMerged", false,
                        "no allocation follows soon, without calls, and with a size that is known");
}

static void lower_calls(struct tn__gc *gc, LLVMValueRef *calls, size_t count)
{
    struct allocation list[MOST_TOGETHER];
    for (size_t i = 0, n; i < count; i += n) {
        n = count_together(gc, calls + i, count - i);
        for (size_t k = 0; k < n; k++) {
            list[k] = (struct allocation){.gc = gc, .call = calls[i + k]};
            describe_allocation(&list[k]);
        }
        tell(list, n);
        if (!is_inline(list))
            call_runtime(list);
        else if (n == 1 && tn__leaves_rows(gc, tn__function_of(list->call)))
            leave_allocation(list);
        else
            lower_together(list, n);
    }
}

void tn__lower_allocations(struct tn__gc *gc)
{
    LLVMValueRef *calls = NULL;
    size_t count = 0;
    for (TN__EACH_FUNCTION(f, gc))
        for (TN__EACH_BLOCK(b, f))
            for (TN__EACH_INSTRUCTION(i, b))
                if (tn__is_allocation(i))
                    TN__APPEND(gc, calls, count, i);
    lower_calls(gc, calls, count);
}
