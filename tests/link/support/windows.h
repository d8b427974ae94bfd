/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What tests of COFF objects share: a library of objects for Windows, and what their host defines for them. */

#ifndef TENON_TESTS_LINK_WINDOWS_H
#define TENON_TESTS_LINK_WINDOWS_H

#include "coff_builder.h"

#ifdef __x86_64__
#define WINDOWS __attribute__((ms_abi))
#else
#define WINDOWS /* compiled with the rest, but not called */
#endif

typedef WINDOWS int of_nothing(void);
typedef WINDOWS int of_one(int);
typedef WINDOWS int of_two(int, int);
typedef WINDOWS int of_three(int, int, int);

extern int host_var; /* 1000 */

WINDOWS int host_add(int a, int b);
WINDOWS int host_mul(int a, int b);

/* A session that reads COFF objects for x86-64, and a library in it that defines nothing. */
struct fixture open_empty_windows(void);

/* The same with host_add, host_mul, host_var and included_one. */
struct fixture open_windows(void);

/* Add windows/NAME.KIND.o, a file of the data, an object of `coff_build`. */
void add_windows(const struct fixture *f, const char *name, const char *kind);
void add_windows_file(const struct fixture *f, const char *name);
void add_built(const struct fixture *f, const char *name, const struct coff *coff);

/* Calls a function without arguments. */
int call_windows(const struct fixture *f, const char *name);

#endif
