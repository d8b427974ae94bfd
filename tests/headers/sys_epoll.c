/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

int main(void)
{
    int epoll = epoll_create1(0), event = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct epoll_event row = {.events = EPOLLIN, .data.u32 = 11}, got[4];
    epoll_ctl(epoll, EPOLL_CTL_ADD, event, &row);
    row.data.u32 = 22;
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &row);
    printf("%d\n", epoll_wait(epoll, got, 4, 0));
    eventfd_write(event, 5);
    printf("%d ", epoll_wait(epoll, got, 4, 1000));
    printf("%u\n", got[0].data.u32);
    eventfd_t value;
    eventfd_read(event, &value);
    struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    timerfd_settime(timer, 0, &soon, NULL);
    printf("%d ", epoll_wait(epoll, got, 4, 5000));
    printf("%u ", got[0].data.u32);
    printf("%d\n", (int)value);
    return 0;
}
