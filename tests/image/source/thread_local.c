/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Thread-local data of SIZE bytes at multiples of ALIGNMENT, with initial values (VALUES, ADDRESSES) or without, in
 * the first thread and in others (THREADS). Says for each whether it is as it should be, and overwrites it. */

#include <stdint.h>
#include <stdio.h>
#ifdef THREADS
#include <pthread.h>
#endif

#ifdef VALUES
enum { FIRST = 17 };
#else
enum { FIRST = 0 };
#endif

static _Thread_local _Alignas(ALIGNMENT) volatile unsigned char data[SIZE] = {FIRST};
#ifdef ADDRESSES
static int number = 5;
static _Thread_local int *volatile address = &number;
static _Thread_local const char *volatile text = "text";
#endif

static void *look(void *unused)
{
    const char *said = "right";
    (void)unused;
    if ((uintptr_t)data % ALIGNMENT)
        said = "not aligned";
    for (long i = 0; i < SIZE; i++) {
        if (data[i] != (i ? 0 : FIRST))
            said = "not its initial value";
        data[i] = 0xff;
    }
#ifdef ADDRESSES
    if (address != &number || *address != 5 || text[3] != 't')
        said = "not the address of what it should be";
    address = NULL;
#endif
    puts(said);
    return NULL;
}

int main(void)
{
    look(NULL);
#ifdef THREADS
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, look, NULL) || pthread_join(thread, NULL))
            puts("no thread");
    }
#endif
    return 0;
}
