/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* SHA-256 by the SHA extensions of x86-64 (Intel's manual, volume 1, 5.15; volume 2, SHA256RNDS2): two rounds in one
 * instruction, with the eight words of the state as {a b e f} and {c d g h}. */

#include <cpuid.h>
#include <immintrin.h>

#include "base/sha256/sha256.h"

#define HAS_SHA __attribute__((target("sha,sse4.1,ssse3")))

struct halves {
    __m128i abef, cdgh;
};

/* Four rounds with four words of the message. */
HAS_SHA static inline struct halves four_rounds(struct halves h, __m128i message, unsigned group)
{
    __m128i words = _mm_add_epi32(message, _mm_loadu_si128((const __m128i *)(tn__sha256_rounds + 4 * group)));
    __m128i cdgh = _mm_sha256rnds2_epu32(h.cdgh, h.abef, words);
    return (struct halves){_mm_sha256rnds2_epu32(h.abef, cdgh, _mm_shuffle_epi32(words, 0x0e)), cdgh};
}

/* From the last 16 words of the schedule to the next four. */
HAS_SHA static inline __m128i next_words(const __m128i w[4])
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
    return _mm_sha256msg2_epu32(sum, w[3]);
}

HAS_SHA static void add_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    const __m128i to_big = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    struct halves h = {_mm_alignr_epi8(cdab, efgh, 8), _mm_blend_epi16(efgh, cdab, 0xf0)};
    for (; count; count--, blocks += 64) {
        struct halves before = h;
        __m128i w[4];
        for (unsigned i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(blocks + 16 * i)), to_big);
        for (unsigned group = 0; group < 12; group++) {
            h = four_rounds(h, w[0], group);
            __m128i next = next_words(w);
            w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
        }
        for (unsigned i = 0; i < 4; i++)
            h = four_rounds(h, w[i], 12 + i);
        h.abef = _mm_add_epi32(h.abef, before.abef);
        h.cdgh = _mm_add_epi32(h.cdgh, before.cdgh);
    }
    __m128i feba = _mm_shuffle_epi32(h.abef, 0x1b), dchg = _mm_shuffle_epi32(h.cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(dchg, feba, 8));
}

tn__sha256_blocks *tn__sha256_host(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSSE3) || !(c & bit_SSE4_1))
        return NULL;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_SHA ? add_blocks : NULL;
}
