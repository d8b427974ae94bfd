/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local variables of every model, in two threads. With -DOTHER, the file has those that the rest refers to. */

#ifdef OTHER
_Thread_local int elsewhere = 5;
_Thread_local long near_elsewhere[4] __attribute__((visibility("hidden"))) = {1, 2, 3, 4};
#else
#include <pthread.h>
#include <stdio.h>

extern _Thread_local int elsewhere;
extern _Thread_local long near_elsewhere[4] __attribute__((visibility("hidden")));
static _Thread_local char own[3] = "ab";
_Thread_local int global = 7;
static _Thread_local int initial __attribute__((tls_model("initial-exec"))) = 11;
static _Thread_local double local __attribute__((tls_model("local-exec"))) = 2.5;
static _Thread_local short dynamic __attribute__((tls_model("global-dynamic"))) = 9;

/* Values live across the places where an address is asked for. */
static long change(long a, double b, int turn)
{
    long result = a * 3 + (long)b;
    elsewhere += turn;
    near_elsewhere[turn & 3] += result;
    own[turn & 1]++;
    global = global * 2 + initial++;
    local += b;
    dynamic = (short)(dynamic + elsewhere);
    return result + near_elsewhere[(turn + 1) & 3] + own[0] + own[1] + global + (long)(local * 8) + dynamic;
}

static void *run(void *argument)
{
    long sum = *(long *)argument;
    for (int turn = 0; turn < 9; turn++)
        sum = sum * 5 + change(sum & 0xff, turn + 0.5, turn);
    *(long *)argument = sum;
    return NULL;
}

int main(void)
{
    long sums[2] = {1, 2};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, &sums[0]) || pthread_join(thread, NULL))
        return 1;
    run(&sums[1]);
    printf("%lx %lx %d %ld %s %d %g %d\n", sums[0], sums[1], elsewhere, near_elsewhere[2], own, global, local, dynamic);
    return 0;
}
#endif
