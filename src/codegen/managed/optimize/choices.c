/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Choices among new objects, a step of alloc-opt: where phis and selects only choose between objects of this function,
 * and what is chosen is only read, phis and selects of the fields take their place. Then alloc-opt sees no choice, but
 * objects that are written and read.
 *
 * The fields are read where the choice is made, so nothing may change them between there and where the program read
 * them. All stores are through the objects' own pointers; none of them may be reached from the choice unless the object
 * has become another one, by its allocation. All objects of a choice have one type, because a word that is read as a
 * reference must be one in each of them. */

#include "codegen/llvm/remarks.h"
#include "codegen/managed/optimize/optimize.h"

/* Farther steps are not followed; larger webs are left as they are. */
enum { LARGEST = 1 << 20, MOST_STEPS = 64, MOST_CHOICES = 64, MOST_WAYS = 256, MOST_OBJECTS = 256, MOST_READS = 1024 };
enum { MOST_INSTRUCTIONS = 8192 }; /* looked at for one web */
enum { WORD = 8 };                 /* to which objects are aligned at least */

/* What a pointer was computed from, by casts and constant steps. */
struct place {
    LLVMValueRef base;
    int64_t offset;
};

/* A load from what was chosen. */
struct read {
    LLVMValueRef load;
    struct place place; /* the base is the choice */
};

/* A field of what was chosen, as a value. */
struct chosen {
    struct place place;
    LLVMTypeRef type;
    LLVMValueRef value;
};

/* Choices that lead to each other, and the objects among which they choose. */
struct web {
    struct tn__gc *gc;
    LLVMTargetDataRef layout;
    const struct tn__values *candidates;              /* objects of this function */
    struct tn__values choices, objects, steps, types; /* steps from choices; calls of typeof of choices */
    struct tn__map stores;                            /* instruction: number of its object + 1 */
    struct read *reads;
    struct chosen *fields;
    size_t read_count, field_count;
    unsigned instructions; /* looked at */
};

static bool is_choice(LLVMValueRef value)
{
    int space = tn__space_of(value);
    return (LLVMIsAPHINode(value) || LLVMIsASelectInst(value)) && (space == TRACKED || space == DERIVED) &&
           LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMPointerTypeKind;
}

/* Between what a choice chooses are its operands from this one on. */
static unsigned first_operand(LLVMValueRef choice)
{
    return LLVMIsASelectInst(choice) ? 1 : 0;
}

/* True if the instruction is a cast to 11, or a constant step, from `from`: then that many bytes. */
static bool is_step(const struct web *w, LLVMValueRef i, LLVMValueRef from, int64_t *bytes)
{
    uint64_t stride = 0;
    *bytes = 0;
    if (!LLVMIsAInstruction(i) || tn__space_of(i) != DERIVED || LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMPointerTypeKind ||
        LLVMGetOperand(i, 0) != from)
        return false;
    if (LLVMIsAGetElementPtrInst(i))
        tn__llvm_gep_steps(w->layout, i, bytes, &stride);
    return (LLVMIsAAddrSpaceCastInst(i) || LLVMIsAGetElementPtrInst(i)) && !stride && *bytes > -LARGEST &&
           *bytes < LARGEST;
}

static struct place place_of(const struct web *w, LLVMValueRef pointer)
{
    struct place place = {.base = pointer};
    int64_t bytes;
    for (int step = 0; step < MOST_STEPS && LLVMIsAInstruction(place.base) && LLVMGetNumOperands(place.base) > 0 &&
                       is_step(w, place.base, LLVMGetOperand(place.base, 0), &bytes);
         step++) {
        place.base = LLVMGetOperand(place.base, 0);
        place.offset += bytes;
    }
    return place;
}

/* ---- what is chosen, and what is done with it ---- */

static bool see_load(struct web *w, LLVMValueRef load, LLVMValueRef choice, int64_t offset)
{
    LLVMTypeRef type = LLVMTypeOf(load);
    bool is_reference = LLVMGetTypeKind(type) == LLVMPointerTypeKind && tn__space_of_type(type) == TRACKED;
    if (LLVMGetVolatile(load) || LLVMGetOrdering(load) != LLVMAtomicOrderingNotAtomic || !tn__has_known_size(type) ||
        (!is_reference && tn__type_holds(type, IN_MANAGED)))
        return false;
    TN__APPEND(w->gc, w->reads, w->read_count, (struct read){load, {choice, offset}});
    return w->read_count <= MOST_READS;
}

/* A use of a choice, or of a pointer into it; `from` is appended to by steps. */
static bool see_use(struct web *w, struct place **from, size_t *count, size_t at, LLVMValueRef user)
{
    LLVMValueRef pointer = (*from)[at].base, choice = (*from)[0].base;
    int64_t bytes, offset = (*from)[at].offset;
    if (is_step(w, user, pointer, &bytes)) {
        tn__values_add(w->gc, &w->steps, user);
        TN__APPEND(w->gc, *from, *count, (struct place){user, offset + bytes});
        return *count < MOST_INSTRUCTIONS;
    }
    if (LLVMIsALoadInst(user))
        return see_load(w, user, choice, offset);
    if (is_choice(user))
        tn__values_add(w->gc, &w->choices, user);
    else if (tn__intrinsic_called(user) == TN__TYPEOF && LLVMIsACallInst(user) && !LLVMGetNumOperandBundles(user))
        tn__values_add(w->gc, &w->types, user);
    else
        return false;
    return true;
}

static bool is_object(const struct web *w, LLVMValueRef value)
{
    LLVMValueRef first = w->objects.count ? w->objects.list[0] : value;
    LLVMValueRef type = tn__map_find(&w->candidates->known, value) ? LLVMGetOperand(value, 2) : NULL;
    return type && (LLVMIsConstant(type) || LLVMIsAArgument(type)) && type == LLVMGetOperand(first, 2) &&
           LLVMGetOperand(value, 1) == LLVMGetOperand(first, 1);
}

static bool see_choice(struct web *w, LLVMValueRef choice)
{
    if (LLVMGetNumOperands(choice) > MOST_WAYS)
        return false;
    for (unsigned k = first_operand(choice); k < (unsigned)LLVMGetNumOperands(choice); k++) {
        LLVMValueRef base = place_of(w, LLVMGetOperand(choice, k)).base;
        if (is_choice(base))
            tn__values_add(w->gc, &w->choices, base);
        else if (is_object(w, base))
            tn__values_add(w->gc, &w->objects, base);
        else
            return false;
    }
    struct place *from = NULL; /* pointers computed from the choice */
    size_t count = 0;
    TN__APPEND(w->gc, from, count, (struct place){choice, 0});
    for (size_t at = 0; at < count; at++)
        for (TN__EACH_USE(use, from[at].base))
            if (!see_use(w, &from, &count, at, LLVMGetUser(use)))
                return false;
    return true;
}

/* True if a call of write_barrier has this as the object that is stored into, and not as a value. */
static bool names_only_parent(LLVMValueRef barrier, LLVMValueRef object)
{
    for (unsigned i = 1; i < LLVMGetNumArgOperands(barrier); i++)
        if (LLVMGetOperand(barrier, i) == object)
            return false;
    return LLVMGetOperand(barrier, 0) == object && !LLVMGetNumOperandBundles(barrier);
}

/* Uses of an object, and of what is computed from it: it is read and written, and chosen. */
static bool see_object(struct web *w, uint32_t o)
{
    struct tn__values pointers = {0};
    tn__values_add(w->gc, &pointers, w->objects.list[o]);
    for (size_t p = 0; p < pointers.count; p++)
        for (TN__EACH_USE(use, pointers.list[p])) {
            LLVMValueRef user = LLVMGetUser(use), pointer = pointers.list[p];
            bool is_parent = tn__intrinsic_called(user) == TN__WRITE_BARRIER && names_only_parent(user, pointer),
                 is_store = LLVMIsAStoreInst(user) && tn__is_only_address(user, pointer);
            if (is_store || (tn__calls_llvm(user, "memset.") && LLVMGetOperand(user, 0) == pointer))
                *tn__map_add(w->gc, &w->stores, user) = o + 1;
            else if ((LLVMIsAAddrSpaceCastInst(user) || LLVMIsAGetElementPtrInst(user)) &&
                     tn__space_of(user) == DERIVED && LLVMGetOperand(user, 0) == pointer)
                tn__values_add(w->gc, &pointers, user);
            else if (is_choice(user))
                tn__values_add(w->gc, &w->choices, user);
            else if (!LLVMIsALoadInst(user) && tn__intrinsic_called(user) != TN__TYPEOF && !is_parent)
                return false;
        }
    return true;
}

/* True if all that this load may read is inside of an object, and one word of it if it is a reference, for others may
 * be none. */
static bool is_inside(struct web *w, const struct read *read)
{
    uint64_t whole = LLVMConstIntGetZExtValue(LLVMGetOperand(w->objects.list[0], 1));
    uint64_t size = LLVMStoreSizeOfType(w->layout, LLVMTypeOf(read->load));
    bool is_reference =
        LLVMGetTypeKind(LLVMTypeOf(read->load)) == LLVMPointerTypeKind && tn__space_of(read->load) == TRACKED;
    struct place *places = NULL;
    size_t count = 0;
    int64_t first = -1;
    TN__APPEND(w->gc, places, count, read->place);
    for (size_t p = 0; p < count; p++)
        for (unsigned k = first_operand(places[p].base); k < (unsigned)LLVMGetNumOperands(places[p].base); k++) {
            struct place from = place_of(w, LLVMGetOperand(places[p].base, k));
            bool is_known = false;
            from.offset += places[p].offset;
            for (size_t i = 0; i < count; i++)
                is_known |= places[i].base == from.base && places[i].offset == from.offset;
            if (is_choice(from.base) && !is_known)
                TN__APPEND(w->gc, places, count, from);
            if (count > MOST_CHOICES) /* a step on a choice's way back to itself has no end */
                return false;
            if (is_choice(from.base))
                continue;
            first = first < 0 ? from.offset : first;
            if (from.offset < 0 || size > whole || (uint64_t)from.offset > whole - size ||
                (is_reference && from.offset != first))
                return false;
        }
    return true;
}

/* ---- stores behind a choice ---- */

/* True if a store to the object may come after this instruction, before the object is allocated anew. */
static bool is_stored_after(struct web *w, LLVMValueRef i, LLVMValueRef object, uint32_t number)
{
    struct tn__values blocks = {0};
    for (size_t b = 0;; b++) {
        for (; i; i = LLVMGetNextInstruction(i)) {
            const uint32_t *stored = tn__map_find(&w->stores, i);
            if ((stored && *stored == number) || w->instructions++ > MOST_INSTRUCTIONS)
                return true;
            if (i == object)
                break;
            for (unsigned s = 0; LLVMIsATerminatorInst(i) && s < LLVMGetNumSuccessors(i); s++)
                tn__values_add(w->gc, &blocks, LLVMBasicBlockAsValue(LLVMGetSuccessor(i, s)));
        }
        if (b == blocks.count)
            return false;
        i = LLVMGetFirstInstruction(LLVMValueAsBasicBlock(blocks.list[b]));
    }
}

static LLVMValueRef where_chosen(LLVMValueRef choice, unsigned k)
{
    return LLVMIsAPHINode(choice) ? LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(choice, k)) : choice;
}

static bool is_final(struct web *w, LLVMValueRef choice)
{
    for (unsigned k = first_operand(choice); k < (unsigned)LLVMGetNumOperands(choice); k++) {
        LLVMValueRef base = place_of(w, LLVMGetOperand(choice, k)).base;
        for (uint32_t o = 0; o < w->objects.count; o++)
            if (base == w->objects.list[o] && is_stored_after(w, where_chosen(choice, k), base, o + 1))
                return false;
    }
    return true;
}

static bool is_understood(struct web *w)
{
    for (size_t c = 0, o = 0; c < w->choices.count || o < w->objects.count;) {
        bool is_seen = c < w->choices.count ? see_choice(w, w->choices.list[c++]) : see_object(w, (uint32_t)o++);
        if (!is_seen || w->choices.count > MOST_CHOICES || w->objects.count > MOST_OBJECTS)
            return false;
    }
    for (size_t r = 0; r < w->read_count; r++)
        if (!w->objects.count || !is_inside(w, &w->reads[r]))
            return false;
    for (size_t c = 0; c < w->choices.count; c++)
        if (!is_final(w, w->choices.list[c]))
            return false;
    return w->objects.count > 0;
}

/* ---- rewriting ---- */

static LLVMValueRef choice_of_fields(struct web *w, struct place at, LLVMValueRef like);

/* `like` may be aligned better than this place is, from where it would not read what it is given. */
static unsigned alignment_at(int64_t offset, LLVMValueRef like)
{
    unsigned of_place = (unsigned)((offset | WORD) & -(offset | WORD)), asked = LLVMGetAlignment(like);
    return asked < of_place ? asked : of_place;
}

/* What is at that many bytes from a pointer, read before `before` as `like` reads it. */
static LLVMValueRef field_at(struct web *w, LLVMValueRef pointer, int64_t offset, LLVMValueRef like,
                             LLVMValueRef before)
{
    struct place place = place_of(w, pointer);
    place.offset += offset;
    if (is_choice(place.base))
        return choice_of_fields(w, place, like);
    LLVMPositionBuilderBefore(w->gc->builder, before);
    LLVMValueRef object = LLVMBuildAddrSpaceCast(w->gc->builder, place.base, w->gc->derived, "");
    LLVMValueRef load =
        LLVMBuildLoad2(w->gc->builder, LLVMTypeOf(like), tn__field(w->gc, object, place.offset), "chosen");
    LLVMSetAlignment(load, alignment_at(place.offset, like));
    return load;
}

static LLVMValueRef known_field(const struct web *w, struct place at, LLVMTypeRef type)
{
    for (size_t f = 0; f < w->field_count; f++) {
        const struct chosen *field = &w->fields[f];
        if (field->place.base == at.base && field->place.offset == at.offset && field->type == type)
            return field->value;
    }
    return NULL;
}

/* A block that a switch leads to the phi from twice has one value there. */
static LLVMValueRef value_from(LLVMValueRef phi, LLVMBasicBlockRef block)
{
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++)
        if (LLVMGetIncomingBlock(phi, k) == block)
            return LLVMGetIncomingValue(phi, k);
    return NULL;
}

/* The field as a value where the choice is made. */
static LLVMValueRef choice_of_fields(struct web *w, struct place at, LLVMValueRef like)
{
    LLVMTypeRef type = LLVMTypeOf(like);
    LLVMValueRef choice = at.base, value = known_field(w, at, type);
    if (value)
        return value;
    if (LLVMIsAPHINode(choice)) {
        LLVMPositionBuilderBefore(w->gc->builder, choice);
        value = LLVMBuildPhi(w->gc->builder, type, "field");
        TN__APPEND(w->gc, w->fields, w->field_count, (struct chosen){at, type, value});
        for (unsigned k = 0; k < LLVMCountIncoming(choice); k++) {
            LLVMBasicBlockRef block = LLVMGetIncomingBlock(choice, k);
            LLVMValueRef from = value_from(value, block);
            if (!from)
                from = field_at(w, LLVMGetIncomingValue(choice, k), at.offset, like, where_chosen(choice, k));
            LLVMAddIncoming(value, &from, &block, 1);
        }
    } else {
        LLVMValueRef a = field_at(w, LLVMGetOperand(choice, 1), at.offset, like, choice);
        LLVMValueRef b = field_at(w, LLVMGetOperand(choice, 2), at.offset, like, choice);
        LLVMPositionBuilderBefore(w->gc->builder, choice);
        value = LLVMBuildSelect(w->gc->builder, LLVMGetOperand(choice, 0), a, b, "field");
        TN__APPEND(w->gc, w->fields, w->field_count, (struct chosen){at, type, value});
    }
    return value;
}

static void erase_all(const struct tn__values *values)
{
    for (size_t i = 0; i < values->count; i++)
        LLVMReplaceAllUsesWith(values->list[i], LLVMGetPoison(LLVMTypeOf(values->list[i])));
    for (size_t i = 0; i < values->count; i++)
        LLVMInstructionEraseFromParent(values->list[i]);
}

static void replace(struct web *w)
{
    for (size_t t = 0; t < w->types.count; t++) {
        LLVMReplaceAllUsesWith(w->types.list[t], LLVMGetOperand(w->objects.list[0], 2));
        LLVMInstructionEraseFromParent(w->types.list[t]);
    }
    for (size_t r = 0; r < w->read_count; r++) {
        LLVMValueRef load = w->reads[r].load;
        LLVMReplaceAllUsesWith(load, choice_of_fields(w, w->reads[r].place, load));
        LLVMInstructionEraseFromParent(load);
    }
    erase_all(&w->steps);
    erase_all(&w->choices);
}

bool tn__split_choices(struct tn__gc *gc, LLVMValueRef function, const struct tn__values *candidates)
{
    struct tn__values found = {0};
    struct tn__map seen = {0};
    bool changed = false;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (is_choice(i))
                tn__values_add(gc, &found, i);
    for (size_t i = 0; i < found.count; i++) {
        struct web w = {.gc = gc, .layout = LLVMGetModuleDataLayout(gc->module), .candidates = candidates};
        if (tn__map_find(&seen, found.list[i]))
            continue;
        tn__values_add(gc, &w.choices, found.list[i]);
        bool is_good = is_understood(&w);
        for (size_t c = 0; c < w.choices.count; c++)
            *tn__map_add(gc, &seen, w.choices.list[c]) = 1;
        if (!is_good)
            continue;
        tn__llvm_remark(w.objects.list[0], "alloc-opt", "ChoiceSplit", true,
                        "a choice among objects became one of their fields");
        gc->stats->split_choices += w.choices.count;
        replace(&w);
        changed = true;
    }
    return changed;
}
