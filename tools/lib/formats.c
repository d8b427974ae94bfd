/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The formats of objects that the tool takes. */

#include "lib/tool.h"
#include "link/format/object.h"

/* Those that can be linked. */
const struct tn_format *const tool_formats[] = {&tn_format_elf_x86_64, NULL};

/* Those that can be looked at. */
const struct tn_format *const tool_seen_formats[] = {&tn_format_elf_x86_64, &tn__format_elf_any, NULL};
