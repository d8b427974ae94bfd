/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Atomic operations that are loops, by two threads at once. All of one kind commute, so the results are those of one
 * thread after the other. */

#include <pthread.h>
#include <stdio.h>

enum { TURNS = 1500000 };

/* One for each operation; all in one line of the cache. */
#define WIDTH(name, type)                                                                                              \
    static struct {                                                                                                    \
        type nand, most, xor;                                                                                          \
    } name, name##_alone;                                                                                              \
    static void change_##name(unsigned seed)                                                                           \
    {                                                                                                                  \
        for (unsigned i = 0; i < TURNS; i++) {                                                                         \
            seed = seed * 1664525 + 1013904223;                                                                        \
            type value = (type)((unsigned long)seed * 2654435761u >> 7);                                               \
            __atomic_fetch_nand(&name.nand, (type)-1, __ATOMIC_SEQ_CST);                                               \
            __atomic_fetch_max(&name.most, (type)(value >> 1), __ATOMIC_SEQ_CST);                                      \
            __atomic_fetch_xor(&name.xor, value, __ATOMIC_SEQ_CST);                                                    \
            /* Its result is used. */                                                                                  \
            if (__atomic_fetch_xor(&name.xor, 0, __ATOMIC_SEQ_CST) == 1 && seed == 1)                                  \
                puts("");                                                                                              \
        }                                                                                                              \
        __atomic_fetch_nand(&name.nand, (type)-1, __ATOMIC_SEQ_CST);                                                   \
    }

WIDTH(bytes, signed char)
WIDTH(shorts, short)
WIDTH(ints, int)
WIDTH(longs, long)

static pthread_barrier_t begin;

static void change(unsigned seed)
{
    change_bytes(seed);
    change_shorts(seed);
    change_ints(seed);
    change_longs(seed);
}

static void *run(void *seed)
{
    pthread_barrier_wait(&begin);
    change(*(unsigned *)seed);
    return NULL;
}

#define SHOW(name) printf("%lx %lx %lx\n", (long)name.nand, (long)name.most, (long)name.xor)
#define COMPARE(name)                                                                                                  \
    (SHOW(name), name##_alone.nand == name.nand && name##_alone.most == name.most && name##_alone.xor == name.xor)
#define KEEP(name) (name##_alone = name, name.nand = 0, name.most = 0, name.xor = 0)

int main(void)
{
    unsigned seeds[2] = {1, 77};
    pthread_t thread;
    change(seeds[0]);
    change(seeds[1]);
    KEEP(bytes);
    KEEP(shorts);
    KEEP(ints);
    KEEP(longs);
    if (pthread_barrier_init(&begin, NULL, 2) || pthread_create(&thread, NULL, run, &seeds[0]))
        return 1;
    run(&seeds[1]);
    pthread_join(thread, NULL);
    int same = COMPARE(bytes) & COMPARE(shorts) & COMPARE(ints) & COMPARE(longs);
    puts(same ? "as one after the other" : "not as one after the other");
    return !same;
}
