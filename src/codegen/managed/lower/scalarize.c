/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Structs, arrays and vectors that hold managed pointers are taken apart into their parts, so that each part is a
 * variable of root placement with a base of its own. What comes whole (results, loads, arguments) is taken apart where
 * it comes; who wants a whole (calls, stores, returns) gets one put together right before. */

#include "codegen/managed/lower/lower.h"

enum { MAX_PARTS = 1024, MAX_DEPTH = 8 };

struct whole {
    LLVMValueRef value;
    LLVMValueRef *parts; /* in the order of memory; scalars */
    uint32_t count;
};

struct scalars {
    struct tn__gc *gc;
    struct tn__cfg *cfg;
    struct whole *wholes;
    uint32_t whole_count;
    struct tn__map numbers; /* of wholes, by value; + 1 */
    LLVMValueRef *gone;     /* what is replaced by its parts */
    uint32_t gone_count;
};

/* ---- parts of a type ---- */

static bool is_vector(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

static bool is_whole_type(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMStructTypeKind || kind == LLVMArrayTypeKind || kind == LLVMVectorTypeKind;
}

/* How many scalars a type consists of; MAX_PARTS + 1 if there are more than that. */
static uint32_t part_count(LLVMTypeRef type)
{
    if (!is_whole_type(type))
        return 1;
    if (LLVMGetTypeKind(type) == LLVMArrayTypeKind && LLVMGetArrayLength2(type) > MAX_PARTS)
        return MAX_PARTS + 1;
    uint32_t count = 0;
    for (unsigned i = 0; i < tn__element_count(type) && count <= MAX_PARTS; i++)
        count += part_count(tn__element_type(type, i));
    return count <= MAX_PARTS ? count : MAX_PARTS + 1;
}

static bool is_wanted(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return is_whole_type(type) && tn__type_holds(type, IN_MANAGED) && part_count(type) <= MAX_PARTS;
}

/* Where the element at these indices begins among the parts. */
static uint32_t part_at(LLVMTypeRef type, const unsigned *indices, unsigned count)
{
    uint32_t at = 0;
    for (unsigned n = 0; n < count; n++) {
        for (unsigned i = 0; i < indices[n]; i++)
            at += part_count(tn__element_type(type, i));
        type = tn__element_type(type, indices[n]);
    }
    return at;
}

/* ---- taking apart and putting together, where the builder is ---- */

static LLVMValueRef lane_number(struct scalars *s, unsigned i)
{
    return LLVMConstInt(s->gc->i32, i, 0);
}

static void take_apart(struct scalars *s, LLVMValueRef value, LLVMValueRef **next)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    if (!is_whole_type(type)) {
        *(*next)++ = value;
        return;
    }
    for (unsigned i = 0; i < tn__element_count(type); i++)
        take_apart(s,
                   is_vector(type) ? LLVMBuildExtractElement(s->gc->builder, value, lane_number(s, i), "")
                                   : LLVMBuildExtractValue(s->gc->builder, value, i, ""),
                   next);
}

static LLVMValueRef put_together(struct scalars *s, LLVMTypeRef type, LLVMValueRef **next)
{
    if (!is_whole_type(type))
        return *(*next)++;
    LLVMValueRef value = LLVMGetPoison(type);
    for (unsigned i = 0; i < tn__element_count(type); i++) {
        LLVMValueRef part = put_together(s, tn__element_type(type, i), next);
        value = is_vector(type) ? LLVMBuildInsertElement(s->gc->builder, value, part, lane_number(s, i), "")
                                : LLVMBuildInsertValue(s->gc->builder, value, part, i, "");
    }
    return value;
}

static struct whole *add_whole(struct scalars *s, LLVMValueRef value)
{
    struct whole w = {value, NULL, part_count(LLVMTypeOf(value))};
    w.parts = tn__gc_array(s->gc, w.count, sizeof *w.parts);
    TN__APPEND(s->gc, s->wholes, s->whole_count, w);
    *tn__map_add(s->gc, &s->numbers, value) = s->whole_count;
    return &s->wholes[s->whole_count - 1];
}

/* The parts of an operand: known, or of a constant, or of a whole that holds no managed pointer. */
static LLVMValueRef *parts_of(struct scalars *s, LLVMValueRef value)
{
    const uint32_t *number = tn__map_find(&s->numbers, value);
    if (number)
        return s->wholes[*number - 1].parts;
    LLVMValueRef *parts = tn__gc_array(s->gc, part_count(LLVMTypeOf(value)), sizeof *parts), *next = parts;
    take_apart(s, value, &next); /* of constants the builder makes constants */
    return parts;
}

/* ---- instructions whose parts are computed from parts ---- */

static void split_insert_value(struct scalars *s, LLVMValueRef i)
{
    LLVMValueRef *from = parts_of(s, LLVMGetOperand(i, 0)), *part = parts_of(s, LLVMGetOperand(i, 1));
    uint32_t at = part_at(LLVMTypeOf(i), LLVMGetIndices(i), LLVMGetNumIndices(i));
    uint32_t length = part_count(LLVMTypeOf(LLVMGetOperand(i, 1)));
    struct whole *w = add_whole(s, i);
    for (uint32_t k = 0; k < w->count; k++)
        w->parts[k] = k >= at && k < at + length ? part[k - at] : from[k];
}

static void split_extract_value(struct scalars *s, LLVMValueRef i)
{
    LLVMValueRef whole = LLVMGetOperand(i, 0);
    LLVMValueRef *parts = parts_of(s, whole) + part_at(LLVMTypeOf(whole), LLVMGetIndices(i), LLVMGetNumIndices(i));
    if (is_wanted(i)) {
        struct whole *w = add_whole(s, i);
        memcpy(w->parts, parts, w->count * sizeof *parts);
    } else if (is_whole_type(LLVMTypeOf(i))) {
        LLVMReplaceAllUsesWith(i, put_together(s, LLVMTypeOf(i), &parts));
    } else {
        LLVMReplaceAllUsesWith(i, parts[0]);
    }
}

/* `same` if the index is that of this lane, else `other`. */
static LLVMValueRef by_lane(struct scalars *s, LLVMValueRef index, unsigned lane, LLVMValueRef same, LLVMValueRef other)
{
    if (LLVMIsAConstantInt(index))
        return LLVMConstIntGetZExtValue(index) == lane ? same : other;
    LLVMValueRef is = LLVMBuildICmp(s->gc->builder, LLVMIntEQ, index, LLVMConstInt(LLVMTypeOf(index), lane, 0), "");
    return LLVMBuildSelect(s->gc->builder, is, same, other, "");
}

static void split_insert_element(struct scalars *s, LLVMValueRef i)
{
    LLVMValueRef *from = parts_of(s, LLVMGetOperand(i, 0)), part = LLVMGetOperand(i, 1), index = LLVMGetOperand(i, 2);
    struct whole *w = add_whole(s, i);
    for (uint32_t k = 0; k < w->count; k++)
        w->parts[k] = by_lane(s, index, k, part, from[k]);
}

static void split_extract_element(struct scalars *s, LLVMValueRef i)
{
    LLVMValueRef whole = LLVMGetOperand(i, 0), *parts = parts_of(s, whole), value = parts[0];
    for (unsigned k = 1; k < LLVMGetVectorSize(LLVMTypeOf(whole)); k++)
        value = by_lane(s, LLVMGetOperand(i, 1), k, parts[k], value);
    LLVMReplaceAllUsesWith(i, value);
}

static void split_shuffle(struct scalars *s, LLVMValueRef i)
{
    LLVMValueRef *first = parts_of(s, LLVMGetOperand(i, 0)), *second = parts_of(s, LLVMGetOperand(i, 1));
    int lanes = (int)LLVMGetVectorSize(LLVMTypeOf(LLVMGetOperand(i, 0)));
    struct whole *w = add_whole(s, i);
    for (uint32_t k = 0; k < w->count; k++) {
        int lane = LLVMGetMaskValue(i, k);
        w->parts[k] = lane < 0       ? LLVMConstNull(LLVMGetElementType(LLVMTypeOf(i)))
                      : lane < lanes ? first[lane]
                                     : second[lane - lanes];
    }
}

/* An operand's part: of a vector the lane, of a scalar itself. */
static LLVMValueRef lane_of(struct scalars *s, LLVMValueRef operand, uint32_t k)
{
    if (!is_whole_type(LLVMTypeOf(operand)))
        return operand;
    return parts_of(s, operand)[k];
}

static LLVMValueRef part_of_gep(struct scalars *s, LLVMValueRef i, uint32_t k)
{
    unsigned count = (unsigned)LLVMGetNumOperands(i) - 1;
    LLVMValueRef *indices = tn__gc_array(s->gc, count, sizeof(LLVMValueRef));
    for (unsigned n = 0; n < count; n++)
        indices[n] = lane_of(s, LLVMGetOperand(i, n + 1), k);
    return LLVMBuildGEP2(s->gc->builder, LLVMGetGEPSourceElementType(i), lane_of(s, LLVMGetOperand(i, 0), k), indices,
                         count, "");
}

static LLVMValueRef compute_part(struct scalars *s, LLVMValueRef i, uint32_t k)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMSelect:
        return LLVMBuildSelect(s->gc->builder, lane_of(s, LLVMGetOperand(i, 0), k), lane_of(s, LLVMGetOperand(i, 1), k),
                               lane_of(s, LLVMGetOperand(i, 2), k), "");
    case LLVMFreeze:
        return LLVMBuildFreeze(s->gc->builder, lane_of(s, LLVMGetOperand(i, 0), k), "");
    case LLVMAddrSpaceCast:
        return LLVMBuildAddrSpaceCast(s->gc->builder, lane_of(s, LLVMGetOperand(i, 0), k),
                                      LLVMGetElementType(LLVMTypeOf(i)), "");
    default:
        return part_of_gep(s, i, k);
    }
}

static void split_by_part(struct scalars *s, LLVMValueRef i)
{
    struct whole *w = add_whole(s, i);
    for (uint32_t k = 0; k < w->count; k++)
        w->parts[k] = compute_part(s, i, k);
}

/* The inputs come later, when all of them are known. */
static void split_phi(struct scalars *s, LLVMValueRef i)
{
    struct whole *w = add_whole(s, i);
    LLVMValueRef *models = parts_of(s, LLVMGetPoison(LLVMTypeOf(i)));
    for (uint32_t k = 0; k < w->count; k++)
        w->parts[k] = LLVMBuildPhi(s->gc->builder, LLVMTypeOf(models[k]), "");
}

static void fill_phi(struct scalars *s, LLVMValueRef phi)
{
    LLVMValueRef *parts = parts_of(s, phi);
    for (unsigned n = 0; n < LLVMCountIncoming(phi); n++) {
        LLVMBasicBlockRef from = LLVMGetIncomingBlock(phi, n);
        LLVMPositionBuilderBefore(s->gc->builder, LLVMGetBasicBlockTerminator(from));
        LLVMValueRef *values = parts_of(s, LLVMGetIncomingValue(phi, n));
        for (uint32_t k = 0; k < part_count(LLVMTypeOf(phi)); k++)
            LLVMAddIncoming(parts[k], &values[k], &from, 1);
    }
}

/* ---- the rest: what makes wholes and what wants them ---- */

static void split_result(struct scalars *s, LLVMValueRef value)
{
    struct whole *w = add_whole(s, value);
    LLVMValueRef *next = w->parts;
    LLVMPositionBuilderBefore(s->gc->builder, tn__place_behind(value));
    take_apart(s, value, &next);
}

static void serve_user(struct scalars *s, LLVMValueRef user)
{
    for (unsigned n = 0; n < (unsigned)LLVMGetNumOperands(user); n++) {
        LLVMValueRef operand = LLVMGetOperand(user, n);
        const uint32_t *number = tn__map_find(&s->numbers, operand);
        if (!number)
            continue;
        LLVMValueRef *next = s->wholes[*number - 1].parts;
        LLVMPositionBuilderBefore(s->gc->builder, user);
        LLVMSetOperand(user, n, put_together(s, LLVMTypeOf(operand), &next));
    }
}

/* The elements that the mask leaves out belong to other objects than those that are loaded. */
static void split_masked_load(struct scalars *s, LLVMValueRef i)
{
    unsigned count = LLVMGetNumArgOperands(i);
    LLVMValueRef *mask = parts_of(s, LLVMGetOperand(i, count - 2)), *others = parts_of(s, LLVMGetOperand(i, count - 1));
    serve_user(s, i);
    split_result(s, i);
    struct whole *w = &s->wholes[s->whole_count - 1];
    for (uint32_t k = 0; k < w->count; k++)
        if (!LLVMIsAConstantInt(mask[k]))
            w->parts[k] = LLVMBuildSelect(s->gc->builder, mask[k], w->parts[k], others[k], "");
        else if (!LLVMConstIntGetZExtValue(mask[k]))
            w->parts[k] = others[k];
}

/* ---- stores to several objects ---- */

/* Each reference gets a store of its own, since each may need a barrier for another object. */
static void split_scatter(struct scalars *s, LLVMValueRef i)
{
    LLVMValueRef *values = parts_of(s, LLVMGetOperand(i, 0)), *places = parts_of(s, LLVMGetOperand(i, 1));
    LLVMValueRef *mask = parts_of(s, LLVMGetOperand(i, LLVMGetNumArgOperands(i) - 1));
    for (uint32_t k = 0; k < part_count(LLVMTypeOf(LLVMGetOperand(i, 0))); k++) {
        bool always = LLVMIsAConstantInt(mask[k]) && LLVMConstIntGetZExtValue(mask[k]);
        if (LLVMIsAConstant(mask[k]) && !always)
            continue;
        LLVMBasicBlockRef rest = NULL, lane = always ? NULL : tn__make_detour(s->gc, i, "lane", &rest);
        if (lane) {
            LLVMBuildCondBr(s->gc->builder, mask[k], lane, rest);
            LLVMPositionBuilderAtEnd(s->gc->builder, lane);
        }
        LLVMBuildStore(s->gc->builder, values[k], places[k]);
        if (lane)
            LLVMBuildBr(s->gc->builder, rest);
        LLVMPositionBuilderBefore(s->gc->builder, i);
    }
    LLVMInstructionEraseFromParent(i);
}

/* ---- all of a function ---- */

/* How the parts of an instruction, which they replace, are computed from parts; NULL: they are not. */
static void (*splitter(LLVMValueRef i))(struct scalars *, LLVMValueRef)
{
    bool made = is_wanted(i);
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMInsertValue:
        return made ? split_insert_value : NULL;
    case LLVMExtractValue:
        return is_wanted(LLVMGetOperand(i, 0)) ? split_extract_value : NULL;
    case LLVMInsertElement:
        return made ? split_insert_element : NULL;
    case LLVMExtractElement:
        return is_wanted(LLVMGetOperand(i, 0)) ? split_extract_element : NULL;
    case LLVMShuffleVector:
        return made ? split_shuffle : NULL;
    case LLVMPHI:
        return made ? split_phi : NULL;
    case LLVMSelect:
    case LLVMFreeze:
        return made ? split_by_part : NULL;
    case LLVMAddrSpaceCast:
    case LLVMGetElementPtr:
        return made && is_vector(LLVMTypeOf(i)) ? split_by_part : NULL;
    default:
        return NULL;
    }
}

static bool has_wholes(LLVMValueRef function)
{
    for (LLVMValueRef p = LLVMGetFirstParam(function); p; p = LLVMGetNextParam(p))
        if (is_wanted(p))
            return true;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (is_wanted(i))
                return true;
    return false;
}

static void split_all(struct scalars *s, LLVMValueRef function)
{
    LLVMValueRef *list = NULL; /* as they were, in reverse postorder: operands before their users, but for phis */
    size_t count = 0;
    for (uint32_t b = 0; b < s->cfg->count; b++)
        for (TN__EACH_INSTRUCTION(i, s->cfg->blocks[b].block))
            TN__APPEND(s->gc, list, count, i);
    for (LLVMValueRef p = LLVMGetFirstParam(function); p; p = LLVMGetNextParam(p))
        if (is_wanted(p))
            split_result(s, p);
    for (size_t n = 0; n < count; n++) {
        void (*split)(struct scalars *, LLVMValueRef) = splitter(list[n]);
        LLVMPositionBuilderBefore(s->gc->builder, list[n]);
        if (split) {
            split(s, list[n]);
            TN__APPEND(s->gc, s->gone, s->gone_count, list[n]);
        } else if (tn__calls_llvm(list[n], "masked.scatter.") && is_wanted(LLVMGetOperand(list[n], 0))) {
            split_scatter(s, list[n]);
        } else if (is_wanted(list[n]) && tn__is_masked_load(list[n])) {
            split_masked_load(s, list[n]);
        } else {
            serve_user(s, list[n]);
            if (is_wanted(list[n]))
                split_result(s, list[n]);
        }
    }
}

void tn__scalarize(struct tn__gc *gc)
{
    for (TN__EACH_FUNCTION(f, gc)) {
        if (LLVMIsDeclaration(f) || tn__is_naked(f) || !has_wholes(f))
            continue;
        tn__llvm_remove_unreachable(f);
        tn__split_invokes(f);
        struct scalars s = {.gc = gc, .cfg = tn__cfg_build(gc, f)};
        split_all(&s, f);
        for (uint32_t n = 0; n < s.gone_count; n++)
            if (LLVMIsAPHINode(s.gone[n]))
                fill_phi(&s, s.gone[n]);
        for (uint32_t n = 0; n < s.gone_count; n++)
            LLVMReplaceAllUsesWith(s.gone[n], LLVMGetPoison(LLVMTypeOf(s.gone[n]))); /* by one another */
        for (uint32_t n = 0; n < s.gone_count; n++)
            LLVMInstructionEraseFromParent(s.gone[n]);
    }
}
