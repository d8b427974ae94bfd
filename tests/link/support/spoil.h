/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Spoiled copies of an object are either linked, or refused without leaving anything behind. They are in blocks of
 * their exact size, so that AddressSanitizer detects reads beyond them. */

#ifndef TENON_TESTS_LINK_SPOIL_H
#define TENON_TESTS_LINK_SPOIL_H

#include "support.h"

/* HERE: linked into this process, whose unwinder then reads the registered data. One spoiled bit can make a function an
 * indirect one, which the link calls, so objects whose functions must not be called are linked ELSEWHERE: for another
 * address space, where every symbol is defined. */
enum spoil { SPOIL_HERE, SPOIL_ELSEWHERE };

/* What objects are read as; NULL, as at the start: as sessions do unless they are told otherwise. */
extern const struct tn_format *const *spoil_formats;

/* Both free the object. spoil_prefixes: every prefix; only the whole object can be linked, as its headers are at the
 * end. */
void spoil_prefixes(struct bytes object, enum spoil where);
/* Every byte: each bit inverted, 0, 255, one more and one less. */
void spoil_bytes(struct bytes object, enum spoil where);

#endif
