/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Linked files (images, shared libraries, executables), read by libelf for `tenon inspect` and `tenon disasm`. */

#ifndef TENON_TOOL_ELF_FILE_H
#define TENON_TOOL_ELF_FILE_H

#include <libelf.h>

#include "lib/tool.h"

/* True for what a linker has made: the other files of kind FILE_OBJECT are relocatable. */
bool tool_is_linked(const struct file *file);

/* The whole file, which is borrowed; ended by elf_end. NULL: an error was reported. */
Elf *tool_elf_open(const struct file *file);

/* The sections of a type one after the other; NULL begins, and ends. */
Elf_Scn *tool_elf_next(Elf *elf, Elf_Scn *section, uint32_t type);

#endif
