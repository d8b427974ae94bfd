/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compilations that no call waits for, and the end of the program. At exit, the objects of the compiler in this process
 * are destroyed (LLVM's static ones), perhaps long before the process has ended, and a thread that is compiling then
 * reads what is gone. The program is responsible for its own threads, the library for these. */

#ifndef TENON_JIT_BACKGROUND_H
#define TENON_JIT_BACKGROUND_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Around all that may call the compiler. False: the program ends. */
bool tn__background_begin(void);
void tn__background_end(void);
/* Around each call of the compiler by a JIT, in any thread. `leave` says whether the thread was between the two: a
 * compiler that waits for a lock, which a thread may hold when it ends the program, leaves and enters again if it was.
 * False from `enter`: the program ends, so this background thread must not call the compiler any more, nor `leave`. */
bool tn__compiler_enter(void);
bool tn__compiler_leave(void);
/* Whether the program ends, and this thread is between these two calls: what it compiles is of no use. */
bool tn__background_is_over(void);

#pragma GCC visibility pop
#endif
