/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Managed code of another file than the leaves that it calls: by their names, and through pointers. */

#include "leaves.h"

/* Native code, in a transition. */
void rest(void);

/* Calls that pass no reference are transitions, from which the leaf comes back to managed code. */
long call_by_name(int count)
{
    long wrong = 0;
    for (int i = 0; i < count; i++)
        wrong += !stays() || total() != 1000 || !first_is_good();
    return wrong;
}

long call_methods(int count)
{
    long wrong = 0;
    for (int i = 0; i < count; i++) {
        methods.set_number(i);
        wrong += methods.get_number() != i || !methods.stays() || methods.total() != 1000;
    }
    return wrong;
}

/* Calls that pass references; `before` and `after` live across them. */
long pass_references(int index)
{
    struct cell tn_ref *c = cell_at(index);
    long before = number_of(c);
    rest();
    methods.add_to(c, 5);
    rest();
    long after = methods.number_of(c);
    methods.add_to(c, -5);
    return after != before + 5 || number_of(cell_at(index)) != before;
}

/* A leaf of this file that calls through a pointer is none. */
long through_pointer(int index)
{
    return methods.number_of(cell_at(index));
}
