/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* libgcc keeps what it knows of a table, or of a set of tables, in an object. A thread that throws finds the object of
 * a function under libgcc's lock, and reads how addresses are encoded from it without the lock (_Unwind_Find_FDE, in
 * versions before 13). That is right as long as an object goes with its code. But a set is deregistered while threads
 * run its functions, after its new state was registered: if libgcc frees the object then, or it is used for other
 * tables at once, such a thread may be ended by abort.
 *
 * So the objects are ours, and one that was given back stays as it is until a thousand have been given back after it:
 * a link gives back one or two. There is nothing to wait for that would be certain. */

#include "link/unwind/unwind_sets.h"

enum {
    WORDS = 8, /* of libgcc's struct object, which has 6 or 7 */
    KEPT = 1000,
};

struct tn__unwind_object {
    void *words[WORDS]; /* libgcc's; first */
    struct tn__unwind_object *next;
    bool is_kept; /* it was registered */
};

bool tn__unwind_objects_prepare(struct tn__unwind *unwind, size_t count)
{
    struct tn__unwind_objects *objects = &unwind->objects;
    while (objects->count < count + 2) {
        struct tn__unwind_object *object = tn__arena_alloc(&unwind->arena, sizeof *object);
        if (!object)
            return false;
        object->is_kept = false;
        object->next = objects->first;
        objects->first = object;
        if (!object->next)
            objects->last = object;
        objects->count++;
    }
    return true;
}

/* Where no memory can be had, one is used again early. */
void *tn__unwind_object_take(struct tn__unwind *unwind)
{
    struct tn__unwind_objects *objects = &unwind->objects;
    struct tn__unwind_object *oldest = objects->first, *fresh;
    bool is_free = !oldest->is_kept || objects->count > KEPT;
    if (!is_free && (fresh = tn__arena_alloc(&unwind->arena, sizeof *fresh)))
        return fresh;
    objects->first = oldest->next;
    objects->count--;
    return oldest;
}

void tn__unwind_object_give(struct tn__unwind *unwind, void *object)
{
    struct tn__unwind_objects *objects = &unwind->objects;
    struct tn__unwind_object *given = object;
    given->is_kept = true;
    given->next = NULL;
    *(objects->first ? &objects->last->next : &objects->first) = given;
    objects->last = given;
    objects->count++;
}
