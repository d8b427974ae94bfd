/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Root placement, for every function with gc "tenon": from here on the collector can find and change each reference
 * that is live at a safepoint. No pass of LLVM's may optimise IR behind this one. */

#include "codegen/managed/ir/blocks.h"
#include "codegen/managed/roots/roots.h"
#include "codegen/managed/verify/verify.h"

/* ---- before roots are looked for ---- */

static void reject(struct tn__roots *roots, LLVMValueRef instruction, const char *rule, const char *text)
{
    tn__gc_reject(roots->gc, instruction, NULL, rule, text);
}

static bool is_known_bundle(const char *tag)
{
    static const char *const known[] = {"jl_roots", "gc-transition", "deopt"};
    for (size_t i = 0; i < TN_COUNT(known); i++)
        if (strcmp(tag, known[i]) == 0)
            return true;
    return false;
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
        if (!is_known_bundle(LLVMGetOperandBundleTag(bundle, &length)))
            reject(roots, call, "bundle", "a safepoint cannot have this operand bundle");
        LLVMDisposeOperandBundle(bundle);
    }
}

/* The frame is addressed by its frame pointer and is not realigned: LLVM would under-align such a variable without a
 * word. */
static void check_variable(struct tn__roots *roots, LLVMValueRef variable)
{
    if (LLVMGetAlignment(variable) > TN__GC_STACK_ALIGNMENT && !tn__lower_alignment(roots->gc, variable))
        reject(roots, variable, "alignment", "variables of managed functions are aligned to 16 bytes at most");
}

/* Undefined managed pointers become null: the collector would take what lies in a slot for a reference. */
static void define_operands(LLVMValueRef instruction)
{
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(instruction); k++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, k);
        if ((LLVMIsUndef(operand) || LLVMIsPoison(operand)) && tn__type_holds(LLVMTypeOf(operand), IN_MANAGED))
            LLVMSetOperand(instruction, k, LLVMConstNull(LLVMTypeOf(operand)));
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

static bool prepare(struct tn__roots *roots)
{
    bool any = false;
    tn__llvm_remove_unreachable(roots->function);
    for (TN__EACH_BLOCK(b, roots->function))
        for (TN__EACH_INSTRUCTION(i, b)) {
            define_operands(i);
            if (LLVMIsAAllocaInst(i))
                check_variable(roots, i);
            if (LLVMIsALoadInst(i) && tn__type_holds(LLVMTypeOf(i), IN_MANAGED))
                make_variable(roots, i);
            if (!tn__is_safepoint(i))
                continue;
            any = true;
            check_call(roots, i);
        }
    tn__split_invokes(roots->function);
    tn__pass_results(roots);
    return any;
}

/* ---- the pass ---- */

static void find_safepoints(struct tn__roots *roots)
{
    roots->safepoint_count = 0;
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block)) {
            if (!tn__is_safepoint(i))
                continue;
            roots->safepoints =
                tn__gc_room(roots->gc, roots->safepoints, roots->safepoint_count, sizeof *roots->safepoints);
            roots->safepoints[roots->safepoint_count++] = (struct tn__safepoint){.call = i, .block = b};
        }
}

static void find_all(struct tn__roots *roots)
{
    roots->cfg = tn__cfg_build(roots->gc, roots->function);
    roots->bases = tn__bases_begin(roots->gc, roots->function, roots->builder);
    tn__find_variables(roots);
    find_safepoints(roots);
    tn__find_pins(roots);
    tn__find_liveness(roots);
}

/* Aggregates and vectors of references are taken apart before; one that lives across a safepoint would go stale. */
static void check_scalars(struct tn__roots *roots)
{
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block)) {
            LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(i));
            if (kind == LLVMPointerTypeKind || !tn__type_holds(LLVMTypeOf(i), IN_MANAGED))
                continue;
            if (tn__outlives_safepoint(roots->gc, i))
                reject(roots, i, "not-scalar", "a struct or vector of references lives across a safepoint");
        }
}

static bool is_choice(LLVMValueRef value)
{
    for (TN__EACH_USE(use, value))
        if (LLVMIsAPHINode(LLVMGetUser(use)) || LLVMIsASelectInst(LLVMGetUser(use)))
            return true;
    return false;
}

/* A pointer into an object that nothing leads to would go stale. */
static void check_bases(struct tn__roots *roots)
{
    for (uint32_t v = 0; v < roots->variable_count; v++) {
        LLVMValueRef value = roots->variables[v].value, origin = tn__unknown_origin(roots->bases, value);
        if (!origin || *tn__map_add(roots->gc, &roots->rejected, origin) ||
            !(is_choice(value) || tn__outlives_safepoint(roots->gc, value)))
            continue;
        reject(roots, origin, "base", "the object that this pointer points into is not known here");
        *tn__map_add(roots->gc, &roots->rejected, origin) = 1;
    }
}

static void add_text(struct tn__roots *roots, const char *key, const char *value)
{
    LLVMAddAttributeAtIndex(
        roots->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
        LLVMCreateStringAttribute(roots->gc->context, key, (unsigned)strlen(key), value, (unsigned)strlen(value)));
}

static void delete_calls(struct tn__roots *roots)
{
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        LLVMDeleteInstruction(roots->safepoints[s].call);
}

static void place(struct tn__roots *roots)
{
    add_text(roots, "frame-pointer", "all");
    add_text(roots, "no-realign-stack", "");
    size_t errors_before = roots->gc->diagnostics->errors;
    if (!prepare(roots))
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
    tn__pin_owners(roots);
    tn__store_pins(roots);
    tn__make_statepoints(roots);
    tn__repair(roots);
    delete_calls(roots);
    tn__bases_end(roots->bases);
    tn__clear_stack_roots(roots);
}

void tn__place_roots(struct tn__gc *gc)
{
    tn__llvm_use_strategy();
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(gc->context);
    for (TN__EACH_FUNCTION(f, gc)) {
        if (LLVMIsDeclaration(f) || !tn__is_managed_function(f))
            continue;
        struct tn__roots roots = {.gc = gc, .function = f, .builder = builder};
        roots.reference = LLVMPointerTypeInContext(gc->context, TRACKED);
        place(&roots);
        tn__arena_free(&gc->arena);
    }
    LLVMDisposeBuilder(builder);
}
