/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_CODEGEN_DEMANGLE_H
#define TENON_CODEGEN_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Writes how the source spells a mangled name of C++ or Rust, cut if there is no space for all of it. False: the name
 * is not mangled, or memory is out. */
bool tn__llvm_demangle(const char *name, size_t length, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
