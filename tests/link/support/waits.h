/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How a test learns that another thread has begun to wait. */

#ifndef TENON_TESTS_WAITS_H
#define TENON_TESTS_WAITS_H

#include <semaphore.h>

/* The next time that the calling thread waits for a condition of the linker, the semaphore is posted; it still has the
 * mutex then, so what it waits for cannot come earlier. */
void tell_when_waiting(sem_t *told);

void await(sem_t *semaphore); /* whatever signals come */

/* Returns once another thread waits, as tn_quiesce does, for the calling one, which is attached. */
void await_quiesce(void);

#endif
