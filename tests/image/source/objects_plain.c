/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* C that knows nothing of a collector, in an image with saved objects that do not move. */

struct node {
    struct node *next;
    long value;
};

extern struct node first_node;
extern struct entry {
    struct node *first;
    long (*run)(void);
} the_entry;

long sum(void)
{
    long result = 0;
    for (const struct node *at = &first_node; at; at = at->next)
        result += at->value;
    return result;
}

long run_entry(void)
{
    return the_entry.run();
}
