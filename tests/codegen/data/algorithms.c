/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Ordinary code: a heap sort, a hash table, a red-black-like tree (treap), SHA-256, LZ compression, an expression
 * parser, n bodies, sudoku by backtracking, matrices of long integers. */

#include "corpus.h"

static void heap_sort(uint32_t *x, size_t n)
{
    for (size_t start = n / 2, end = n; end > 1;) {
        if (start > 0) {
            start--;
        } else {
            uint32_t t = x[--end];
            x[end] = x[0];
            x[0] = t;
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && x[child] < x[child + 1])
                child++;
            if (x[root] >= x[child])
                break;
            uint32_t t = x[root];
            x[root] = x[child];
            x[child] = t;
        }
    }
}

struct node {
    uint32_t key, priority;
    struct node *left, *right;
};

static struct node pool[300];
static size_t used;

static struct node *insert(struct node *n, uint32_t key, uint32_t priority)
{
    if (!n) {
        pool[used] = (struct node){key, priority, NULL, NULL};
        return &pool[used++];
    }
    struct node **side = key < n->key ? &n->left : &n->right;
    *side = insert(*side, key, priority);
    if ((*side)->priority <= n->priority)
        return n;
    struct node *up = *side;
    struct node **inner = key < n->key ? &up->right : &up->left;
    *side = *inner;
    *inner = n;
    return up;
}

static uint64_t visit(const struct node *n, unsigned depth)
{
    return n ? mix(visit(n->left, depth + 1), n->key + depth) + visit(n->right, depth + 1) : depth;
}

static uint32_t rotate(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

static uint32_t sha_round(uint32_t h[8], const uint32_t block[16])
{
    uint32_t w[64], v[8];
    memcpy(w, block, 64);
    memcpy(v, h, 32);
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + (rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
               (rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10);
    for (int i = 0; i < 64; i++) {
        uint32_t t = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) + ((v[4] & v[5]) ^ (~v[4] & v[6])) +
                     w[i] + (uint32_t)i * 0x9e3779b9u;
        uint32_t u =
            (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 28);
        v[4] += t;
        v[0] = t + u;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
    return h[0];
}

/* Greedy, window of 255: pairs (distance, length) or (0, byte). */
static size_t compress(const char *text, size_t n, uint8_t *out)
{
    size_t at = 0, written = 0;
    while (at < n) {
        size_t best = 0, distance = 0;
        for (size_t d = 1; d <= at && d < 256; d++) {
            size_t length = 0;
            while (at + length < n && length < 255 && text[at + length] == text[at + length - d])
                length++;
            if (length > best) {
                best = length;
                distance = d;
            }
        }
        out[written++] = best > 2 ? (uint8_t)distance : 0;
        out[written++] = best > 2 ? (uint8_t)best : (uint8_t)text[at];
        at += best > 2 ? best : 1;
    }
    return written;
}

static const char *cursor;

static long expression(int level)
{
    static const char *const operators[] = {"+-", "*/%", ""};
    if (level == 2) {
        long value = 0;
        if (*cursor == '(') {
            cursor++;
            value = expression(0);
            cursor++;
            return value;
        }
        if (*cursor == '-') {
            cursor++;
            return -expression(2);
        }
        while (*cursor >= '0' && *cursor <= '9')
            value = value * 10 + *cursor++ - '0';
        return value;
    }
    long value = expression(level + 1);
    while (*cursor && strchr(operators[level], *cursor)) {
        char op = *cursor++;
        long other = expression(level + 1);
        switch (op) {
        case '+':
            value += other;
            break;
        case '-':
            value -= other;
            break;
        case '*':
            value *= other;
            break;
        case '/':
            value = other ? value / other : 0;
            break;
        default:
            value = other ? value % other : 0;
        }
    }
    return value;
}

static int queens(unsigned n, unsigned row, unsigned columns, unsigned up, unsigned down)
{
    if (row == n)
        return 1;
    int count = 0;
    for (unsigned free = ~(columns | up | down) & ((1u << n) - 1); free; free &= free - 1) {
        unsigned bit = free & -free;
        count += queens(n, row + 1, columns | bit, (up | bit) << 1, (down | bit) >> 1);
    }
    return count;
}

static uint64_t bodies(void)
{
    double p[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0.5}, {-3, 1, 1}}, v[4][3] = {{0}}, energy = 0;
    for (int step = 0; step < 50; step++) {
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                double d[3], r = 0.125;
                for (int k = 0; k < 3; k++) {
                    d[k] = p[j][k] - p[i][k];
                    r += d[k] * d[k];
                }
                for (int k = 0; k < 3; k++)
                    v[i][k] += d[k] / r / 1024;
            }
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 3; k++)
                p[i][k] += v[i][k] / 16;
    }
    for (int i = 0; i < 12; i++)
        energy += v[i / 3][i % 3] * v[i / 3][i % 3];
    return (uint64_t)(energy * 1e6);
}

uint64_t run(void)
{
    static const char text[] =
        "the quick brown fox jumps over the lazy dog; the quick brown dog jumps over the lazy fox";
    uint32_t numbers[256], h[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint8_t packed[2 * sizeof text];
    uint64_t state = 31337, hash = 1;
    used = 0;
    struct node *root = NULL;
    for (int i = 0; i < 256; i++) {
        numbers[i] = (uint32_t)next(&state);
        root = insert(root, numbers[i], (uint32_t)next(&state));
    }
    hash = mix(hash, visit(root, 0));
    for (int i = 0; i + 16 <= 256; i += 16)
        hash = mix(hash, sha_round(h, numbers + i));
    heap_sort(numbers, 256);
    for (int i = 0; i < 256; i++)
        hash = mix(hash, numbers[i]);
    size_t size = compress(text, sizeof text, packed);
    for (size_t i = 0; i < size; i++)
        hash = mix(hash, packed[i]);
    cursor = "(12+7*3-40/(2+3))*-(9%4)+1000-3*(2-(5-7))";
    hash = mix(hash, (uint64_t)expression(0));
    hash = mix(hash, (uint64_t)queens(7, 0, 0, 0, 0));
    return mix(hash, bodies());
}
