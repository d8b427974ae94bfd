/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A call becomes gc.statepoint with what lives behind it in "gc-live", gc.result and one gc.relocate for each value.
 * For the baseline compiler it stays a call, with what lives behind it in a bundle of ours (repair.cpp).
 *
 * Callees that are not known to be managed go through a function of the runtime, with the callee as `nest` argument:
 * its register survives, and arguments on the stack stay where they are. The statepoint's arguments begin at index 5
 * with the callee's. */

#include "codegen/managed/roots/roots.h"
#include "tenon_gc.h"

enum { FIRST_ARGUMENT = 5 };

static LLVMValueRef number(struct tn__roots *roots, uint64_t value)
{
    return LLVMConstInt(roots->gc->i32, value, 0);
}

static LLVMAttributeRef flag(struct tn__roots *roots, const char *name)
{
    return LLVMCreateEnumAttribute(roots->gc->context, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
}

/* ---- the callee ---- */

struct call {
    LLVMValueRef original, callee;
    LLVMTypeRef type;    /* of what is called */
    LLVMValueRef native; /* the nest argument, or NULL */
    unsigned argument_count;
};

/* The type with one more parameter in front, a pointer. */
static LLVMTypeRef with_pointer(struct tn__gc *gc, LLVMTypeRef type)
{
    unsigned count = LLVMCountParamTypes(type);
    LLVMTypeRef *parameters = tn__gc_array(gc, count + 1, sizeof(LLVMTypeRef));
    parameters[0] = gc->pointer;
    LLVMGetParamTypes(type, parameters + 1);
    return LLVMFunctionType(LLVMGetReturnType(type), parameters, count + 1, LLVMIsFunctionVarArg(type));
}

static struct call describe_call(struct tn__roots *roots, const struct tn__safepoint *safepoint)
{
    LLVMValueRef original = safepoint->call;
    struct call call = {.original = original,
                        .callee = LLVMGetCalledValue(original),
                        .type = LLVMGetCalledFunctionType(original),
                        .argument_count = LLVMGetNumArgOperands(original)};
    if (!safepoint->through)
        return call;
    call.native = call.callee;
    call.callee = tn__runtime_function(roots->gc, safepoint->through, LLVMFunctionType(roots->gc->nothing, NULL, 0, 0));
    call.type = with_pointer(roots->gc, call.type);
    return call;
}

/* ---- the statepoint ---- */

static uint64_t identifier_of(const struct call *call)
{
    return tn__is_entry_call(call->original) ? TN__GC_ENTRY : TN__GC_ORDINARY;
}

static LLVMValueRef *arguments_of(struct tn__roots *roots, const struct call *call, unsigned *count)
{
    LLVMValueRef *list = tn__gc_array(roots->gc, FIRST_ARGUMENT + call->argument_count + 3, sizeof(LLVMValueRef));
    unsigned n = 0;
    list[n++] = LLVMConstInt(roots->gc->i64, identifier_of(call), 0);
    list[n++] = number(roots, 0); /* no bytes to patch */
    list[n++] = call->callee;
    list[n++] = number(roots, call->argument_count + (call->native ? 1 : 0));
    list[n++] = number(roots, 0); /* no flags */
    if (call->native)
        list[n++] = call->native;
    for (unsigned a = 0; a < call->argument_count; a++)
        list[n++] = LLVMGetOperand(call->original, a);
    list[n++] = number(roots, 0); /* of old, gc-transition and deopt arguments */
    list[n++] = number(roots, 0);
    *count = n;
    return list;
}

/* Variables as relocates name them, or each with its base. Returns how many there are. */
static uint32_t list_live(struct tn__roots *roots, const struct tn__safepoint *safepoint, LLVMValueRef *list)
{
    bool is_in_place = tn__is_for_baseline(roots->gc->options);
    uint32_t count = 0;
    for (uint32_t i = 0; i < safepoint->live_count; i++) {
        const struct tn__variable *variable = &roots->variables[safepoint->live[i]];
        if (is_in_place)
            list[count++] = roots->variables[variable->base].value;
        if (is_in_place || !variable->is_fixed)
            list[count++] = variable->value;
    }
    return count;
}

/* All that lives: variables, then memory. */
static LLVMValueRef *list_all(struct tn__roots *roots, const struct tn__safepoint *safepoint, uint32_t *count)
{
    uint32_t pins = safepoint->pinned_count;
    LLVMValueRef *list =
        tn__gc_array(roots->gc, 2 * safepoint->live_count + roots->stack_root_count + pins, sizeof(LLVMValueRef));
    *count = list_live(roots, safepoint, list);
    for (uint32_t i = 0; i < roots->stack_root_count; i++)
        list[(*count)++] = roots->stack_roots[i];
    for (uint32_t i = 0; i < pins; i++)
        list[(*count)++] = roots->pin_slots[i];
    return list;
}

static LLVMOperandBundleRef live_bundle(struct tn__roots *roots, const struct tn__safepoint *safepoint)
{
    uint32_t count;
    LLVMValueRef *list = list_all(roots, safepoint, &count);
    return count ? LLVMCreateOperandBundle("gc-live", strlen("gc-live"), list, count) : NULL;
}

static LLVMValueRef emit_statepoint(struct tn__roots *roots, const struct call *call,
                                    const struct tn__safepoint *safepoint)
{
    if (!roots->statepoint)
        roots->statepoint = tn__llvm_intrinsic(roots->gc, "llvm.experimental.gc.statepoint", roots->gc->pointer,
                                               &roots->statepoint_type);
    LLVMTypeRef type = roots->statepoint_type;
    LLVMValueRef function = roots->statepoint, statepoint;
    unsigned count;
    LLVMValueRef *arguments = arguments_of(roots, call, &count);
    LLVMOperandBundleRef bundles[2];
    unsigned bundle_count = 0;
    bundles[0] = live_bundle(roots, safepoint);
    bundle_count += bundles[0] != NULL;
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(call->original); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(call->original, b);
        size_t length;
        if (strcmp(LLVMGetOperandBundleTag(bundle, &length), "deopt") == 0)
            bundles[bundle_count++] = bundle;
        else
            LLVMDisposeOperandBundle(bundle);
    }
    if (LLVMIsAInvokeInst(call->original))
        statepoint = LLVMBuildInvokeWithOperandBundles(roots->gc->builder, type, function, arguments, count,
                                                       LLVMGetNormalDest(call->original),
                                                       LLVMGetUnwindDest(call->original), bundles, bundle_count, "");
    else
        statepoint = LLVMBuildCallWithOperandBundles(roots->gc->builder, type, function, arguments, count, bundles,
                                                     bundle_count, "");
    while (bundle_count)
        LLVMDisposeOperandBundle(bundles[--bundle_count]);
    return statepoint;
}

static unsigned convention_of(const struct tn__roots *roots, const struct call *call)
{
    unsigned convention = LLVMGetInstructionCallConv(call->original);
    bool as_c = call->native && tn__managed_convention(roots->gc, convention) == TN__NATIVE_AS_C;
    return as_c ? LLVMCCallConv : convention;
}

static void annotate(struct tn__roots *roots, const struct call *call, LLVMValueRef statepoint)
{
    unsigned element_type = LLVMGetEnumAttributeKindForName("elementtype", strlen("elementtype"));
    LLVMAddCallSiteAttribute(statepoint, 3, LLVMCreateTypeAttribute(roots->gc->context, element_type, call->type));
    if (call->native)
        LLVMAddCallSiteAttribute(statepoint, FIRST_ARGUMENT + 1, flag(roots, "nest"));
    tn__copy_abi_attributes(call->original, call->argument_count, statepoint, FIRST_ARGUMENT + (call->native ? 1 : 0));
    if (tn__returns_twice(call->original))
        LLVMAddCallSiteAttribute(statepoint, TN__ON_FUNCTION, flag(roots, "returns_twice"));
    LLVMSetInstructionCallConv(statepoint, convention_of(roots, call));
}

/* ---- what is behind it ---- */

static void note_result(struct tn__roots *roots, LLVMValueRef original, LLVMValueRef result)
{
    uint32_t variable = tn__variable_of(roots, original);
    if (variable == NO_VARIABLE)
        return;
    roots->variables[variable].value = result;
    *tn__map_add(roots->gc, &roots->numbers, result) = variable + 1;
}

static void emit_result(struct tn__roots *roots, const struct call *call, struct tn__safepoint *safepoint,
                        LLVMValueRef statepoint)
{
    LLVMTypeRef type = LLVMTypeOf(call->original), function_type;
    if (LLVMGetTypeKind(type) == LLVMVoidTypeKind)
        return;
    LLVMValueRef function = tn__llvm_intrinsic(roots->gc, "llvm.experimental.gc.result", type, &function_type);
    safepoint->result = LLVMBuildCall2(roots->gc->builder, function_type, function, &statepoint, 1, "");
    note_result(roots, call->original, safepoint->result);
    size_t length;
    const char *name = LLVMGetValueName2(call->original, &length);
    char *copy = tn__gc_array(roots->gc, length + 1, 1);
    memcpy(copy, name, length);
    LLVMReplaceAllUsesWith(call->original, safepoint->result);
    LLVMSetValueName2(call->original, "", 0);
    LLVMSetValueName2(safepoint->result, copy, length);
}

static void count_live(struct tn__roots *roots, const struct tn__safepoint *safepoint)
{
    for (uint32_t i = 0; i < safepoint->live_count; i++) {
        bool is_derived = !tn__is_reference(roots, safepoint->live[i]);
        roots->gc->stats->live_references += !is_derived;
        roots->gc->stats->live_derived += is_derived && !roots->variables[safepoint->live[i]].is_fixed;
    }
}

static LLVMValueRef emit_relocate(struct tn__roots *roots, uint32_t variable, LLVMValueRef statepoint)
{
    const struct tn__variable *v = &roots->variables[variable];
    LLVMTypeRef type = LLVMTypeOf(v->value), function_type;
    LLVMValueRef function = tn__llvm_intrinsic(roots->gc, "llvm.experimental.gc.relocate", type, &function_type);
    LLVMValueRef arguments[] = {statepoint, number(roots, roots->variables[v->base].index), number(roots, v->index)};
    return LLVMBuildCall2(roots->gc->builder, function_type, function, arguments, 3, "");
}

/* The relocated base, and the distance that the derived pointer always has. */
static LLVMValueRef compute_anew(struct tn__roots *roots, const struct tn__variable *variable, LLVMValueRef relocated)
{
    LLVMValueRef base = relocated;
    LLVMTypeRef type = LLVMTypeOf(variable->value);
    if (LLVMTypeOf(base) != type)
        base = LLVMBuildAddrSpaceCast(roots->gc->builder, base, type, "");
    if (!variable->distance && base != relocated)
        return base;
    LLVMValueRef step = LLVMConstInt(roots->gc->i64, (uint64_t)variable->distance, 1);
    return LLVMBuildGEP2(roots->gc->builder, roots->gc->i8, base, &step, 1, "");
}

static void emit_relocates(struct tn__roots *roots, struct tn__safepoint *safepoint, LLVMValueRef statepoint)
{
    LLVMValueRef *relocated = tn__gc_array(roots->gc, safepoint->live_count, sizeof *relocated);
    uint32_t index = 0;
    safepoint->relocated = relocated;
    for (uint32_t i = 0; i < safepoint->live_count; i++)
        if (!roots->variables[safepoint->live[i]].is_fixed)
            roots->variables[safepoint->live[i]].index = index++;
    for (uint32_t i = 0; i < safepoint->live_count; i++) {
        struct tn__variable *variable = &roots->variables[safepoint->live[i]];
        if (!variable->is_fixed)
            variable->relocated = relocated[i] = emit_relocate(roots, safepoint->live[i], statepoint);
    }
    for (uint32_t i = 0; i < safepoint->live_count; i++) {
        const struct tn__variable *variable = &roots->variables[safepoint->live[i]];
        if (variable->is_fixed)
            relocated[i] = compute_anew(roots, variable, roots->variables[variable->base].relocated);
    }
}

static void replace_by_statepoint(struct tn__roots *roots, struct tn__safepoint *safepoint, const struct call *call)
{
    LLVMBasicBlockRef normal = LLVMIsAInvokeInst(call->original) ? LLVMGetNormalDest(call->original) : NULL;
    LLVMValueRef statepoint = emit_statepoint(roots, call, safepoint);
    annotate(roots, call, statepoint);
    if (normal)
        LLVMPositionBuilderBefore(roots->gc->builder, tn__first_insertion_point(normal));
    emit_result(roots, call, safepoint, statepoint);
    emit_relocates(roots, safepoint, statepoint);
}

static void replace_in_place(struct tn__roots *roots, const struct tn__safepoint *safepoint, const struct call *call)
{
    uint32_t count;
    LLVMValueRef *live = list_all(roots, safepoint, &count), through = call->native ? call->callee : NULL;
    note_result(roots, call->original,
                tn__call_in_place(call->original, through, convention_of(roots, call), live, count));
}

static void make_statepoint(struct tn__roots *roots, struct tn__safepoint *safepoint)
{
    struct call call = describe_call(roots, safepoint);
    LLVMPositionBuilderBefore(roots->gc->builder, call.original);
    if (safepoint->memory) { /* which the runtime has to copy */
        LLVMValueRef block = tn__thread_block(roots->gc);
        LLVMValueRef bytes = LLVMConstInt(roots->gc->i64, safepoint->memory, 0);
        LLVMBuildStore(roots->gc->builder, bytes, tn__field(roots->gc, block, TN_GC_BLOCK_MEMORY));
    }
    if (tn__is_for_baseline(roots->gc->options))
        replace_in_place(roots, safepoint, &call);
    else
        replace_by_statepoint(roots, safepoint, &call);
    count_live(roots, safepoint);
    LLVMInstructionRemoveFromParent(call.original); /* erased when no map holds its address any more */
    roots->gc->stats->safepoints++;
}

void tn__make_statepoints(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        make_statepoint(roots, &roots->safepoints[s]);
}
