/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code, constants with addresses, data and zeros; an initializer. */

int host_offset(int n);

static int calls, zeros[3000], initialized;
static const int tens[] = {0, 10, 20};
static const int *const ten[] = {&tens[0], &tens[1], &tens[2]};
static int base = 100;

__attribute__((constructor)) static void initialize(void)
{
    initialized = 1;
}

/* The first call answers n + 110 and what the host adds, the second n + 120. */
int work(int n)
{
    zeros[n + 1000] += ++calls;
    return *ten[calls] + base + host_offset(n) + zeros[n + 1000] - calls;
}

int was_initialized(int unused)
{
    (void)unused;
    return initialized;
}
