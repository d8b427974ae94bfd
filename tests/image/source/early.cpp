// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A constructor that calls a function of several versions, directly and through a pointer.

__attribute__((noinline)) static long sum(const long *values, long count)
{
    long total = 0;
    for (long i = 0; i < count; i++)
        total += values[i];
    return total;
}

extern "C" long add(const long *values, long count)
{
    return sum(values, count);
}

extern "C" long (*const through)(const long *, long) = add;

struct ready {
    long value;
    ready() : value(0)
    {
        const long values[] = {1, 2, 3, 4};
        value = 100 * add(values, 4) + through(values, 4);
    }
};

static ready early;

extern "C" long early_value()
{
    return early.value;
}
