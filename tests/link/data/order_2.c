/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#define WHO "in 2"
#include "order.h"

IN_ARRAY(".ctors.64535", ctor_1000) /* counts down from 65535 */
IN_ARRAY(".ctors.65434", ctor_101)
IN_ARRAY(".ctors", ctor_last)
IN_ARRAY(".dtors.64535", dtor_1000)
IN_ARRAY(".dtors", dtor_last)
IN_ARRAY(".init_array.00300", numbered_300)
IN_ARRAY(".fini_array.00300", numbered_fini_300)
IN_ARRAY(".init_array.named", named)
IN_ARRAY(".fini_array.named", named_fini)
IN_ARRAY(".init_array.300x", half_numbered)
