/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A package whose functions share what they use. Each thing is used by a function that has a copy of base's `g`, and so
 * may be stale, and by one that has not: both have to find the same. -DITSELF: with base in one program. */

#include <typeinfo>

#ifdef ASSEMBLY /* of a module, which is not divided then */
__asm__(".globl from_assembly\nfrom_assembly = 5\n");
#endif

extern "C" {
extern int base_variable;
int g(int x);

int mark(int x);
}

namespace {

int local, written[2] = {1, 2};
const int table[4] = {5, 6, 7, 8};
thread_local int per_thread = 3;

__attribute__((noinline)) int helper(int x)
{
    return x * 3 + local;
}

int (*const helpers[2])(int) = {helper, mark};

inline int &counter()
{
    static int count = 10;
    return count;
}

__attribute__((always_inline)) inline int &forced()
{
    static int count = 20;
    return count;
}

struct shape {
    virtual int area(int x) const
    {
        return x;
    }
    virtual ~shape() = default;
};

struct square : shape {
    int area(int x) const override
    {
        return x * x;
    }
};

} // namespace

struct open_shape {
    virtual int area(int x) const
    {
        return x + 4;
    }
    virtual ~open_shape() = default;
};

inline int shared_variable = 30;
thread_local int shared_thread = 40;

struct noted {
    int value;
    explicit noted(int value) : value(value)
    {
    }
    ~noted()
    {
        local += value;
    }
};

/* Where each thing is. */
template <int KIND> static inline __attribute__((always_inline)) const void *place()
{
    static const open_shape open;
    static const square closed;
    switch (KIND) {
    case 0:
        return &local;
    case 1:
        return &written[1];
    case 2:
        return &per_thread;
    case 3:
        return &counter();
    case 4:
        return &forced();
    case 5:
        return &shared_variable;
    case 6:
        return &shared_thread;
    case 7:
        return &base_variable;
    case 8:
        return (const void *)helper;
    case 9:
        return (const void *)mark;
    case 10:
        return (const void *)g;
    case 11:
        return *(const void *const *)(const void *)&open;
    case 12:
        return *(const void *const *)(const void *)&closed;
    case 13:
        return &typeid(open_shape);
    case 14:
        return &typeid(square);
    case 15:
        return &helpers;
    case 16:
        return &open;
    default:
        return table;
    }
}

#define PLACES(X)                                                                                                      \
    X(0)                                                                                                               \
    X(1)                                                                                                               \
    X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17)

extern "C" {
#define X(kind)                                                                                                        \
    const void *stale_place##kind(int x)                                                                               \
    {                                                                                                                  \
        return g(x) == -12345 ? nullptr : place<kind>();                                                               \
    }                                                                                                                  \
    const void *fresh_place##kind(int)                                                                                 \
    {                                                                                                                  \
        return place<kind>();                                                                                          \
    }
PLACES(X)
#undef X

int mark(int x)
{
    return x + 100;
}

/* Calls itself, others that are stale, and others that are not. */
int stale_sum(int x)
{
    return x <= 0 ? g(x) : stale_sum(x - 1) + g(x) + helper(x);
}
int stale_outer(int x)
{
    return stale_sum(x) * 2 + helpers[x & 1](x) + table[x & 3];
}
void *stale_itself(int x)
{
    return g(x) == -12345 ? nullptr : (void *)stale_itself;
}

int stale_write(int x)
{
    local += g(x);
    per_thread += x;
    counter() += 2;
    forced() += 3;
    shared_variable += 4;
    shared_thread += 5;
    base_variable += 6;
    written[x & 1] += 7;
    return local;
}
int fresh_read(int)
{
    return local * 3 + per_thread * 5 + counter() * 7 + forced() * 11 + shared_variable * 13 + shared_thread * 17 +
           base_variable * 19 + written[0] * 23 + written[1] * 29;
}

int stale_virtual(int x)
{
    square s;
    open_shape o;
    const shape &by_base = s;
    const open_shape *volatile by_pointer = &o;
    return by_base.area(g(x)) + by_pointer->area(x);
}

/* What is thrown passes through, and is caught, in code of either age. */
int fresh_throw(int x)
{
    if (x > 2)
        throw noted(x);
    return x;
}
int stale_pass(int x)
{
    noted here(1);
    return fresh_throw(x) + g(x) + here.value;
}
int fresh_catch(int x)
{
    try {
        return stale_pass(x);
    } catch (const noted &what) {
        return what.value * 1000;
    }
}
int stale_catch(int x)
{
    try {
        return fresh_throw(x) + g(x);
    } catch (const noted &what) {
        return what.value * 2000 + g(x);
    }
}

/* A static local with a constructor and a destructor. */
int stale_once(int x)
{
    static noted once(g(x));
    return once.value++;
}

/* Labels, vectors, many arguments, a structure. */
int stale_labels(int x)
{
    const void *to = x & 1 ? &&odd : &&even;
    goto *to;
odd:
    return g(x) + 1;
even:
    return g(x) + 2;
}
typedef int vector __attribute__((vector_size(32)));
vector stale_vector(const vector *v, int x)
{
    return *v * g(x) + *v;
}
int stale_sum_of_vector(int x)
{
    vector v = {1, 2, 3, 4, 5, 6, 7, x};
    v = stale_vector(&v, x);
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum += v[i];
    return sum + g(x);
}
struct large {
    long values[5];
};
static __attribute__((noinline)) large stale_large(large l, int a, int b, int c, int d, int e, int f, double z, int h)
{
    l.values[a & 3] += g(b) + c + d + e + f + (long)z + h;
    return l;
}
int fresh_large(int x)
{
    large l = {{x, 2, 3, 4, 5}};
    l = stale_large(l, 1, x, 3, 4, 5, 6, 7.5, 8);
    return (int)(l.values[0] + l.values[1] * 3 + l.values[4]);
}
static int stale_optional(int x) asm("stale_optional");
int missing(int x) __attribute__((weak));
static __attribute__((used)) int stale_optional(int x)
{
    return missing ? missing(x) : g(x);
}
int fresh_optional(int x)
{
    return stale_optional(x);
}
}
