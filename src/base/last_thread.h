/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The end of a program by the end of its last thread (POSIX, pthread_exit): the C library then ends the process as by
 * exit(0), but it counts the library's threads too. These are no part of the program, and must not keep the process. */

#ifndef TENON_LAST_THREAD_H
#define TENON_LAST_THREAD_H

#include "base.h"

#pragma GCC visibility push(hidden)

/* When the calling thread ends and only threads of the library are left, the process ends. If others are left, a thread
 * of the library waits for their ends. Without memory, a key, or a system that counts threads, the process stays. */
void tn__last_thread_watch(void);

/* Called before and after what a thread of the library does; what `begin` returns is for `end`. */
uint32_t tn__own_thread_begin(void);
void tn__own_thread_end(uint32_t process);

#pragma GCC visibility pop
#endif
