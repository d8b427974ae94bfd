/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* propagate-addrspaces: an access through a pointer in 11 or 13 which can only be the address of other memory than
 * objects, such as that of a variable, becomes one in space 0, which LLVM understands. All that the pointer is computed
 * from is looked at; if one of its origins may be in an object, nothing changes. */

#include "codegen/llvm/remarks.h"
#include "codegen/managed/optimize/optimize.h"

enum { MOST_VALUES = 64 }; /* that a pointer is computed from */

struct propagation {
    struct tn__gc *gc;
    struct tn__values chain; /* what the pointer is computed from, in 11 and 13 */
    struct tn__map known;    /* pointers in space 0 that take the place of some: number in `made`, + 1 */
    LLVMValueRef *made;
    size_t made_count;
    struct tn__map refused; /* pointers that may lead to an object */
};

static bool is_space(LLVMValueRef value)
{
    int space = tn__space_of(value);
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind && (space == DERIVED || space == LOADED);
}

/* What a cast from space 0 was made from, instructions and constants; NULL for others. */
static LLVMValueRef origin_in_0(LLVMValueRef value)
{
    bool is_cast = LLVMIsAAddrSpaceCastInst(value) ||
                   (LLVMIsAConstantExpr(value) && LLVMGetConstOpcode(value) == LLVMAddrSpaceCast);
    return is_cast && tn__space_of(LLVMGetOperand(value, 0)) == 0 ? LLVMGetOperand(value, 0) : NULL;
}

static bool is_step(LLVMValueRef value)
{
    return is_space(value) && (LLVMIsAPHINode(value) || LLVMIsASelectInst(value) || LLVMIsAFreezeInst(value) ||
                               LLVMIsAGetElementPtrInst(value));
}

/* The operands of a step that are pointers: the first one behind a select's condition, and how many. */
static unsigned first_pointer(LLVMValueRef step)
{
    return LLVMIsASelectInst(step) ? 1 : 0;
}

static unsigned end_of_pointers(LLVMValueRef step)
{
    return LLVMIsAGetElementPtrInst(step) ? 1 : (unsigned)LLVMGetNumOperands(step);
}

/* Collects what the pointer is computed from; false: it may lead to an object. */
static bool find_chain(struct propagation *p, LLVMValueRef pointer)
{
    p->chain = (struct tn__values){0};
    tn__values_add(p->gc, &p->chain, pointer);
    for (size_t i = 0; i < p->chain.count; i++) {
        LLVMValueRef value = p->chain.list[i];
        if (LLVMIsAConstantPointerNull(value) || origin_in_0(value))
            continue;
        if (!is_step(value) || p->chain.count > MOST_VALUES || tn__map_find(&p->refused, value))
            return false;
        for (unsigned k = first_pointer(value); k < end_of_pointers(value); k++)
            tn__values_add(p->gc, &p->chain, LLVMGetOperand(value, k));
    }
    return true;
}

static LLVMValueRef in_0(struct propagation *p, LLVMValueRef value)
{
    const uint32_t *known = tn__map_find(&p->known, value);
    return known                               ? p->made[*known - 1]
           : LLVMIsAConstantPointerNull(value) ? LLVMConstNull(p->gc->pointer)
                                               : origin_in_0(value);
}

/* A step of the same kind in front of one; its pointers are filled in when all steps are there. */
static LLVMValueRef make_step(struct tn__gc *gc, LLVMValueRef step)
{
    LLVMValueRef null = LLVMConstNull(gc->pointer), made;
    if (LLVMIsASelectInst(step))
        return tn__llvm_select(step, null);
    made = LLVMInstructionClone(step);
    LLVMPositionBuilderBefore(gc->builder, step);
    LLVMInsertIntoBuilder(gc->builder, made);
    for (unsigned k = 0; k < end_of_pointers(made); k++)
        LLVMSetOperand(made, k, null);
    tn__llvm_set_type(made, gc->pointer);
    return made;
}

/* The pointer in space 0; the chain was found for it. */
static LLVMValueRef rebuild(struct propagation *p, LLVMValueRef pointer)
{
    size_t first = p->made_count;
    LLVMValueRef *steps = NULL;
    size_t count = 0;
    for (size_t i = 0; i < p->chain.count; i++) {
        LLVMValueRef value = p->chain.list[i];
        if (in_0(p, value))
            continue;
        TN__APPEND(p->gc, p->made, p->made_count, make_step(p->gc, value));
        *tn__map_add(p->gc, &p->known, value) = (uint32_t)p->made_count;
        TN__APPEND(p->gc, steps, count, value);
    }
    for (size_t i = 0; i < count; i++)
        for (unsigned k = first_pointer(steps[i]); k < end_of_pointers(steps[i]); k++)
            LLVMSetOperand(p->made[first + i], k, in_0(p, LLVMGetOperand(steps[i], k)));
    return in_0(p, pointer);
}

static bool change_access(struct propagation *p, LLVMValueRef access)
{
    unsigned operand = (unsigned)tn__address_operand(access);
    LLVMValueRef pointer = LLVMGetOperand(access, operand);
    if (!is_space(pointer) || tn__map_find(&p->refused, pointer))
        return false;
    if (!find_chain(p, pointer)) {
        *tn__map_add(p->gc, &p->refused, pointer) = 1;
        return false;
    }
    tn__llvm_remark(access, "propagate-addrspaces", "NoObject", true, "the address lies in no object");
    LLVMSetOperand(access, operand, rebuild(p, pointer));
    p->gc->stats->unmanaged_accesses++;
    return true;
}

bool tn__propagate_spaces(struct tn__gc *gc, LLVMValueRef function)
{
    struct propagation p = {.gc = gc};
    LLVMValueRef *accesses = NULL;
    size_t count = 0;
    bool changed = false;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (tn__address_operand(i) >= 0)
                TN__APPEND(gc, accesses, count, i);
    for (size_t i = 0; i < count; i++)
        changed |= change_access(&p, accesses[i]);
    return changed;
}
