/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For call.c: a managed loop that calls an inline function of C++ (linkonce_odr), of which the linker may choose
 * another module's. */

#include "empty.h"

EMPTY(inline, empty_inline)

extern "C" long call_inline(long count);
LOOP(call_inline, empty_inline(i))
