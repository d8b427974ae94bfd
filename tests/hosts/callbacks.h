/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the host (callbacks.c) and the code that it loads (callbacks_plugin.c) call of each other. */

#ifndef TENON_TESTS_CALLBACKS_H
#define TENON_TESTS_CALLBACKS_H

void note(const char *text);
void note_number(int number);
void flush(void);
int enter(int exits);

#endif
