/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Each file here is a small program around uint64_t run(void). The same source goes through the C compiler and
 * through tn_compile at every level; all have to give one result. The sizes are small: what counts is which passes
 * they meet. */

#ifndef TENON_TESTS_CODEGEN_CORPUS_H
#define TENON_TESTS_CODEGEN_CORPUS_H

#include <stddef.h>
#include <stdint.h>

/* By hand, because the programs are also compiled for machines whose C library is not here. */
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
char *strchr(const char *, int);

uint64_t run(void);

static inline uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x9e3779b97f4a7c15u + (hash >> 29);
}

/* A sequence that looks random and is the same everywhere. */
static inline uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

#endif
