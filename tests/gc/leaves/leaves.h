/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects of the managed files, and the functions that they have in common. */

#ifndef LEAVES_H
#define LEAVES_H

#include <tenon_managed.h>

enum { ITEMS = 64 };

struct node {
    struct node tn_ref *next;
    long value, check;
};
struct cell {
    struct node tn_ref *node;
    long number;
};

struct methods {
    int (*stays)(void);
    long (*total)(void);
    long (*get_number)(void);
    void (*set_number)(long number);
    long (*number_of)(struct cell tn_ref *c);
    void (*add_to)(struct cell tn_ref *c, long number);
};
extern struct methods methods;

long total(void);
int stays(void), first_is_good(void);
long number_of(struct cell tn_ref *c);
struct cell tn_ref *cell_at(int index);

#endif
