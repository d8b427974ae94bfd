/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* SHA-256 as FIPS 180-4 defines it, in portable C. */

#include <stdbool.h>
#include <string.h>

#include "base/sha256/sha256.h"

const uint32_t tn__sha256_rounds[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

static uint32_t read_big(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void write_big(uint8_t *p, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        p[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
}

/* Section 6.2.2: the message schedule, then 64 rounds. */
static void add_block(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], v[8];
    for (unsigned i = 0; i < 16; i++)
        w[i] = read_big(block + 4 * i);
    for (unsigned i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] =
            w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, state, sizeof v);
    for (unsigned i = 0; i < 64; i++) {
        uint32_t a = v[0], e = v[4];
        uint32_t one = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & v[5]) ^ (~e & v[6])) +
                       tn__sha256_rounds[i] + w[i];
        uint32_t two = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (unsigned i = 0; i < 8; i++)
        state[i] += v[i];
}

void tn__sha256_portable(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_block(state, blocks + 64 * i);
}

static void add_blocks(struct tn__sha256 *sha, const uint8_t *blocks, size_t count)
{
    static tn__sha256_blocks *chosen;
    tn__sha256_blocks *way = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (!way) {
        way = tn__sha256_host();
        way = way ? way : tn__sha256_portable;
        __atomic_store_n(&chosen, way, __ATOMIC_RELAXED);
    }
    way(sha->state, blocks, count);
}

void tn__sha256_begin(struct tn__sha256 *sha)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(sha->state, start, sizeof start);
    sha->size = 0;
}

void tn__sha256_add(struct tn__sha256 *sha, const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    size_t held = sha->size % sizeof sha->block;
    sha->size += size;
    if (held) {
        size_t part = sizeof sha->block - held < size ? sizeof sha->block - held : size;
        memcpy(sha->block + held, p, part);
        if (held + part < sizeof sha->block)
            return;
        add_blocks(sha, sha->block, 1);
        p += part;
        size -= part;
    }
    if (size / sizeof sha->block)
        add_blocks(sha, p, size / sizeof sha->block);
    if (size % sizeof sha->block)
        memcpy(sha->block, p + size / sizeof sha->block * sizeof sha->block, size % sizeof sha->block);
}

/* Section 5.1.1: a bit 1, zeros, and the length in bits at the end of a block. */
void tn__sha256_end(struct tn__sha256 *sha, uint8_t digest[TN__SHA256_SIZE])
{
    uint8_t end[128] = {0x80};
    uint64_t bits = 8 * sha->size;
    size_t held = sha->size % sizeof sha->block;
    size_t pad = (held < 56 ? 56 : 120) - held;
    write_big(end + pad, bits, 8);
    tn__sha256_add(sha, end, pad + 8);
    for (unsigned i = 0; i < 8; i++)
        write_big(digest + 4 * i, sha->state[i], 4);
}

void tn__sha256_of(const void *bytes, size_t size, uint8_t digest[TN__SHA256_SIZE])
{
    struct tn__sha256 sha;
    tn__sha256_begin(&sha);
    tn__sha256_add(&sha, bytes, size);
    tn__sha256_end(&sha, digest);
}
