/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The image that thread_exits.cpp calls from its destructors. */

void note(const char *what);

void say(const char *what)
{
    note(what);
}
