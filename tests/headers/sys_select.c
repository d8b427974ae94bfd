/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <sys/select.h>
#include <unistd.h>

int main(void)
{
    int ends[2];
    fd_set set;
    struct timeval wait = {0, 1000};
    if (pipe(ends) < 0)
        return 1;
    FD_ZERO(&set);
    FD_SET(ends[0], &set); /* __fdelt_chk where it is fortified */
    printf("%d ", select(ends[0] + 1, &set, NULL, NULL, &wait));
    printf("%d\n", FD_ISSET(ends[0], &set));
    FD_SET(ends[0], &set);
    printf("%zd\n", write(ends[1], "x", 1));
    struct timespec longer = {5, 0};
    printf("%d ", pselect(ends[0] + 1, &set, NULL, NULL, &longer, NULL));
    printf("%d\n", FD_ISSET(ends[0], &set));
    return 0;
}
