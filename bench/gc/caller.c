/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* For call.c: managed loops. */

#include "empty.h"

long empty_native(long n), empty_managed(long n);
TN_NO_TRANSITION long empty_no_transition(long n);

EMPTY(static, empty_body)

LOOP(call_nothing, i)
LOOP(call_body, empty_body(i))
LOOP(call_no_transition, empty_no_transition(i))
LOOP(call_native, empty_native(i))
LOOP(call_module, empty_managed(i))
