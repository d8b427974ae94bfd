/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Examines the x86-64 CPU that this program runs on. */

#include <cpuid.h>

#include "base/os.h"
#include "cpu/cpu.h"

const struct tn_cpu_arch *const tn__cpu_host_arch = &tn__cpu_x86_64;

static struct tn__cpuid run_cpuid(void *unused, uint32_t leaf, uint32_t subleaf)
{
    struct tn__cpuid r;
    (void)unused;
    __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
    return r;
}

static uint64_t read_xcr0(void *unused)
{
    uint32_t low, high;
    (void)unused;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static const struct tn__cpuid_source this_cpu = {run_cpuid, read_xcr0, NULL};

static void see_core(void *seen)
{
    struct tn__cpu_seen core;
    tn__cpu_x86_64_see(&this_cpu, &core);
    tn__cpu_see(seen, &core);
}

/* In a virtual machine each CPUID traps (15 times 4 us), and migrating from core to core takes even longer. So other
 * cores are visited only if this one reports that they may differ. */
void tn__cpu_look(struct tn__cpu_seen *seen)
{
    struct tn__cpu_seen core;
    tn__cpu_x86_64_see(&this_cpu, &core);
    if (core.mixed)
        tn__os_visit_cores(see_core, seen);
    else
        tn__cpu_see(seen, &core);
}
