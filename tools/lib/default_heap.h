/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The heap of programs that have no host to make one: what `tenon run` calls, executables of `tenon build`
 * (tools/stub). */

#ifndef TENON_TOOL_DEFAULT_HEAP_H
#define TENON_TOOL_DEFAULT_HEAP_H

#include <stdbool.h>

#include "tenon_heap.h"

/* Stores the name of the function at an address as text; false if it is not known. */
typedef bool tool_name_function(const void *address, char *name, size_t size);

typedef void tool_on_collection(const struct tn_collection *collection);

/* Makes the heap that the environment asks for, and makes it the default one. What ends the program is reported on
 * standard error, after `name`, which is borrowed; so are threads that keep a collection waiting, with the function
 * that `functions` (may be NULL) knows, and, with TENON_GC_LOG=1, each collection. Any other value of this variable is
 * the name of a file to which these lines are appended. `watch` (may be NULL) is called after each collection. The heap
 * ends with the process: threads may run managed code until then. TN_EIO (the log), the errors of
 * tn_heap_options_from_environment and tn_heap_create. */
int tool_make_default_heap(const char *name, tool_name_function *functions, tool_on_collection *watch,
                           struct tn_error *err);

extern const struct tn_collector *const tool_collectors[2];

#endif
