/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* References that no plain variable holds, in functions of values.ll: parts of structs, arrays and vectors, and
 * pointers that were loaded from an object. Each function gets an object, lets collections happen, and says whether
 * the object stayed where it was, or whether it is still alive. */

#include <stdio.h>
#include <stdlib.h>

#include "tenon_managed.h"

struct box {
    long *memory; /* one number, behind it the address of another: what `deep` leads to */
    struct box tn_ref *next;
};
TN_TYPE(struct box, next);

struct box tn_ref *new_box(long number);
void collect(void);

static long numbers[2048][2];
static int used;

__attribute__((noinline)) struct box tn_ref *new_box(long number)
{
    struct box tn_ref *box = tn_new(struct box);
    box->memory = numbers[used++ % 1024 * 2];
    box->memory[0] = number;
    box->memory[1] = (long)&numbers[(used - 1) % 1024 * 2 + 1];
    numbers[(used - 1) % 1024 * 2 + 1][0] = number + 1;
    return box;
}

__attribute__((noinline)) void collect(void)
{
    for (int i = 0; i < 3; i++)
        new_box(-1);
}

/* ---- objects that must stay ---- */

#define STAYS(X)                                                                                                       \
    X(preserved_struct)                                                                                                \
    X(preserved_array)                                                                                                 \
    X(preserved_vector)                                                                                                \
    X(preserved_phi)                                                                                                   \
    X(rooted_struct)                                                                                                   \
    X(rooted_vector)                                                                                                   \
    X(passed_vector)                                                                                                   \
    X(loaded_plain)                                                                                                    \
    X(loaded_twice)                                                                                                    \
    X(loaded_inside)                                                                                                   \
    X(loaded_select)                                                                                                   \
    X(loaded_phi)                                                                                                      \
    X(loaded_loop)                                                                                                     \
    X(loaded_vector)                                                                                                   \
    X(loaded_struct)                                                                                                   \
    X(loaded_masked)                                                                                                   \
    X(loaded_gather)                                                                                                   \
    X(loaded_passed)

/* ---- objects that must live ---- */

#define LIVES(X)                                                                                                       \
    X(kept_preserved)                                                                                                  \
    X(kept_rooted)                                                                                                     \
    X(kept_loaded)                                                                                                     \
    X(kept_masked)

#define DECLARE_STAYS(name) long name(struct box tn_ref *box);
STAYS(DECLARE_STAYS)
#define DECLARE_LIVES(name) long name(void);
LIVES(DECLARE_LIVES)

static void say(const char *name, long ok)
{
    printf("%s %s\n", name, ok ? "ok" : "WRONG");
}

int main(void)
{
#define TEST_STAYS(name) say(#name, name(new_box(42)));
    STAYS(TEST_STAYS)
#define TEST_LIVES(name) say(#name, name());
    LIVES(TEST_LIVES)
    return 0;
}
