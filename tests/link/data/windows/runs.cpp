/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* C++ for Windows on AArch64, which runs under qemu: static constructors, COMDATs, tables of functions and of jumps,
 * structures, floating-point numbers, imports, and the table of functions for unwinding. */

#include <stdint.h>
#include <stdio.h>

struct large {
    uint64_t words[5];
};

extern "C" {
__attribute__((dllimport)) int puts(const char *text);
#ifdef FOR_WINDOWS
int measured(int value); /* seh.s */
extern char __ImageBase[];
extern const uint32_t function_table[2];
#else
int measured(int value)
{
    return 3 * value;
}
#endif
}

template <typename T> __attribute__((noinline)) T twice(T value)
{
    static int calls;
    calls++;
    return value + value + T(calls);
}

struct shape {
    virtual double area() const
    {
        return 0;
    }
};

struct square : shape {
    double side;
    explicit square(double side) : side(side)
    {
    }
    double area() const override
    {
        return side * side;
    }
};

struct circle : shape {
    float radius;
    explicit circle(float radius) : radius(radius)
    {
    }
    double area() const override
    {
        return 3.25 * radius * radius;
    }
};

static int order;

struct counter {
    int place;
    counter() : place(++order)
    {
    }
};

static counter first, second;
counter third;

__attribute__((noinline)) large fill(uint64_t start, int8_t a, int16_t b, int c, float d, double e, uint64_t f,
                                     uint64_t g, uint64_t h, uint64_t i)
{
    return {{start, (uint64_t)(a + b + c), (uint64_t)(d * e), f * g, h - i}};
}

__attribute__((noinline)) static const char *name(int number)
{
    switch (number) {
    case 0:
        return "zero";
    case 1:
        return "one";
    case 2:
        return "two";
    case 3:
        return "three";
    case 4:
        return "four";
    case 5:
        return "five";
    default:
        return "many";
    }
}

/* The entry of `measured` leads to it and to the description of its 6 instructions; other systems have none. */
static bool table_is_right()
{
#ifdef FOR_WINDOWS
    const char *function = __ImageBase + function_table[0];
    const auto *description = reinterpret_cast<const uint32_t *>(__ImageBase + function_table[1]);
    return function == reinterpret_cast<const char *>(&measured) && (*description & 0x3ffff) == 6;
#else
    return true;
#endif
}

int main()
{
    const square s(3);
    const circle c(2);
    const shape *const shapes[] = {&s, &c};
    double sum = 0;
    for (const shape *each : shapes)
        sum += each->area();
    large filled = fill(1, -2, 300, 40000, 1.5F, 3.0, 7, 8, 90, 80);
    printf("%d %d %d, %d %.2f\n", first.place, second.place, third.place, twice(20), twice(1.25));
    printf("%.3f %llu %llu %llu %llu %llu\n", sum, filled.words[0], filled.words[1], filled.words[2], filled.words[3],
           filled.words[4]);
    for (int i = 0; i < 7; i += 2)
        puts(name(i));
    printf("%s %d %s %g %s %d %s %d\n", name(5), measured(4), name(3), 2.5, name(1), -1, name(6), table_is_right());
    return 9;
}
