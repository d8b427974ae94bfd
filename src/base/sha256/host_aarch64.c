/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* SHA-256 by the cryptographic extension of AArch64 (Arm's manual DDI 0487, SHA256H): four rounds in two instructions,
 * with the eight words of the state as {a b c d} and {e f g h}. */

#include <arm_neon.h>
#include <sys/auxv.h>

#include "base/sha256/sha256.h"

#define HAS_SHA __attribute__((target("+crypto")))

enum { HWCAP_SHA256 = 1 << 6 }; /* HWCAP_SHA2 of Linux */

struct halves {
    uint32x4_t abcd, efgh;
};

/* Four rounds with four words of the message. */
HAS_SHA static inline struct halves four_rounds(struct halves h, uint32x4_t message, unsigned group)
{
    uint32x4_t words = vaddq_u32(message, vld1q_u32(tn__sha256_rounds + 4 * group));
    return (struct halves){vsha256hq_u32(h.abcd, h.efgh, words), vsha256h2q_u32(h.efgh, h.abcd, words)};
}

HAS_SHA static void add_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    struct halves h = {vld1q_u32(state), vld1q_u32(state + 4)};
    for (; count; count--, blocks += 64) {
        struct halves before = h;
        uint32x4_t w[4];
        for (unsigned i = 0; i < 4; i++)
            w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(blocks + 16 * i)));
        for (unsigned group = 0; group < 12; group++) {
            h = four_rounds(h, w[0], group);
            uint32x4_t next = vsha256su1q_u32(vsha256su0q_u32(w[0], w[1]), w[2], w[3]);
            w[0] = w[1], w[1] = w[2], w[2] = w[3], w[3] = next;
        }
        for (unsigned i = 0; i < 4; i++)
            h = four_rounds(h, w[i], 12 + i);
        h.abcd = vaddq_u32(h.abcd, before.abcd);
        h.efgh = vaddq_u32(h.efgh, before.efgh);
    }
    vst1q_u32(state, h.abcd);
    vst1q_u32(state + 4, h.efgh);
}

tn__sha256_blocks *tn__sha256_host(void)
{
    return getauxval(AT_HWCAP) & HWCAP_SHA256 ? add_blocks : NULL;
}
