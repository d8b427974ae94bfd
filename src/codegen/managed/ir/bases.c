/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The reference that a derived pointer was derived from. Through casts and getelementptr it is an operand's; a phi or
 * select of derived pointers gets a twin that chooses among the bases. Every value in 10 is a reference itself, unless
 * it comes from a getelementptr in 10, which optimisation may make. The base of a pointer in 13 is its owner: what
 * gc_loaded says, or the object that it was loaded from. Arguments in 11 and 13 have no base here: the caller keeps
 * their objects where they are (place.c). */

#include "codegen/managed/ir/gc.h"

struct tn__bases {
    struct tn__gc *gc;
    struct tn__values interior; /* values in 10 that are derived nevertheless */
    struct tn__map known;       /* phis, selects and others, and their bases: number in `bases`, + 1 */
    struct tn__map forwarded;   /* twins that were needless: number in `targets`, + 1 */
    struct twin {
        LLVMValueRef twin, original; /* phi or select of bases, and of derived pointers */
    } * twins;
    LLVMValueRef *bases, *targets;
    uint32_t base_count, target_count, twin_count, filled;
};

/* ---- derived pointers in 10 ---- */

void tn__find_interior(struct tn__gc *gc, LLVMValueRef function, struct tn__values *found)
{
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (LLVMIsAGetElementPtrInst(i) && tn__space_of(i) == TRACKED)
                tn__values_add(gc, found, i);
    for (size_t n = 0; n < found->count; n++)
        for (TN__EACH_USE(use, found->list[n])) {
            LLVMValueRef user = LLVMGetUser(use);
            LLVMOpcode opcode = LLVMGetInstructionOpcode(user);
            if (tn__space_of(user) == TRACKED &&
                (opcode == LLVMPHI || opcode == LLVMSelect || opcode == LLVMFreeze || opcode == LLVMGetElementPtr))
                tn__values_add(gc, found, user);
        }
}

/* ---- one value ---- */

static LLVMValueRef remember(struct tn__bases *bases, LLVMValueRef value, LLVMValueRef base)
{
    TN__APPEND(bases->gc, bases->bases, bases->base_count, base);
    *tn__map_add(bases->gc, &bases->known, value) = bases->base_count;
    return base;
}

/* A phi or select of bases whose inputs are filled in later. */
static LLVMValueRef make_twin(struct tn__bases *bases, LLVMValueRef value)
{
    LLVMValueRef twin;
    LLVMPositionBuilderBefore(bases->gc->builder, value);
    if (LLVMIsAPHINode(value))
        twin = LLVMBuildPhi(bases->gc->builder, bases->gc->reference, "base");
    else /* the builder would fold it */
        twin = tn__llvm_select(value, LLVMConstNull(bases->gc->reference));
    TN__APPEND(bases->gc, bases->twins, bases->twin_count, (struct twin){twin, value});
    bases->gc->stats->base_phis++;
    remember(bases, twin, twin);
    return remember(bases, value, twin);
}

/* That element of a struct, if it was extracted before. */
static LLVMValueRef extracted_before(LLVMValueRef extract, unsigned element)
{
    LLVMValueRef i = extract;
    while ((i = LLVMGetPreviousInstruction(i)) && LLVMIsAExtractValueInst(i))
        if (LLVMGetOperand(i, 0) == LLVMGetOperand(extract, 0) && LLVMGetNumIndices(i) == 1 &&
            LLVMGetIndices(i)[0] == element)
            return i;
    return NULL;
}

enum { MAX_DEPTH = 8 };

/* The way to the last reference among the first `count` elements: the answer is the number of indices, 0: there is
 * none. */
static unsigned last_reference(LLVMTypeRef type, uint64_t count, unsigned *indices, unsigned depth)
{
    for (uint64_t i = count; depth < MAX_DEPTH && i-- > 0;) {
        LLVMTypeRef element = tn__element_type(type, i);
        indices[0] = (unsigned)i;
        if (LLVMGetTypeKind(element) == LLVMPointerTypeKind && tn__space_of_type(element) == TRACKED)
            return 1;
        unsigned more = last_reference(element, tn__element_count(element), indices + 1, depth + 1);
        if (more)
            return more + 1;
    }
    return 0;
}

/* In a struct that a call returns, a derived pointer belongs to the last reference before it: first one in the same
 * part of the struct, then in what that is a part of. */
static LLVMValueRef base_of_element(struct tn__bases *bases, LLVMValueRef extract)
{
    LLVMValueRef part = extract, base;
    unsigned indices[MAX_DEPTH + 1], count = 0;
    while (!count && LLVMIsAExtractValueInst(part) && LLVMGetNumIndices(part) == 1) {
        unsigned element = LLVMGetIndices(part)[0];
        part = LLVMGetOperand(part, 0);
        count = last_reference(LLVMTypeOf(part), element, indices, 0);
    }
    if (!count)
        return NULL;
    LLVMPositionBuilderBefore(bases->gc->builder, extract);
    base = count == 1 && part == LLVMGetOperand(extract, 0) ? extracted_before(extract, indices[0]) : NULL;
    for (unsigned i = 0; !base && i < count; i++)
        part = LLVMBuildExtractValue(bases->gc->builder, part, indices[i], "base");
    return remember(bases, extract, base ? base : part);
}

static bool is_reference(struct tn__bases *bases, LLVMValueRef value)
{
    return tn__space_of(value) == TRACKED && !tn__map_find(&bases->interior.known, value);
}

/* The lane of a vector that was put together from its lanes; NULL: it was not. */
static LLVMValueRef lane_of(LLVMValueRef vector, LLVMValueRef lane)
{
    if (!LLVMIsAConstantInt(lane))
        return NULL;
    for (; LLVMIsAInsertElementInst(vector); vector = LLVMGetOperand(vector, 0)) {
        LLVMValueRef index = LLVMGetOperand(vector, 2);
        if (!LLVMIsAConstantInt(index))
            return NULL;
        if (LLVMConstIntGetZExtValue(index) == LLVMConstIntGetZExtValue(lane))
            return LLVMGetOperand(vector, 1);
    }
    return LLVMIsConstant(vector) ? LLVMGetAggregateElement(vector, (unsigned)LLVMConstIntGetZExtValue(lane)) : NULL;
}

/* The address that the value, or the struct or vector that it is a part of, was loaded from; NULL: it does not come
 * from memory. */
static LLVMValueRef loaded_from(LLVMValueRef value)
{
    LLVMValueRef lane = NULL;
    while (LLVMIsAExtractValueInst(value) || LLVMIsAExtractElementInst(value)) {
        lane = LLVMIsAExtractElementInst(value) ? LLVMGetOperand(value, 1) : NULL;
        value = LLVMGetOperand(value, 0);
    }
    if (LLVMIsALoadInst(value) || LLVMIsAAtomicRMWInst(value) || LLVMIsAAtomicCmpXchgInst(value))
        return LLVMGetOperand(value, 0);
    if (!tn__is_vector_load(value))
        return NULL;
    LLVMValueRef address = LLVMGetOperand(value, 0);
    return LLVMGetTypeKind(LLVMTypeOf(address)) == LLVMPointerTypeKind ? address : lane ? lane_of(address, lane) : NULL;
}

/* The operand that a pointer was computed from, or NULL. A pointer in 13 belongs to the object that it was loaded
 * from. */
static LLVMValueRef derived_from(LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value))
        return NULL;
    LLVMValueRef memory = tn__space_of(value) == LOADED ? loaded_from(value) : NULL;
    if (memory)
        return memory;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAddrSpaceCast:
    case LLVMGetElementPtr:
    case LLVMFreeze:
    case LLVMBitCast:
        return LLVMGetOperand(value, 0);
    case LLVMCall: /* of gc_loaded, or of LLVM's own like llvm.launder.invariant.group */
        if (tn__intrinsic_called(value) == TN__LOADED_FROM)
            return LLVMGetOperand(value, 0);
        if (LLVMIsAFunction(LLVMGetCalledValue(value)) && LLVMGetIntrinsicID(LLVMGetCalledValue(value)) &&
            LLVMGetNumArgOperands(value) && LLVMTypeOf(LLVMGetOperand(value, 0)) == LLVMTypeOf(value))
            return LLVMGetOperand(value, 0);
        return NULL;
    default:
        return NULL;
    }
}

static LLVMValueRef find_base(struct tn__bases *bases, LLVMValueRef value)
{
    for (;;) {
        int space = tn__space_of(value);
        if (LLVMIsConstant(value) || space < TRACKED || space > LOADED)
            return NULL;
        uint32_t *known = tn__map_find(&bases->known, value);
        if (known)
            return bases->bases[*known - 1];
        if (is_reference(bases, value))
            return value;
        LLVMValueRef origin = derived_from(value);
        /* The part of a struct in stack memory belongs to another part of it. */
        if (origin && (tn__space_of(origin) >= TRACKED || !LLVMIsAExtractValueInst(value))) {
            value = origin;
            continue;
        }
        if (LLVMIsAPHINode(value) || LLVMIsASelectInst(value))
            return make_twin(bases, value);
        if (space == CALLEE_ROOTED) { /* a parameter or result is a reference; its twin in 10 is what is seen */
            LLVMPositionBuilderBefore(bases->gc->builder, tn__place_behind(value));
            return remember(bases, value,
                            LLVMBuildAddrSpaceCast(bases->gc->builder, value, bases->gc->reference, "base"));
        }
        return LLVMIsAExtractValueInst(value) ? base_of_element(bases, value) : NULL;
    }
}

LLVMValueRef tn__unknown_origin(struct tn__bases *bases, LLVMValueRef value)
{
    for (LLVMValueRef origin; (origin = derived_from(value)); value = origin)
        if (is_reference(bases, value))
            return NULL;
    int space = tn__space_of(value);
    LLVMValueRef whole = value;
    while (LLVMIsAExtractValueInst(whole) || LLVMIsAExtractElementInst(whole))
        whole = LLVMGetOperand(whole, 0);
    bool is_known = LLVMIsConstant(value) || LLVMIsAArgument(whole) || tn__map_find(&bases->known, value);
    return is_known || (space != DERIVED && space != LOADED) ? NULL : value;
}

/* ---- twins ---- */

static LLVMValueRef or_null(const struct tn__bases *bases, LLVMValueRef base)
{
    return base ? base : LLVMConstNull(bases->gc->reference);
}

static void fill_twins(struct tn__bases *bases)
{
    while (bases->filled < bases->twin_count) {
        struct twin t = bases->twins[bases->filled++];
        for (unsigned i = 0; LLVMIsAPHINode(t.twin) && i < LLVMCountIncoming(t.original); i++) {
            LLVMValueRef base = or_null(bases, find_base(bases, LLVMGetIncomingValue(t.original, i)));
            LLVMBasicBlockRef block = LLVMGetIncomingBlock(t.original, i);
            LLVMAddIncoming(t.twin, &base, &block, 1);
        }
        for (unsigned i = 1; LLVMIsASelectInst(t.twin) && i < 3; i++)
            LLVMSetOperand(t.twin, i, or_null(bases, find_base(bases, LLVMGetOperand(t.original, i))));
    }
}

LLVMValueRef tn__base_of(struct tn__bases *bases, LLVMValueRef value)
{
    LLVMValueRef base = find_base(bases, value);
    fill_twins(bases);
    for (uint32_t *to; base && (to = tn__map_find(&bases->forwarded, base));)
        base = bases->targets[*to - 1];
    return base && LLVMIsConstant(base) ? NULL : base;
}

LLVMValueRef tn__only_choice(LLVMValueRef choice)
{
    LLVMValueRef only = NULL;
    unsigned first = LLVMIsASelectInst(choice) ? 1 : 0, count = (unsigned)LLVMGetNumOperands(choice);
    for (unsigned i = first; i < count; i++) {
        LLVMValueRef value = LLVMGetOperand(choice, i);
        if (value == choice || value == only)
            continue;
        if (only)
            return NULL;
        only = value;
    }
    return only;
}

/* ---- equal choices ---- */

enum { MAX_PAIRS = 16, FAR = 64 };

/* Phis and selects that are taken for equal as long as nothing shows that they are not. */
struct pairs {
    LLVMValueRef one[MAX_PAIRS], other[MAX_PAIRS];
    unsigned count;
};

/* Constants are equal to nothing: where one is null the other may name no object either. */
static bool are_equal(struct pairs *pairs, LLVMValueRef a, LLVMValueRef b)
{
    bool assumed = a == b;
    for (unsigned i = 0; i < pairs->count; i++)
        assumed |= pairs->one[i] == a && pairs->other[i] == b;
    if (assumed)
        return !LLVMIsConstant(a);
    if (!LLVMIsAInstruction(a) || !LLVMIsAInstruction(b) ||
        LLVMGetInstructionParent(a) != LLVMGetInstructionParent(b) || pairs->count == MAX_PAIRS)
        return false;
    pairs->one[pairs->count] = a;
    pairs->other[pairs->count++] = b;
    if (LLVMIsASelectInst(a) && LLVMIsASelectInst(b))
        return LLVMGetCondition(a) == LLVMGetCondition(b) &&
               are_equal(pairs, LLVMGetOperand(a, 1), LLVMGetOperand(b, 1)) &&
               are_equal(pairs, LLVMGetOperand(a, 2), LLVMGetOperand(b, 2));
    bool equal = LLVMIsAPHINode(a) && LLVMIsAPHINode(b);
    for (unsigned i = 0, k; equal && i < LLVMCountIncoming(a); i++) {
        for (k = 0; LLVMGetIncomingBlock(b, k) != LLVMGetIncomingBlock(a, i);)
            k++;
        equal = are_equal(pairs, LLVMGetIncomingValue(a, i), LLVMGetIncomingValue(b, k));
    }
    return equal;
}

static bool may_replace(const struct tn__bases *bases, LLVMValueRef value, LLVMValueRef twin)
{
    struct pairs pairs = {.count = 0};
    return value != twin && tn__space_of(value) == TRACKED && !tn__map_find(&bases->forwarded, value) &&
           are_equal(&pairs, twin, value);
}

/* A phi or select that is there already, of the program, of another pass or another twin, or NULL. */
static LLVMValueRef equal_choice(const struct tn__bases *bases, LLVMValueRef twin)
{
    LLVMValueRef i = twin;
    if (LLVMIsAPHINode(twin)) {
        for (i = LLVMGetFirstInstruction(LLVMGetInstructionParent(twin)); LLVMIsAPHINode(i);
             i = LLVMGetNextInstruction(i))
            if (may_replace(bases, i, twin))
                return i;
        return NULL;
    }
    for (unsigned far = 0; far < FAR && (i = LLVMGetPreviousInstruction(i)); far++)
        if (LLVMIsASelectInst(i) && may_replace(bases, i, twin))
            return i;
    return NULL;
}

void tn__bases_simplify(struct tn__bases *bases)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < bases->twin_count; i++) {
            LLVMValueRef twin = bases->twins[i].twin, only;
            if (!twin || tn__map_find(&bases->forwarded, twin) ||
                !((only = tn__only_choice(twin)) || (only = equal_choice(bases, twin))))
                continue;
            LLVMReplaceAllUsesWith(twin, only);
            TN__APPEND(bases->gc, bases->targets, bases->target_count, only);
            *tn__map_add(bases->gc, &bases->forwarded, twin) = bases->target_count;
            bases->gc->stats->base_phis--;
            changed = true;
        }
    }
}

bool tn__bases_may_be_null(const struct tn__bases *bases, LLVMValueRef base)
{
    for (uint32_t i = 0; i < bases->twin_count; i++)
        if (bases->twins[i].twin == base)
            return true;
    return false;
}

/* The value is going to be erased by others. */
void tn__bases_forget(struct tn__bases *bases, LLVMValueRef value)
{
    for (uint32_t i = 0; i < bases->twin_count; i++)
        if (bases->twins[i].twin == value)
            bases->twins[i].twin = NULL;
}

/* Erases twins that nothing uses; one that is used by such becomes one. */
void tn__bases_end(struct tn__bases *bases)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t i = 0; i < bases->twin_count; i++) {
            LLVMValueRef twin = bases->twins[i].twin;
            if (!twin || LLVMGetFirstUse(twin))
                continue;
            bases->gc->stats->base_phis -= !tn__map_find(&bases->forwarded, twin);
            LLVMInstructionEraseFromParent(twin);
            bases->twins[i].twin = NULL;
            changed = true;
        }
    }
}

struct tn__bases *tn__bases_begin(struct tn__gc *gc, LLVMValueRef function)
{
    struct tn__bases *bases = tn__gc_array(gc, 1, sizeof *bases);
    bases->gc = gc;
    tn__find_interior(gc, function, &bases->interior);
    return bases;
}
