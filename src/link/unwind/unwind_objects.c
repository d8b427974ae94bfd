/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* libgcc keeps what it knows of a table, or of a set of tables, in an object. A thread that throws finds the object of
 * a function under libgcc's lock, and reads how addresses are encoded from it without the lock (_Unwind_Find_FDE, in
 * versions before 13). That is right as long as an object goes with its code. But a set is deregistered while threads
 * run its functions, after its new state was registered: if libgcc frees the object then, or it is used for other
 * tables at once, such a thread may be ended by abort.
 *
 * So the objects are ours, and one that was given back stays as it is until others have been given back after it and
 * some time has passed: more than a thread takes for a few instructions, even if it has to wait for a core in between.
 * There is nothing to wait for that would be certain. */

#include "base/os.h"
#include "link/unwind/unwind_sets.h"

enum {
    WORDS = 8,                /* of libgcc's struct object, which has 6 or 7 */
    KEPT = 64,                /* so many are not used again */
    KEPT_NS = 250 * 1000000L, /* and none before this time */
};

struct tn__unwind_object {
    void *words[WORDS]; /* libgcc's; first */
    struct tn__unwind_object *next;
    uint64_t given_ns;
};

static void append(struct tn__unwind_objects *objects, struct tn__unwind_object *object)
{
    object->next = NULL;
    *(objects->first ? &objects->last->next : &objects->first) = object;
    objects->last = object;
    objects->count++;
}

bool tn__unwind_objects_prepare(struct tn__unwind *unwind, size_t count)
{
    while (unwind->objects.count < count + 2) {
        struct tn__unwind_object *object = tn__arena_alloc(&unwind->arena, sizeof *object);
        if (!object)
            return false;
        object->given_ns = 0;
        append(&unwind->objects, object);
    }
    return true;
}

/* Where no memory can be had, one is used again early. */
void *tn__unwind_object_take(struct tn__unwind *unwind)
{
    struct tn__unwind_object *oldest = unwind->objects.first, *fresh;
    bool is_old =
        !oldest->given_ns || (unwind->objects.count > KEPT && tn__os_now_ns() - oldest->given_ns > (uint64_t)KEPT_NS);
    if (!is_old && (fresh = tn__arena_alloc(&unwind->arena, sizeof *fresh)))
        return fresh;
    unwind->objects.first = oldest->next;
    unwind->objects.count--;
    return oldest;
}

void tn__unwind_object_give(struct tn__unwind *unwind, void *object)
{
    struct tn__unwind_object *given = object;
    given->given_ns = tn__os_now_ns();
    append(&unwind->objects, given);
}
