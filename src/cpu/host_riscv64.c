/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Examines the RISC-V CPU that this program runs on. */

#include <sys/auxv.h>

#include "base/os.h"
#include "cpu/cpu.h"

const struct tn_cpu_arch *const tn__cpu_host_arch = &tn__cpu_riscv64;

/* An illegal instruction on CPUs without vectors. */
static uint64_t read_vlenb(void)
{
    uint64_t bytes;
    __asm__ volatile("csrr %0, 0xc22" : "=r"(bytes));
    return bytes;
}

static void add_probe(struct tn__cpu_riscv *probe, const struct tn__cpu_riscv *more)
{
    probe->base |= more->base;
    probe->extensions |= more->extensions;
}

/* For Linux 6.4 and later. */
static bool ask_hwprobe(struct tn__cpu_riscv *probe)
{
    struct tn__os_hwprobe keys[] = {{0, 0}, {1, 0}, {3, 0}, {4, 0}};
    if (tn__os_riscv_hwprobe(keys, TN_COUNT(keys)) != 0)
        return false;
    probe->vendor = keys[0].key == 0 ? keys[0].value : 0;
    probe->architecture = keys[1].key == 1 ? keys[1].value : 0;
    struct tn__cpu_riscv known = {.base = keys[2].key == 3 ? keys[2].value & 1 : 0,
                                  .extensions = keys[3].key == 4 ? keys[3].value : 0};
    add_probe(probe, &known);
    return true;
}

static void read_cpuinfo(struct tn__cpu_riscv *probe)
{
    char text[16384];
    if (tn__os_read_text("/proc/cpuinfo", text, sizeof text) != 0)
        return;
    struct tn__cpu_riscv known = tn__cpu_riscv64_of_cpuinfo(text);
    add_probe(probe, &known);
}

void tn__cpu_look(struct tn__cpu_seen *seen)
{
    uint64_t hwcap = getauxval(AT_HWCAP);
    struct tn__cpu_riscv probe = tn__cpu_riscv64_of_hwcap(hwcap);
    if (!ask_hwprobe(&probe))
        read_cpuinfo(&probe);
    probe.vector_bytes = hwcap & TN__CPU_BIT('v' - 'a') ? read_vlenb() : 0;
    struct tn__cpu_seen core;
    tn__cpu_riscv64_see(&probe, &core);
    tn__cpu_see(seen, &core);
}
