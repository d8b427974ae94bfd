/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The default reserve. A member of its own, so that a program which defines another size with TN_TLS_RESERVE never pulls
 * this one in. */

#include "tenon.h"

TN_TLS_RESERVE(4096);
