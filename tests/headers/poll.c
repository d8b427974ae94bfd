/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
    int ends[2];
    if (pipe(ends) < 0)
        return 1;
    struct pollfd sets[] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[1], .events = POLLOUT}};
    printf("%d ", poll(sets, 2, 0));
    printf("%d ", sets[0].revents);
    printf("%d\n", sets[1].revents == POLLOUT);
    printf("%zd ", write(ends[1], "x", 1));
    printf("%d\n", poll(sets, 1, 1000));
    struct timespec none = {0};
    printf("%d ", ppoll(sets, 2, &none, NULL));
    printf("%d\n", sets[0].revents == POLLIN);
    close(ends[1]);
    return 0;
}
