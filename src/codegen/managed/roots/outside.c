/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How each safepoint calls: directly, as native code, or as a transition, during which the thread is outside managed
 * code and the collector runs (doc/IR.md, "Transitions"). tn__choose_calls decides, and nothing else does. */

#include "codegen/managed/ir/llvm_gc.h"
#include "codegen/managed/roots/roots.h"
#include "codegen/managed/ir/saved.h"

#define NO_TRANSITION "gc-no-transition"
#define LIBC_LEAF     "tenon-libc-leaf" /* set by tn__mark_native_functions */

static const LLVMAttributeIndex on_function = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;

/* ---- functions of the C library ---- */

/* They do not wait, nor call back. Those of mathematics also with an f or l at the end. */
static const char *const libc_leaves[] = {
    "memccpy",      "memchr",       "memcmp",       "memcpy",        "memmove",       "mempcpy",      "memrchr",
    "memset",       "bcmp",         "bcopy",        "bzero",         "stpcpy",        "stpncpy",      "strcasecmp",
    "strcat",       "strchr",       "strcmp",       "strcpy",        "strcspn",       "strlen",       "strncasecmp",
    "strncat",      "strncmp",      "strncpy",      "strnlen",       "strpbrk",       "strrchr",      "strspn",
    "strstr",       "wcslen",       "abs",          "labs",          "llabs",         "ffs",          "ffsl",
    "ffsll",        "isascii",      "isdigit",      "toascii",       "atoi",          "atol",         "atoll",
    "atof",         "strtol",       "strtoll",      "strtoul",       "strtoull",      "strtod",       "strtof",
    "strtold",      "htonl",        "htons",        "ntohl",         "ntohs",         "__memcpy_chk", "__memmove_chk",
    "__memset_chk", "__strcpy_chk", "__strcat_chk", "__strncpy_chk", "__strncat_chk",
};
static const char *const libm_leaves[] = {
    "acos",      "acosh", "asin",   "asinh", "atan",      "atan2", "atanh",     "cbrt",   "ceil",
    "copysign",  "cos",   "cosh",   "erf",   "exp",       "exp10", "exp2",      "expm1",  "fabs",
    "fdim",      "floor", "fmax",   "fmin",  "fmod",      "frexp", "ldexp",     "log",    "log10",
    "log1p",     "log2",  "logb",   "modf",  "nearbyint", "pow",   "remainder", "rint",   "round",
    "roundeven", "sin",   "sincos", "sinh",  "sqrt",      "tan",   "tanh",      "tgamma", "trunc",
};

static bool is_in(const char *const *list, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(list[i]) == length && strncmp(list[i], name, length) == 0)
            return true;
    return false;
}

static bool is_leaf_name(const char *name)
{
    size_t length = strlen(name);
    bool has_suffix = length > 1 && (name[length - 1] == 'f' || name[length - 1] == 'l');
    return is_in(libc_leaves, TN_COUNT(libc_leaves), name, length) ||
           is_in(libm_leaves, TN_COUNT(libm_leaves), name, length) ||
           (has_suffix && is_in(libm_leaves, TN_COUNT(libm_leaves), name, length - 1));
}

static void mark(struct tn__gc *gc, LLVMValueRef function, const char *key)
{
    LLVMAddAttributeAtIndex(function, on_function,
                            LLVMCreateStringAttribute(gc->context, key, (unsigned)strlen(key), "", 0));
}

static void mark_leaf(void *context, LLVMValueRef function)
{
    size_t length;
    if (is_leaf_name(LLVMGetValueName2(function, &length)))
        mark(context, function, LIBC_LEAF);
}

/* ---- annotations of C ---- */

static bool is_text(LLVMValueRef global, const char *wanted)
{
    LLVMValueRef text = LLVMIsAGlobalVariable(global) ? LLVMGetInitializer(global) : NULL;
    size_t length;
    return text && LLVMIsConstantString(text) && strcmp(LLVMGetAsString(text, &length), wanted) == 0;
}

/* Rows of function, text, and where that was written. Attributes of functions come along when a module is divided, and
 * this global does not. */
void tn__mark_annotated_functions(struct tn__gc *gc)
{
    LLVMValueRef global = LLVMGetNamedGlobal(gc->module, "llvm.global.annotations");
    LLVMValueRef rows = global ? LLVMGetInitializer(global) : NULL;
    for (unsigned i = 0; rows && i < (unsigned)LLVMGetNumOperands(rows); i++) {
        LLVMValueRef row = LLVMGetOperand(rows, i);
        if (LLVMGetNumOperands(row) > 1 && LLVMIsAFunction(LLVMGetOperand(row, 0)) &&
            is_text(LLVMGetOperand(row, 1), NO_TRANSITION))
            mark(gc, LLVMGetOperand(row, 0), NO_TRANSITION);
    }
}

void tn__mark_native_functions(struct tn__gc *gc)
{
    tn__llvm_each_library_function(gc->module, mark_leaf, gc);
}

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
    return LLVMIsAFunction(callee) && has_text(callee, LIBC_LEAF, sizeof LIBC_LEAF - 1) &&
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
    return !says(call, NO_TRANSITION) && !has_flag(call, "noreturn") && !unwinds(LLVMGetCalledValue(call)) &&
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
