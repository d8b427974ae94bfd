/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Values that keys are the SHA-256 of. Each has its length before it, so that two of them are never taken for one. */

#ifndef TENON_CACHE_DIGEST_H
#define TENON_CACHE_DIGEST_H

#include "base/base.h"
#include "base/sha256/sha256.h"
#include "tenon_cpu.h"

#pragma GCC visibility push(hidden)

void tn__digest_add(struct tn__sha256 *sha, const void *bytes, size_t size);
void tn__digest_add_number(struct tn__sha256 *sha, uint64_t number);
void tn__digest_add_text(struct tn__sha256 *sha, const char *text); /* NULL differs from "" */
/* The name of a CPU, and its features by number: each is what this machine has, whatever its name implies. */
void tn__digest_add_cpu(struct tn__sha256 *sha, const struct tn_cpu *cpu);

/* Two hexadecimal digits for each byte, and a NUL. */
void tn__digest_write(const uint8_t *bytes, size_t size, char *text);
/* Reads as many bytes of that. */
void tn__digest_read(const char *text, uint8_t *bytes, size_t size);

#pragma GCC visibility pop
#endif
