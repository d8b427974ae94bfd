/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Functions of the library that run when the process ends by exit, before everything that was registered until then.
 * The C library calls last what was registered first, and a compiler registers destructors of its static objects when
 * it needs these for the first time: what may compile, or waits for others that compile, has to come before all of
 * them. */

#ifndef TENON_AT_EXIT_H
#define TENON_AT_EXIT_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct tn__at_exit {
    void (*function)(struct tn__at_exit *what); /* it is registered no more when it is called */
    bool is_last;                               /* called after those that are not */
    struct tn__at_exit *next;                   /* the rest is for at_exit.c */
    bool waits;
};

/* The newest function comes first. It stays in place until it is called or removed. One that is registered already
 * keeps its place. False: the C library has no memory for it. */
bool tn__at_exit_add(struct tn__at_exit *what);
void tn__at_exit_remove(struct tn__at_exit *what);

/* Called after anything that may have made static objects: what is registered comes before their destructors. */
void tn__at_exit_renew(void);

/* The status that exit was called with last, 0 before that. Only glibc tells it, and only the functions above, which
 * includes what these call; false: they will not be told. */
int tn__exit_status(void);
bool tn__exit_tells_status(void);
bool tn__has_on_exit(void);

#pragma GCC visibility pop
#endif
