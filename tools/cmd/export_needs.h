/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_TOOL_EXPORT_NEEDS_H
#define TENON_TOOL_EXPORT_NEEDS_H

#include "lib/tool.h"

/* Calls `visit` for each symbol that a shared library takes from glibc, other than those that a session has itself.
 * False: an error was reported. */
bool tool_each_need(const char *path, void (*visit)(void *context, const char *name), void *context);

#endif
