/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lists of words, coded as RELR (gABI, "Relative relocations"), but for places instead of addresses: an even word is
 * the place of a word; an odd one is a bitmap for the 63 words after the last. */

#include "image/heap/heap.h"

enum { BITS = 63, SPAN = BITS * 8 };

/* ---- writing ---- */

/* The bits of 63 words from number `at` on. */
static uint64_t bits_at(const uint64_t *bits, uint64_t count, uint64_t at)
{
    uint64_t low = bits[at / 64] >> at % 64, high = at % 64 && at / 64 + 1 < (count + 63) / 64 ? bits[at / 64 + 1] : 0;
    return (low | (at % 64 ? high << (64 - at % 64) : 0)) & (UINT64_MAX >> 1);
}

/* The number of the first set bit from `at` on, or `count`. */
static uint64_t next_bit(const uint64_t *bits, uint64_t count, uint64_t at)
{
    uint64_t last = (count + 63) / 64, word = at / 64;
    uint64_t rest = word < last ? bits[word] & UINT64_MAX << at % 64 : 0;
    while (!rest && ++word < last)
        rest = bits[word];
    return rest ? word * 64 + (unsigned)__builtin_ctzll(rest) : count;
}

size_t tn__list_write(const uint64_t *bits, uint64_t count, uint64_t *words, size_t space)
{
    size_t used = 0;
    for (uint64_t at = next_bit(bits, count, 0); at < count; at = next_bit(bits, count, at)) {
        if (used++ < space)
            words[used - 1] = at * 8;
        at++;
        for (uint64_t bitmap; at < count && (bitmap = bits_at(bits, count, at)); at += BITS)
            if (used++ < space)
                words[used - 1] = bitmap << 1 | 1;
    }
    return used;
}

/* ---- reading ---- */

static void add(char *at, uint64_t distance)
{
    tn__put64(at, tn__get64(at) + distance);
}

static bool add_some(const struct tn__list_words *words, uint64_t at, uint64_t bits, uint64_t distance)
{
    uint64_t first = 8 * (uint64_t)__builtin_ctzll(bits), last = 8 * (uint64_t)(63 - __builtin_clzll(bits));
    if (at + first < words->first || !tn__inside(at, last + 8, words->end))
        return false;
    for (; bits; bits &= bits - 1)
        add(words->start + at + 8 * (uint64_t)__builtin_ctzll(bits), distance);
    return true;
}

bool tn__list_add(const uint8_t *list, uint64_t size, const struct tn__list_words *words, uint64_t distance,
                  uint64_t *written)
{
    uint64_t next = 0;
    bool good = size % 8 == 0;
    for (uint64_t i = 0; i < size / 8 && good; i++) {
        uint64_t word = tn__get64(list + 8 * i), bits = word & 1 ? word >> 1 : 1;
        uint64_t at = word & 1 ? next : word;
        good = at % 8 == 0 && at <= words->end && (!bits || add_some(words, at, bits, distance));
        *written += (uint64_t)__builtin_popcountll(bits);
        next = word & 1 ? next + SPAN : word + 8;
    }
    return good;
}
