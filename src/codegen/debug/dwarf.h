/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's reader of debug information (dwarf.cpp). */

#ifndef TENON_CODEGEN_DWARF_H
#define TENON_CODEGEN_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* The debug information of a file at its final addresses; its bytes are borrowed. NULL if LLVM cannot read the file. */
struct tn__dwarf;
struct tn__dwarf *tn__dwarf_open(const void *bytes, size_t size);
void tn__dwarf_close(struct tn__dwarf *dwarf);

/* Calls `frame` for each function that is inlined at an address, innermost first, and then for the function itself.
 * What is unknown is NULL or 0. False if nothing is known. */
typedef void tn__frame_fn(void *user, const char *function, const char *file, uint32_t line, uint32_t column);
bool tn__dwarf_find(struct tn__dwarf *dwarf, uint64_t address, tn__frame_fn *frame, void *user);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
