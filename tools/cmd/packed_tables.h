/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tables of LLVM that the file has compressed (packed_tables.c). */

#ifndef TENON_TOOL_PACKED_TABLES_H
#define TENON_TOOL_PACKED_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To be called before X86's disassembler is used, by one thread. False: memory is out. */
bool tool_unfold_disassembler(void);
/* The same for X86's parser of assembly, by any thread (tools/build/small/parser.cpp). */
bool tool_unfold_parser(void);

#ifdef __cplusplus
}
#endif
#endif
