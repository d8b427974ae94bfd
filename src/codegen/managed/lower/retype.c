/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* type-stack: stack memory gets types that say in which words references are, because root placement and stack maps
 * know no others.
 *     - a variable whose words hold other things than its type says gets the type of its words;
 *     - so do arguments that are passed by value in memory;
 *     - references that are loaded and stored as numbers, only to be copied, are loaded and stored as references.
 *
 * copy-arguments: arguments in memory that hold references are copied to variables before the first safepoint: they lie
 * in the caller's frame, which does not name them. */

#include "codegen/managed/lower/lower.h"
#include "codegen/managed/verify/verify.h"

struct retyping {
    struct tn__flow memory;
    struct tn__gc *gc;
};

/* ---- types ---- */

/* A packed struct with an array for each run of equal words. */
static LLVMTypeRef type_of_words(struct retyping *r, const struct tn__object *object)
{
    uint32_t count = (uint32_t)(object->size / WORD_BYTES), runs = 0;
    LLVMTypeRef *fields = tn__gc_array(r->gc, count + 1, sizeof(LLVMTypeRef));
    for (uint32_t w = 0, end; w < count; w = end) {
        bool reference = tn__word_holds_reference(&r->memory, object, w);
        for (end = w + 1; end < count && tn__word_holds_reference(&r->memory, object, end) == reference;)
            end++;
        LLVMTypeRef type = reference ? r->gc->reference : r->gc->i64;
        fields[runs++] = end == w + 1 ? type : LLVMArrayType2(type, end - w);
    }
    if (object->size % WORD_BYTES)
        fields[runs++] = LLVMArrayType2(r->gc->i8, object->size % WORD_BYTES);
    return runs == 1 ? fields[0] : LLVMStructTypeInContext(r->gc->context, fields, runs, 1);
}

static void retype_variable(struct retyping *r, const struct tn__object *object)
{
    LLVMValueRef variable = object->value, count = LLVMGetOperand(variable, 0);
    LLVMTypeRef type = type_of_words(r, object);
    if (!LLVMIsAConstantInt(count)) {
        tn__mark(variable, TN__HOLDS_REFERENCES);
        return;
    }
    if (object->repeats) {
        uint64_t size = LLVMABISizeOfType(r->memory.layout, LLVMGetAllocatedType(variable));
        type = LLVMArrayType2(type, (size * LLVMConstIntGetZExtValue(count) + object->size - 1) / object->size);
    }
    tn__llvm_set_allocated_type(variable, type, WORD_BYTES);
}

/* The memory stays the same, and aligned as its type asked for. */
static void retype_argument(struct retyping *r, const struct tn__object *object)
{
    LLVMValueRef argument = object->value, function = LLVMGetParamParent(argument);
    unsigned parameter = 0, byval = LLVMGetEnumAttributeKindForName("byval", strlen("byval"));
    while (LLVMGetParam(function, parameter) != argument)
        parameter++;
    LLVMRemoveEnumAttributeAtIndex(function, parameter + 1, byval);
    LLVMAddAttributeAtIndex(function, parameter + 1,
                            LLVMCreateTypeAttribute(r->gc->context, byval, type_of_words(r, object)));
    if (!tn__attribute(function, parameter + 1, "align"))
        LLVMSetParamAlignment(argument, LLVMABIAlignmentOfType(r->memory.layout, object->type));
}

/* ---- references copied as numbers ---- */

static bool copies_reference_at(struct retyping *r, LLVMValueRef load, uint64_t at)
{
    bool found = tn__leads_to_reference(&r->memory, LLVMGetOperand(load, 0), at);
    for (LLVMUseRef use = LLVMGetFirstUse(load); use && !found; use = LLVMGetNextUse(use))
        found = tn__leads_to_reference(&r->memory, LLVMGetOperand(LLVMGetUser(use), 1), at);
    return found;
}

static bool copies_reference(struct retyping *r, LLVMValueRef load)
{
    uint64_t size = LLVMStoreSizeOfType(r->memory.layout, LLVMTypeOf(load));
    for (uint64_t at = 0; at + WORD_BYTES <= size; at += WORD_BYTES)
        if (copies_reference_at(r, load, at))
            return true;
    return false;
}

/* The alignment of an access `at` bytes behind one with that of `whole`. */
static unsigned alignment_at(LLVMValueRef whole, uint64_t at)
{
    unsigned alignment = LLVMGetAlignment(whole);
    while (at % alignment)
        alignment /= 2;
    return alignment;
}

static void copy_part(struct retyping *r, LLVMValueRef load, uint64_t at, LLVMTypeRef type)
{
    LLVMPositionBuilderBefore(r->gc->builder, load);
    LLVMValueRef from = tn__field(r->gc, LLVMGetOperand(load, 0), (int64_t)at);
    LLVMValueRef part = LLVMBuildLoad2(r->gc->builder, type, from, "");
    LLVMSetAlignment(part, alignment_at(load, at));
    for (TN__EACH_USE(use, load)) {
        LLVMValueRef old = LLVMGetUser(use);
        LLVMPositionBuilderBefore(r->gc->builder, old);
        LLVMValueRef to = tn__field(r->gc, LLVMGetOperand(old, 1), (int64_t)at);
        LLVMSetAlignment(LLVMBuildStore(r->gc->builder, part, to), alignment_at(old, at));
    }
}

static void retype_copy(struct retyping *r, LLVMValueRef load)
{
    uint64_t size = LLVMStoreSizeOfType(r->memory.layout, LLVMTypeOf(load));
    for (uint64_t at = 0, bytes; at < size; at += bytes) {
        for (bytes = WORD_BYTES; at + bytes > size;)
            bytes /= 2;
        LLVMTypeRef number = LLVMIntTypeInContext(r->gc->context, (unsigned)(8 * bytes));
        bool reference = bytes == WORD_BYTES && copies_reference_at(r, load, at);
        copy_part(r, load, at, reference ? r->gc->reference : number);
    }
    while (LLVMGetFirstUse(load))
        LLVMInstructionEraseFromParent(LLVMGetUser(LLVMGetFirstUse(load)));
    LLVMInstructionEraseFromParent(load);
}

static void retype_copies(struct retyping *r)
{
    LLVMValueRef *loads = NULL;
    size_t count = 0;
    for (TN__EACH_FUNCTION(f, r->gc))
        for (TN__EACH_BLOCK(b, f))
            for (TN__EACH_INSTRUCTION(i, b))
                if (tn__is_copy_load(i) && copies_reference(r, i))
                    TN__APPEND(r->gc, loads, count, i);
    for (size_t n = 0; n < count; n++)
        retype_copy(r, loads[n]);
}

/* ---- arguments in memory ---- */

static void copy_argument(struct tn__gc *gc, LLVMValueRef function, unsigned parameter)
{
    LLVMValueRef argument = LLVMGetParam(function, parameter);
    LLVMTypeRef type = tn__type_by_value(function, parameter);
    uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(gc->module), type);
    unsigned alignment = tn__llvm_alignment(argument);
    LLVMValueRef variable = tn__make_variable(gc, function, type, "argument");
    LLVMReplaceAllUsesWith(argument, variable);
    tn__llvm_set_allocated_type(variable, type, alignment > WORD_BYTES ? alignment : WORD_BYTES);
    LLVMPositionBuilderBefore(gc->builder, tn__behind_variables(function));
    LLVMBuildMemCpy(gc->builder, variable, LLVMGetAlignment(variable), argument, alignment,
                    LLVMConstInt(gc->i64, size, 0));
}

void tn__copy_arguments(struct tn__gc *gc)
{
    for (TN__EACH_FUNCTION(f, gc))
        for (unsigned p = 0; !LLVMIsDeclaration(f) && p < LLVMCountParams(f); p++) {
            LLVMTypeRef type = tn__type_by_value(f, p);
            if (type && tn__type_holds(type, IN_TRACKED) && tn__find_safepoint(f))
                copy_argument(gc, f, p);
        }
}

/* ---- the pass ---- */

void tn__type_stack(struct tn__gc *gc)
{
    struct retyping r = {.gc = gc};
    tn__find_memory(gc, &r.memory);
    tn__judge_memory(&r.memory);
    if (gc->diagnostics->errors)
        return;
    retype_copies(&r);
    for (uint32_t o = 0; o < r.memory.object_count; o++) {
        const struct tn__object *object = &r.memory.objects[o];
        bool described = true;
        for (uint32_t w = 0; w < object->size / WORD_BYTES; w++)
            described &=
                tn__word_holds_reference(&r.memory, object, w) == r.memory.words[object->first_word + w].declared;
        if (!described && LLVMIsAArgument(object->value))
            retype_argument(&r, object);
        else if (!described && LLVMIsAAllocaInst(object->value))
            retype_variable(&r, object);
    }
}
