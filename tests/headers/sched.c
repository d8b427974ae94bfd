/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <sched.h>
#include <stdio.h>

int main(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    printf("%d ", sched_getaffinity(0, sizeof set, &set));
    printf("%d\n", CPU_COUNT(&set) > 0);
    printf("%d %d %d\n", sched_yield(), sched_getscheduler(0), sched_get_priority_max(SCHED_FIFO));
    printf("%d\n", sched_getcpu() >= 0);
    cpu_set_t *large = CPU_ALLOC(2000);
    CPU_ZERO_S(CPU_ALLOC_SIZE(2000), large);
    CPU_SET_S(1999, CPU_ALLOC_SIZE(2000), large);
    printf("%d\n", CPU_COUNT_S(CPU_ALLOC_SIZE(2000), large));
    CPU_FREE(large);
    return 0;
}
