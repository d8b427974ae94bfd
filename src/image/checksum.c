/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The checksum of images (doc/IMAGE.md, "Checksum"): quick enough that it is checked at every start, 8 bytes in a cycle. It
 * guards against accidents, not against enemies. */

#include "image/format.h"

enum { LANES = 8, LANE = 8 };

/* Each step is a bijection of the sum for every word, and of the word for every sum: no single change goes unseen. */
static inline uint64_t step(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum << 32 | sum >> 32;
}

/* Sums that do not wait for each other. They have names because compilers make vectors of an array, and multiply these by
 * detours. */
static const uint8_t *sum_blocks(const uint8_t *at, const uint8_t *end, uint64_t lanes[LANES])
{
    uint64_t a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
    uint64_t e = lanes[4], f = lanes[5], g = lanes[6], h = lanes[7];
    for (; (size_t)(end - at) >= LANES * LANE; at += LANES * LANE) {
        a = step(a, tn__get64(at));
        b = step(b, tn__get64(at + 8));
        c = step(c, tn__get64(at + 16));
        d = step(d, tn__get64(at + 24));
        e = step(e, tn__get64(at + 32));
        f = step(f, tn__get64(at + 40));
        g = step(g, tn__get64(at + 48));
        h = step(h, tn__get64(at + 56));
    }
    lanes[0] = a, lanes[1] = b, lanes[2] = c, lanes[3] = d;
    lanes[4] = e, lanes[5] = f, lanes[6] = g, lanes[7] = h;
    return at;
}

uint64_t tn__image_checksum(const void *bytes, size_t size, uint64_t seed)
{
    uint64_t lanes[LANES], last = 0;
    for (size_t i = 0; i < LANES; i++)
        lanes[i] = seed + i;
    const uint8_t *end = (const uint8_t *)bytes + size, *at = sum_blocks(bytes, end, lanes);
    for (; (size_t)(end - at) >= LANE; at += LANE)
        lanes[0] = step(lanes[0], tn__get64(at));
    memcpy(&last, at, (size_t)(end - at));
    uint64_t sum = step(step(lanes[0], last), size);
    for (size_t i = 1; i < LANES; i++)
        sum = step(sum, lanes[i]);
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
