/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local variables, compiled with every model that compilers use (rules.mk); see tls.c. */

__thread int initialised = 41;
__thread int zeroed;
static __thread long local_initialised = 7, local_zeroed;
static __thread char buffer[100];
_Alignas(64) __thread char aligned[64];
extern __thread int elsewhere;

/* Answers a number that depends on every variable of this thread, and changes them all. */
long use_all(void)
{
    long sum = initialised + 10 * zeroed + 100 * local_initialised + 1000 * local_zeroed + 10000 * elsewhere +
               100000 * buffer[99] + ((unsigned long)aligned % 64 ? 1 << 30 : 0);
    initialised++, zeroed++, local_initialised++, local_zeroed++, elsewhere++, buffer[99]++;
    return sum;
}

int *address_of_initialised(void)
{
    return &initialised;
}

char *address_of_buffer(void)
{
    return buffer;
}
