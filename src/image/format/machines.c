/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The architectures of images: src/cpu knows them by name, ELF files and the header by number. */

#include <elf.h>

#include "image/format/format.h"

static const struct {
    const char *arch;
    uint16_t machine;
} machines[] = {{"x86-64", EM_X86_64}, {"aarch64", EM_AARCH64}, {"riscv64", EM_RISCV}};

uint16_t tn__image_machine(const char *arch)
{
    for (size_t i = 0; i < TN_COUNT(machines); i++)
        if (strcmp(machines[i].arch, arch) == 0)
            return machines[i].machine;
    return EM_NONE;
}

const char *tn__image_arch_name(uint16_t machine)
{
    for (size_t i = 0; i < TN_COUNT(machines); i++)
        if (machines[i].machine == machine)
            return machines[i].arch;
    return "unknown";
}
