/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded code registers to run at exit: atexit, on_exit, and the destructors of C++ objects, which compilers
 * register with __cxa_atexit (Itanium C++ ABI, 3.3.6.3). The host's functions would keep addresses that dangle once a
 * library is removed, so loaded code gets these instead: what it registers is kept with its library, in one list, and
 * runs before the library's finalizers. */

#include "base/at_exit.h"
#include "link/process/process.h"

/* ---- which object ---- */

static bool holds(const struct tn__object *object, uint64_t address)
{
    for (int zone = 0; zone < TN__PLACES; zone++)
        if (object->ranges[zone] && address - object->ranges[zone]->address < object->ranges[zone]->size)
            return true;
    return false;
}

static bool place_object(struct tn_session *session, struct tn__object *object)
{
    object->places = tn__alloc(session->allocator, TN__PLACES * sizeof *object->places);
    for (int zone = 0; object->places && zone < TN__PLACES; zone++)
        if (object->ranges[zone]) {
            object->places[zone] = (struct tn__placed_object){{.key = object->ranges[zone]->address}, object};
            tn__tree_insert(&session->places, &object->places[zone].tree);
        }
    return object->places;
}

/* Registering is rare, so objects enter the tree when it is needed. */
bool tn__session_find_object(struct tn_session *session, uint64_t address, struct tn__object **object)
{
    for (struct tn__list *node; (node = session->unplaced.next) != &session->unplaced; tn__list_remove(node))
        if (!place_object(session, tn__container_of(node, struct tn__object, queued)))
            return false;
    struct tn__tree *below = tn__tree_below(session->places, address);
    *object = below ? tn__container_of(below, struct tn__placed_object, tree)->object : NULL;
    if (*object && !holds(*object, address))
        *object = NULL;
    return true;
}

/* 1: the address is in none of this session's objects, and not that of a stub. */
static int keep_in(struct tn_session *session, const void *address, tn__keep *keep, void *context) TN__LOCKED
{
    struct tn__object *object;
    if (tn__session_is_elsewhere(session))
        return 1;
    if (!tn__session_find_object(session, (uintptr_t)address, &object))
        return -1;
    struct tn_tracker *const *owner = object          ? &object->owner
                                      : session->lazy ? session->lazy->owner_of(session, (uintptr_t)address)
                                                      : NULL;
    return owner ? keep(context, object, owner) : 1;
}

static int keep_somewhere(const void *address, tn__keep *keep, void *context)
{
    int code = 1;
    tn__sessions_lock();
    for (struct tn_session *session = NULL; code > 0 && (session = tn__sessions_next(session));) {
        tn__session_lock(session);
        code = keep_in(session, address, keep, context);
        tn__session_pause(session);
    }
    tn__sessions_unlock();
    return code;
}

int tn__keep_with_owner(const void *const *clues, size_t count, tn__keep *keep, void *context)
{
    int code = 1;
    for (size_t i = 0; i < count && code > 0; i++)
        code = clues[i] ? keep_somewhere(clues[i], keep, context) : 1;
    return code > 0 ? -1 : code;
}

/* ---- what an owner's objects have registered: a leftist heap with the newest one on top ---- */

static size_t rank_of(const struct tn__exit *heap)
{
    return heap ? heap->rank : 0;
}

/* Recurses as often as a number has digits. */
static struct tn__exit *meld(struct tn__exit *a, struct tn__exit *b)
{
    if (!a || !b)
        return a ? a : b;
    struct tn__exit *top = a->number > b->number ? a : b, *right = meld(top->right, top == a ? b : a);
    bool keep = rank_of(top->left) >= rank_of(right);
    top->right = keep ? right : top->left;
    top->left = keep ? top->left : right;
    top->rank = rank_of(top->right) + 1;
    return top;
}

static int keep_exit(void *context, struct tn__object *object, struct tn_tracker *const *owner)
{
    (void)object;
    struct tn_library *library = (*owner)->library;
    struct tn__exit *exit = tn__alloc(library->session->allocator, sizeof *exit);
    if (!exit)
        return -1;
    *exit = *(const struct tn__exit *)context;
    exit->owner = owner;
    exit->number = __atomic_add_fetch(&library->exit_count, 1, __ATOMIC_RELAXED);
    exit->rank = 1;
    tn__list_append(&library->exits, &exit->listed);
    (*owner)->exits = meld((*owner)->exits, exit);
    return 0;
}

static int keep_thread_exit(void *context, struct tn__object *object, struct tn_tracker *const *owner) TN__LOCKED
{
    (void)owner;
    return object ? tn__object_add_thread_exit(object, context) : 1;
}

/* The newest of all in a library is the newest of its owner, too. */
static void remove_newest(struct tn_tracker *owner)
{
    struct tn__exit *exit = owner->exits;
    owner->exits = meld(exit->left, exit->right);
    tn__list_remove(&exit->listed);
    tn__free(owner->library->session->allocator, exit);
}

void tn__exits_give(struct tn_tracker *from, struct tn_tracker *to)
{
    to->exits = meld(to->exits, from->exits);
    from->exits = NULL;
}

void tn__exits_forget(struct tn_tracker *tracker)
{
    while (tracker->exits)
        remove_newest(tracker);
}

/* ---- registering ---- */

/* The object that registers a function is known by its handle, if it gives one. The function itself, for example a
 * destructor of the C++ library, may be another object's, which may be removed later. If it is the host's, the object
 * is the one that the caller returns to. */
static int keep(const struct tn__exit *what, tn__keep *how, const void *handle, const void *caller)
{
    const void *const clues[] = {handle, (const void *)(uintptr_t)what->function, what->argument, caller};
    return tn__keep_with_owner(clues, TN_COUNT(clues), how, (void *)what);
}

int tn__cxa_atexit(void (*function)(void *), void *argument, void *handle)
{
    return keep(&(struct tn__exit){.function = function, .argument = argument}, keep_exit, handle, TN__CALLER);
}

int tn__cxa_thread_atexit(void (*function)(void *), void *argument, void *handle)
{
    return keep(&(struct tn__exit){.function = function, .argument = argument}, keep_thread_exit, handle, TN__CALLER);
}

int tn__atexit(void (*function)(void))
{
    /* Called with an argument that it does not look at, which no supported ABI minds; C libraries do the same. */
    return keep(&(struct tn__exit){.function = (void (*)(void *))(uintptr_t)function}, keep_exit, NULL, TN__CALLER);
}

int tn__on_exit(void (*function)(int, void *), void *argument)
{
    const struct tn__exit what = {
        .function = (void (*)(void *))(uintptr_t)function, .argument = argument, .takes_status = true};
    return tn__ending_knows_status() ? keep(&what, keep_exit, NULL, TN__CALLER) : -1;
}

/* ---- running ---- */

/* Takes the newest one that belongs to the tracker; NULL: to any. */
static bool take_newest(struct tn_library *library, struct tn_tracker *owner, struct tn__exit *what)
{
    tn__session_lock(library->session);
    if (!owner && !tn__list_is_empty(&library->exits))
        owner = *tn__container_of(library->exits.previous, struct tn__exit, listed)->owner;
    bool found = owner && owner->exits;
    if (found) {
        *what = *owner->exits;
        remove_newest(owner);
    }
    tn__session_unlock(library->session);
    return found;
}

void tn__exits_run(struct tn_library *library, struct tn_tracker *owner)
{
    if (!__atomic_load_n(&library->exit_count, __ATOMIC_RELAXED))
        return;
    for (struct tn__exit what; take_newest(library, owner, &what);) { /* they may register more */
        if (what.takes_status)
            ((void (*)(int, void *))(uintptr_t)what.function)(tn__exit_status(), what.argument);
        else
            what.function(what.argument);
    }
}
