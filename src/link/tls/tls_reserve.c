/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The default reserve: as much as glibc's dynamic linker has to spare for libraries that a running program loads, since
 * hosts may be such libraries. A member of its own, so that a program which defines another size with TN_TLS_RESERVE
 * never pulls this one in. */

#include "tenon.h"

TN_TLS_RESERVE(1024);
