/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The checksum of images (doc/IMAGE.md, "Checksum"): quick enough that it is checked at every start, 2 bytes in a cycle. It
 * guards against accidents, not against enemies. */

#include "image/format.h"

enum { LANES = 4, LANE = 8 };

/* Each step is a bijection of the sum for every word, and of the word for every sum: no single change goes unseen. */
static uint64_t step(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return sum ^ sum >> 32;
}

uint64_t tn__image_checksum(const void *bytes, size_t size, uint64_t seed)
{
    const uint8_t *at = bytes, *end = at + size;
    uint64_t lanes[LANES] = {seed, seed + 1, seed + 2, seed + 3}, last = 0;
    for (; (size_t)(end - at) >= LANES * LANE; at += LANES * LANE)
        for (size_t i = 0; i < LANES; i++)
            lanes[i] = step(lanes[i], tn__get64(at + i * LANE));
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
