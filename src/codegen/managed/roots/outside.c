/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How each safepoint calls: directly, as native code, or as a transition, during which the thread is outside managed
 * code and the collector runs (doc/IR.md, "Transitions"). tn__choose_calls decides, and nothing else does. */

#include "codegen/managed/ir/saved.h"
#include "codegen/managed/lower/lower.h"
#include "codegen/managed/roots/roots.h"

/* Calls that leave the frames above them: the level stays that of managed code, so nothing walks those frames
 * meanwhile. */
static bool unwinds(LLVMValueRef callee)
{
    static const char *const names[] = {"longjmp",       "_longjmp",    "siglongjmp",
                                        "__longjmp_chk", "__cxa_throw", "__cxa_rethrow"};
    size_t length;
    const char *name = LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &length) : "";
    for (size_t i = 0; i < TN_COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "_Unwind_", strlen("_Unwind_")) == 0;
}

static bool has_managed_types(LLVMValueRef call)
{
    if (tn__type_holds(LLVMTypeOf(call), IN_MANAGED))
        return true;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        LLVMAttributeRef byval = tn__attribute(call, i + 1, "byval"), sret = tn__attribute(call, i + 1, "sret");
        if (tn__type_holds(LLVMTypeOf(LLVMGetOperand(call, i)), IN_MANAGED) ||
            (byval && tn__type_holds(LLVMGetTypeAttributeValue(byval), IN_MANAGED)) ||
            (sret && tn__type_holds(LLVMGetTypeAttributeValue(sret), IN_MANAGED)))
            return true;
    }
    return false;
}

/* ---- addresses that reach references ---- */

/* Follows an address through what computes others from it, and through variables in stack memory. */
struct flow {
    struct tn__roots *roots;
    struct tn__map *safepoints;  /* by call: index + 1 */
    struct tn__values addresses; /* found so far */
    LLVMValueRef object;         /* whose raw address it is; NULL: it is that of a variable that holds references */
};

static void pass_address(struct flow *flow, LLVMValueRef call, LLVMValueRef value)
{
    const uint32_t *number = tn__map_find(flow->safepoints, call);
    struct tn__safepoint *safepoint = number ? &flow->roots->safepoints[*number - 1] : NULL;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        if (LLVMGetOperand(call, i) != value)
            continue;
        bool is_pinned = false;
        for (uint32_t p = 0; safepoint && flow->object && p < safepoint->pinned_count; p++)
            is_pinned |= safepoint->pinned[p] == flow->object;
        if (safepoint && !is_pinned)
            safepoint->passes_references = true;
        if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind) /* as memcpy does */
            tn__values_add(flow->roots->gc, &flow->addresses, call);
    }
}

static LLVMValueRef variable_of(LLVMValueRef address)
{
    while (LLVMIsAGetElementPtrInst(address) || LLVMIsACastInst(address))
        address = LLVMGetOperand(address, 0);
    return LLVMIsAAllocaInst(address) ? address : NULL;
}

/* Everything that is loaded from the variable. */
static void follow_loads(struct flow *flow, LLVMValueRef address)
{
    for (TN__EACH_USE(use, address)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsALoadInst(user))
            tn__values_add(flow->roots->gc, &flow->addresses, user);
        else if (LLVMIsAGetElementPtrInst(user) || LLVMIsACastInst(user))
            follow_loads(flow, user);
    }
}

static void follow_use(struct flow *flow, LLVMValueRef user, LLVMValueRef value)
{
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMCall:
    case LLVMInvoke:
        pass_address(flow, user, value);
        break;
    case LLVMStore:
        if (LLVMGetOperand(user, 0) == value && variable_of(LLVMGetOperand(user, 1)))
            follow_loads(flow, variable_of(LLVMGetOperand(user, 1)));
        break;
    case LLVMLoad:
    case LLVMICmp:
        break;
    default:
        if (LLVMGetTypeKind(LLVMTypeOf(user)) != LLVMVoidTypeKind)
            tn__values_add(flow->roots->gc, &flow->addresses, user);
    }
}

static void find_passed(struct tn__roots *roots, struct tn__map *safepoints, LLVMValueRef address, LLVMValueRef object)
{
    struct flow flow = {.roots = roots, .safepoints = safepoints, .object = object};
    tn__values_add(roots->gc, &flow.addresses, address);
    for (size_t n = 0; n < flow.addresses.count; n++)
        for (TN__EACH_USE(use, flow.addresses.list[n]))
            if (LLVMIsAInstruction(LLVMGetUser(use)))
                follow_use(&flow, LLVMGetUser(use), flow.addresses.list[n]);
}

static void find_all_passed(struct tn__roots *roots)
{
    struct tn__map safepoints = {0};
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        *tn__map_add(roots->gc, &safepoints, roots->safepoints[s].call) = s + 1;
    for (uint32_t i = 0; i < roots->stack_root_count; i++)
        find_passed(roots, &safepoints, roots->stack_roots[i], NULL);
    for (uint32_t b = 0; b < roots->cfg->count && roots->has_raw; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block))
            if (tn__intrinsic_called(i) == TN__POINTER_FROM_OBJREF)
                find_passed(roots, &safepoints, i, tn__base_of(roots->bases, LLVMGetOperand(i, 0)));
}

/* ---- the decision ---- */

static bool is_transition(const struct tn__safepoint *safepoint)
{
    LLVMValueRef call = safepoint->call, callee = LLVMGetCalledValue(call);
    if (tn__has_bundle(call, "gc-transition"))
        return true;
    bool is_libc_leaf = tn__calls_builtin(call) && tn__has_text(callee, TN__LIBC_LEAF);
    /* With other conventions the runtime's function would change registers that matter. */
    unsigned convention = LLVMGetInstructionCallConv(call);
    bool is_known = convention == LLVMCCallConv || convention == LLVMFastCallConv || convention == LLVMColdCallConv;
    return !tn__call_has_text(call, TN__NO_TRANSITION) && !tn__call_attribute(call, TN__ON_FUNCTION, "noreturn") &&
           !unwinds(callee) && !is_libc_leaf && is_known && !has_managed_types(call) && !safepoint->passes_references;
}

static void choose_call(struct tn__safepoint *safepoint)
{
    LLVMValueRef call = safepoint->call, callee = LLVMGetCalledValue(call);
    /* Entries have managed code in them, and are called like native code. They have no name for traces. */
    bool is_entry = LLVMIsAFunction(callee) && tn__has_text(callee, TN__MODULE_NAME) && !*tn__module_name(callee);
    if (tn__is_entry_call(call) || (tn__is_managed_function(callee) && !is_entry))
        return;
    if (tn__returns_twice(call)) {
        safepoint->through = "tn__gc_call_twice";
    } else if (is_transition(safepoint)) {
        safepoint->memory = tn__gc_argument_memory(call);
        safepoint->through = safepoint->memory ? "tn__gc_call_outside_memory" : "tn__gc_call_outside";
    } else {
        safepoint->through = "tn__gc_call_native";
    }
}

void tn__choose_calls(struct tn__roots *roots)
{
    find_all_passed(roots);
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        choose_call(&roots->safepoints[s]);
}
