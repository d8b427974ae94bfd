/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A bit of everything in few bytes; corrupt.c cuts and spoils it in every place. */

int common_word;
static int zeros[4];
__thread int per_thread = 3;
extern int missing(int) __attribute__((weak));
const char *const names[] = {"one", "two"};

__attribute__((weak)) int small_weak(void)
{
    return zeros[1] + per_thread;
}

int small(void)
{
    return common_word + small_weak() + (missing ? missing(1) : 0) + (names[1][0] == 't');
}

__attribute__((constructor(200))) static void begin(void)
{
    common_word = 1;
}
