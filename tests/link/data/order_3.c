/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#define WHO "in 3"
#include "order.h"
