/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A program of values.c and objects.c, with the objects that they use. */

#include <stdio.h>
#include <string.h>

#include "tenon_image.h"
#include "tenon_managed.h"

struct node;

long sum(void), churn(long count), run_entry(void);
void push(long value);
struct node tn_ref *choose(long which);

static int restored;

static int restore(struct tn_image *image, struct tn_error *err)
{
    struct tn_image_memory memory = {.size = sizeof memory};
    (void)err;
    tn_image_memory(image, &memory);
    restored = tn_image_type(image, "struct node") && memory.length && memory.address == memory.intended;
    return 0;
}
TN_RESTORE(restore, 1);

static void check(int good, const char *what)
{
    printf("%s%s\n", good ? "" : "not ", what);
}

int main(void)
{
    check(restored, "it is where it should be");
    check(sum() == 5050, "it reads the saved list");
    for (long i = 0; i < 100; i++)
        push(1);
    check(churn(1000) == 3 * 999, "it allocates");
    check(sum() == 5150, "it stores into the saved list");
    check(choose(1) != choose(0), "it finds the object");
    check(run_entry() == 5150, "and its own functions");
    return 0;
}
