/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compilers write COFF objects with 32-bit section numbers (cl /bigobj) only for more than 65,279 sections. */

#ifndef TENON_TESTS_LINK_COFF_BIG_H
#define TENON_TESTS_LINK_COFF_BIG_H

#include "support.h"

/* Turns an object into one of that form; frees it. */
struct bytes coff_big(struct bytes object);

#endif
