/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Calls: function pointers, inlining across a call graph with cycles, pure functions, globals that become constants,
 * initialisers, weak and aliased functions, many arguments, callbacks with state, setjmp. */

#include "corpus.h"

typedef uint64_t operation(uint64_t, uint64_t);

static uint64_t plus(uint64_t a, uint64_t b)
{
    return a + b;
}

static uint64_t times(uint64_t a, uint64_t b)
{
    return a * b + 1;
}

static uint64_t shift(uint64_t a, uint64_t b)
{
    return a << (b & 63);
}

static operation *const operations[] = {plus, times, shift, plus};

struct shape {
    const struct methods *methods;
    uint32_t width, height;
};

struct methods {
    uint64_t (*area)(const struct shape *);
    void (*grow)(struct shape *, uint32_t);
};

static uint64_t box_area(const struct shape *s)
{
    return (uint64_t)s->width * s->height;
}

static uint64_t triangle_area(const struct shape *s)
{
    return (uint64_t)s->width * s->height / 2;
}

static void grow(struct shape *s, uint32_t by)
{
    s->width += by;
    s->height ^= by;
}

static const struct methods box = {box_area, grow}, triangle = {triangle_area, grow};

static uint64_t fold(const uint64_t *values, size_t n, operation *op, uint64_t start)
{
    for (size_t i = 0; i < n; i++)
        start = op(start, values[i]);
    return start;
}

static int never_written = 3;
static int written_once;
static uint64_t initialised;

__attribute__((constructor)) static void initialise(void)
{
    initialised = 0x1234;
}

__attribute__((noinline, pure)) static uint64_t pure_sum(const uint64_t *values, size_t n)
{
    uint64_t sum = 0;
    while (n--)
        sum += *values++;
    return sum;
}

__attribute__((weak)) uint64_t replaceable(uint64_t x)
{
    return x * 11;
}

__attribute__((noinline)) static uint64_t many(int a, long b, short c, double d, char e, float f, uint64_t g, int h,
                                               const char *i, double j, int k, uint64_t l)
{
    return (uint64_t)(a + b * 2 + c * 3 + (long)d * 4 + e * 5 + (long)f * 6) + g * 7 + (uint64_t)h * 8 +
           (uint64_t)i[1] + (uint64_t)j + (uint64_t)k + l;
}

static uint64_t walk(unsigned depth, uint64_t seed, uint64_t (*visit)(uint64_t))
{
    if (depth == 0)
        return visit(seed);
    return walk(depth - 1, seed * 3, visit) ^ walk(depth - 1, seed + 7, visit);
}

static uint64_t square(uint64_t x)
{
    return x * x;
}

/* setjmp and longjmp; the buffer is larger than that of any machine. */
int save_registers(uint64_t *) __asm__("_setjmp") __attribute__((returns_twice));
_Noreturn void restore_registers(uint64_t *, int) __asm__("longjmp");
static uint64_t back[64];

__attribute__((noinline)) static void jump_from_below(int depth)
{
    if (depth == 0)
        restore_registers(back, 5);
    jump_from_below(depth - 1);
}

static uint64_t jump(void)
{
    volatile uint64_t count = 1;
    int code = save_registers(back);
    count = count * 10 + (uint64_t)code;
    if (code == 0)
        jump_from_below(4);
    return count;
}

uint64_t run(void)
{
    uint64_t values[20], state = 99, hash = initialised;
    for (int i = 0; i < 20; i++)
        values[i] = next(&state);
    written_once = never_written + 4;
    for (int i = 0; i < 4; i++)
        hash = mix(hash, fold(values, 20, operations[i], (uint64_t)i));
    hash = mix(hash, fold(values, 20, times, 5));
    struct shape shapes[] = {{&box, 3, 4}, {&triangle, 10, 5}, {&box, 1, 1}};
    for (int i = 0; i < 12; i++) {
        struct shape *s = &shapes[i % 3];
        s->methods->grow(s, (uint32_t)values[i]);
        hash = mix(hash, s->methods->area(s));
    }
    hash = mix(hash, pure_sum(values, 20) + pure_sum(values, 20) + (uint64_t)written_once);
    hash = mix(hash, replaceable(hash));
    hash = mix(hash, many(1, -2, 3, 4.5, 5, 6.5f, 7, -8, "text", 9.25, 10, values[0]));
    hash = mix(hash, walk(6, 2, square));
    return mix(hash, jump());
}
