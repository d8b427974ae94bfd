/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects of any size whose function returns a number. */

#ifndef TENON_TESTS_LINK_ANSWERS_H
#define TENON_TESTS_LINK_ANSWERS_H

#include "support.h"

struct answer {
    struct tn_tracker *owner; /* NULL: it is not linked */
    struct bytes object;
    size_t size;
    char name[32]; /* of the function */
    int value;
};

/* A session that uses this strategy, with a library. */
struct fixture answer_open(enum tn_strategy strategy);

/* Links an object with `size` bytes of code, at least 6, and as many of constants; checks what it answers. Different
 * numbers make different names. */
void answer_link(const struct fixture *f, struct answer *answer, unsigned number, size_t size);
/* Only adds it. */
void answer_add(const struct fixture *f, struct answer *answer, unsigned number, size_t size);
/* Adds and links it; returns the error of linking. */
int answer_try_link(const struct fixture *f, struct answer *answer, unsigned number, size_t size, struct tn_error *err);
void answer_check(const struct fixture *f, const struct answer *answer);
void *answer_constants(const struct fixture *f, const struct answer *answer);
/* Does nothing if it is not linked. */
void answer_remove(struct answer *answer);

#endif
