/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Root placement, for every function with gc "tenon": from here on the collector can find and change each reference
 * that is live at a safepoint. No pass of LLVM's may optimise IR behind this one. */

#include "codegen/managed/roots/roots.h"
#include "codegen/managed/verify/verify.h"

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
        if (strcmp(tag, "jl_roots") != 0 && strcmp(tag, "gc-transition") != 0 && strcmp(tag, "deopt") != 0)
            reject(roots, call, "bundle", "a safepoint cannot have this operand bundle");
        LLVMDisposeOperandBundle(bundle);
    }
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

static bool prepare_function(struct tn__roots *roots)
{
    bool any = false;
    tn__llvm_remove_unreachable(roots->function);
    for (TN__EACH_BLOCK(b, roots->function))
        for (TN__EACH_INSTRUCTION(i, b)) {
            define_operands(i);
            /* The frame is addressed by its frame pointer and is not realigned: LLVM would under-align such a variable
             * without a word. */
            if (LLVMIsAAllocaInst(i) && LLVMGetAlignment(i) > TN__GC_STACK_ALIGNMENT &&
                !tn__lower_alignment(roots->gc, i))
                reject(roots, i, "alignment", "variables of managed functions are aligned to 16 bytes at most");
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

static void find_all(struct tn__roots *roots)
{
    roots->cfg = tn__cfg_build(roots->gc, roots->function);
    roots->bases = tn__bases_begin(roots->gc, roots->function);
    tn__find_variables(roots);
    roots->safepoint_count = 0;
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block))
            if (tn__is_safepoint(i))
                TN__APPEND(roots->gc, roots->safepoints, roots->safepoint_count,
                           (struct tn__safepoint){.call = i, .block = b});
    tn__find_pins(roots);
    tn__find_liveness(roots);
}

static bool is_stale_whole(struct tn__roots *roots, LLVMValueRef value)
{
    return LLVMGetTypeKind(LLVMTypeOf(value)) != LLVMPointerTypeKind && tn__type_holds(LLVMTypeOf(value), IN_MANAGED) &&
           tn__outlives_safepoint(roots->gc, value);
}

/* Aggregates and vectors of references are taken apart before; one that lives across a safepoint would go stale. These
 * are scalable vectors, and what has too many parts. */
static void check_scalars(struct tn__roots *roots)
{
    static const char text[] = "a struct or vector of references lives across a safepoint";
    for (LLVMValueRef p = LLVMGetFirstParam(roots->function); p; p = LLVMGetNextParam(p))
        if (is_stale_whole(roots, p))
            tn__gc_reject(roots->gc, roots->function, "not-scalar", text);
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block))
            if (is_stale_whole(roots, i))
                reject(roots, i, "not-scalar", text);
}

/* A pointer into an object that nothing leads to would go stale. */
static void check_bases(struct tn__roots *roots)
{
    for (uint32_t v = 0; v < roots->variable_count; v++) {
        LLVMValueRef value = roots->variables[v].value, origin = tn__unknown_origin(roots->bases, value);
        bool is_needed = false;
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
    tn__pin_owners(roots);
    tn__store_pins(roots);
    tn__make_statepoints(roots);
    tn__repair(roots);
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        LLVMDeleteInstruction(roots->safepoints[s].call);
    tn__bases_end(roots->bases);
    tn__clear_stack_roots(roots);
}

void tn__place_roots(struct tn__gc *gc)
{
    tn__llvm_use_strategy();
    for (TN__EACH_FUNCTION(f, gc)) {
        if (LLVMIsDeclaration(f) || !tn__is_managed_function(f))
            continue;
        struct tn__roots roots = {.gc = gc, .function = f};
        place_in_function(&roots);
        tn__arena_free(&gc->arena);
    }
}
