/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The list of architectures. */

#include "link/arch/reloc.h"

static const struct tn__arch *const arches[] = {&tn__arch_x86_64};

const struct tn__arch *tn__arch_at(size_t index)
{
    return index < TN_COUNT(arches) ? arches[index] : NULL;
}

const struct tn__arch *tn__arch_of_elf(uint16_t machine)
{
    for (size_t i = 0; i < TN_COUNT(arches); i++)
        if (arches[i]->elf_machine == machine)
            return arches[i];
    return NULL;
}
