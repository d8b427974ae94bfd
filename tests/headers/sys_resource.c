/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <sys/resource.h>

int main(void)
{
    struct rlimit limit, again;
    struct rusage usage;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 64;
    printf("%d\n", setrlimit(RLIMIT_NOFILE, &limit));
    getrlimit(RLIMIT_NOFILE, &again);
    printf("%lu ", (unsigned long)again.rlim_cur);
    printf("%d ", getrusage(RUSAGE_SELF, &usage));
    printf("%d\n", usage.ru_maxrss > 0);
    printf("%d ", getpriority(PRIO_PROCESS, 0));
    printf("%d\n", setpriority(PRIO_PROCESS, 0, 5));
    printf("%d\n", getpriority(PRIO_PROCESS, 0));
    return 0;
}
