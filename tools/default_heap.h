/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The heap of programs that have no host to make one: what `tenon run` calls, executables of `tenon build` (tools/stub). */

#ifndef TENON_TOOL_DEFAULT_HEAP_H
#define TENON_TOOL_DEFAULT_HEAP_H

#include "tenon_heap.h"

/* Makes the heap that the environment asks for, and makes it the default one. What ends the program and, with TENON_GC_LOG=1, each
 * collection is reported on standard error, after `name`, which is borrowed. The heap ends with the process: threads may run
 * managed code until then. The errors of tn_heap_options_from_environment and tn_heap_create. */
int tool_make_default_heap(const char *name, struct tn_error *err);

#endif
