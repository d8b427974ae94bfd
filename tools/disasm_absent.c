/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stands in for tools/disasm.c where size matters more: make DISASM=0. */

#include "tool.h"

int command_disasm(struct settings *settings)
{
    (void)settings;
    return tool_fail(STATUS_FAILURE, "this command was built without its disassembler (make DISASM=1)");
}
