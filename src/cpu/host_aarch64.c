/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Looking at the AArch64 CPU that this program runs on. */

#include <sys/auxv.h>

#include "base/os.h"
#include "cpu/cpu.h"

const struct tn_cpu_arch *const tn__cpu_host_arch = &tn__cpu_aarch64;

enum { AUX_HWCAP3 = 29, MIDR_READABLE = 1 << 11 };

/* The kernel answers for MIDR_EL1 where it says so; it is the one thing that differs between the cores. */
static void see_core(void *seen)
{
    uint64_t midr = 0, hwcap = getauxval(AT_HWCAP);
    struct tn__cpu_seen core;
    if (hwcap & MIDR_READABLE)
        __asm__ volatile("mrs %0, MIDR_EL1" : "=r"(midr));
    tn__cpu_aarch64_see(hwcap, getauxval(AT_HWCAP2), getauxval(AUX_HWCAP3), midr, &core);
    tn__cpu_see(seen, &core);
}

void tn__cpu_look(struct tn__cpu_seen *seen)
{
    tn__os_visit_cores(see_core, seen);
}
