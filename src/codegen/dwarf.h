/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's reader of debug information (dwarf.cpp). Not part of a program that names none of this. */

#ifndef TENON_CODEGEN_DWARF_H
#define TENON_CODEGEN_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

struct tn__dwarf;

/* An ELF file's debug information; its bytes are borrowed. NULL if LLVM cannot read the file. `relocate`: its debug sections
 * have relocations. */
struct tn__dwarf *tn__dwarf_open(const void *bytes, size_t size, bool relocate);
void tn__dwarf_close(struct tn__dwarf *dwarf); /* NULL is ignored */

/* Calls `frame` for each function inlined at an address, from the innermost one on, and then the function itself. Section
 * UINT64_MAX: the address is absolute, else it counts from this section. What is unknown is NULL or 0. False if nothing is
 * known. */
typedef void tn__frame_fn(void *user, const char *function, const char *file, uint32_t line, uint32_t column);
bool tn__dwarf_find(struct tn__dwarf *dwarf, uint64_t section, uint64_t address, tn__frame_fn *frame, void *user);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
