/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A program that becomes an executable of its own: what starts and ends it, data with addresses, thread-local data,
 * weak symbols, functions of several versions. Prints what differs from what it should be. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;
int nobody_has_this(void) __attribute__((weak));

static int order;
static int before, destroyed_by = -1;
static _Thread_local int counter = 40, zero[16];
static const char *const words[] = {"one", "two", "three"}; /* addresses in constants */
static int (*volatile compare)(const char *, const char *) = strcmp;

__attribute__((noinline)) long sum(const long *values, long count)
{
    long total = 0;
    for (long i = 0; i < count; i++)
        total += values[i];
    return total;
}

static long (*const pointer)(const long *, long) = sum;

__attribute__((constructor)) static void begin(int argc, char **argv, char **envp)
{
    static const long values[] = {3, 4};
    before = argc > 0 && argv[argc] == NULL && envp == environ ? (int)pointer(values, 2) : -1;
}

static void at_exit(void)
{
    destroyed_by = order++;
}

__attribute__((destructor)) static void end(void)
{
    if (destroyed_by != 0 || order != 1)
        puts("destructors run before functions of atexit");
    puts("ended");
}

static void *other_thread(void *argument)
{
    (void)argument;
    counter += 2;
    zero[15]++;
    return counter == 42 && zero[15] == 1 ? NULL : "thread-local data is not each thread's own";
}

__attribute__((noinline)) static long add(long a, long b)
{
    return a + b;
}

/* For who looks where time is spent. */
__attribute__((noinline)) static unsigned busy(unsigned count)
{
    unsigned value = 1;
    for (unsigned i = 0; i < count; i++)
        value = value * 1664525 + 1013904223 + (value >> 16);
    return value;
}

#define CHECK(what)                                                                                                    \
    if (!(what))                                                                                                       \
    printf("not so: %s\n", #what)

int main(int argc, char **argv)
{
    static const long values[] = {1, 2, 3, 4};
    pthread_t thread;
    void *said = "no thread";
    if (argc == 2 && strcmp(argv[1], "busy") == 0)
        return busy(100000000) == 0;
    atexit(at_exit);
    CHECK(before == 7);
    CHECK(argc == 2 && strcmp(argv[1], "argument") == 0);
    CHECK(getenv("VARIABLE") && strcmp(getenv("VARIABLE"), "value") == 0);
    CHECK(sum(values, 4) == 10 && pointer(values, 3) == 6);
    CHECK(compare(words[2], "three") == 0);
    CHECK(!nobody_has_this);
    CHECK(add(argc, 40) == 42);
    counter++;
    zero[15] = 5;
    CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0 && pthread_join(thread, &said) == 0);
    if (said)
        puts(said);
    CHECK(counter == 41 && zero[0] == 0);
    puts("done");
    return 3;
}
