/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which memory a pointer leads to: by a fixed point over the uses of its address in the function. Places behind
 * getelementptr with variable indices, or in loops, are known up to a multiple of a stride. From there the address is
 * followed one step further: into the functions that it is passed to, and to where a variable is loaded that it is
 * stored in. Each step more would multiply the work, and soon everything might lead everywhere. Variables that LLVM
 * would make values of, such as those of arguments in C, are no step. */

#include "codegen/managed/verify/verify.h"

/* Bytes: arrays whose elements are not told apart, and types that are not looked into. */
enum { LARGE = 8192, HUGE = 512 << 10 };

/* ---- objects ---- */

static void add_object(struct tn__flow *m, LLVMValueRef value, LLVMTypeRef type, bool is_array)
{
    if (!tn__has_known_size(type))
        return;
    uint64_t size = LLVMABISizeOfType(m->layout, type);
    bool repeats = is_array;
    while (size > LARGE && LLVMGetTypeKind(type) == LLVMArrayTypeKind) {
        type = LLVMGetElementType(type);
        size = LLVMABISizeOfType(m->layout, type);
        repeats = true;
    }
    if (!tn__type_holds(type, IN_TRACKED) && (size > LARGE || (repeats && size % WORD_BYTES))) {
        size = WORD_BYTES;
        repeats = true;
    }
    if (size < WORD_BYTES || size > HUGE) /* no space for references; or the type alone says where they are */
        return;
    TN__APPEND(m->gc, m->objects, m->object_count,
               (struct tn__object){
                   .value = value, .type = type, .size = size, .repeats = repeats, .first_word = m->word_count});
    m->word_count += (uint32_t)(size / WORD_BYTES);
}

/* What is loaded from a variable of this kind is what was stored there. If it is stored more than once, not every load
 * gets each of the values. */
static void find_local(struct tn__object *object)
{
    unsigned stores = 0;
    object->is_local = tn__llvm_is_promotable(object->value);
    for (LLVMUseRef use = LLVMGetFirstUse(object->value); use && object->is_local; use = LLVMGetNextUse(use))
        stores += LLVMIsAStoreInst(LLVMGetUser(use)) != NULL;
    object->is_stored_once = stores == 1;
}

static void add_variable(struct tn__flow *m, LLVMValueRef variable)
{
    uint32_t before = m->object_count;
    LLVMTypeRef type = LLVMGetAllocatedType(variable);
    LLVMValueRef count = LLVMGetOperand(variable, 0);
    bool is_constant = LLVMIsAConstantInt(count);
    if (is_constant && LLVMConstIntGetZExtValue(count) != 1)
        type = LLVMArrayType2(type, LLVMConstIntGetZExtValue(count));
    add_object(m, variable, type, !is_constant);
    if (m->object_count > before)
        find_local(&m->objects[before]);
}

LLVMTypeRef tn__type_by_value(LLVMValueRef function, unsigned parameter)
{
    LLVMAttributeRef byval = tn__attribute(function, parameter + 1, "byval");
    return byval ? LLVMGetTypeAttributeValue(byval) : NULL;
}

static void find_objects(struct tn__flow *m)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(m->gc->module); g; g = LLVMGetNextGlobal(g))
        if (!LLVMIsGlobalConstant(g))
            add_object(m, g, LLVMGlobalGetValueType(g), false);
    for (TN__EACH_FUNCTION(f, m->gc)) {
        for (unsigned p = 0; !LLVMIsDeclaration(f) && p < LLVMCountParams(f); p++)
            if (tn__type_by_value(f, p))
                add_object(m, LLVMGetParam(f, p), tn__type_by_value(f, p), false);
        for (TN__EACH_BLOCK(b, f))
            for (TN__EACH_INSTRUCTION(i, b))
                if (LLVMIsAAllocaInst(i))
                    add_variable(m, i);
    }
}

/* ---- places ---- */

static int64_t reduced(int64_t offset, uint64_t stride)
{
    if (!stride)
        return offset;
    int64_t rest = offset % (int64_t)stride;
    return rest < 0 ? rest + (int64_t)stride : rest;
}

static struct tn__spot anywhere(struct tn__spot place)
{
    return (struct tn__spot){.object = place.object, .stride = 1};
}

static struct tn__spot joined(struct tn__spot a, struct tn__spot b)
{
    uint64_t distance =
        a.offset > b.offset ? (uint64_t)a.offset - (uint64_t)b.offset : (uint64_t)b.offset - (uint64_t)a.offset;
    a.stride = tn__common_divisor(tn__common_divisor(a.stride, b.stride), distance);
    a.offset = reduced(a.offset, a.stride);
    return a;
}

/* ---- facts ---- */

uint32_t tn__first_fact(const struct tn__flow *m, LLVMValueRef value)
{
    const uint32_t *first = tn__map_find(&m->by_value, value);
    return first ? *first : 0;
}

static void enqueue(struct tn__flow *m, uint32_t fact)
{
    if (m->facts[fact].is_queued)
        return;
    m->facts[fact].is_queued = true;
    TN__APPEND(m->gc, m->queue, m->queue_count, fact);
}

/* Direct places replace others. */
static void refine(struct tn__flow *m, uint32_t number, struct tn__spot place, bool is_direct)
{
    struct tn__fact *fact = &m->facts[number];
    struct tn__spot now = fact->is_direct == is_direct ? joined(fact->place, place) : is_direct ? place : fact->place;
    if (now.offset == fact->place.offset && now.stride == fact->place.stride && (fact->is_direct || !is_direct))
        return;
    fact->place = now;
    fact->is_direct |= is_direct;
    enqueue(m, number);
}

static void add_fact(struct tn__flow *m, LLVMValueRef value, struct tn__spot place, bool is_direct)
{
    uint32_t *first = tn__map_add(m->gc, &m->by_value, value);
    for (uint32_t at = *first; at; at = m->facts[at - 1].next)
        if (m->facts[at - 1].place.object == place.object) {
            refine(m, at - 1, place, is_direct);
            return;
        }
    struct tn__object *object = &m->objects[place.object];
    TN__APPEND(m->gc, m->facts, m->fact_count,
               (struct tn__fact){value, place, *first, object->last_fact, is_direct, false});
    *first = object->last_fact = m->fact_count;
    enqueue(m, m->fact_count - 1);
}

/* What a variable contains is about this key. */
static LLVMValueRef contents_of(const struct tn__flow *m, uint32_t object)
{
    return (LLVMValueRef)(void *)&m->objects[object];
}

static void load_from(struct tn__flow *m, uint32_t object, LLVMValueRef load)
{
    for (uint32_t at = tn__first_fact(m, contents_of(m, object)); at; at = m->facts[at - 1].next)
        add_fact(m, load, m->facts[at - 1].place, m->facts[at - 1].is_direct);
}

/* A variable contains this address: what is loaded from it may lead there, if no step came before this one. */
static void store_into(struct tn__flow *m, uint32_t object, struct tn__fact address)
{
    const struct tn__object *variable = &m->objects[object];
    if (address.is_direct || variable->is_local)
        add_fact(m, contents_of(m, object), address.place,
                 address.is_direct && variable->is_local && variable->is_stored_once);
}

/* ---- uses ---- */

static void flow_through_gep(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef gep)
{
    struct tn__spot place = fact->place;
    int64_t bytes;
    uint64_t stride;
    tn__llvm_gep_steps(m->layout, gep, &bytes, &stride);
    place.stride = tn__common_divisor(place.stride, stride);
    place.offset = reduced((int64_t)((uint64_t)place.offset + (uint64_t)bytes), place.stride);
    add_fact(m, gep, place, fact->is_direct);
}

/* Intrinsics that return their first argument, more or less. */
static void flow_through_intrinsic(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef call)
{
    bool passes = LLVMGetNumArgOperands(call) && LLVMGetOperand(call, 0) == fact->value &&
                  LLVMTypeOf(call) == LLVMTypeOf(fact->value);
    if (passes && tn__calls_llvm(call, "ptrmask."))
        add_fact(m, call, anywhere(fact->place), false);
    else if (passes)
        add_fact(m, call, fact->place, fact->is_direct);
}

enum { MANY_CALLS = 64 };

static void flow_into_call(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    enum tn__intrinsic intrinsic = tn__intrinsic_called(call);
    if (intrinsic == TN__LOADED_FROM || intrinsic == TN__POINTER_FROM_OBJREF) {
        if (LLVMGetOperand(call, intrinsic == TN__LOADED_FROM) == fact->value)
            add_fact(m, call, fact->place, fact->is_direct);
        return;
    }
    unsigned arguments = LLVMGetNumArgOperands(call), calls = 0;
    for (unsigned k = 0; k < arguments; k++)
        if (LLVMGetOperand(call, k) == fact->value && tn__call_attribute(call, k + 1, "returned"))
            add_fact(m, call, fact->place, fact->is_direct);
    if (LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee))
        flow_through_intrinsic(m, fact, call);
    if (!fact->is_direct || !LLVMIsAFunction(callee) || LLVMIsDeclaration(callee))
        return;
    for (LLVMUseRef use = LLVMGetFirstUse(callee); use && calls <= MANY_CALLS; use = LLVMGetNextUse(use))
        calls++; /* what is called from everywhere gets addresses of everything */
    for (unsigned k = 0; calls <= MANY_CALLS && k < arguments && k < LLVMCountParams(callee); k++)
        if (LLVMGetOperand(call, k) == fact->value && !tn__type_by_value(callee, k))
            add_fact(m, LLVMGetParam(callee, k), fact->place, false);
}

static void flow_into_store(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef store)
{
    LLVMValueRef value = LLVMGetOperand(store, 0), to = LLVMGetOperand(store, 1);
    for (uint32_t at = to == fact->value && fact->is_direct ? tn__first_fact(m, value) : 0; at;
         at = m->facts[at - 1].next)
        store_into(m, fact->place.object, m->facts[at - 1]);
    for (uint32_t at = value == fact->value ? tn__first_fact(m, to) : 0; at; at = m->facts[at - 1].next)
        if (m->facts[at - 1].is_direct)
            store_into(m, m->facts[at - 1].place.object, *fact);
}

static void flow_into_user(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef user)
{
    bool is_constant = LLVMIsAConstantExpr(user);
    if (!is_constant && !LLVMIsAInstruction(user)) {
        if (LLVMIsAGlobalAlias(user))
            add_fact(m, user, fact->place, fact->is_direct);
        return;
    }
    switch ((int)(is_constant ? LLVMGetConstOpcode(user) : LLVMGetInstructionOpcode(user))) {
    case LLVMGetElementPtr:
        if (LLVMGetOperand(user, 0) == fact->value)
            flow_through_gep(m, fact, user);
        break;
    case LLVMLoad:
        if (fact->is_direct)
            load_from(m, fact->place.object, user);
        break;
    case LLVMStore:
        flow_into_store(m, fact, user);
        break;
    case LLVMCall:
    case LLVMInvoke:
    case LLVMCallBr:
        if (!tn__llvm_is_lifetime(user))
            flow_into_call(m, fact, user);
        break;
    case LLVMSelect:
        if (LLVMGetOperand(user, 0) != fact->value)
            add_fact(m, user, fact->place, fact->is_direct);
        break;
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
    case LLVMPHI:
    case LLVMFreeze:
    case LLVMExtractElement:
    case LLVMInsertElement:
    case LLVMShuffleVector:
    case LLVMExtractValue:
    case LLVMInsertValue:
        add_fact(m, user, fact->place, fact->is_direct);
        break;
    case LLVMPtrToInt:
    case PTR_TO_ADDR:
    case LLVMIntToPtr:
    case LLVMAdd:
    case LLVMSub:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMZExt:
    case LLVMTrunc:
        add_fact(m, user, anywhere(fact->place), false);
        break;
    default:
        break;
    }
}

/* What a variable contains is loaded from it. */
static void flow_out_of(struct tn__flow *m, uint32_t object)
{
    for (uint32_t at = m->objects[object].last_fact; at; at = m->facts[at - 1].next_of_object) {
        LLVMValueRef address = m->facts[at - 1].value;
        if (!m->facts[at - 1].is_direct || tn__is_contents(m, address))
            continue;
        for (TN__EACH_USE(use, address))
            if (LLVMIsALoadInst(LLVMGetUser(use)))
                load_from(m, object, LLVMGetUser(use));
    }
}

void tn__find_memory(struct tn__gc *gc, struct tn__flow *m)
{
    *m = (struct tn__flow){.gc = gc, .layout = LLVMGetModuleDataLayout(gc->module)};
    find_objects(m);
    for (uint32_t o = 0; o < m->object_count; o++)
        add_fact(m, m->objects[o].value, (struct tn__spot){.object = o}, true);
    while (m->queue_start < m->queue_count) {
        uint32_t number = m->queue[m->queue_start++];
        m->facts[number].is_queued = false;
        struct tn__fact fact = m->facts[number];
        if (tn__is_contents(m, fact.value)) {
            flow_out_of(m, (uint32_t)((struct tn__object *)(void *)fact.value - m->objects));
            continue;
        }
        for (TN__EACH_USE(use, fact.value))
            flow_into_user(m, &fact, LLVMGetUser(use));
    }
}
