/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One version of the plugin for each FACTOR. With BROKEN it needs a function that the host does not have. */

int host_has_no_such_function(int number);

static int factor;

__attribute__((constructor)) static void begin(void)
{
    factor = FACTOR;
}

int answer(int question)
{
#ifdef BROKEN
    return host_has_no_such_function(question);
#else
    return question * factor;
#endif
}
