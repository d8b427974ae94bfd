/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Names that the JIT makes of a module's names: NAME.tenon.TAG for what was local to the module, where TAG is 16 digits
 * of the module's hash, or those and the number of a copy, NAME$body for what the stub NAME leads to, and both;
 * NAME$body.t2 for what it leads to after it was compiled again, at level 2 (no digits alone, which debuggers take for
 * an entity of Ada). Messages show NAME. */

#ifndef TENON_SHOWN_NAME_H
#define TENON_SHOWN_NAME_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

#define TN__NAME_LOCAL ".tenon."
#define TN__NAME_BODY  "$body"
#define TN__NAME_TIER  ".t"

enum { TN__TAG_SIZE = 40 };

/* Writes what local names of a module end in; `copy`: of how many modules of the same digest this is the last in its
 * library, counted from 0. The digest has 8 bytes or more. */
void tn__tag_write(const unsigned char *digest, uint64_t copy, char text[TN__TAG_SIZE]);

/* How much of the symbol's name was in the module. */
size_t tn__shown_length(const char *symbol);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
