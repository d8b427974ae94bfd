/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A shared library whose definitions are looked up by name (tests/link/shared/names.c). */

int value = 5;
int *address_of_value(void)
{
    return &value;
}

int answer(void)
{
    return 42;
}

__attribute__((weak)) int weak(void)
{
    return 1;
}
int calls_weak(void)
{
    return weak();
}

static int local(void)
{
    return 3;
}

int elsewhere(void) __attribute__((weak));
int (*needed)(void) = elsewhere;
int (*pointers[])(void) = {answer, weak, local};
