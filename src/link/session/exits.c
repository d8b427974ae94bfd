/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What loaded code registers to run at exit: atexit, and the destructors of C++ objects, which compilers register with
 * __cxa_atexit (Itanium C++ ABI, 3.3.6.3). The host's functions would keep addresses that dangle once a library is
 * removed, so loaded code gets these instead: what it registers is kept with its library and runs before the library's
 * finalizers. */

#include "link/session/contents.h"

static bool holds(const struct tn__object *object, uint64_t address)
{
    for (int zone = 0; zone < TN_ZONES; zone++)
        if (object->ranges[zone] && address - object->ranges[zone]->address < object->ranges[zone]->size)
            return true;
    return false;
}

/* The object of this library that the address lies in. Registering is rare, so all are looked at. */
static struct tn__object *find_object(struct tn_library *library, uint64_t address)
{
    for (struct tn_tracker *tracker = NULL; (tracker = tn__library_next_tracker(library, tracker));)
        for (struct tn__list *node = tracker->objects.next; node != &tracker->objects; node = node->next) {
            struct tn__object *object = tn__container_of(node, struct tn__object, owned);
            if (holds(object, address))
                return object;
        }
    return NULL;
}

static int keep(struct tn_library *library, struct tn__object *object, const struct tn__exit *what)
{
    struct tn__exits *exits = &library->exits;
    if (!tn__grow(library->session->allocator, &exits->items, &exits->capacity, exits->count + 1, sizeof *exits->items))
        return -1;
    exits->items[exits->count] = *what;
    exits->items[exits->count++].object = object;
    object->has_calls = true;
    return 0;
}

/* Under the session's lock. 1: the address is in none of this session's objects. */
static int keep_in(struct tn_session *session, const void *address, const struct tn__exit *what, bool of_thread)
{
    for (struct tn_library *library = session->libraries; library && !tn__session_is_elsewhere(session);
         library = library->next) {
        struct tn__object *object = find_object(library, (uintptr_t)address);
        if (object)
            return of_thread ? tn__object_add_thread_exit(object, what) : keep(library, object, what);
    }
    return 1;
}

static int keep_somewhere(const void *address, const struct tn__exit *what, bool of_thread)
{
    int code = 1;
    tn__sessions_lock();
    for (struct tn_session *session = NULL; code > 0 && (session = tn__sessions_next(session));) {
        tn__session_lock(session);
        code = keep_in(session, address, what, of_thread);
        tn__session_pause(session);
    }
    tn__sessions_unlock();
    return code;
}

/* The object that registers a function is known by its handle. The function itself, for example a destructor of the C++
 * library, may be another object's, which may be removed later. */
static int keep_what(const struct tn__exit *what, const void *handle, bool of_thread)
{
    const void *const clues[] = {handle, (const void *)(uintptr_t)what->function, what->argument};
    int code = 1;
    for (size_t i = 0; i < TN_COUNT(clues) && code > 0; i++)
        code = clues[i] ? keep_somewhere(clues[i], what, of_thread) : 1;
    return code > 0 ? -1 : code;
}

int tn__cxa_atexit(void (*function)(void *), void *argument, void *handle)
{
    return keep_what(&(struct tn__exit){.function = function, .argument = argument}, handle, false);
}

int tn__cxa_thread_atexit(void (*function)(void *), void *argument, void *handle)
{
    return keep_what(&(struct tn__exit){.function = function, .argument = argument}, handle, true);
}

int tn__atexit(void (*function)(void))
{
    /* Called with an argument that it does not look at, which no supported ABI minds; C libraries do the same. */
    return tn__cxa_atexit((void (*)(void *))(uintptr_t)function, NULL, NULL);
}

/* Takes the newest one that belongs to the tracker; NULL: to any. */
static bool take(struct tn_library *library, const struct tn_tracker *owner, struct tn__exit *what)
{
    struct tn__exits *exits = &library->exits;
    bool found = false;
    tn__session_lock(library->session);
    for (size_t i = exits->count; !found && i-- > 0;) {
        if (owner && exits->items[i].object->owner != owner)
            continue;
        found = true;
        *what = exits->items[i];
        memmove(&exits->items[i], &exits->items[i + 1], (--exits->count - i) * sizeof *exits->items);
    }
    tn__session_unlock(library->session);
    return found;
}

void tn__exits_run(struct tn_library *library, const struct tn_tracker *owner)
{
    for (struct tn__exit what; take(library, owner, &what);) /* they may register more */
        what.function(what.argument);
}
