/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Examines the AArch64 CPU that this program runs on. */

#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "base/os.h"
#include "cpu/cpu.h"

const struct tn_cpu_arch *const tn__cpu_host_arch = &tn__cpu_aarch64;

enum { AUX_HWCAP3 = 29, MIDR_READABLE = 1 << 11 };

/* Reads MIDR_EL1 of any core from sysfs; false if the kernel does not tell, for example because the core is offline. */
static bool read_midr(size_t core, uint64_t *midr)
{
    char path[96], text[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/regs/identification/midr_el1", core);
    if (tn__os_read_text(path, text, sizeof text) != 0)
        return false;
    *midr = strtoull(text, NULL, 16);
    return true;
}

/* MIDR_EL1 of the current core. The kernel emulates the read. */
static uint64_t own_midr(uint64_t hwcap)
{
    uint64_t midr = 0;
    if (hwcap & MIDR_READABLE)
        __asm__ volatile("mrs %0, MIDR_EL1" : "=r"(midr));
    return midr;
}

/* Only the model numbers of cores differ: HWCAPs hold for all of them. */
void tn__cpu_look(struct tn__cpu_seen *seen)
{
    uint64_t hwcap = getauxval(AT_HWCAP), hwcap2 = getauxval(AT_HWCAP2), hwcap3 = getauxval(AUX_HWCAP3), midr;
    struct tn__cpu_seen core;
    for (size_t i = 0, cores = tn__os_cores(); i < cores; i++)
        if (read_midr(i, &midr)) {
            tn__cpu_aarch64_see(hwcap, hwcap2, hwcap3, midr, &core);
            tn__cpu_see(seen, &core);
        }
    if (seen->cores)
        return;
    tn__cpu_aarch64_see(hwcap, hwcap2, hwcap3, own_midr(hwcap), &core);
    tn__cpu_see(seen, &core);
}
