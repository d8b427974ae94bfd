/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Changes of the context that a signal handler is given (host_*.c). */

#ifndef TENON_REGISTERS_H
#define TENON_REGISTERS_H

#include <stdbool.h>

#include "base.h"

/* Makes the context that of the caller, within its call instruction, if the context stands before the first instruction
 * of a function, as after a call through a wrong pointer. False: where the caller is cannot be read. */
TN_HIDDEN bool tn__os_leave_function(void *context);

#endif
