/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Which C library this process has, and what belongs to one. */

#ifndef TENON_SHARED_LIBC_H
#define TENON_SHARED_LIBC_H

#pragma GCC visibility push(hidden)

/* "2.36": the version of glibc. NULL: it is musl. */
const char *tn__libc_version(void);
/* "glibc" or "musl". */
const char *tn__libc_name(void);
/* The same for the C library that a file of this name (DT_SONAME) is a part of; NULL: of none. Every process has one
 * from its start. */
const char *tn__libc_of(const char *soname);

#pragma GCC visibility pop
#endif
