/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* IR as clang makes it of C with pointers in address space 10, before any optimisation (-O1 -Xclang
 * -disable-llvm-passes), becomes IR that keeps the contract:
 *   - copies of memory whose type is known and holds references become copies of its parts; other copies into managed
 *     memory become gc_move, unless the object's type lists no reference there. LLVM would make numbers of them;
 *   - local variables that hold one managed pointer become values;
 *   - getelementptr in 10, and phis and selects of such, are derived pointers: they move to 11. One that would be
 *     stored, passed or returned as a reference is an error. */

#include "codegen/managed/lower/lower.h"
#include "codegen/managed/verify/verify.h"

enum { MAX_PARTS = 256 };

/* ---- copies of memory ---- */

struct copy {
    struct tn__gc *gc;
    LLVMTargetDataRef layout;
    LLVMValueRef call, to, from;
    LLVMValueRef *values; /* loaded parts: all of them before the first is stored, the two may overlap */
    struct part {
        LLVMTypeRef type;
        uint64_t offset;
    } * parts;
    size_t count;
};

static void add_parts(struct copy *c, LLVMTypeRef type, uint64_t offset)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    if (kind != LLVMArrayTypeKind && kind != LLVMStructTypeKind)
        TN__APPEND(c->gc, c->parts, c->count, (struct part){type, offset});
    else
        for (uint64_t i = 0; i < tn__element_count(type) && c->count <= MAX_PARTS; i++)
            add_parts(c, tn__element_type(type, i), offset + tn__element_offset(c->layout, type, i));
}

static LLVMValueRef part_of(struct copy *c, LLVMValueRef memory, const struct part *part)
{
    return tn__field(c->gc, memory, (int64_t)part->offset);
}

static LLVMValueRef derived(struct copy *c, LLVMValueRef address)
{
    return tn__space_of(address) == TRACKED ? LLVMBuildAddrSpaceCast(c->gc->builder, address, c->gc->derived, "")
                                            : address;
}

/* Aligns the access to a part to what the copy says of its operand. References are aligned to 8 in any case. */
static void align_part(struct copy *c, LLVMValueRef access, const struct part *part, unsigned operand)
{
    LLVMAttributeRef align = tn__attribute(c->call, operand + 1, "align");
    uint64_t known = align ? LLVMGetEnumAttributeValue(align) : 1;
    while (part->offset % known)
        known /= 2;
    if (known < 8 && tn__type_holds(part->type, IN_MANAGED))
        known = 8;
    if (known < LLVMGetAlignment(access))
        LLVMSetAlignment(access, (unsigned)known);
}

static void copy_parts(struct copy *c)
{
    c->values = tn__gc_array(c->gc, c->count, sizeof *c->values);
    for (size_t i = 0; i < c->count; i++) {
        c->values[i] = LLVMBuildLoad2(c->gc->builder, c->parts[i].type, part_of(c, c->from, &c->parts[i]), "");
        align_part(c, c->values[i], &c->parts[i], 1);
    }
    for (size_t i = 0; i < c->count; i++)
        align_part(c, LLVMBuildStore(c->gc->builder, c->values[i], part_of(c, c->to, &c->parts[i])), &c->parts[i], 0);
    LLVMInstructionEraseFromParent(c->call);
}

static void move_memory(struct copy *c)
{
    LLVMTypeRef function_type = LLVMFunctionType(c->gc->nothing, &c->gc->derived, 1, 1);
    LLVMValueRef function = LLVMGetNamedFunction(c->gc->module, "tenon.gc_move");
    if (!function)
        function = LLVMAddFunction(c->gc->module, "tenon.gc_move", function_type);
    LLVMValueRef arguments[] = {c->to, c->from, LLVMGetOperand(c->call, 2)};
    LLVMBuildCall2(c->gc->builder, function_type, function, arguments, 3, "");
    LLVMInstructionEraseFromParent(c->call);
}

/* The type that a getelementptr leads to. */
static LLVMTypeRef element_type(LLVMValueRef gep)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
    for (unsigned i = 2; i < (unsigned)LLVMGetNumOperands(gep); i++)
        type = LLVMGetTypeKind(type) == LLVMStructTypeKind
                   ? LLVMStructGetTypeAtIndex(type, (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(gep, i)))
                   : LLVMGetElementType(type);
    return type;
}

/* The type of `size` bytes at an address, as the variable, global or member tells: all of that, or its beginning. NULL:
 * unknown. */
static LLVMTypeRef type_at(const struct copy *c, LLVMValueRef address, uint64_t size)
{
    LLVMTypeRef type = LLVMIsAAllocaInst(address)          ? LLVMGetAllocatedType(address)
                       : LLVMIsAGlobalVariable(address)    ? LLVMGlobalGetValueType(address)
                       : LLVMIsAGetElementPtrInst(address) ? element_type(address)
                                                           : NULL;
    while (type && tn__has_known_size(type) && LLVMABISizeOfType(c->layout, type) > size)
        switch (LLVMGetTypeKind(type)) {
        case LLVMStructTypeKind:
            type = LLVMStructGetTypeAtIndex(type, 0);
            break;
        case LLVMArrayTypeKind:
            type = LLVMGetElementType(type);
            break;
        default:
            return NULL;
        }
    return type && tn__has_known_size(type) && LLVMABISizeOfType(c->layout, type) == size ? type : NULL;
}

/* The type of what is copied, if one side tells that it holds references. */
static LLVMTypeRef copied_type(const struct copy *c, uint64_t size)
{
    LLVMValueRef sides[] = {LLVMGetOperand(c->call, 0), LLVMGetOperand(c->call, 1)};
    for (size_t i = 0; i < TN_COUNT(sides); i++) {
        LLVMTypeRef type = type_at(c, sides[i], size);
        if (type && tn__type_holds(type, IN_MANAGED))
            return type;
    }
    return NULL;
}

/* What LLVM makes of a copy that stays one are steps from its operands, which are in 11 only. */
static void derive_operands(struct copy *c)
{
    LLVMPositionBuilderBefore(c->gc->builder, c->call);
    for (unsigned k = 0; k < 2; k++)
        LLVMSetOperand(c->call, k, derived(c, LLVMGetOperand(c->call, k)));
    tn__llvm_redeclare(c->call);
}

static void normalize_copy(struct tn__gc *gc, LLVMValueRef call)
{
    struct copy c = {.gc = gc, .call = call};
    LLVMValueRef to = LLVMGetOperand(call, 0), from = LLVMGetOperand(call, 1), length = LLVMGetOperand(call, 2);
    c.layout = LLVMGetModuleDataLayout(gc->module);
    uint64_t size = LLVMIsAConstantInt(length) ? LLVMConstIntGetZExtValue(length) : UINT64_MAX;
    LLVMTypeRef type = copied_type(&c, size);
    bool managed = tn__space_of(to) >= TRACKED;
    if (type)
        add_parts(&c, type, 0);
    bool is_plain = !managed || size < 8 || tn__holds_no_reference(gc, to, size);
    if ((!type && is_plain) || c.count > MAX_PARTS) {
        derive_operands(&c);
        return;
    }
    LLVMPositionBuilderBefore(gc->builder, call);
    c.to = derived(&c, to);
    c.from = derived(&c, from);
    if (type)
        copy_parts(&c);
    else
        move_memory(&c);
}

/* ---- derived pointers in 10 ---- */

struct interior {
    struct tn__gc *gc;
    struct tn__values values; /* getelementptr in 10, and what passes them on */
};

/* A reference becomes a derived pointer where `user` takes it. */
static void cast_operand(struct interior *in, LLVMValueRef user, unsigned operand)
{
    LLVMValueRef value = LLVMGetOperand(user, operand);
    if (tn__space_of(value) != TRACKED || tn__map_find(&in->values.known, value))
        return;
    if (LLVMIsAPHINode(user))
        LLVMPositionBuilderBefore(in->gc->builder, LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(user, operand)));
    else
        LLVMPositionBuilderBefore(in->gc->builder, user);
    LLVMSetOperand(user, operand, LLVMBuildAddrSpaceCast(in->gc->builder, value, in->gc->derived, ""));
}

/* Calls of LLVM's whose names say what they take: they are declared anew. */
static bool replace_access(LLVMValueRef call)
{
    bool is_access = tn__calls_llvm(call, "memset.") || tn__is_copy(call);
    if (is_access)
        tn__llvm_redeclare(call);
    return is_access;
}

static void settle_user(struct interior *in, LLVMValueRef value, LLVMValueRef user)
{
    if (tn__map_find(&in->values.known, user) || tn__is_only_address(user, value))
        return;
    if (LLVMIsAICmpInst(user)) {
        cast_operand(in, user, 0);
        cast_operand(in, user, 1);
    } else if (LLVMIsAAddrSpaceCastInst(user) && tn__space_of(user) == DERIVED) {
        LLVMReplaceAllUsesWith(user, value);
        LLVMInstructionEraseFromParent(user);
    } else if (!replace_access(user)) {
        tn__gc_reject(in->gc, user, "interior",
                      "a pointer into an object is stored, passed or returned as a reference");
    }
}

static void settle(struct interior *in, LLVMValueRef value)
{
    struct tn__values users = {.count = 0}; /* one may use it more than once, and may be gone then */
    for (TN__EACH_USE(use, value))
        tn__values_add(in->gc, &users, LLVMGetUser(use));
    for (size_t i = 0; i < users.count; i++)
        settle_user(in, value, users.list[i]);
}

static void derive(struct interior *in)
{
    for (size_t n = 0; n < in->values.count; n++)
        tn__llvm_set_type(in->values.list[n], in->gc->derived);
    for (size_t n = 0; n < in->values.count; n++) {
        bool choice = LLVMIsASelectInst(in->values.list[n]) != NULL;
        unsigned operands =
            LLVMIsAGetElementPtrInst(in->values.list[n]) ? 1 : (unsigned)LLVMGetNumOperands(in->values.list[n]);
        for (unsigned k = choice; k < operands; k++)
            cast_operand(in, in->values.list[n], k);
    }
    for (size_t n = 0; n < in->values.count; n++)
        settle(in, in->values.list[n]);
}

/* ---- the pass ---- */

void tn__normalize(struct tn__gc *gc)
{
    for (TN__EACH_FUNCTION(f, gc)) /* copies see allocations that were in variables */
        if (!LLVMIsDeclaration(f))
            tn__llvm_promote(f);
    tn__each_call(gc, 0, tn__is_copy, normalize_copy);
    for (TN__EACH_FUNCTION(f, gc)) {
        if (LLVMIsDeclaration(f))
            continue;
        tn__llvm_promote(f);
        struct interior in = {.gc = gc};
        tn__find_interior(gc, f, &in.values);
        derive(&in);
    }
}

/* Clang names itself in its modules (!llvm.ident). A module that several compilers contributed to has a name for
 * each. */
static bool is_from_clang(LLVMModuleRef module)
{
    enum { NAMES = 64 };
    LLVMValueRef nodes[NAMES], name;
    unsigned length, count = LLVMGetNamedMetadataNumOperands(module, "llvm.ident");
    if (count > NAMES)
        return true;
    LLVMGetNamedMetadataOperands(module, "llvm.ident", nodes);
    for (unsigned i = 0; i < count; i++) {
        if (LLVMGetMDNodeNumOperands(nodes[i]) != 1)
            continue;
        LLVMGetMDNodeOperands(nodes[i], &name);
        const char *text = name ? LLVMGetMDString(name, &length) : NULL;
        if (text && memmem(text, length, "clang version", strlen("clang version")))
            return true;
    }
    return false;
}

void tn__normalize_clang(struct tn__gc *gc)
{
    if (is_from_clang(gc->module))
        tn__normalize(gc);
}
