/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Arithmetic: 128 bits, division by constants, bit tricks, overflow checks, saturation, conversions, floating point. */

#include "corpus.h"

typedef unsigned __int128 u128;

static uint64_t long_division(uint64_t high, uint64_t low, uint64_t by)
{
    u128 x = (u128)high << 64 | low;
    return (uint64_t)(x / by) ^ (uint64_t)(x % by) ^ (uint64_t)((x * by) >> 64) ^ (uint64_t)(x >> (by & 127));
}

static uint64_t by_constants(int64_t x)
{
    uint64_t u = (uint64_t)x;
    return (uint64_t)(x / 7 + x % 10 + x / -3 + x / 8) ^ (u / 1000003 + u % 641 + u / 3 * 5);
}

static uint64_t bits(uint64_t x)
{
    uint64_t r = (uint64_t)__builtin_popcountll(x) + (uint64_t)__builtin_clzll(x | 1) * 64 +
                 (uint64_t)__builtin_ctzll(x | 1ull << 63) * 4096 + (uint64_t)__builtin_parityll(x);
    r ^= x << 9 | x >> 55;
    r += __builtin_bswap64(x) ^ __builtin_bswap32((uint32_t)x) ^ __builtin_bswap16((uint16_t)x);
    int reversed = 0;
    for (int i = 0; i < 32; i++)
        reversed = (int)((unsigned)reversed << 1 | (x >> i & 1));
    return r + (uint64_t)reversed;
}

static uint64_t overflows(int32_t a, int32_t b)
{
    int32_t s, d, p;
    uint64_t flags = (uint64_t)__builtin_add_overflow(a, b, &s) + 2 * (uint64_t)__builtin_sub_overflow(a, b, &d) +
                     4 * (uint64_t)__builtin_mul_overflow(a, b, &p);
    int64_t wide = (int64_t)a * 3 + b;
    int32_t clamped = wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
    return mix(flags, (uint64_t)(uint32_t)(s ^ d ^ p ^ clamped));
}

static uint64_t floats(double x)
{
    float narrow = (float)x;
    double r = __builtin_sqrt(__builtin_fabs(x)) + __builtin_floor(x) - __builtin_ceil(x / 3) + __builtin_trunc(-x);
    r += narrow * narrow + (x > 10 ? 1 / x : x) + __builtin_copysign(2.5, x) + __builtin_fmin(x, 3) +
         __builtin_fmax(x, -1);
    uint64_t result;
    memcpy(&result, &r, sizeof result);
    return result ^ (uint64_t)(int64_t)x ^ (uint64_t)(uint32_t)(int32_t)narrow;
}

static uint64_t long_double(long double x)
{
    long double y = x * x / 3 + 1;
    return (uint64_t)(y * 1000);
}

static uint32_t crc(const void *data, size_t size)
{
    uint32_t sum = ~0u;
    const uint8_t *at = data;
    while (size--) {
        sum ^= *at++;
        for (int i = 0; i < 8; i++)
            sum = sum >> 1 ^ (0xedb88320u & -(sum & 1));
    }
    return ~sum;
}

uint64_t run(void)
{
    uint64_t state = 123456789, hash = 1;
    for (int i = 0; i < 200; i++) {
        uint64_t x = next(&state), y = next(&state) | 1;
        hash = mix(hash, long_division(x, y, y >> (i % 60) | 1));
        hash = mix(hash, by_constants((int64_t)x));
        hash = mix(hash, bits(y >> i % 64));
        hash = mix(hash, overflows((int32_t)x, (int32_t)(y >> i % 32)));
        hash = mix(hash, floats((double)(int32_t)x / 1024));
        hash = mix(hash, long_double((long double)(x >> 44)));
    }
    return mix(hash, crc(&hash, sizeof hash));
}
