/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "link/arch/reloc.h"

const struct tn__arch *tn__arch_of_elf(uint16_t machine)
{
    for (const struct tn__arch *const *arch = tn__architectures; *arch; arch++)
        if ((*arch)->elf_machine == machine)
            return *arch;
    return NULL;
}
