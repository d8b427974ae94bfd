/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* libgcc keeps what it knows of a table, or of a set of tables, in an object. A thread that throws finds the object of
 * a function under libgcc's lock, and reads from it without the lock how addresses are encoded (_Unwind_Find_FDE, in
 * versions before 13). That is right as long as an object goes with its code. But a set is deregistered while threads
 * run its functions, after its new state was registered: if libgcc freed the object then, or if it were used for other
 * tables, such a thread could be ended by abort. libgcc does not tell when the thread has read.
 *
 * So the objects are ours. When one is deregistered, its first word tells whether a thread may still read it: the word
 * is -1 (NEVER_SEARCHED) from the registration on, until a search writes the lowest address of the object's functions
 * there. Searches write and deregistrations take the object out under the same lock, so the word is final here.
 *  - -1: no search looked into the object, or it has no function. No thread can have found it, and it is used again.
 *  - Else the object stays as it is until the session closes.
 *
 * Tables are removed without an error, so the blocks for that are allocated when tables are added. */

#include "link/unwind/unwind_sets.h"

bool tn__unwind_reserve(struct tn__unwind *unwind, size_t count)
{
    struct tn__unwind_blocks *blocks = &unwind->blocks;
    while (blocks->count < count) {
        union tn__unwind_block *block = tn__arena_alloc(&unwind->arena, sizeof *block);
        if (!block)
            return false;
        tn__unwind_give(unwind, block);
    }
    return true;
}

void *tn__unwind_take(struct tn__unwind *unwind)
{
    union tn__unwind_block *block = unwind->blocks.first;
    unwind->blocks.first = block->next;
    unwind->blocks.count--;
    return block;
}

void tn__unwind_give(struct tn__unwind *unwind, void *given)
{
    union tn__unwind_block *block = given;
    block->next = unwind->blocks.first;
    unwind->blocks.first = block;
    unwind->blocks.count++;
}

void tn__unwind_give_object(struct tn__unwind *unwind, void *object)
{
    static const uintptr_t NEVER_SEARCHED = UINTPTR_MAX;
    const union tn__unwind_block *block = object;
    if ((uintptr_t)block->words[0] == NEVER_SEARCHED)
        tn__unwind_give(unwind, object);
    else
        unwind->blocks.kept++;
}
