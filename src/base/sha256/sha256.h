/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* SHA-256 (FIPS 180-4), by which modules and what is stored of them are told apart. */

#ifndef TENON_SHA256_H
#define TENON_SHA256_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

enum { TN__SHA256_SIZE = 32 };

struct tn__sha256 {
    uint32_t state[8];
    uint64_t size;     /* of what was added, in bytes */
    uint8_t block[64]; /* its last size % 64 bytes */
};

/* Begin; add any number of times; end once. */
void tn__sha256_begin(struct tn__sha256 *sha);
void tn__sha256_add(struct tn__sha256 *sha, const void *bytes, size_t size);
void tn__sha256_end(struct tn__sha256 *sha, uint8_t digest[TN__SHA256_SIZE]);

/* All of it for one piece of memory. */
void tn__sha256_of(const void *bytes, size_t size, uint8_t digest[TN__SHA256_SIZE]);

/* Updates the state with whole blocks of 64 bytes. */
typedef void tn__sha256_blocks(uint32_t state[8], const uint8_t *blocks, size_t count);
/* The ordinary way, on every machine. */
void tn__sha256_portable(uint32_t state[8], const uint8_t *blocks, size_t count);
/* By instructions that this machine has for it (host_*.c); NULL: it has none. */
tn__sha256_blocks *tn__sha256_host(void);

/* The constants of the 64 rounds. */
extern const uint32_t tn__sha256_rounds[64];

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
