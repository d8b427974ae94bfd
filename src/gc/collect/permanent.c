/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Permanent objects: those of spaces that belong to a heap, but lie outside of it. They are never moved, marked or
 * freed, and a collection looks at none of them but the *logged* ones, which may refer to objects of the heap.
 *
 * An object is armed while its header has TN_GC_PERMANENT and TN_GC_UNLOGGED. The first store of a reference into it
 * clears both bits and enters the object in the list of logged ones, whose references are roots from then on. When a
 * collection finds no reference into the heap there, the object is armed again. So pages of objects that no thread
 * stores into are never written.
 *
 * Large arrays stay armed, and their cards are noted instead (cards.c).
 *
 * If there is no memory for the list, the headers still tell: until there is, collections look at all objects that are
 * not armed.
 *
 * Programs that add no space contain none of this: others get here by heap->permanent_work. */

#include "gc/collect/collect.h"

struct space {
    char *start, *end;
    bool is_frozen;    /* no thread stores into its objects */
    uint64_t identity; /* added to an object's address: what its identity hash is made of */
    const void *owner; /* who added it, see tn__permanent_add; NULL: the client */
    uint64_t *starts;  /* a bit for each word where an object begins; NULL: not needed yet */
};

/* An image, whose memory ends with the heap. */
struct owner {
    void (*end)(void *owner);
    void *owner;
};

/* Changed under the heap's lock, but for the list: that is also changed in barriers, under a lock of its own. */
struct tn__permanent {
    struct space *spaces; /* by address */
    size_t space_count, space_capacity;
    struct owner *owners; /* newest last */
    size_t owner_count, owner_capacity;
    struct tn__mutex lock; /* a leaf: nothing is waited for */
    void **logged;
    size_t logged_count, logged_capacity;
    bool list_is_lost;
    struct tn__cards cards;
    void ***gathered; /* slots of an object, see gather */
    size_t gathered_count, gathered_capacity;
};

enum { ARMED = TN_GC_PERMANENT | TN_GC_UNLOGGED };

/* ---- spaces ---- */

/* The one that the address lies in, or NULL. */
static struct space *space_of(const struct tn_heap *heap, const void *address)
{
    const struct tn__permanent *p = heap->permanent;
    size_t after = TN_BISECT(0, p->space_count, i, p->spaces[i].start <= (const char *)address);
    struct space *space = after ? &p->spaces[after - 1] : NULL;
    return space && (const char *)address < space->end ? space : NULL;
}

/* Another thread may be adding a space. */
static uint64_t identity(const struct tn_heap *heap, const void *object)
{
    tn__mutex_lock(&heap->permanent->lock);
    const struct space *space = space_of(heap, object);
    uint64_t result = (uintptr_t)object + (space ? space->identity : 0);
    tn__mutex_unlock(&heap->permanent->lock);
    return result;
}

/* ---- logging ---- */

static bool enter_logged(struct tn__permanent *p, void *object)
{
    if (!tn__grow(NULL, &p->logged, &p->logged_capacity, p->logged_count + 1, sizeof *p->logged))
        return false;
    p->logged[p->logged_count++] = object;
    return true;
}

/* False: the array is logged as other objects are, because there is no memory. */
static bool log_card(struct tn_heap *heap, void *object, const void *slot, const void *value)
{
    struct tn__permanent *p = heap->permanent;
    if (slot && !tn__is_in_heap(heap, value))
        return true;
    tn__mutex_lock(&p->lock);
    bool noted = tn__cards_note(&p->cards, object, slot);
    tn__mutex_unlock(&p->lock);
    return noted;
}

static void log_object(struct tn_heap *heap, void *object, void *slot, void *value)
{
    struct tn__permanent *p = heap->permanent;
    if (tn__cards_cover(object) && log_card(heap, object, slot, value))
        return;
    if (!(__atomic_fetch_and(tn__header(object), ~(uint64_t)ARMED, __ATOMIC_SEQ_CST) & TN_GC_PERMANENT))
        return; /* another thread was first */
    tn__mutex_lock(&p->lock);
    if (!enter_logged(p, object))
        p->list_is_lost = true;
    tn__mutex_unlock(&p->lock);
}

/* ---- objects ---- */

static void each_in(const struct tn_heap *heap, bool also_frozen, void (*visit)(void *context, void *object),
                    void *context)
{
    for (size_t i = 0; i < heap->permanent->space_count; i++) {
        const struct space *space = &heap->permanent->spaces[i];
        if (also_frozen || !space->is_frozen)
            tn__each_between(space->start, space->end, visit, context);
    }
}

static void each_object(const struct tn_heap *heap, void (*visit)(void *context, void *object), void *context)
{
    each_in(heap, true, visit, context);
}

static bool is_armed(const void *object)
{
    return *tn__header(object) & TN_GC_PERMANENT;
}

static bool is_weak(const void *object)
{
    uint32_t kind = tn__type_of(object)->kind;
    return kind == TN_KIND_WEAK || kind == TN_KIND_EPHEMERON;
}

struct search {
    const struct tn_heap *heap;
    bool found;
};

static void look_for_heap(void *context, void **slot)
{
    struct search *search = context;
    search->found |= tn__is_in_heap(search->heap, *slot);
}

static bool refers_to_heap(const struct tn_heap *heap, void *object)
{
    struct search search = {heap, false};
    tn__visit_all_references(object, look_for_heap, &search);
    return search.found;
}

/* Calls `visit` for each object that may refer to the heap. */
static void each_logged(const struct tn_heap *heap, void (*visit)(void *context, void *object), void *context)
{
    const struct tn__permanent *p = heap->permanent;
    if (p->list_is_lost)
        each_in(heap, false, visit, context);
    else
        for (size_t i = 0; i < p->logged_count; i++)
            visit(context, p->logged[i]);
}

/* ---- roots ---- */

/* A type's function must not be called while another one runs. So objects that `forward` may lead to wait for the end
 * of that one. */
static void gather(void *context, void **slot)
{
    struct tn__collecting *c = context;
    struct tn__permanent *p = c->heap->permanent;
    if (tn__grow(NULL, &p->gathered, &p->gathered_capacity, p->gathered_count + 1, sizeof *p->gathered))
        p->gathered[p->gathered_count++] = slot;
    else
        c->tracing->forward(c, slot);
}

static void scan_custom(struct tn__collecting *c, void *object)
{
    struct tn__permanent *p = c->heap->permanent;
    p->gathered_count = 0;
    tn__visit_references(object, gather, c);
    for (size_t i = 0; i < p->gathered_count; i++)
        c->tracing->forward(c, p->gathered[i]);
}

static void scan_strong(void *context, void *object)
{
    if (is_armed(object) || is_weak(object))
        return;
    if (tn__type_of(object)->kind == TN_KIND_CUSTOM)
        scan_custom(context, object);
    else
        tn__scan(context, object);
}

static void scan(struct tn__collecting *c)
{
    each_logged(c->heap, scan_strong, c);
    tn__cards_visit(&c->heap->permanent->cards, c->tracing->forward, c);
}

/* True if the collection need not look at the word: it refers to what stays alive where it is. */
static bool is_settled(const struct tn__collecting *c, const void *object)
{
    return !object || (c->tracing->is_live(c, object) && !(*tn__header(object) & TN_GC_FORWARDED));
}

/* A partial collection would keep old objects that it is shown: while these are being marked, for one cycle more. */
static void link_weak(void *context, void *object)
{
    struct tn__collecting *c = context;
    void *const *words = object;
    if (is_armed(object) || !is_weak(object))
        return;
    bool is_ephemeron = tn__type_of(object)->kind == TN_KIND_EPHEMERON;
    if (!c->is_partial || !is_settled(c, words[0]) || (is_ephemeron && !is_settled(c, words[1])))
        tn__scan(c, object);
}

static void link(struct tn__collecting *c)
{
    each_logged(c->heap, link_weak, c);
}

/* ---- after a collection ---- */

static void arm(void *object)
{
    *tn__header(object) |= ARMED;
}

static void arm_or_enter(void *context, void *object)
{
    struct tn_heap *heap = context;
    if (is_armed(object) || tn__type_of(object)->kind == TN_KIND_LEAF)
        return;
    if (!refers_to_heap(heap, object))
        arm(object);
    else if (!enter_logged(heap->permanent, object))
        heap->permanent->list_is_lost = true;
}

static void arm_all(struct tn_heap *heap)
{
    struct tn__permanent *p = heap->permanent;
    size_t count = p->logged_count;
    tn__cards_clean(&p->cards, heap);
    p->logged_count = 0;
    if (p->list_is_lost) {
        p->list_is_lost = false;
        each_in(heap, false, arm_or_enter, heap);
        return;
    }
    for (size_t i = 0; i < count; i++)
        arm_or_enter(heap, p->logged[i]); /* there is space */
}

/* ---- checks ---- */

static void note_start(void *context, void *object)
{
    struct space *space = context;
    uint64_t word = (uint64_t)((char *)object - space->start) / 8;
    space->starts[word / 64] |= UINT64_C(1) << word % 64;
}

/* Without memory for the bits, whatever lies in a space counts as a start. */
static bool is_start(struct tn_heap *heap, const void *address)
{
    struct space *space = space_of(heap, address);
    if (!space)
        return true;
    uint64_t offset = (uint64_t)((const char *)address - space->start);
    if (!space->starts) {
        space->starts = tn__alloc_zeroed(NULL, (size_t)(space->end - space->start) / 512 + 1, sizeof *space->starts);
        if (space->starts)
            tn__each_between(space->start, space->end, note_start, space);
    }
    return !space->starts || (offset % 8 == 0 && space->starts[offset / 512] >> offset / 8 % 64 & 1);
}

struct check {
    struct tn_heap *heap;
    size_t referring;
};

static void check_object(void *context, void *object)
{
    struct check *check = context;
    if (!refers_to_heap(check->heap, object))
        return;
    if (is_armed(object) && !tn__cards_hold(&check->heap->permanent->cards, check->heap, object))
        tn__corrupt(check->heap, "a reference was stored into a permanent object that is not logged");
    check->referring += !is_armed(object);
}

static void verify(struct tn_heap *heap)
{
    const struct tn__permanent *p = heap->permanent;
    struct check check = {heap, 0};
    size_t logged = 0;
    each_object(heap, check_object, &check);
    for (size_t i = 0; i < p->logged_count; i++)
        logged += refers_to_heap(heap, p->logged[i]);
    if (!p->list_is_lost && logged != check.referring)
        tn__corrupt(heap, "other permanent objects refer to the heap than those that are logged");
}

/* Under the heap's lock; barriers may be logging. */
static void count(const struct tn_heap *heap, struct tn_heap_stats *stats)
{
    struct tn__permanent *p = heap->permanent;
    for (size_t i = 0; i < p->space_count; i++)
        stats->permanent += (uint64_t)(p->spaces[i].end - p->spaces[i].start);
    tn__mutex_lock(&p->lock);
    stats->permanent_logged = p->logged_count + p->cards.count;
    tn__mutex_unlock(&p->lock);
}

/* ---- adding and removing ---- */

static void end(struct tn_heap *heap)
{
    struct tn__permanent *p = heap->permanent;
    while (p->owner_count) {
        const struct owner *last = &p->owners[--p->owner_count];
        last->end(last->owner);
    }
    tn__mutex_destroy(&p->lock);
    for (size_t i = 0; i < p->space_count; i++)
        tn__free(NULL, p->spaces[i].starts);
    tn__cards_free(&p->cards);
    tn__free(NULL, p->owners);
    tn__free(NULL, p->spaces);
    tn__free(NULL, p->logged);
    tn__free(NULL, p->gathered);
    tn__free(NULL, p);
}

/* Under the heap's lock. */
static bool begin(struct tn_heap *heap)
{
    static const struct tn__permanent_work work = {log_object,  scan,  link,     arm_all,  verify,
                                                   each_object, count, is_start, identity, end};
    if (heap->permanent)
        return true;
    heap->permanent = tn__alloc_zeroed(NULL, 1, sizeof *heap->permanent);
    if (!heap->permanent)
        return false;
    tn__mutex_init(&heap->permanent->lock, TN__LEVEL_PERMANENT);
    __atomic_store_n(&heap->permanent_work, &work, __ATOMIC_RELEASE);
    return true;
}

/* True if the addresses from `start` to `end` are the heap's, or permanent objects lie there. */
static bool is_taken(const struct tn_heap *heap, const char *start, const char *end)
{
    const struct tn__permanent *p = heap->permanent;
    size_t next = TN_BISECT(0, p->space_count, i, p->spaces[i].end <= start);
    bool in_heap = (uintptr_t)start < heap->start + heap->size && heap->start < (uintptr_t)end;
    return in_heap || (next < p->space_count && p->spaces[next].start < end);
}

/* There is space. */
static void insert_space(struct tn__permanent *p, struct space space)
{
    size_t at = TN_BISECT(0, p->space_count, i, p->spaces[i].start < space.start);
    memmove(&p->spaces[at + 1], &p->spaces[at], (p->space_count - at) * sizeof *p->spaces);
    p->spaces[at] = space;
    p->space_count++;
}

static int add(struct tn_heap *heap, struct space space, struct tn_error *err)
{
    if (!begin(heap))
        return tn__no_memory(err, NULL);
    struct tn__permanent *p = heap->permanent;
    if (is_taken(heap, space.start, space.end))
        return tn__fail(err, TN_EINVAL, "the addresses from %p to %p are the heap's, or have permanent objects already",
                        (void *)space.start, (void *)space.end);
    tn__mutex_lock(&p->lock);
    bool has_space = tn__grow(NULL, &p->spaces, &p->space_capacity, p->space_count + 1, sizeof *p->spaces);
    if (has_space)
        insert_space(p, space);
    tn__mutex_unlock(&p->lock);
    return has_space ? 0 : tn__no_memory(err, NULL);
}

int tn_heap_add_permanent(struct tn_heap *heap, void *start, size_t size, uint64_t flags, struct tn_error *err)
{
    if (!heap || !start)
        return tn__no_argument(err);
    if (flags & ~(uint64_t)TN_PERMANENT_FROZEN)
        return tn__fail(err, TN_EINVAL, "unknown flags for permanent objects");
    if (!size || size % 8 || (uintptr_t)start % 8 || size > UINTPTR_MAX - (uintptr_t)start)
        return tn__fail(err, TN_EINVAL,
                        "%zu bytes at %p cannot hold permanent objects: both numbers have to be multiples of 8", size,
                        start);
    int code = tn__may_wait(err);
    if (code)
        return code;
    tn__heap_lock(heap);
    bool is_frozen = flags & TN_PERMANENT_FROZEN;
    code = add(heap, (struct space){.start = start, .end = (char *)start + size, .is_frozen = is_frozen}, err);
    tn__heap_unlock(heap);
    return code;
}

/* Under the heap's lock. */
static void remove_space(struct tn__permanent *p, struct space *at)
{
    size_t kept = 0;
    tn__mutex_lock(&p->lock);
    for (size_t i = 0; i < p->logged_count; i++)
        if ((char *)p->logged[i] < at->start || (char *)p->logged[i] >= at->end)
            p->logged[kept++] = p->logged[i];
    p->logged_count = kept;
    tn__cards_forget(&p->cards, at->start, at->end);
    tn__free(NULL, at->starts);
    memmove(at, at + 1, (size_t)(&p->spaces[--p->space_count] - at) * sizeof *at);
    tn__mutex_unlock(&p->lock);
}

int tn_heap_remove_permanent(struct tn_heap *heap, const void *start, struct tn_error *err)
{
    if (!heap || !start)
        return tn__no_argument(err);
    int code = tn__may_wait(err);
    if (code)
        return code;
    tn__heap_lock(heap);
    struct space *found = heap->permanent ? space_of(heap, start) : NULL;
    if (found && (found->start != start || found->owner))
        found = NULL;
    if (found)
        remove_space(heap->permanent, found);
    tn__heap_unlock(heap);
    return found ? 0 : tn__fail(err, TN_EINVAL, "no permanent objects were added at %p", start);
}

/* ---- images ---- */

static void remove_owned(struct tn__permanent *p, const void *owner)
{
    for (size_t i = p->space_count; i-- > 0;)
        if (p->spaces[i].owner == owner)
            remove_space(p, &p->spaces[i]);
}

int tn__permanent_add(struct tn_heap *heap, const struct tn__permanent_part *parts, size_t count, void *owner,
                      void (*at_end)(void *owner), struct tn_error *err)
{
    struct tn__permanent *p = begin(heap) ? heap->permanent : NULL;
    if (!p || !tn__grow(NULL, &p->owners, &p->owner_capacity, p->owner_count + 1, sizeof *p->owners))
        return tn__no_memory(err, NULL);
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        const struct tn__permanent_part *part = &parts[i];
        code = add(heap,
                   (struct space){.start = part->start,
                                  .end = part->start + part->size,
                                  .is_frozen = part->is_frozen,
                                  .identity = part->identity,
                                  .owner = owner},
                   err);
    }
    if (code)
        remove_owned(p, owner);
    else
        p->owners[p->owner_count++] = (struct owner){at_end, owner};
    return code;
}

void tn__permanent_remove(struct tn_heap *heap, const void *owner)
{
    struct tn__permanent *p = heap->permanent;
    size_t kept = 0;
    remove_owned(p, owner);
    for (size_t i = 0; i < p->owner_count; i++)
        if (p->owners[i].owner != owner)
            p->owners[kept++] = p->owners[i];
    p->owner_count = kept;
}

void *tn__permanent_owner(const struct tn_heap *heap, size_t index)
{
    const struct tn__permanent *p = heap->permanent;
    return index < p->owner_count ? p->owners[index].owner : NULL;
}

void tn__permanent_store(struct tn_heap *heap, void *object, void **slot, void *value)
{
    if (tn__needs_log(heap, object, value))
        tn__log_store(heap, object, slot, value);
    __atomic_store_n(slot, value, __ATOMIC_RELEASE);
}
