/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The list of architectures. A member of its own, so that a program with a list of its own never pulls this one in. */

#include "link/arch/reloc.h"

const struct tn__arch *const tn__architectures[] = {&tn__arch_x86_64, NULL};
