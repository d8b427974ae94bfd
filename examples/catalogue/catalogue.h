/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The objects that the build makes and the server answers from: articles in a hash table by name, and in a list by
 * number. */

#ifndef CATALOGUE_H
#define CATALOGUE_H

#include <stdint.h>

struct text {
    uint64_t length; /* with its NUL */
    char bytes[];
};

struct article {
    struct text *name;
    struct article *next; /* with the same place in the table */
    uint64_t number, price;
};

/* Arrays of references; of the table, a power of two. */
struct articles {
    uint64_t length;
    struct article *items[];
};

/* Answers so many requests; -1: without end. `price`: NULL: the articles have their own. Returns the exit status. */
int serve(const struct articles *by_name, const struct articles *by_number,
          uint64_t (*price)(const struct article *article), int port, long requests);

static inline uint64_t hash_of(const char *name, uint64_t length)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (uint64_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * UINT64_C(1099511628211);
    return hash;
}

#endif
