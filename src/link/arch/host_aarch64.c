/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The architecture of this process. */

#include "link/arch/reloc.h"

const struct tn__arch *const tn__arch_host = &tn__arch_aarch64;
const uint32_t tn__variant_host = 0;
