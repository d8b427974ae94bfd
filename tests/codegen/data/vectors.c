/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loops for the vectorisers: maps, reductions, conditions, strides, runtime alias checks, SLP groups. */

#include "corpus.h"

enum { N = 1003 };

static float f[N], g[N];
static int32_t a[N], b[N];
static uint8_t bytes[N];
static uint16_t halves[N];
static int64_t wide[N];
static double matrix[24][24], product[24][24];

static void map(float *to, const float *from, int n, float k)
{
    for (int i = 0; i < n; i++)
        to[i] = from[i] * k + to[i];
}

static int32_t conditional(const int32_t *x, int n)
{
    int32_t sum = 0;
    for (int i = 0; i < n; i++)
        if (x[i] > 100)
            sum += x[i] & 0xff;
        else
            sum ^= x[i];
    return sum;
}

static int32_t extremes(const int32_t *x, int n)
{
    int32_t least = x[0], most = x[0], where = 0;
    for (int i = 1; i < n; i++) {
        least = x[i] < least ? x[i] : least;
        if (x[i] > most) {
            most = x[i];
            where = i;
        }
    }
    return least ^ most ^ where;
}

static void widen(void)
{
    for (int i = 0; i < N; i++)
        halves[i] = (uint16_t)(bytes[i] * 3 + bytes[N - 1 - i]);
    for (int i = 0; i < N / 4; i++)
        wide[i] = (int64_t)a[4 * i] + a[4 * i + 1] - a[4 * i + 2] + a[4 * i + 3];
}

static void first_order_recurrence(void)
{
    int32_t previous = 7;
    for (int i = 0; i < N; i++) {
        b[i] = a[i] - previous;
        previous = a[i];
    }
}

static void multiply(void)
{
    for (int i = 0; i < 24; i++)
        for (int j = 0; j < 24; j++) {
            double sum = 0;
            for (int k = 0; k < 24; k++)
                sum += matrix[i][k] * matrix[k][j];
            product[i][j] = sum;
        }
}

struct quad {
    float x, y, z, w;
};

static struct quad blend(struct quad p, struct quad q, float t)
{
    struct quad r = {p.x + (q.x - p.x) * t, p.y + (q.y - p.y) * t, p.z + (q.z - p.z) * t, p.w + (q.w - p.w) * t};
    return r;
}

uint64_t run(void)
{
    uint64_t state = 88172645463325252u, hash = 1;
    for (int i = 0; i < N; i++) {
        f[i] = (float)(next(&state) % 1000);
        g[i] = (float)(next(&state) % 1000);
        a[i] = (int32_t)next(&state) % 5000;
        bytes[i] = (uint8_t)next(&state);
    }
    for (int i = 0; i < 24 * 24; i++)
        matrix[i / 24][i % 24] = (double)(next(&state) % 100);
    map(f, g, N, 2.0f);
    map(f + 1, f, N - 1, 0.0f); /* overlaps */
    widen();
    first_order_recurrence();
    multiply();
    struct quad q = {1, 2, 3, 4};
    for (int i = 0; i < 100; i++)
        q = blend(q, (struct quad){f[i], f[i + 1], f[i + 2], f[i + 3]}, 0.5f);
    for (int i = 0; i < N; i++)
        hash = mix(mix(mix(hash, (uint64_t)f[i]), halves[i]), (uint64_t)(b[i] + wide[i]));
    for (int i = 0; i < 24 * 24; i++)
        hash = mix(hash, (uint64_t)product[i / 24][i % 24]);
    hash = mix(hash, (uint64_t)(int64_t)(q.x + q.y + q.z + q.w));
    return mix(mix(hash, (uint64_t)conditional(a, N)), (uint64_t)extremes(b, N));
}
