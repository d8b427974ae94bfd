/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "link/model/object.h"

const struct tn_format tn__format_elf_any = {.name = "elf", .reader = &tn__reader_elf};
