/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* While this is linked, its thread-local data needs memory at a time when the session's lock is free. */

_Thread_local char large[2000] = {40};

int once_more(int n);

int once_more(int n)
{
    return n + large[0] + 1;
}
