/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The formats of this machine. */

#include "link/model/object.h"

const struct tn_format *const tn__formats_host[] = {&tn_format_elf_aarch64, NULL};
