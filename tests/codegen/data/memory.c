/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Memory: structs by value, unions, copies that overlap, idioms of memset and memcpy, dead stores, variable length
 * arrays, bit fields, variable arguments, pointers that may alias, volatile and atomic accesses. */

#include <stdarg.h>
#include <stdatomic.h>

#include "corpus.h"

struct inner {
    uint32_t a : 3, b : 7, c : 22;
    uint16_t d;
};

struct outer {
    struct inner parts[5];
    double x;
    union {
        uint64_t bits;
        double value;
        uint8_t bytes[8];
    } u;
};

static struct outer change(struct outer o, int k)
{
    for (int i = 0; i < 5; i++) {
        o.parts[i].a += (uint32_t)k;
        o.parts[i].b ^= (uint32_t)(i * k);
        o.parts[i].c += o.parts[(i + 1) % 5].b;
        o.parts[i].d = (uint16_t)(o.parts[i].d * 31 + i);
    }
    o.x *= 1.5;
    o.u.value = o.x;
    o.u.bytes[3] ^= (uint8_t)k;
    return o;
}

static uint64_t sum_all(int count, ...)
{
    va_list list;
    uint64_t sum = 0;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum = i % 3 == 0   ? sum + (uint64_t)va_arg(list, int)
              : i % 3 == 1 ? sum + (uint64_t)va_arg(list, double)
                           : sum ^ va_arg(list, uint64_t);
    va_end(list);
    return sum;
}

static void fill_and_copy(uint8_t *to, uint8_t *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        from[i] = 0x5a;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
    memmove(from + 1, from, n - 1);
    from[0] = 1;
    memcpy(to + n / 2, from, n / 2);
}

static uint64_t variable_length(unsigned n)
{
    uint64_t array[n], sum = 0;
    for (unsigned i = 0; i < n; i++)
        array[i] = i * i + (i ? array[i - 1] : 0);
    for (unsigned i = 0; i < n; i += 3)
        sum += array[i];
    return sum;
}

static int aliases(int *p, long *q, char *c)
{
    *p = 1;
    *q = 2;
    *c = 3;
    return *p + (int)*q;
}

static _Atomic uint64_t counter;
static volatile unsigned port = 5;

uint64_t run(void)
{
    struct outer o = {{{1, 2, 3, 4}, {5, 6, 7, 8}, {0, 0, 0, 0}, {7, 127, 4194303, 65535}, {1, 1, 1, 1}}, 3.25, {9}};
    uint64_t hash = 1;
    for (int i = 0; i < 9; i++) {
        struct outer before = o;
        o = change(o, i);
        hash = mix(hash, o.u.bits ^ before.parts[i % 5].c ^ o.parts[3].a ^ o.parts[4].d);
    }
    uint8_t one[130], two[130];
    fill_and_copy(one, two, sizeof one);
    for (size_t i = 0; i < sizeof one; i++)
        hash = mix(hash, one[i] * 256u + two[i]);
    hash = mix(hash, sum_all(8, 1, 2.75, (uint64_t)3, -4, 1e6, ~(uint64_t)0, 7, 8.5));
    hash = mix(hash, variable_length(37) + variable_length(1));
    int x, c[2];
    long y;
    hash = mix(hash, (uint64_t)aliases(&x, &y, (char *)c) + (uint64_t)aliases(c, &y, (char *)c + 1));
    uint64_t old = atomic_fetch_add(&counter, 7), expected = old + 7;
    atomic_compare_exchange_strong(&counter, &expected, 100);
    hash = mix(hash, atomic_exchange(&counter, 0));
    return mix(hash, port + port * port);
}
