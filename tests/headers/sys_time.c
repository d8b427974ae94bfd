/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/times.h>
#include <unistd.h>
#include <utime.h>

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
    alarms += number == SIGALRM;
}

int main(void)
{
    struct timeval now, later;
    gettimeofday(&now, NULL);
    signal(SIGALRM, on_alarm);
    struct itimerval soon = {.it_value.tv_usec = 2000};
    printf("%d\n", setitimer(ITIMER_REAL, &soon, NULL));
    while (!alarms)
        usleep(500);
    gettimeofday(&later, NULL);
    struct timeval difference;
    timersub(&later, &now, &difference);
    printf("%d %d\n", alarms, difference.tv_sec > 0 || difference.tv_usec >= 1000);
    struct tms used;
    printf("%d ", times(&used) != (clock_t)-1);
    printf("%d\n", utime("/nonexistent", NULL));
    return 0;
}
