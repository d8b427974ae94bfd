/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Root placement, for every function with gc "tenon": from here on the collector can find and change each reference
 * that is live at a safepoint. No pass of LLVM's may optimise IR behind this one. */

#include "codegen/managed/roots/roots.h"
#include "codegen/managed/verify/verify.h"

/* ---- results ---- */

/* Results of safepoints that take more registers than there are. LLVM returns them in memory whose address is a hidden
 * first argument; that memory has no name for the stack map, and gc.statepoint does not support it. Here the argument
 * is written out: the same calling convention, with a variable of the program's. */

/* What never takes more registers than there are: most results, for which LLVM need not be asked. */
static bool fits(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) <= 64;
    case LLVMVoidTypeKind:
    case LLVMPointerTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
        return true;
    default:
        return false;
    }
}

static void copy_call_attributes(LLVMValueRef from, LLVMValueRef to)
{
    LLVMAttributeRef list[64];
    unsigned count = LLVMGetCallSiteAttributeCount(from, TN__ON_FUNCTION);
    if (count > TN_COUNT(list))
        return;
    LLVMGetCallSiteAttributes(from, TN__ON_FUNCTION, list);
    for (unsigned i = 0; i < count; i++)
        LLVMAddCallSiteAttribute(to, TN__ON_FUNCTION, list[i]);
}

static void pass_result(struct tn__roots *roots, LLVMValueRef call)
{
    enum { FRAME_ALIGNMENT = 16 };
    struct tn__gc *gc = roots->gc;
    LLVMTypeRef old = LLVMGetCalledFunctionType(call), result = LLVMTypeOf(call);
    if (LLVMABIAlignmentOfType(LLVMGetModuleDataLayout(gc->module), result) > FRAME_ALIGNMENT) {
        tn__gc_reject(gc, call, "alignment",
                      "the result is returned in memory that is aligned to more than 16 bytes, and frames are not; "
                      "store it instead");
        return;
    }
    unsigned count = LLVMGetNumArgOperands(call), parameters = LLVMCountParamTypes(old);
    LLVMTypeRef *types = tn__gc_array(gc, parameters + 1, sizeof(LLVMTypeRef));
    LLVMValueRef *arguments = tn__gc_array(gc, count + 1, sizeof(LLVMValueRef));
    LLVMValueRef variable = arguments[0] = tn__make_variable(roots->gc, roots->function, result, "result");
    types[0] = LLVMTypeOf(variable);
    LLVMGetParamTypes(old, types + 1);
    for (unsigned i = 0; i < count; i++)
        arguments[i + 1] = LLVMGetOperand(call, i);
    LLVMPositionBuilderBefore(roots->gc->builder, tn__place_behind(call));
    LLVMReplaceAllUsesWith(call, LLVMBuildLoad2(roots->gc->builder, result, variable, ""));
    /* What the old call says of itself is copied from a call that is gone otherwise. */
    LLVMValueRef callee = LLVMGetCalledValue(call), twin = LLVMInstructionClone(call);
    LLVMTypeRef type = LLVMFunctionType(gc->nothing, types, parameters + 1, 0);
    LLVMValueRef made = tn__replace_call(gc, call, type, callee, arguments, count + 1, 1);
    LLVMSetInstructionCallConv(made, LLVMGetInstructionCallConv(twin));
    copy_call_attributes(twin, made);
    LLVMDeleteInstruction(twin);
    unsigned sret = LLVMGetEnumAttributeKindForName("sret", strlen("sret"));
    LLVMAddCallSiteAttribute(made, 1, LLVMCreateTypeAttribute(gc->context, sret, result));
}

/* Calls whose results LLVM returns through a hidden argument do so through a visible one, a variable like others. */
static void pass_results(struct tn__roots *roots)
{
    LLVMValueRef *calls = NULL;
    size_t count = 0;
    for (TN__EACH_BLOCK(b, roots->function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (tn__is_call(i) && !fits(LLVMTypeOf(i)) && tn__is_safepoint(i))
                TN__APPEND(roots->gc, calls, count, i);
    count = tn__llvm_select_returned_in_memory(roots->gc->machine, roots->function, calls, count);
    for (size_t n = 0; n < count; n++)
        pass_result(roots, calls[n]);
}

/* ---- pins ---- */

/* What must stay where it is during a call, because addresses are in use that the collector cannot change: arguments of
 * gc_preserve_begin and of "jl_roots"; objects that an argument of the call points into; owners of loaded pointers.
 * References to it are put into variables of their own before the call, which the stack map lists as pinned. */

static void pin_pointer(struct tn__roots *roots, struct tn__safepoint *safepoint, LLVMValueRef value)
{
    LLVMValueRef base = tn__base_of(roots->bases, value);
    if (!base || tn__variable_of(roots, base) == NO_VARIABLE)
        return;
    for (uint32_t i = 0; i < safepoint->pinned_count; i++)
        if (safepoint->pinned[i] == base)
            return;
    TN__APPEND(roots->gc, safepoint->pinned, safepoint->pinned_count, base);
}

/* Pins the objects of all pointers in these spaces (IN_...) that the operand of `user` is or contains. A struct, array
 * or vector was put together from its parts by `scalarize`; of any other one the parts are not known. */
static void pin(struct tn__roots *roots, struct tn__safepoint *safepoint, LLVMValueRef value, unsigned spaces,
                LLVMValueRef user)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    while (!LLVMIsConstant(value) && LLVMGetTypeKind(type) != LLVMPointerTypeKind && tn__type_holds(type, spaces)) {
        if (!LLVMIsAInsertValueInst(value) && !LLVMIsAInsertElementInst(value)) {
            uint32_t *rejected = tn__map_add(roots->gc, &roots->rejected, user);
            if (!*rejected)
                tn__gc_reject(roots->gc, user, "not-scalar", "the references of a struct or vector are not known");
            *rejected = 1;
            return;
        }
        pin(roots, safepoint, LLVMGetOperand(value, 1), spaces, user);
        value = LLVMGetOperand(value, 0);
    }
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind && tn__type_holds(type, spaces))
        pin_pointer(roots, safepoint, value);
}

static void pin_arguments(struct tn__roots *roots, struct tn__safepoint *safepoint)
{
    for (unsigned i = 0; i < LLVMGetNumArgOperands(safepoint->call); i++)
        pin(roots, safepoint, LLVMGetOperand(safepoint->call, i), IN_DERIVED | IN_LOADED, safepoint->call);
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(safepoint->call); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(safepoint->call, b);
        size_t length;
        if (strcmp(LLVMGetOperandBundleTag(bundle, &length), "jl_roots") == 0)
            for (unsigned i = 0; i < LLVMGetNumOperandBundleArgs(bundle); i++)
                pin(roots, safepoint, LLVMGetOperandBundleArgAtIndex(bundle, i), IN_MANAGED, safepoint->call);
        LLVMDisposeOperandBundle(bundle);
    }
}

static void pin_in_region(struct tn__roots *roots, LLVMValueRef begin)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        if (tn__region_covers(roots->cfg, begin, roots->safepoints[s].call))
            for (unsigned i = 0; i < LLVMGetNumArgOperands(begin); i++)
                pin(roots, &roots->safepoints[s], LLVMGetOperand(begin, i), IN_MANAGED, begin);
}

static void find_pins(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        pin_arguments(roots, &roots->safepoints[s]);
    for (uint32_t b = 0; b < roots->cfg->count && roots->has_regions; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block))
            if (tn__intrinsic_called(i) == TN__PRESERVE_BEGIN)
                pin_in_region(roots, i);
}

/* ---- behind liveness ---- */

/* A loaded pointer is not relocated: its owner stays. Nor need the collector know it. */
static void pin_owners(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++) {
        struct tn__safepoint *safepoint = &roots->safepoints[s];
        uint32_t kept = 0;
        for (uint32_t i = 0; i < safepoint->live_count; i++) {
            LLVMValueRef value = roots->variables[safepoint->live[i]].value;
            if (tn__space_of(value) == LOADED)
                pin_pointer(roots, safepoint, value);
            else if (roots->variables[safepoint->live[i]].base != NO_VARIABLE)
                safepoint->live[kept++] = safepoint->live[i];
        }
        safepoint->live_count = kept;
    }
}

static void store_pins(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++) {
        struct tn__safepoint *safepoint = &roots->safepoints[s];
        for (uint32_t i = 0; i < safepoint->pinned_count; i++) {
            if (i == roots->pin_slot_count) {
                LLVMValueRef slot = tn__make_variable(roots->gc, roots->function, roots->gc->reference, "pinned");
                tn__mark(slot, TN__PINNED);
                TN__APPEND(roots->gc, roots->pin_slots, roots->pin_slot_count, slot);
            }
            LLVMPositionBuilderBefore(roots->gc->builder, safepoint->call);
            LLVMBuildStore(roots->gc->builder, safepoint->pinned[i], roots->pin_slots[i]);
        }
        roots->gc->stats->pinned += safepoint->pinned_count;
    }
}

/* ---- alignment of frames ---- */

/* Frames of managed functions are aligned to 16 bytes. LLVM's passes make variables of vectors, which want more than
 * that: they are aligned less, and so are all accesses to them. This needs to know all uses of the address. */

static bool is_memory_intrinsic(LLVMValueRef user)
{
    return tn__calls_llvm(user, "memcpy.", "memmove.", "memset.", "lifetime.", "masked.load.", "masked.store.");
}

static bool lower_alignment(struct tn__gc *gc, LLVMValueRef variable)
{
    struct tn__values addresses = {.count = 0}; /* those that lead into the variable */
    tn__values_add(gc, &addresses, variable);
    for (size_t i = 0; i < addresses.count; i++)
        for (TN__EACH_USE(use, addresses.list[i])) {
            LLVMValueRef user = LLVMGetUser(use);
            if (LLVMIsAGetElementPtrInst(user) || LLVMIsAPHINode(user) || LLVMIsASelectInst(user))
                tn__values_add(gc, &addresses, user);
            else if (!LLVMIsAICmpInst(user) && !is_memory_intrinsic(user) &&
                     !tn__is_only_address(user, addresses.list[i]))
                return false;
        }
    unsigned align = LLVMGetEnumAttributeKindForName("align", strlen("align"));
    for (size_t i = 0; i < addresses.count; i++)
        for (TN__EACH_USE(use, addresses.list[i])) {
            LLVMValueRef user = LLVMGetUser(use);
            /* An intrinsic says the alignment of each address in an attribute, which may be missing. */
            for (unsigned k = 0; is_memory_intrinsic(user) && k < LLVMGetNumArgOperands(user); k++)
                if (LLVMGetOperand(user, k) == addresses.list[i])
                    LLVMRemoveCallSiteEnumAttribute(user, k + 1, align);
            if (tn__address_operand(user) >= 0 && LLVMGetAlignment(user) > TN__GC_STACK_ALIGNMENT)
                LLVMSetAlignment(user, TN__GC_STACK_ALIGNMENT);
        }
    LLVMSetAlignment(variable, TN__GC_STACK_ALIGNMENT);
    return true;
}

/* ---- before roots are looked for ---- */

static void reject(struct tn__roots *roots, LLVMValueRef instruction, const char *rule, const char *text)
{
    tn__gc_reject(roots->gc, instruction, rule, text);
}

static void check_call(struct tn__roots *roots, LLVMValueRef call)
{
    if (LLVMIsACallInst(call) && LLVMGetTailCallKind(call) == LLVMTailCallKindMustTail)
        reject(roots, call, "musttail", "a tail call that must be one cannot be a safepoint");
    if (tn__intrinsic_called(call) >= 0)
        reject(roots, call, "not-lowered", "this intrinsic has to be lowered before roots are placed");
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(call); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(call, b);
        size_t length;
        const char *tag = LLVMGetOperandBundleTag(bundle, &length);
        if (strcmp(tag, "jl_roots") != 0 && strcmp(tag, "gc-transition") != 0 && strcmp(tag, "deopt") != 0 &&
            strcmp(tag, TN__INLINE) != 0)
            reject(roots, call, "bundle", "a safepoint cannot have this operand bundle");
        LLVMDisposeOperandBundle(bundle);
    }
}

static bool says_constant(LLVMValueRef tbaa)
{
    LLVMValueRef operands[4];
    if (!tbaa || LLVMGetMDNodeNumOperands(tbaa) != TN_COUNT(operands))
        return false;
    LLVMGetMDNodeOperands(tbaa, operands);
    return LLVMIsAConstantInt(operands[3]) && LLVMConstIntGetZExtValue(operands[3]);
}

/* LLVM may load what never changes in front of a safepoint instead of behind it; a reference does change there. */
static void make_variable(struct tn__roots *roots, LLVMValueRef load)
{
    unsigned invariant = LLVMGetMDKindIDInContext(roots->gc->context, "invariant.load", strlen("invariant.load"));
    unsigned tbaa = LLVMGetMDKindIDInContext(roots->gc->context, "tbaa", strlen("tbaa"));
    LLVMSetMetadata(load, invariant, NULL);
    if (says_constant(LLVMGetMetadata(load, tbaa)))
        LLVMSetMetadata(load, tbaa, NULL);
}

static bool prepare_function(struct tn__roots *roots)
{
    bool any = false;
    tn__llvm_remove_unreachable(roots->function);
    tn__llvm_define_operands(roots->function); /* the collector would take what lies in a slot for a reference */
    for (TN__EACH_BLOCK(b, roots->function))
        for (TN__EACH_INSTRUCTION(i, b)) {
            /* The frame is addressed by its frame pointer and is not realigned: LLVM would under-align such a variable
             * without a word. */
            if (LLVMIsAAllocaInst(i) && LLVMGetAlignment(i) > TN__GC_STACK_ALIGNMENT && !lower_alignment(roots->gc, i))
                reject(roots, i, "alignment", "variables of managed functions are aligned to 16 bytes at most");
            if (LLVMIsALoadInst(i) && tn__type_holds(LLVMTypeOf(i), IN_MANAGED))
                make_variable(roots, i);
            if (!tn__is_safepoint(i))
                continue;
            any = true;
            check_call(roots, i);
        }
    tn__split_invokes(roots->function);
    pass_results(roots);
    return any;
}

/* ---- the pass ---- */

static void find_all(struct tn__roots *roots)
{
    roots->cfg = tn__cfg_build(roots->gc, roots->function);
    roots->bases = tn__bases_begin(roots->gc, roots->function);
    tn__find_variables(roots);
    tn__find_instructions(roots);
    find_pins(roots);
    tn__find_liveness(roots);
}

/* Aggregates and vectors of references are taken apart before; one that lives across a safepoint would go stale. These
 * are scalable vectors, and what has too many parts. */
static void check_scalars(struct tn__roots *roots)
{
    static const char text[] = "a struct or vector of references lives across a safepoint";
    for (LLVMValueRef p = LLVMGetFirstParam(roots->function); p; p = LLVMGetNextParam(p))
        if (LLVMGetTypeKind(LLVMTypeOf(p)) != LLVMPointerTypeKind && tn__type_holds(LLVMTypeOf(p), IN_MANAGED) &&
            tn__outlives_safepoint(roots->gc, p))
            tn__gc_reject(roots->gc, roots->function, "not-scalar", text);
    for (uint32_t w = 0; w < roots->whole_count; w++)
        if (tn__outlives_safepoint(roots->gc, roots->wholes[w]))
            reject(roots, roots->wholes[w], "not-scalar", text);
}

/* A pointer into an object that nothing leads to would go stale. */
static void check_bases(struct tn__roots *roots)
{
    for (uint32_t v = 0; v < roots->variable_count; v++) {
        LLVMValueRef value = roots->variables[v].value, origin = NULL;
        bool is_needed = false;
        if (!tn__is_reference(roots, v))
            origin = tn__unknown_origin(roots->bases, value);
        if (!origin || *tn__map_add(roots->gc, &roots->rejected, origin))
            continue;
        for (TN__EACH_USE(use, value))
            is_needed |= LLVMIsAPHINode(LLVMGetUser(use)) || LLVMIsASelectInst(LLVMGetUser(use));
        if (!is_needed && !tn__outlives_safepoint(roots->gc, value))
            continue;
        reject(roots, origin, "base", "the object that this pointer points into is not known here");
        *tn__map_add(roots->gc, &roots->rejected, origin) = 1;
    }
}

static void place_in_function(struct tn__roots *roots)
{
    tn__set_text(roots->function, "frame-pointer", "all");
    tn__set_text(roots->function, "no-realign-stack", "");
    size_t errors_before = roots->gc->diagnostics->errors;
    if (!prepare_function(roots))
        return;
    find_all(roots);
    if (tn__move_to_stack(roots)) {
        tn__bases_end(roots->bases);
        find_all(roots);
    }
    check_scalars(roots);
    check_bases(roots);
    tn__find_stack_roots(roots);
    if (roots->gc->diagnostics->errors != errors_before)
        return;
    tn__choose_calls(roots);
    pin_owners(roots);
    store_pins(roots);
    tn__make_statepoints(roots);
    if (!tn__is_for_baseline(roots->gc->options))
        tn__repair(roots);
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        LLVMDeleteInstruction(roots->safepoints[s].call);
    tn__bases_end(roots->bases);
    tn__clear_stack_roots(roots);
}

void tn__place_roots(struct tn__gc *gc)
{
    bool has_regions = tn__names_any(gc, 1u << TN__PRESERVE_BEGIN);
    bool has_raw = tn__names_any(gc, 1u << TN__POINTER_FROM_OBJREF);
    tn__llvm_use_strategy();
    for (TN__EACH_FUNCTION(f, gc)) {
        if (LLVMIsDeclaration(f) || !tn__is_managed_function(f))
            continue;
        struct tn__roots roots = {.gc = gc, .function = f, .has_regions = has_regions, .has_raw = has_raw};
        place_in_function(&roots);
        tn__arena_free(&gc->arena);
    }
}
