/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How each safepoint calls: directly, as native code, or as a transition, during which the thread is outside managed
 * code and the collector runs (doc/IR.md, "Transitions"). tn__choose_calls decides, and nothing else does. */

#include "codegen/managed/ir/saved.h"
#include "codegen/managed/lower/lower.h"
#include "codegen/managed/roots/roots.h"

static const LLVMAttributeIndex on_function = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

/* ---- what a call says ---- */

static bool has_bundle(LLVMValueRef call, const char *wanted)
{
    bool found = false;
    for (unsigned b = 0; b < LLVMGetNumOperandBundles(call); b++) {
        LLVMOperandBundleRef bundle = LLVMGetOperandBundleAtIndex(call, b);
        size_t length;
        found |= strcmp(LLVMGetOperandBundleTag(bundle, &length), wanted) == 0;
        LLVMDisposeOperandBundle(bundle);
    }
    return found;
}

static bool has_text(LLVMValueRef function, const char *key, size_t length)
{
    return LLVMGetStringAttributeAtIndex(function, on_function, key, (unsigned)length) != NULL;
}

static bool says(LLVMValueRef call, const char *key)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return LLVMGetCallSiteStringAttribute(call, on_function, key, (unsigned)strlen(key)) ||
           (LLVMIsAFunction(callee) && has_text(callee, key, strlen(key)));
}

static bool has_flag(LLVMValueRef call, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return LLVMGetCallSiteEnumAttribute(call, on_function, kind) ||
           (LLVMIsAFunction(callee) && LLVMGetEnumAttributeAtIndex(callee, on_function, kind));
}

/* -fno-builtin, or -fno-builtin-NAME. */
static bool has_no_builtin(LLVMValueRef caller, LLVMValueRef callee)
{
    char key[64] = "no-builtin-";
    size_t length, prefix = strlen(key);
    const char *name = LLVMGetValueName2(callee, &length);
    if (prefix + length < sizeof key)
        memcpy(key + prefix, name, length + 1);
    return has_text(caller, "no-builtins", strlen("no-builtins")) || has_text(caller, key, strlen(key));
}

static bool is_libc_leaf(LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    return LLVMIsAFunction(callee) && has_text(callee, TN__LIBC_LEAF, sizeof TN__LIBC_LEAF - 1) &&
           LLVMGetCalledFunctionType(call) == LLVMGlobalGetValueType(callee) && !has_flag(call, "nobuiltin") &&
           !has_no_builtin(LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)), callee);
}

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

static bool has_managed_memory(LLVMValueRef call, unsigned argument, const char *attribute)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));
    LLVMAttributeRef type = LLVMGetCallSiteEnumAttribute(call, argument + 1, kind);
    return type && tn__type_holds(LLVMGetTypeAttributeValue(type), IN_MANAGED);
}

static bool has_managed_types(LLVMValueRef call)
{
    if (tn__type_holds(LLVMTypeOf(call), IN_MANAGED))
        return true;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
        if (tn__type_holds(LLVMTypeOf(LLVMGetOperand(call, i)), IN_MANAGED) || has_managed_memory(call, i, "byval") ||
            has_managed_memory(call, i, "sret"))
            return true;
    return false;
}

/* Of others the runtime's function would change registers that matter. */
static bool has_known_convention(LLVMValueRef call)
{
    unsigned convention = LLVMGetInstructionCallConv(call);
    return convention == LLVMCCallConv || convention == LLVMFastCallConv || convention == LLVMColdCallConv;
}

/* ---- addresses that reach references ---- */

/* Follows an address through what computes others from it, and through variables in stack memory. */
struct flow {
    struct tn__roots *roots;
    struct tn__map *safepoints; /* by call: index + 1 */
    struct tn__map seen;
    LLVMValueRef *pending;
    size_t count;
    LLVMValueRef object; /* whose raw address it is; NULL: it is that of a variable that holds references */
};

static void follow(struct flow *flow, LLVMValueRef value)
{
    uint32_t *seen = tn__map_add(flow->roots->gc, &flow->seen, value);
    if (*seen)
        return;
    *seen = 1;
    flow->pending = tn__gc_room(flow->roots->gc, flow->pending, flow->count, sizeof *flow->pending);
    flow->pending[flow->count++] = value;
}

static bool is_pinned(const struct flow *flow, const struct tn__safepoint *safepoint)
{
    for (uint32_t i = 0; flow->object && i < safepoint->pinned_count; i++)
        if (safepoint->pinned[i] == flow->object)
            return true;
    return false;
}

static void pass(struct flow *flow, LLVMValueRef call, LLVMValueRef value)
{
    const uint32_t *number = tn__map_find(flow->safepoints, call);
    struct tn__safepoint *safepoint = number ? &flow->roots->safepoints[*number - 1] : NULL;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++) {
        if (LLVMGetOperand(call, i) != value)
            continue;
        if (safepoint && !is_pinned(flow, safepoint))
            safepoint->passes_references = true;
        if (LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMPointerTypeKind) /* as memcpy does */
            follow(flow, call);
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
            follow(flow, user);
        else if (LLVMIsAGetElementPtrInst(user) || LLVMIsACastInst(user))
            follow_loads(flow, user);
    }
}

static void follow_use(struct flow *flow, LLVMValueRef user, LLVMValueRef value)
{
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMCall:
    case LLVMInvoke:
        pass(flow, user, value);
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
            follow(flow, user);
    }
}

static void find_passed(struct tn__roots *roots, struct tn__map *safepoints, LLVMValueRef address, LLVMValueRef object)
{
    struct flow flow = {.roots = roots, .safepoints = safepoints, .object = object};
    follow(&flow, address);
    while (flow.count) {
        LLVMValueRef value = flow.pending[--flow.count];
        for (TN__EACH_USE(use, value))
            if (LLVMIsAInstruction(LLVMGetUser(use)))
                follow_use(&flow, LLVMGetUser(use), value);
    }
}

static void find_all_passed(struct tn__roots *roots)
{
    struct tn__map safepoints = {0};
    for (uint32_t s = 0; s < roots->safepoint_count; s++)
        *tn__map_add(roots->gc, &safepoints, roots->safepoints[s].call) = s + 1;
    for (uint32_t i = 0; i < roots->stack_root_count; i++)
        find_passed(roots, &safepoints, roots->stack_roots[i], NULL);
    for (uint32_t b = 0; b < roots->cfg->count; b++)
        for (TN__EACH_INSTRUCTION(i, roots->cfg->blocks[b].block))
            if (tn__intrinsic_called(i) == TN__POINTER_FROM_OBJREF)
                find_passed(roots, &safepoints, i, tn__base_of(roots->bases, LLVMGetOperand(i, 0)));
}

/* ---- the decision ---- */

static bool is_transition(const struct tn__safepoint *safepoint)
{
    LLVMValueRef call = safepoint->call;
    if (has_bundle(call, "gc-transition"))
        return true;
    return !says(call, TN__NO_TRANSITION) && !has_flag(call, "noreturn") && !unwinds(LLVMGetCalledValue(call)) &&
           !is_libc_leaf(call) && has_known_convention(call) && !has_managed_types(call) &&
           !safepoint->passes_references;
}

/* Entries have managed code in them, and are called like native code. They have no name for traces. */
static bool is_entry(LLVMValueRef function)
{
    LLVMAttributeRef name =
        LLVMGetStringAttributeAtIndex(function, on_function, TN__MODULE_NAME, sizeof TN__MODULE_NAME - 1);
    unsigned length = 0;
    return name && LLVMGetStringAttributeValue(name, &length) && !length;
}

static void choose(struct tn__safepoint *safepoint)
{
    LLVMValueRef call = safepoint->call, callee = LLVMGetCalledValue(call);
    if (tn__is_managed_function(callee) && !is_entry(callee))
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
        choose(&roots->safepoints[s]);
}
