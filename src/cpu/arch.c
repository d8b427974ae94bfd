/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The list of architectures. A file of its own, so that programs that only ask for the host link the tables of one. */

#include "cpu/cpu.h"

static const struct tn_cpu_arch *const arches[] = {&tn__cpu_x86_64, &tn__cpu_aarch64, &tn__cpu_riscv64};

const struct tn_cpu_arch *tn_cpu_arch_at(size_t index)
{
    return index < TN_COUNT(arches) ? arches[index] : NULL;
}

const struct tn_cpu_arch *tn_cpu_arch_find(const char *name)
{
    for (size_t i = 0; i < TN_COUNT(arches); i++) {
        size_t length = strlen(arches[i]->triple);
        if (strcmp(name, arches[i]->name) == 0 ||
            (strncmp(name, arches[i]->triple, length) == 0 && (!name[length] || name[length] == '-')))
            return arches[i];
    }
    return NULL;
}
