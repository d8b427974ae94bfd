/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What collected.c needs of the program that it is part of; PLAIN: without a collector, or versions. */

long call_back(long (*function)(long), long n);
int version_here(void);

long call_back(long (*function)(long), long n)
{
    return function(n);
}

#ifdef PLAIN

int version_here(void)
{
    return -1;
}

#else

#define VERSION(n)                                                                                                     \
    extern const char which_##n[] __asm__("which.tn_image." #n ".m") __attribute__((visibility("hidden")))
VERSION(0);
VERSION(1);
VERSION(2);

/* The version of `which` that calls this. Under stress it is the runtime that does. */
int version_here(void)
{
    static const char *const versions[] = {which_0, which_1, which_2};
    const char *caller = __builtin_return_address(0);
    int nearest = -1;
    for (int i = 0; i < 3; i++)
        if (caller > versions[i] && caller < versions[i] + 256 && (nearest < 0 || versions[i] > versions[nearest]))
            nearest = i;
    return nearest;
}

#endif
