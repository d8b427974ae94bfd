/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(void)
{
    setenv("TZ", "XYZ-3:30", 1);
    tzset();
    printf("%s %ld %d\n", tzname[0], timezone, daylight);
    time_t moment = 1234567890;
    struct tm parts;
    char text[100];
    gmtime_r(&moment, &parts);
    printf("%d %d %s", parts.tm_year, parts.tm_yday, asctime(&parts));
    localtime_r(&moment, &parts);
    printf("%zu ", strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z %j %A", &parts));
    printf("%s\n", text);
    printf("%ld ", (long)mktime(&parts));
    printf("%ld ", (long)timegm(&parts));
    printf("%s", ctime(&moment));
    printf("%g ", difftime(moment, moment - 60));
    printf("%d\n", strptime("2001-02-03", "%Y-%m-%d", &parts) != NULL);
    printf("%d %d %d\n", parts.tm_year, parts.tm_mon, parts.tm_mday);
    struct timespec a, b, nap = {.tv_nsec = 1000000};
    clock_gettime(CLOCK_MONOTONIC, &a);
    nanosleep(&nap, NULL);
    clock_gettime(CLOCK_MONOTONIC, &b);
    long long passed = (b.tv_sec - a.tv_sec) * 1000000000LL + b.tv_nsec - a.tv_nsec;
    printf("%d %d %d\n", passed >= 1000000, time(NULL) > moment, clock() != (clock_t)-1);
    timespec_get(&a, TIME_UTC);
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    printf("%d ", a.tv_sec > moment);
    printf("%d\n", timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_delete(timer));
    return 0;
}
