/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code of an image that has everything a file can have: addresses in data and in constants, imports, thread-local
 * variables, functions to be called before and after, weak references. */

extern int host_value;
int host_add(int a, int b);
int host_missing(void) __attribute__((weak));

static int add(int a, int b)
{
    return a + b;
}

static int multiply(int a, int b)
{
    return a * b;
}

static int (*const constant[])(int, int) = {add, multiply, host_add};
int (*changing[])(int, int) = {add, multiply, host_add};
static int numbers[] = {1, 2, 3}, *last = &numbers[2];
static const char *const names[] = {"add", "multiply"};
static int *from_host = &host_value;
int common_number[1000];

static _Thread_local int counter = 5;
_Thread_local int zeros[4];
static _Thread_local int *elsewhere = numbers;

static int constructed;

__attribute__((constructor)) static void construct(void)
{
    constructed = constant[1](6, 7);
}

__attribute__((destructor)) static void destruct(void)
{
    host_value = 1000;
}

/* Each of these tells by one digit which of them is wrong. */
int part(int which)
{
    switch (which) {
    case 0:
        return constant[0](1, 2) + constant[1](3, 4) + constant[2](5, 6);
    case 1:
        return changing[2](*last, numbers[0]) + changing[1](2, 2);
    case 2:
        return names[1][0] == 'm' && names[0][1] == 'd';
    case 3:
        return *from_host + host_value;
    case 4:
        return host_missing ? host_missing() : 7;
    case 5:
        return constructed + common_number[999];
    default:
        zeros[3] += which;
        return ++counter + zeros[3] + *elsewhere;
    }
}
