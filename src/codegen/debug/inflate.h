/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compressed debug sections. The runtime has no zlib; LLVM brings it. */

#ifndef TENON_INFLATE_H
#define TENON_INFLATE_H

#include "link/observe/debug_image.h"

#pragma GCC visibility push(hidden)

tn__inflate tn__zlib_inflate;

#pragma GCC visibility pop
#endif
