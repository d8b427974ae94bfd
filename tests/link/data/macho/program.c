/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a C program for macOS refers to in the ways that compilers have for it; functions answer numbers that macho.c
 * knows. */

typedef unsigned long size;
size strlen(const char *);

static int local = 7;
int *pointer = &local;
const char *const texts[] = {"first", "second"};
static const unsigned char bytes[] = {1, 2, 3, 4};
__thread int variable = 5;
static __thread int zero_variable;
static __thread char buffer[100];
int common[4];
static long differences[2];
extern int elsewhere;
extern int missing(void) __attribute__((weak_import));
__attribute__((weak)) int chosen(void)
{
    return 1;
}

static int initialized;
__attribute__((constructor)) static void initialize(void)
{
    initialized = 40;
}

int data(void)
{
    local++;
    common[3] = *pointer;
    return common[3] + (int)strlen(texts[1]) + bytes[2]; /* 8 + 6 + 3 */
}

double constant(double x)
{
    return x * 3.25 + 1.5;
}

int jumps(int i)
{
    switch (i) {
    case 0:
        return local;
    case 1:
        return data();
    case 2:
        return elsewhere;
    case 3:
        return 1000 + i;
    case 4:
        return chosen();
    case 5:
        return initialized;
    case 6:
        return missing ? missing() : -1;
    }
    return (int)differences[i & 1];
}

int thread_local_data(void)
{
    variable += 2;
    zero_variable++;
    buffer[99]++;
    return variable * 100 + zero_variable * 10 + buffer[99];
}

void store_immediates(volatile int *at)
{
    *(volatile char *)&common[0] = 1;
    *(volatile short *)&common[1] = 0x102;
    common[2] = 0x1020304;
    *at = common[0] + common[1] + common[2];
}

int references(void)
{
    return elsewhere + (missing ? 1 : 0);
}

int unused(void)
{
    return missing();
}
