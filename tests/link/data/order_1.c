/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#define WHO "in 1"
#include "order.h"

IN_ARRAY(".ctors", ctor_a)
IN_ARRAY(".ctors", ctor_b)
IN_ARRAY(".dtors", dtor_a)
IN_ARRAY(".dtors", dtor_b)
