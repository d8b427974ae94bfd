/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A call with values in all registers, of code that ends in dump_registers (MACHINE/lazy_dump.s), which stores them. */

#ifndef TENON_TESTS_LINK_DUMPED_H
#define TENON_TESTS_LINK_DUMPED_H

#include "registers.h"
#include "support.h"

extern struct registers dump_area;
extern int dump_level;

/* Defines both in a library, and adds lazy_dump.o to it. */
void add_dump(struct tn_library *library);

/* Values that are all different. */
struct registers different_registers(void);

/* That the dump has these. */
void check_registers(const struct registers *in, int level);

#endif
