/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The checksum of images (doc/IMAGE.md, "Format"): quick enough that it is checked at every start, 20 bytes in a
 * cycle. It guards against accidents, not against enemies. The bytes are followed by 1 to 64 zeros, so that they are
 * whole blocks of words; word n belongs to lane n % 8. */

#include "image/format/format.h"

/* Two sums to a vector register: SSE2 and NEON have that many, and all that is asked of them is to add. */
typedef uint64_t pair __attribute__((vector_size(16)));
enum { PAIRS = 4, LANES = 2 * PAIRS, BLOCK = PAIRS * sizeof(pair) };

/* Of each lane the sum of its words, and the sum of what that has been: which words there are, and in which order. */
struct sums {
    pair words[PAIRS], order[PAIRS];
};

static inline pair load(const uint8_t *at)
{
    pair words;
    memcpy(&words, at, sizeof words);
    return words;
}

/* Adds whole blocks. The sums have names so that they stay in registers. */
static const uint8_t *add_blocks(struct sums *sums, const uint8_t *at, const uint8_t *end)
{
    pair a = sums->words[0], b = sums->words[1], c = sums->words[2], d = sums->words[3];
    pair e = sums->order[0], f = sums->order[1], g = sums->order[2], h = sums->order[3];
    for (; (size_t)(end - at) >= BLOCK; at += BLOCK) {
        e += a += load(at);
        f += b += load(at + 16);
        g += c += load(at + 32);
        h += d += load(at + 48);
    }
    *sums = (struct sums){{a, b, c, d}, {e, f, g, h}};
    return at;
}

/* A bijection of the sum for every word, and of the word for every sum. */
static uint64_t step(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum << 32 | sum >> 32;
}

uint64_t tn__image_checksum(const void *bytes, size_t size, uint64_t seed)
{
    struct sums sums = {.words = {{0}}};
    uint8_t last[BLOCK] = {0};
    const uint8_t *end = (const uint8_t *)bytes + size, *at = add_blocks(&sums, bytes, end);
    memcpy(last, at, (size_t)(end - at));
    add_blocks(&sums, last, last + BLOCK);
    uint64_t sum = step(seed, size);
    for (size_t i = 0; i < LANES; i++)
        sum = step(sum, sums.words[i / 2][i % 2]);
    for (size_t i = 0; i < LANES; i++)
        sum = step(sum, sums.order[i / 2][i % 2]);
    return sum;
}

uint64_t tn__image_header_checksum(const uint8_t *header, size_t size)
{
    uint8_t start[TN__IMAGE_HEADER];
    memcpy(start, header, sizeof start);
    tn__put64(start + TN__IMAGE_AT_CHECKSUM, 0);
    uint64_t seed = tn__image_checksum(start, sizeof start, 0);
    return tn__image_checksum(header + sizeof start, size - sizeof start, seed);
}
