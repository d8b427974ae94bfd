/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The contract's verifier. LLVM's own accepts ptrtoint on non-integral pointers and knows nothing of bases; what is
 * wrong here would be a stale pointer later. Weak: what holds at any time before roots are placed. Strong: what a front
 * end has to keep as well, and optimisation may undo. Every violation is reported. */

#include "codegen/managed/verify/verify.h"

/* ---- rules ---- */

#define RULES(X)                                                                                                       \
    X(CAST, "cast", "only 0 to 10, 11, 12, 13 and 10 to 11, 12 may be cast")                                           \
    X(POINTER_TO_INTEGER, "ptrtoint", "the address of a managed object is no number: the object may move")             \
    X(INTEGER_TO_POINTER, "inttoptr", "a number is no managed pointer; permanent objects are cast from space 0")       \
    X(GEP, "gep", "an address inside an object is derived: cast to 11 before getelementptr")                           \
    X(LOAD, "load", "pointers in 11 and 12 do not live in memory")                                                     \
    X(STORE, "store", "pointers in 11 and 12 must not be stored")                                                      \
    X(STORE_LOADED, "store-loaded", "a pointer in 13 is lost in memory: nothing there keeps its owner")                \
    X(ACCESS, "access", "a pointer in 12 is for calls: memory is accessed through 10, 11 or 13")                       \
    X(CALLEE_ROOTED_USE, "callee-rooted", "a pointer in 12 may only be passed to a call")                              \
    X(JUMPING_ASSEMBLY, "callbr", "assembly that jumps yields no references: nothing says which of its ways has them") \
    X(RETURN, "ret", "only pointers in 10 and unmanaged ones may be returned")                                         \
    X(RETURN_DERIVED, "ret-derived", "a returned struct holds a pointer into an object, but no reference to one")      \
    X(CALL_ARGUMENTS, "call-arguments", "arguments of julia.call must be in 10")                                       \
    X(INTRINSIC, "intrinsic", "the contract has no such intrinsic, or it has another type")                            \
    X(INTRINSIC_ADDRESS, "intrinsic-address", "intrinsics can only be called")                                         \
    X(GLOBAL, "global", "a global holds references in 10 only, and not per thread")                                    \
    X(ALLOCA, "alloca", "stack memory is in address space 0")                                                          \
    X(REFERENCES, "references", "a variable holds at most 16,777,216 references: allocate objects for more")           \
    X(UNPINNED, "unpinned",                                                                                            \
      "the raw address is used after a safepoint at which the object may move: preserve the object until then")

enum rule {
    NOT_CHECKED,
    NO_RULE,
#define ID(id, name, text) id,
    RULES(ID)
#undef ID
};

static const struct {
    const char *name, *text;
} rules[] = {
#define ROW(id, name, text) [id] = {name, text},
    RULES(ROW)
#undef ROW
};

struct verifier {
    struct tn__gc *gc;
    bool strong, has_too_many;
    struct tn__map constants; /* enum rule: the one that each violates first */
};

/* `place`: an instruction, or a global variable for its type or initial value. */
static void reject(struct verifier *v, LLVMValueRef place, enum rule rule)
{
    tn__gc_reject(v->gc, place, rules[rule].name, rules[rule].text);
}

/* ---- casts, in instructions and in constants ---- */

static bool is_managed(int space)
{
    return space >= TRACKED && space <= LOADED;
}

static enum rule violated(const struct verifier *v, LLVMOpcode opcode, LLVMValueRef converted)
{
    int from = tn__space_of(LLVMGetOperand(converted, 0)), to = tn__space_of(converted);
    /* From 0 to any: a permanent object. */
    bool may_cast = !is_managed(from) || from == to || (from == TRACKED && (to == DERIVED || to == CALLEE_ROOTED));
    if (opcode == LLVMAddrSpaceCast && !may_cast)
        return CAST;
    if ((opcode == LLVMPtrToInt || (int)opcode == PTR_TO_ADDR) && is_managed(from))
        return POINTER_TO_INTEGER;
    if (opcode == LLVMIntToPtr && is_managed(to))
        return INTEGER_TO_POINTER;
    return opcode == LLVMGetElementPtr && v->strong && from == TRACKED ? GEP : NO_RULE;
}

static void check_conversion(struct verifier *v, LLVMValueRef instruction, LLVMOpcode opcode)
{
    enum rule rule = violated(v, opcode, instruction);
    if (rule != NO_RULE)
        reject(v, instruction, rule);
}

static bool has_parts(LLVMValueRef constant)
{
    return LLVMIsAConstantExpr(constant) || LLVMIsAConstantArray(constant) || LLVMIsAConstantStruct(constant) ||
           LLVMIsAConstantVector(constant);
}

/* Reports all that is wrong in a constant where it is met first, and one thing wherever it is met again: it may be
 * shared by so many that to look at it each time takes for ever. Returns the rule that it violates first. */
static enum rule check_constant(struct verifier *v, LLVMValueRef place, LLVMValueRef constant)
{
    if (!has_parts(constant))
        return NO_RULE;
    enum rule first = (enum rule) * tn__map_add(v->gc, &v->constants, constant);
    if (first > NO_RULE)
        reject(v, place, first);
    if (first != NOT_CHECKED)
        return first;
    first = LLVMIsAConstantExpr(constant) ? violated(v, LLVMGetConstOpcode(constant), constant) : NO_RULE;
    if (first != NO_RULE)
        reject(v, place, first);
    for (int i = 0; i < LLVMGetNumOperands(constant); i++) {
        enum rule rule = check_constant(v, place, LLVMGetOperand(constant, (unsigned)i));
        first = first == NO_RULE ? rule : first;
    }
    *tn__map_add(v->gc, &v->constants, constant) = first;
    return first;
}

/* ---- memory ---- */

static void check_access(struct verifier *v, LLVMValueRef instruction, LLVMValueRef address, LLVMTypeRef value,
                         enum rule rule)
{
    if (tn__space_of(address) == CALLEE_ROOTED)
        reject(v, instruction, ACCESS);
    if (tn__type_holds(value, IN_DERIVED | IN_CALLEE_ROOTED))
        reject(v, instruction, rule);
    else if (v->strong && rule == STORE && tn__type_holds(value, IN_LOADED))
        reject(v, instruction, STORE_LOADED);
}

/* Passes look at each word of variables that hold references: at ten million and more in a second. */
static void check_number(struct verifier *v, LLVMValueRef variable, LLVMTypeRef type)
{
    enum { MOST = 1 << 24 };
    if (tn__llvm_count_references(type) <= MOST)
        return;
    reject(v, variable, REFERENCES);
    v->has_too_many = true;
}

/* What a function returns, at its end or where it is called. */
static void check_return(struct verifier *v, LLVMValueRef instruction, LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (!tn__type_holds(type, IN_MANAGED & ~IN_TRACKED))
        return;
    if (kind != LLVMStructTypeKind && kind != LLVMArrayTypeKind)
        reject(v, instruction, RETURN);
    else if (tn__type_holds(type, IN_DERIVED | IN_LOADED) && !tn__type_holds(type, IN_TRACKED))
        reject(v, instruction, RETURN_DERIVED);
}

/* ---- calls ---- */

static void check_call(struct verifier *v, LLVMValueRef call)
{
    enum tn__intrinsic intrinsic = tn__intrinsic_called(call);
    if (LLVMGetInstructionOpcode(call) == LLVMCallBr && tn__type_holds(LLVMTypeOf(call), IN_MANAGED))
        reject(v, call, JUMPING_ASSEMBLY);
    if (tn__is_vector_load(call))
        check_access(v, call, LLVMGetOperand(call, 0), LLVMTypeOf(call), LOAD);
    else if (tn__is_vector_store(call))
        check_access(v, call, LLVMGetOperand(call, 1), LLVMTypeOf(LLVMGetOperand(call, 0)), STORE);
    else if (intrinsic == TN__NOT_INTRINSIC && !*tn__llvm_name_called(call))
        check_return(v, call, LLVMTypeOf(call));
    if (intrinsic == TN__NOT_INTRINSIC)
        return;
    LLVMTypeRef type = LLVMGetCalledFunctionType(call);
    const char *wanted = intrinsic == TN__UNKNOWN_INTRINSIC ? "" : tn__intrinsic_mismatch(intrinsic, type);
    if (wanted) {
        reject(v, call, INTRINSIC);
        return;
    }
    bool tracked_only =
        intrinsic == TN__CALL || intrinsic == TN__CALL2 || intrinsic == TN__CALL3 || intrinsic == TN__WRITE_BARRIER;
    for (unsigned i = LLVMCountParamTypes(type); tracked_only && i < LLVMGetNumArgOperands(call); i++)
        if (tn__space_of(LLVMGetOperand(call, i)) != TRACKED) {
            reject(v, call, CALL_ARGUMENTS);
            return;
        }
}

/* Instructions whose use of a pointer in 12 is right, or wrong by another rule. */
static bool may_use_callee_rooted(const struct verifier *v, LLVMValueRef instruction)
{
    switch (LLVMGetInstructionOpcode(instruction)) {
    case LLVMAddrSpaceCast:
    case LLVMLoad:
    case LLVMStore:
    case LLVMAtomicCmpXchg:
    case LLVMAtomicRMW:
    case LLVMRet:
        return true;
    case LLVMPHI:
    case LLVMSelect:
        return !v->strong; /* optimisation makes them of casts */
    default:
        return tn__is_call(instruction);
    }
}

static void check_operands(struct verifier *v, LLVMValueRef instruction)
{
    if (!tn__llvm_has_notable_operand(instruction))
        return;
    bool callee_rooted = may_use_callee_rooted(v, instruction);
    unsigned count = (unsigned)LLVMGetNumOperands(instruction);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(instruction, i);
        if (LLVMIsConstant(operand))
            check_constant(v, instruction, operand);
        if (!callee_rooted && !LLVMIsConstant(operand) && tn__space_of(operand) == CALLEE_ROOTED)
            reject(v, instruction, CALLEE_ROOTED_USE);
        bool is_callee = tn__is_call(instruction) && i + 1 == count; /* it comes last */
        if (LLVMIsAFunction(operand) && !is_callee && tn__intrinsic_of(operand) != TN__NOT_INTRINSIC)
            reject(v, instruction, INTRINSIC_ADDRESS);
    }
}

/* ---- one instruction ---- */

static void check_instruction(struct verifier *v, LLVMValueRef i)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
    switch ((int)opcode) {
    case LLVMAddrSpaceCast:
    case LLVMPtrToInt:
    case PTR_TO_ADDR:
    case LLVMIntToPtr:
    case LLVMGetElementPtr:
        check_conversion(v, i, opcode);
        break;
    case LLVMLoad:
    case LLVMStore:
    case LLVMAtomicCmpXchg:
    case LLVMAtomicRMW:
        check_access(v, i, LLVMGetOperand(i, (unsigned)tn__address_operand(i)), LLVMTypeOf(tn__accessed_value(i)),
                     opcode == LLVMLoad ? LOAD : STORE);
        break;
    case LLVMAlloca:
        if (is_managed(tn__space_of(i)))
            reject(v, i, ALLOCA);
        check_number(v, i, LLVMGetAllocatedType(i));
        break;
    case LLVMRet:
        if (LLVMGetNumOperands(i))
            check_return(v, i, LLVMTypeOf(LLVMGetOperand(i, 0)));
        break;
    case LLVMCall:
    case LLVMInvoke:
    case LLVMCallBr:
        check_call(v, i);
        break;
    default:
        break;
    }
    check_operands(v, i);
}

/* ---- the module ---- */

static void check_global(struct verifier *v, LLVMValueRef global)
{
    LLVMTypeRef type = LLVMGlobalGetValueType(global);
    check_number(v, global, type);
    LLVMValueRef initializer = LLVMGetInitializer(global);
    if (tn__type_holds(type, IN_MANAGED & ~IN_TRACKED) ||
        (tn__type_holds(type, IN_TRACKED) && LLVMIsThreadLocal(global)))
        reject(v, global, GLOBAL);
    if (initializer)
        check_constant(v, global, initializer);
}

static void verify(struct tn__gc *gc, bool strong)
{
    struct verifier v = {.gc = gc, .strong = strong};
    bool has_raw = strong && tn__names_any(gc, 1u << TN__POINTER_FROM_OBJREF);
    gc->is_optimized = !strong;
    for (LLVMValueRef g = LLVMGetFirstGlobal(gc->module); g; g = LLVMGetNextGlobal(g))
        check_global(&v, g);
    for (TN__EACH_FUNCTION(f, gc))
        for (TN__EACH_BLOCK(b, f))
            for (TN__EACH_INSTRUCTION(i, b)) {
                check_instruction(&v, i);
                if (has_raw && tn__is_unpinned(gc, i))
                    reject(&v, i, UNPINNED);
            }
    bool is_late = gc->is_typed_next && !gc->diagnostics->errors;
    if (!v.has_too_many && !is_late)
        tn__check_stack(gc);
    if (strong)
        tn__check_types(gc);
    if (is_late && gc->diagnostics->errors)
        tn__check_stack(gc);
}

void tn__gc_verify_weak(struct tn__gc *gc)
{
    verify(gc, false);
}

void tn__gc_verify_strong(struct tn__gc *gc)
{
    verify(gc, true);
}
