/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Spoiled copies of an object are linked, or refused and gone without a trace. The bytes lie in blocks of exactly their size,
 * so that AddressSanitizer sees a read beyond them. */

#ifndef TENON_TESTS_LINK_SPOIL_H
#define TENON_TESTS_LINK_SPOIL_H

#include "support.h"

/* HERE: into this process, whose unwinder then reads what it is told. One spoiled bit makes a function an indirect one, which
 * the link calls: objects whose functions cannot be called just so are linked ELSEWHERE, for another address space,
 * where every symbol is to be had. */
enum spoil { SPOIL_HERE, SPOIL_ELSEWHERE };

/* Both free the object. Every beginning of it; only the whole can be linked, its headers are at the end. */
void spoil_prefixes(struct bytes object, enum spoil where);
/* Every byte: each bit turned over, 0, 255, one more and one less. */
void spoil_bytes(struct bytes object, enum spoil where);

#endif
