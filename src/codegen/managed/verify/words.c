/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the words of memory hold. A word holds a reference if its type says so, if a reference is stored there or loaded
 * from there, if it is passed to a call as memory of a type with a reference in that place, or if it is copied to or
 * from such a word, or to or from a word of an object whose type descriptor lists a reference there. What is accessed
 * as something else as well is an error: the collector would change numbers, or miss references. Null, undefined values
 * and zeroed bytes are neither. For accesses at variable offsets, and for memory that only other modules access, the
 * type decides; so it does where accesses through calls or through pointers in memory disagree. */

#include "codegen/managed/verify/verify.h"

#define PUN                                                                                                            \
    "this memory is used as a reference and as something else: use other memory, or ptr addrspace(10) for every "      \
    "access"

/* ---- sets of words ---- */

static uint32_t representative(struct tn__flow *m, uint32_t word)
{
    while (m->words[word].parent != word)
        word = m->words[word].parent = m->words[m->words[word].parent].parent;
    return word;
}

static void unite(struct tn__flow *m, uint32_t one, uint32_t other)
{
    struct tn__word *a = &m->words[representative(m, one)], *b = &m->words[representative(m, other)];
    if (a == b)
        return;
    b->parent = (uint32_t)(a - m->words);
    a->reference |= b->reference;
    a->referenced = a->referenced ? a->referenced : b->referenced;
    a->numbered = a->numbered ? a->numbered : b->numbered;
    a->may_be_reference |= b->may_be_reference;
    a->may_be_number |= b->may_be_number;
}

bool tn__word_holds_reference(struct tn__flow *m, const struct tn__object *object, uint32_t word)
{
    const struct tn__word *set = &m->words[representative(m, object->first_word + word)];
    return set->reference || (set->may_be_reference && !set->may_be_number && !set->numbered);
}

/* ---- the words at a place ---- */

/* Iterates over words that an access of a word at `bytes` from a place may reach. */
struct reach {
    struct tn__flow *memory;
    uint32_t word, end; /* in struct tn__flow */
    uint32_t step;
    bool is_aligned;
    bool decided;  /* there is only one, or all have the same type */
    bool declared; /* as references, all of them */
};

static struct reach reach(struct tn__flow *m, struct tn__spot place, int64_t bytes)
{
    const struct tn__object *object = &m->objects[place.object];
    uint32_t count = (uint32_t)(object->size / WORD_BYTES);
    uint64_t stride = place.stride;
    int64_t offset = place.offset + bytes;
    struct reach r = {.memory = m, .end = object->first_word + count, .is_aligned = true, .decided = true};
    if (object->repeats || stride) {
        stride = tn__common_divisor(stride, object->repeats ? object->size : 0);
        r.is_aligned = stride % WORD_BYTES == 0 && offset % WORD_BYTES == 0;
        stride = r.is_aligned ? stride : WORD_BYTES;
        offset %= (int64_t)stride;
        offset += offset < 0 ? (int64_t)stride : 0;
    }
    r.is_aligned &= offset % WORD_BYTES == 0;
    r.step = stride ? (uint32_t)(stride / WORD_BYTES) : count;
    r.word =
        offset < 0 || offset >= (int64_t)object->size ? r.end : object->first_word + (uint32_t)(offset / WORD_BYTES);
    r.declared = r.word < r.end && m->words[r.word].declared;
    for (uint32_t w = r.word; w < r.end; w += r.step)
        r.decided &= m->words[w].declared == r.declared;
    return r;
}

/* Notes that words are used as something else than references; `at` NULL: that they may be. */
static void note_number(struct reach r, LLVMValueRef at)
{
    for (uint32_t w = r.word; w < r.end && r.decided; w += r.step) {
        struct tn__word *set = &r.memory->words[representative(r.memory, w)];
        set->numbered = set->numbered ? set->numbered : at;
        set->may_be_number |= !at;
    }
}

static void note_reference(struct reach r, LLVMValueRef at)
{
    if (!r.is_aligned && r.word < r.end && at) {
        tn__gc_reject(r.memory->gc, at, "stack-layout", "references in memory lie at multiples of 8 bytes");
        return;
    }
    for (uint32_t w = r.word; w < r.end && r.decided; w += r.step) {
        struct tn__word *set = &r.memory->words[representative(r.memory, w)];
        set->reference |= at != NULL;
        set->referenced = set->referenced ? set->referenced : at;
        set->may_be_reference |= !at;
    }
}

/* ---- accesses ---- */

/* Memory of a type, at a place. */
struct access {
    struct tn__flow *memory;
    struct tn__spot place;
    LLVMValueRef at; /* NULL: the memory may be another */
    uint64_t done;   /* bytes of it, up to the last reference */
    bool is_global_load;
};

static void note_numbers(struct access *a, uint64_t end)
{
    uint64_t start = a->done - (uint64_t)(a->place.stride ? 0 : a->place.offset + (int64_t)a->done) % WORD_BYTES;
    for (uint64_t at = start; (int64_t)at < (int64_t)end; at += WORD_BYTES)
        note_number(reach(a->memory, a->place, (int64_t)at), a->at);
}

static void note_part(void *context, uint64_t offset)
{
    struct access *a = context;
    note_numbers(a, offset);
    if (!a->is_global_load)
        note_reference(reach(a->memory, a->place, (int64_t)offset), a->at);
    a->done = offset + WORD_BYTES;
}

static void note_access(struct tn__flow *m, const struct tn__fact *fact, LLVMTypeRef type, LLVMValueRef at, bool writes)
{
    if (!tn__has_known_size(type))
        return;
    struct access a = {m, fact->place, fact->is_direct ? at : NULL, 0,
                       !writes && LLVMIsAGlobalVariable(m->objects[fact->place.object].value)};
    tn__each_reference(m->layout, type, 0, note_part, &a);
    note_numbers(&a, LLVMStoreSizeOfType(m->layout, type));
}

/* ---- copies ---- */

static void note_copied_word(struct tn__flow *m, struct tn__spot to, struct tn__spot from, int64_t at)
{
    struct reach a = reach(m, to, at), b = reach(m, from, at);
    if (!a.decided || !b.decided || a.word >= a.end || b.word >= b.end)
        return;
    for (uint32_t w = a.word; w < a.end; w += a.step)
        unite(m, w, b.word);
    for (uint32_t w = b.word; w < b.end; w += b.step)
        unite(m, w, a.word);
}

/* How many bytes of the object come behind a place, if that is known. */
static uint64_t bytes_behind(const struct tn__flow *m, struct tn__spot place)
{
    const struct tn__object *object = &m->objects[place.object];
    bool known = !place.stride && !object->repeats && place.offset >= 0 && place.offset < (int64_t)object->size;
    return known ? object->size - (uint64_t)place.offset : object->size;
}

/* `size` UINT64_MAX: not known; then the types have to agree. */
static void note_copy(struct tn__flow *m, struct tn__spot to, struct tn__spot from, uint64_t size, LLVMValueRef at)
{
    bool known = size != UINT64_MAX;
    uint64_t a = bytes_behind(m, to), b = bytes_behind(m, from), most = a < b ? a : b;
    size = size < most ? size : most;
    int64_t first = reach(m, to, 0).is_aligned ? 0 : WORD_BYTES - (int64_t)((uint64_t)to.offset % WORD_BYTES);
    bool shifted = reach(m, to, first).is_aligned != reach(m, from, first).is_aligned;
    for (int64_t k = 0; known && k < (int64_t)size && (shifted || k < first); k += WORD_BYTES) {
        note_number(reach(m, to, k), at);
        note_number(reach(m, from, k), at);
    }
    int64_t k = first;
    for (; !shifted && k + WORD_BYTES <= (int64_t)size; k += WORD_BYTES)
        if (known || reach(m, to, k).declared == reach(m, from, k).declared)
            note_copied_word(m, to, from, k);
    if (!shifted && known && k < (int64_t)size) {
        note_number(reach(m, to, k), at);
        note_number(reach(m, from, k), at);
    }
}

static void note_listed(void *context, uint64_t offset)
{
    const struct access *a = context;
    note_reference(reach(a->memory, a->place, (int64_t)offset), a->at);
}

/* A copy between the memory and an address that may lead into an object. */
static void note_object(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef address, uint64_t size,
                        LLVMValueRef at)
{
    struct access a = {.memory = m, .place = fact->place, .at = fact->is_direct ? at : NULL};
    uint64_t most = bytes_behind(m, fact->place);
    if (size != UINT64_MAX)
        tn__each_listed_reference(m->gc, address, size < most ? size : most, note_listed, &a);
}

static void note_copies(struct tn__flow *m, const struct tn__fact *to, LLVMValueRef from, uint64_t size,
                        LLVMValueRef at)
{
    note_object(m, to, from, size, at);
    for (uint32_t f = tn__first_fact(m, from); f && to->is_direct; f = m->facts[f - 1].next)
        if (m->facts[f - 1].is_direct)
            note_copy(m, to->place, m->facts[f - 1].place, size, at);
}

static bool is_simple(LLVMValueRef access)
{
    return !LLVMGetVolatile(access) && LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic;
}

bool tn__is_copy_load(LLVMValueRef i)
{
    if (!LLVMIsALoadInst(i) || !is_simple(i) || tn__type_holds(LLVMTypeOf(i), IN_MANAGED) || !LLVMGetFirstUse(i))
        return false;
    for (TN__EACH_USE(use, i)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsAStoreInst(user) || LLVMGetOperand(user, 0) != i || LLVMGetOperand(user, 1) == i || !is_simple(user))
            return false;
    }
    return true;
}

/* ---- uses of an address ---- */

static void judge_store(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef store)
{
    LLVMValueRef value = LLVMGetOperand(store, 0);
    LLVMTypeRef type = LLVMTypeOf(value);
    if (LLVMGetOperand(store, 1) != fact->value || LLVMIsNull(value) || LLVMIsUndef(value) || LLVMIsPoison(value))
        return;
    if (tn__is_copy_load(value))
        note_copies(m, fact, LLVMGetOperand(value, 0), LLVMStoreSizeOfType(m->layout, type), store);
    else
        note_access(m, fact, type, store, true);
}

static void judge_load(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef load)
{
    LLVMTypeRef type = LLVMTypeOf(load);
    if (!tn__is_copy_load(load)) {
        if (LLVMGetFirstUse(load))
            note_access(m, fact, type, load, false);
        return;
    }
    for (TN__EACH_USE(use, load))
        note_object(m, fact, LLVMGetOperand(LLVMGetUser(use), 1), LLVMStoreSizeOfType(m->layout, type), load);
}

static void judge_fill(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef call)
{
    LLVMValueRef byte = LLVMGetOperand(call, 1), length = LLVMGetOperand(call, 2);
    if (LLVMIsNull(byte) || LLVMIsUndef(byte) || LLVMIsPoison(byte) || !LLVMIsAConstantInt(length))
        return;
    struct access a = {.memory = m, .place = fact->place, .at = fact->is_direct ? call : NULL};
    uint64_t size = LLVMConstIntGetZExtValue(length), most = bytes_behind(m, fact->place);
    note_numbers(&a, size < most ? size : most);
}

/* memcpy and memmove, and what `normalize` makes of them. */
static void judge_copy(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef call)
{
    LLVMValueRef to = LLVMGetOperand(call, 0), from = LLVMGetOperand(call, 1), bytes = LLVMGetOperand(call, 2);
    uint64_t size = LLVMIsAConstantInt(bytes) ? LLVMConstIntGetZExtValue(bytes) : UINT64_MAX;
    if (to == fact->value)
        note_copies(m, fact, from, size, call);
    if (from == fact->value)
        note_object(m, fact, to, size, call);
}

static void judge_intrinsic(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef call)
{
    if (tn__calls_llvm(call, "memset.")) {
        judge_fill(m, fact, call);
    } else if (tn__is_vector_load(call)) {
        note_access(m, fact, LLVMTypeOf(call), call, false);
    } else if (tn__is_vector_store(call) && LLVMGetOperand(call, 1) == fact->value) {
        note_access(m, fact, LLVMTypeOf(LLVMGetOperand(call, 0)), call, true);
    }
}

/* Attributes of an argument that say what the memory is. */
static void judge_argument(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef call, unsigned argument)
{
    static const char *const names[] = {"sret", "byval", "byref", "elementtype"};
    for (size_t n = 0; n < TN_COUNT(names); n++) {
        LLVMAttributeRef attribute = tn__call_attribute(call, argument + 1, names[n]);
        if (attribute)
            note_access(m, fact, LLVMGetTypeAttributeValue(attribute), call, n != 1);
    }
}

static void judge_call(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    if (LLVMGetNumArgOperands(call) >= 3 && (tn__is_copy(call) || tn__intrinsic_called(call) == TN__MOVE)) {
        judge_copy(m, fact, call);
        return;
    }
    if (LLVMIsAFunction(callee) && LLVMGetIntrinsicID(callee)) {
        judge_intrinsic(m, fact, call);
        return;
    }
    for (unsigned k = 0; k < LLVMGetNumArgOperands(call); k++)
        if (LLVMGetOperand(call, k) == fact->value)
            judge_argument(m, fact, call, k);
}

static void judge_use(struct tn__flow *m, const struct tn__fact *fact, LLVMValueRef user)
{
    if (!LLVMIsAInstruction(user))
        return;
    switch (LLVMGetInstructionOpcode(user)) {
    case LLVMLoad:
        judge_load(m, fact, user);
        break;
    case LLVMStore:
        judge_store(m, fact, user);
        break;
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        if (LLVMGetOperand(user, 0) == fact->value)
            note_access(m, fact, LLVMTypeOf(LLVMGetOperand(user, 1)), user, true);
        break;
    case LLVMCall:
    case LLVMInvoke:
    case LLVMCallBr:
        if (!tn__llvm_is_lifetime(user))
            judge_call(m, fact, user);
        break;
    default:
        break;
    }
}

/* ---- all of it ---- */

static void declare_word(void *context, uint64_t offset)
{
    const struct tn__word *words = context;
    struct tn__word *word = (struct tn__word *)words + offset / WORD_BYTES;
    word->declared = word->reference = true;
}

static void report(struct tn__flow *m, const struct tn__object *object)
{
    bool global = LLVMIsAGlobalVariable(object->value), told = false;
    for (uint32_t w = 0; w < object->size / WORD_BYTES; w++) {
        struct tn__word *set = &m->words[representative(m, object->first_word + w)];
        if (set->reference && set->numbered) {
            tn__gc_reject(m->gc, set->numbered, "pun", PUN);
            set->numbered = NULL;
        } else if (global && set->reference && !m->words[object->first_word + w].declared && !told) {
            tn__gc_reject(
                m->gc, set->referenced ? set->referenced : object->value, "global",
                "a reference is stored in a global whose type has none there, where the collector does not see "
                "it: give the global a type that says where its references are");
            told = true;
        }
    }
}

void tn__judge_memory(struct tn__flow *m)
{
    m->words = tn__gc_array(m->gc, m->word_count, sizeof *m->words);
    for (uint32_t w = 0; w < m->word_count; w++)
        m->words[w].parent = w;
    for (uint32_t o = 0; o < m->object_count; o++)
        tn__each_reference(m->layout, m->objects[o].type, 0, declare_word, m->words + m->objects[o].first_word);
    for (uint32_t f = 0; f < m->fact_count; f++) {
        const struct tn__fact *fact = &m->facts[f];
        if (tn__is_contents(m, fact->value))
            continue;
        /* References name objects, and the collector looks at their headers; permanent ones are globals. */
        int space = tn__space_of(fact->value);
        if (LLVMIsAAddrSpaceCastInst(fact->value) && (space == TRACKED || space == CALLEE_ROOTED) && fact->is_direct &&
            !LLVMIsAGlobalVariable(m->objects[fact->place.object].value))
            tn__gc_reject(m->gc, fact->value, "cast", "stack memory is no object: cast its address to 11");
        for (TN__EACH_USE(use, fact->value))
            judge_use(m, fact, LLVMGetUser(use));
    }
    for (uint32_t o = 0; o < m->object_count; o++)
        report(m, &m->objects[o]);
}

bool tn__leads_to_reference(struct tn__flow *m, LLVMValueRef pointer, uint64_t bytes)
{
    for (uint32_t f = tn__first_fact(m, pointer); f; f = m->facts[f - 1].next) {
        const struct tn__object *object = &m->objects[m->facts[f - 1].place.object];
        struct reach r = reach(m, m->facts[f - 1].place, (int64_t)bytes);
        if (r.word < r.end && r.decided && m->facts[f - 1].is_direct &&
            tn__word_holds_reference(m, object, r.word - object->first_word))
            return true;
    }
    return false;
}

void tn__check_stack(struct tn__gc *gc)
{
    struct tn__flow memory;
    tn__find_memory(gc, &memory);
    tn__judge_memory(&memory);
}
