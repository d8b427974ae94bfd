/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* alloc-opt: an object that nothing outside of the function sees is deleted if nothing reads it, or else becomes
 * variables, one for each field or one for all. Variables are what SROA and mem2reg make values of.
 *
 * First the uses are followed (escape analysis), then one decision is made, then everything is rewritten. What is not
 * understood is an escape, and leaves the object as it is. */

#include <stdlib.h>

#include "codegen/llvm/remarks.h"
#include "codegen/managed/optimize/escape.h"
#include "codegen/managed/optimize/optimize.h"

enum {
    WORD = 8,
    MOST_BYTES = 1024,    /* of a frame, for the objects of a function: functions may call themselves often */
    MOST_REFERENCES = 32, /* in a variable whose elements are not known apart; each is stored on its own */
    ALIGNMENT = 16,       /* of variables: the greatest that objects have */
};

/* ---- fields ---- */

/* A range of the object's bytes that accesses have in common, and the variable that takes its place. */
struct field {
    uint64_t begin, end;
    bool is_reference;
    LLVMValueRef variable;
};

struct fields {
    struct field *list;
    size_t count;
};

static int by_offset(const void *a, const void *b)
{
    const struct tn__object_access *x = a, *y = b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* What overlaps is one field. False if one is a reference in part. */
static bool find_fields(struct tn__new_object *o, struct fields *fields)
{
    qsort(o->accesses, o->access_count, sizeof *o->accesses, by_offset);
    for (size_t i = 0; i < o->access_count; i++) {
        const struct tn__object_access *a = &o->accesses[i];
        uint64_t begin = (uint64_t)a->offset, end = begin + a->size;
        struct field *last = fields->count ? &fields->list[fields->count - 1] : NULL;
        if (a->is_memset || !a->size)
            continue;
        if (!last || begin >= last->end)
            TN__APPEND(o->gc, fields->list, fields->count, (struct field){begin, end, a->is_reference, NULL});
        else if (last->is_reference != a->is_reference || (a->is_reference && begin != last->begin))
            return false;
        else
            last->end = last->end > end ? last->end : end;
    }
    return true;
}

/* A memset of a reference makes all of it null. */
static bool are_memsets_whole(const struct tn__new_object *o, const struct fields *fields)
{
    for (size_t i = 0; i < o->access_count; i++) {
        const struct tn__object_access *a = &o->accesses[i];
        uint64_t begin = (uint64_t)a->offset, end = begin + a->size;
        for (size_t f = 0; a->is_memset && f < fields->count; f++) {
            const struct field *field = &fields->list[f];
            bool touches = begin < field->end && end > field->begin;
            bool is_whole = begin <= field->begin && end >= field->end && LLVMIsNull(LLVMGetOperand(a->instruction, 1));
            if (field->is_reference && touches && !is_whole)
                return false;
        }
    }
    return true;
}

/* ---- rewriting ---- */

/* The call that keeps something alive has nothing to keep alive any more. */
static void forget_operands(LLVMValueRef user, LLVMValueRef value)
{
    for (int i = 0; i < LLVMGetNumOperands(user); i++)
        if (LLVMGetOperand(user, (unsigned)i) == value)
            LLVMSetOperand(user, (unsigned)i, LLVMConstNull(LLVMTypeOf(value)));
}

static void erase(LLVMValueRef instruction, LLVMValueRef by)
{
    if (by)
        LLVMReplaceAllUsesWith(instruction, by);
    LLVMInstructionEraseFromParent(instruction);
}

/* What takes the place of a pointer into the object, for calls that name it. */
static LLVMValueRef variable_of(const struct tn__new_object *o, LLVMValueRef value)
{
    for (size_t i = 0; i < o->pointer_count; i++)
        if (o->pointers[i].value == value)
            return o->pointers[i].variable;
    return NULL;
}

static void rewrite_user(struct tn__new_object *o, LLVMValueRef user)
{
    switch (tn__intrinsic_called(user)) {
    case TN__TYPEOF:
        erase(user, LLVMGetOperand(o->call, 2));
        return;
    case TN__WRITE_BARRIER:
        erase(user, NULL);
        return;
    case TN__LOADED_FROM:
        LLVMPositionBuilderBefore(o->gc->builder, user);
        erase(user, LLVMBuildAddrSpaceCast(o->gc->builder, LLVMGetOperand(user, 1), LLVMTypeOf(user), ""));
        return;
    default:
        for (size_t i = 0; i < o->pointer_count; i++)
            forget_operands(user, o->pointers[i].value);
    }
}

/* A call can be a user twice. */
static void rewrite_users(struct tn__new_object *o)
{
    struct tn__values once = {0};
    for (size_t i = 0; i < o->user_count; i++)
        tn__values_add(o->gc, &once, o->users[i]);
    for (size_t i = 0; i < once.count; i++)
        rewrite_user(o, once.list[i]);
}

static void erase_pointers(struct tn__new_object *o)
{
    while (o->pointer_count > 0)
        LLVMInstructionEraseFromParent(o->pointers[--o->pointer_count].value);
}

static void delete_object(struct tn__new_object *o)
{
    for (size_t i = 0; i < o->access_count; i++)
        LLVMInstructionEraseFromParent(o->accesses[i].instruction);
    rewrite_users(o);
    erase_pointers(o);
}

/* What was true of the object's memory is not true of a variable's, which is used again in the next turn of a loop. */
static void forget_promises(struct tn__gc *gc, LLVMValueRef access)
{
    static const char *const promises[] = {"invariant.load",   "invariant.group", "tbaa",
                                           "noalias",          "alias.scope",     "llvm.mem.parallel_loop_access",
                                           "llvm.access.group"};
    for (size_t i = 0; i < TN_COUNT(promises); i++)
        LLVMSetMetadata(access, LLVMGetMDKindIDInContext(gc->context, promises[i], (unsigned)strlen(promises[i])),
                        NULL);
}

/* The address of a byte of the object in a field's variable, which begins at a multiple of the alignment. */
static uint64_t begin_of(const struct field *field)
{
    return field->begin & ~(uint64_t)(ALIGNMENT - 1);
}

static LLVMValueRef place_in(struct tn__new_object *o, const struct field *field, uint64_t offset)
{
    return field->is_reference ? field->variable
                               : tn__field(o->gc, field->variable, (int64_t)(offset - begin_of(field)));
}

static void clear(struct tn__new_object *o, const struct field *field, uint64_t begin, uint64_t end, LLVMValueRef byte)
{
    begin = begin > field->begin ? begin : field->begin;
    end = end < field->end ? end : field->end;
    if (begin >= end)
        return;
    if (field->is_reference)
        LLVMBuildStore(o->gc->builder, LLVMConstNull(o->gc->reference), field->variable);
    else
        LLVMBuildMemSet(o->gc->builder, place_in(o, field, begin), byte, LLVMConstInt(o->gc->i64, end - begin, 0), 1);
}

static void make_variables(struct tn__new_object *o, struct fields *fields)
{
    struct tn__gc *gc = o->gc;
    for (size_t f = 0; f < fields->count; f++) {
        struct field *field = &fields->list[f];
        LLVMTypeRef type = field->is_reference ? gc->reference : LLVMArrayType2(gc->i8, field->end - begin_of(field));
        field->variable = tn__make_variable(gc, tn__function_of(o->call), type, "field");
        LLVMSetAlignment(field->variable, field->is_reference ? WORD : ALIGNMENT);
        LLVMPositionBuilderBefore(gc->builder, o->call);
        clear(o, field, 0, o->size, LLVMConstNull(gc->i8));
    }
}

static void move_access(struct tn__new_object *o, const struct tn__object_access *a, const struct fields *fields)
{
    uint64_t begin = (uint64_t)a->offset, end = begin + a->size;
    LLVMPositionBuilderBefore(o->gc->builder, a->instruction);
    for (size_t f = 0; f < fields->count; f++) {
        const struct field *field = &fields->list[f];
        if (a->is_memset)
            clear(o, field, begin, end, LLVMGetOperand(a->instruction, 1));
        else if (begin >= field->begin && begin < field->end)
            LLVMSetOperand(a->instruction, (unsigned)tn__address_operand(a->instruction), place_in(o, field, begin));
    }
    if (a->is_memset)
        LLVMInstructionEraseFromParent(a->instruction);
    else
        forget_promises(o->gc, a->instruction);
}

static void split_object(struct tn__new_object *o, struct fields *fields)
{
    make_variables(o, fields);
    for (size_t i = 0; i < o->access_count; i++)
        move_access(o, &o->accesses[i], fields);
    rewrite_users(o);
    erase_pointers(o);
}

/* The same step from another pointer. */
static LLVMValueRef repeat_step(struct tn__new_object *o, LLVMValueRef gep, LLVMValueRef from)
{
    unsigned count = (unsigned)LLVMGetNumIndices(gep);
    LLVMValueRef *indices = tn__gc_array(o->gc, count + !count, sizeof *indices);
    for (unsigned i = 0; i < count; i++)
        indices[i] = LLVMGetOperand(gep, i + 1);
    LLVMPositionBuilderBefore(o->gc->builder, gep);
    return LLVMBuildGEP2(o->gc->builder, LLVMGetGEPSourceElementType(gep), from, indices, count, "");
}

static void move_pointers(struct tn__new_object *o)
{
    for (size_t i = 1; i < o->pointer_count; i++) {
        struct tn__object_pointer *p = &o->pointers[i];
        LLVMValueRef from = variable_of(o, LLVMGetOperand(p->value, 0));
        p->variable = LLVMIsAGetElementPtrInst(p->value) ? repeat_step(o, p->value, from) : from;
    }
}

/* The whole object becomes one variable. */
static void move_object(struct tn__new_object *o)
{
    struct tn__gc *gc = o->gc;
    uint64_t words = o->size ? (o->size + WORD - 1) / WORD : 1;
    LLVMTypeRef type = LLVMArrayType2(o->has_references ? gc->reference : gc->i64, words);
    LLVMValueRef variable = tn__make_variable(gc, tn__function_of(o->call), type, "object");
    LLVMSetAlignment(variable, ALIGNMENT);
    o->pointers[0].variable = variable;
    LLVMPositionBuilderBefore(gc->builder, o->call);
    if (o->has_references)
        LLVMBuildStore(gc->builder, LLVMConstNull(type), variable);
    else
        LLVMBuildMemSet(gc->builder, variable, LLVMConstNull(gc->i8), LLVMConstInt(gc->i64, words * WORD, 0),
                        ALIGNMENT);
    move_pointers(o);
    for (size_t i = 0; i < o->access_count; i++) {
        LLVMValueRef instruction = o->accesses[i].instruction;
        unsigned operand = o->accesses[i].is_memset ? 0 : (unsigned)tn__address_operand(instruction);
        LLVMValueRef to = variable_of(o, LLVMGetOperand(instruction, operand));
        LLVMPositionBuilderBefore(gc->builder, instruction);
        if (o->accesses[i].is_memset) {
            LLVMBuildMemSet(gc->builder, to, LLVMGetOperand(instruction, 1), LLVMGetOperand(instruction, 2), 1);
            LLVMInstructionEraseFromParent(instruction);
        } else {
            LLVMSetOperand(instruction, operand, to);
            forget_promises(gc, instruction);
        }
    }
    rewrite_users(o);
    erase_pointers(o);
}

/* ---- second returns ---- */

/* The calls of a function that may return twice, and the blocks that control reaches from them. After a longjmp, an
 * object has what was stored since the first return, but a variable need not. */
struct second_returns {
    struct tn__values calls;
    struct tn__map reached;
};

static void find_reached(struct tn__gc *gc, struct second_returns *r)
{
    LLVMBasicBlockRef *work = NULL;
    size_t count = 0;
    for (size_t i = 0; i < r->calls.count; i++)
        TN__APPEND(gc, work, count, LLVMGetInstructionParent(r->calls.list[i]));
    while (count > 0) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(work[--count]);
        for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
            LLVMBasicBlockRef next = LLVMGetSuccessor(end, s);
            if (tn__map_find(&r->reached, next))
                continue;
            *tn__map_add(gc, &r->reached, next) = 1;
            TN__APPEND(gc, work, count, next);
        }
    }
}

static bool is_reached(const struct second_returns *r, LLVMValueRef instruction)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(instruction);
    bool found = tn__map_find(&r->reached, block);
    for (size_t i = 0; i < r->calls.count && !found; i++)
        for (LLVMValueRef at = r->calls.list[i]; LLVMGetInstructionParent(at) == block && !found;) {
            at = LLVMGetNextInstruction(at);
            if (!at)
                break;
            found = at == instruction;
        }
    return found;
}

/* Whether the object may be written to, or be made anew, between the two returns of a call. */
static bool changes_between(const struct second_returns *r, const struct tn__new_object *o)
{
    bool changes = is_reached(r, o->call);
    for (size_t i = 0; i < o->access_count && !changes; i++)
        changes = !LLVMIsALoadInst(o->accesses[i].instruction) && is_reached(r, o->accesses[i].instruction);
    return changes;
}

/* ---- the decision ---- */

static const char *why_escapes(const struct tn__new_object *o)
{
    static const struct {
        LLVMOpcode opcode;
        const char *why;
    } reasons[] = {
        {LLVMCall, "it is passed to a call"},
        {LLVMInvoke, "it is passed to a call"},
        {LLVMRet, "it is returned"},
        {LLVMStore, "it is stored, or accessed outside of its bytes"},
        {LLVMLoad, "it is accessed outside of its bytes"},
        {LLVMPHI, "it is one of several values"},
        {LLVMSelect, "it is one of several values"},
        {LLVMICmp, "it is compared"},
    };
    for (size_t i = 0; LLVMIsAInstruction(o->escape) && i < TN_COUNT(reasons); i++)
        if (LLVMGetInstructionOpcode(o->escape) == reasons[i].opcode)
            return reasons[i].why;
    return "a use of it is not understood";
}

static bool fold_types(struct tn__new_object *o)
{
    bool changed = false;
    for (size_t i = 0; i < o->user_count; i++)
        if (tn__intrinsic_called(o->users[i]) == TN__TYPEOF) {
            erase(o->users[i], LLVMGetOperand(o->call, 2));
            changed = true;
        }
    return changed;
}

/* The object stays. */
static bool keep(struct tn__new_object *o, const char *name, const char *why)
{
    tn__llvm_remark(o->call, "alloc-opt", name, false, why);
    return fold_types(o);
}

static void tell(const struct tn__new_object *o, const char *name, const char *what)
{
    tn__llvm_remark(o->call, "alloc-opt", name, true, what);
}

static bool has_memset(const struct tn__new_object *o)
{
    for (size_t i = 0; i < o->access_count; i++)
        if (o->accesses[i].is_memset)
            return true;
    return false;
}

/* `space`: bytes of the frame that objects may still take. */
static bool optimize(struct tn__new_object *o, const struct second_returns *returns, uint64_t *space)
{
    struct fields fields = {0};
    struct tn_compile_stats *stats = o->gc->stats;
    tn__follow_uses(o);
    if (o->escapes)
        return keep(o, "Escapes", why_escapes(o));
    if (o->is_preserved && o->has_reference_stores)
        return keep(o, "Preserved", "it is preserved, and keeps alive what it refers to");
    if (!o->is_read) {
        tell(o, "Removed", "nothing reads the object");
        delete_object(o);
        stats->removed_allocations++;
        return true;
    }
    if (returns->calls.count && changes_between(returns, o))
        return keep(o, "ReturnsTwice", "it may be written to between the two returns of a call");
    if (o->is_irregular)
        return keep(o, "Irregular", "an access is neither of one reference nor of plain data");
    if (o->size > *space)
        return keep(o, "TooLarge", "objects would take more than 1024 bytes of the frame");
    if (!o->has_unknown_place) {
        if (!find_fields(o, &fields) || !are_memsets_whole(o, &fields))
            return keep(o, "MixedField", "a field is a reference for one access and not for another");
        tell(o, "Split", "the object's fields became variables");
        split_object(o, &fields);
        stats->split_allocations++;
    } else {
        if (o->has_references && (o->has_other_fields || has_memset(o) || o->size > MOST_REFERENCES * WORD))
            return keep(o, "UnknownPlace", "it has references, and an access is somewhere in the object");
        tell(o, "Stack", "the object became a variable");
        move_object(o);
        stats->stack_allocations++;
    }
    *space -= o->size;
    return true;
}

/* ---- the pass ---- */

static bool is_candidate(struct tn__gc *gc, LLVMValueRef i)
{
    return tn__intrinsic_called(i) == TN__ALLOC_OBJ && tn__shape_of(gc, LLVMGetOperand(i, 2)) != TN__WEAK &&
           LLVMIsAConstantInt(LLVMGetOperand(i, 1)) &&
           LLVMConstIntGetZExtValue(LLVMGetOperand(i, 1)) < TN__LARGEST_FOLLOWED && !LLVMIsAInvokeInst(i);
}

bool tn__optimize_allocations(struct tn__gc *gc, LLVMValueRef function)
{
    struct tn__values candidates = {0};
    struct second_returns returns = {0};
    uint64_t space = MOST_BYTES;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b)) {
            if (tn__is_call(i) && tn__returns_twice(i))
                tn__values_add(gc, &returns.calls, i);
            if (is_candidate(gc, i))
                tn__values_add(gc, &candidates, i);
        }
    find_reached(gc, &returns);
    /* Fields are read where the choice is made, so it has to see all that is written. */
    bool changed = candidates.count && !returns.calls.count && tn__split_choices(gc, function, &candidates);
    /* Backwards: a deleted object may have been the only place that refers to another one. */
    for (size_t i = candidates.count; i-- > 0;) {
        struct tn__new_object o = {.gc = gc,
                                   .call = candidates.list[i],
                                   .size = LLVMConstIntGetZExtValue(LLVMGetOperand(candidates.list[i], 1))};
        changed |= optimize(&o, &returns, &space);
    }
    return changed;
}
