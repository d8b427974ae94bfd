/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The program's errno, in functions that its compiled code calls without knowing it: a native function may have failed
 * just before, and what happens here (system calls that fail and are tried otherwise, functions of the client) must not
 * change the reason before the program reads it. */

#ifndef TENON_KEPT_ERRNO_H
#define TENON_KEPT_ERRNO_H

#include <errno.h>

static inline void tn__restore_errno(const int *kept)
{
    errno = *kept;
}

/* At the beginning of a function: it returns with the errno that it found. */
#define TN__KEEP_ERRNO __attribute__((cleanup(tn__restore_errno))) const int tn__kept_errno = errno

#endif
