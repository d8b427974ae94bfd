/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What only the kernel knows about the cores. */

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "os.h"

enum { CORES = 8192, SYS_HWPROBE = 258 };

void tn__os_visit_cores(void (*visit)(void *context), void *context)
{
    cpu_set_t allowed[CORES / (8 * sizeof(cpu_set_t))], one[CORES / (8 * sizeof(cpu_set_t))];
    bool visited = false;
    if (sched_getaffinity(0, sizeof allowed, allowed) == 0) {
        for (size_t core = 0; core < CORES; core++) {
            if (!CPU_ISSET_S(core, sizeof allowed, allowed))
                continue;
            CPU_ZERO_S(sizeof one, one);
            CPU_SET_S(core, sizeof one, one);
            if (sched_setaffinity(0, sizeof one, one) == 0) {
                visit(context);
                visited = true;
            }
        }
        sched_setaffinity(0, sizeof allowed, allowed);
    }
    if (!visited)
        visit(context);
}

int tn__os_riscv_hwprobe(struct tn__os_hwprobe *keys, size_t count)
{
    return syscall(SYS_HWPROBE, keys, count, 0, NULL, 0) == 0 ? 0 : errno;
}
