/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Raw addresses of objects that may move. The result of pointer_from_objref, and what is computed from it, is good
 * until the next safepoint at which the object is not pinned. An object is known by its sources: the arguments, calls,
 * loads and variables that its reference, or the struct or vector that holds the reference, may come from. It is pinned
 * if each of its sources is one of something that is pinned; this errs on the side of the program. */

#include "codegen/managed/verify/verify.h"

/* ---- sources ---- */

/* Operands of an instruction that its value is made of; the answer is how many, from number `*first` on; 0: it is a
 * source. */
static unsigned parts(LLVMValueRef value, unsigned *first)
{
    *first = 0;
    if (!LLVMIsAInstruction(value))
        return 0;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAddrSpaceCast:
    case LLVMGetElementPtr:
    case LLVMFreeze:
    case LLVMBitCast:
    case LLVMExtractValue:
    case LLVMExtractElement:
        return 1;
    case LLVMInsertValue:
    case LLVMInsertElement:
    case LLVMShuffleVector:
        return 2;
    case LLVMPHI:
        return LLVMCountIncoming(value);
    case LLVMSelect:
        *first = 1;
        return 2;
    default:
        return 0;
    }
}

/* Adds the sources of a value to those found; constants and addresses outside of the heap have none. */
static void add_sources(struct tn__gc *gc, struct tn__values *sources, LLVMValueRef value)
{
    struct tn__values seen = {.count = 0};
    tn__values_add(gc, &seen, value);
    for (size_t n = 0; n < seen.count; n++) {
        value = seen.list[n];
        unsigned first, count = parts(value, &first);
        for (unsigned i = first; i < first + count; i++)
            tn__values_add(gc, &seen, LLVMGetOperand(value, i));
        if (count || LLVMIsConstant(value) || !tn__type_holds(LLVMTypeOf(value), IN_MANAGED))
            continue;
        LLVMValueRef address = LLVMIsALoadInst(value) ? LLVMGetOperand(value, 0) : value;
        while (LLVMIsALoadInst(value) && (LLVMIsAGetElementPtrInst(address) || LLVMIsABitCastInst(address)))
            address = LLVMGetOperand(address, 0);
        /* A variable stands for everything that is loaded from it. */
        tn__values_add(gc, sources, LLVMIsAAllocaInst(address) ? address : value);
    }
}

static void remove_sources(struct tn__gc *gc, struct tn__values *sources, LLVMValueRef value)
{
    struct tn__values found = {.count = 0};
    add_sources(gc, &found, value);
    size_t kept = 0;
    for (size_t i = 0; i < sources->count; i++)
        if (!tn__map_find(&found.known, sources->list[i]))
            sources->list[kept++] = sources->list[i];
    sources->count = kept;
}

/* ---- pins ---- */

struct raw {
    struct tn__gc *gc;
    LLVMValueRef object;
    struct tn__cfg *cfg;
    struct tn__values pins; /* calls that begin a region, or pin an object from there on */
};

static bool is_pin(LLVMValueRef i)
{
    LLVMValueRef callee = LLVMIsACallInst(i) ? LLVMGetCalledValue(i) : NULL;
    size_t length;
    return tn__intrinsic_called(i) == TN__PRESERVE_BEGIN ||
           (callee && LLVMIsAFunction(callee) && strcmp(LLVMGetValueName2(callee, &length), "tn_pin_object") == 0);
}

static void remove_bundles(struct raw *raw, struct tn__values *sources, LLVMValueRef safepoint)
{
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(safepoint); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(safepoint, b);
        size_t length;
        if (strcmp(LLVMGetOperandBundleTag(bundle, &length), "jl_roots") == 0)
            for (unsigned i = 0; i < LLVMGetNumOperandBundleArgs(bundle); i++)
                remove_sources(raw->gc, sources, LLVMGetOperandBundleArgAtIndex(bundle, i));
        LLVMDisposeOperandBundle(bundle);
    }
}

/* Whether the object stays where it is at this safepoint (place.c). */
static bool is_pinned_at(struct raw *raw, LLVMValueRef safepoint)
{
    struct tn__values sources = {.count = 0};
    if (!tn__map_find(&raw->cfg->numbers, LLVMGetInstructionParent(safepoint)))
        return true; /* no way leads there */
    add_sources(raw->gc, &sources, raw->object);
    remove_bundles(raw, &sources, safepoint);
    for (unsigned i = 0; i < LLVMGetNumArgOperands(safepoint); i++)
        if (tn__type_holds(LLVMTypeOf(LLVMGetOperand(safepoint, i)), IN_DERIVED | IN_LOADED))
            remove_sources(raw->gc, &sources, LLVMGetOperand(safepoint, i));
    for (size_t p = 0; p < raw->pins.count; p++)
        for (unsigned i = 0; i < LLVMGetNumArgOperands(raw->pins.list[p]); i++)
            if (tn__region_covers(raw->cfg, raw->pins.list[p], safepoint))
                remove_sources(raw->gc, &sources, LLVMGetOperand(raw->pins.list[p], i));
    return !sources.count;
}

/* ---- ways ---- */

/* Looks in a block, from `from` on, for a use after a safepoint. `passed`: whether there was a safepoint before; then
 * also whether there was one up to the end. Where `raw` is not NULL, safepoints that pin its object do not count. */
static bool used_late(struct raw *raw, LLVMValueRef value, LLVMValueRef from, bool *passed)
{
    for (LLVMValueRef i = from; i; i = LLVMGetNextInstruction(i)) {
        for (unsigned k = 0; *passed && !LLVMIsAPHINode(i) && k < (unsigned)LLVMGetNumOperands(i); k++)
            if (LLVMGetOperand(i, k) == value)
                return true;
        *passed = *passed || (tn__is_safepoint(i) && !(raw && is_pinned_at(raw, i)));
    }
    return false;
}

/* A phi takes the value at the end of the block that it comes from. */
static bool used_by_phi(LLVMValueRef value, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(to); LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
            if (LLVMGetIncomingBlock(phi, i) == from && LLVMGetIncomingValue(phi, i) == value)
                return true;
    return false;
}

/* The block in which an argument or instruction begins to be. */
static LLVMBasicBlockRef home_of(LLVMValueRef value)
{
    return LLVMIsAArgument(value) ? LLVMGetEntryBasicBlock(LLVMGetParamParent(value)) : LLVMGetInstructionParent(value);
}

/* Follows the control flow from the instruction after `value`; each block once before and once after a safepoint. */
static bool outlives(struct tn__gc *gc, struct raw *raw, LLVMValueRef value)
{
    struct tn__map seen = {0};
    size_t count = 0;
    LLVMBasicBlockRef home = home_of(value);
    struct item {
        LLVMBasicBlockRef block;
        bool passed;
    } *items = NULL, item = {home, false};
    LLVMValueRef start = LLVMIsAArgument(value) ? LLVMGetFirstInstruction(home) : LLVMGetNextInstruction(value);
    for (;;) {
        if (used_late(raw, value, start, &item.passed))
            return true;
        LLVMValueRef end = LLVMGetBasicBlockTerminator(item.block);
        for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
            struct item next = {LLVMGetSuccessor(end, s), item.passed};
            if (next.passed && used_by_phi(value, item.block, next.block))
                return true;
            uint32_t *flags = tn__map_add(gc, &seen, next.block);
            if (*flags & (1u << next.passed) || next.block == home)
                continue;
            *flags |= 1u << next.passed;
            TN__APPEND(gc, items, count, next);
        }
        if (!count)
            return false;
        item = items[--count];
        start = LLVMGetFirstInstruction(item.block);
    }
}

bool tn__outlives_safepoint(struct tn__gc *gc, LLVMValueRef value)
{
    return outlives(gc, NULL, value);
}

/* ---- raw addresses ---- */

/* Whether the instruction computes one address, or number, from another. */
static bool computes(LLVMValueRef user)
{
    unsigned first;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(user);
    return parts(user, &first) || opcode == LLVMPtrToInt || opcode == LLVMIntToPtr || opcode == LLVMAdd ||
           opcode == LLVMSub || opcode == LLVMAnd || opcode == LLVMOr;
}

bool tn__is_unpinned(struct tn__gc *gc, LLVMValueRef call)
{
    if (tn__intrinsic_called(call) != TN__POINTER_FROM_OBJREF)
        return false;
    struct raw raw = {.gc = gc, .object = LLVMGetOperand(call, 0)};
    struct tn__values sources = {.count = 0}, computed = {.count = 0};
    add_sources(gc, &sources, raw.object);
    if (!sources.count)
        return false; /* a permanent object */
    LLVMValueRef function = tn__function_of(call);
    raw.cfg = tn__cfg_build(gc, function);
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (is_pin(i))
                tn__values_add(gc, &raw.pins, i);
    tn__values_add(gc, &computed, call);
    for (size_t n = 0; n < computed.count; n++) {
        if (outlives(gc, &raw, computed.list[n]))
            return true;
        for (TN__EACH_USE(use, computed.list[n]))
            if (computes(LLVMGetUser(use)))
                tn__values_add(gc, &computed, LLVMGetUser(use));
    }
    return false;
}
