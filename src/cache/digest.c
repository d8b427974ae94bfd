/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "cache/digest.h"

void tn__digest_add(struct tn__sha256 *sha, const void *bytes, size_t size)
{
    uint8_t length[8];
    tn__put64(length, size);
    tn__sha256_add(sha, length, sizeof length);
    if (size)
        tn__sha256_add(sha, bytes, size);
}

void tn__digest_add_number(struct tn__sha256 *sha, uint64_t number)
{
    uint8_t bytes[8];
    tn__put64(bytes, number);
    tn__digest_add(sha, bytes, sizeof bytes);
}

void tn__digest_add_text(struct tn__sha256 *sha, const char *text)
{
    tn__digest_add_number(sha, text != NULL);
    tn__digest_add(sha, text, text ? strlen(text) : 0);
}

void tn__digest_add_cpu(struct tn__sha256 *sha, const struct tn_cpu *cpu)
{
    tn__digest_add_text(sha, tn_cpu_arch_name(cpu->arch));
    tn__digest_add_text(sha, cpu->name);
    for (size_t i = 0; i < TN_CPU_WORDS; i++)
        tn__digest_add_number(sha, cpu->features.words[i]);
}

void tn__digest_write(const uint8_t *bytes, size_t size, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < size; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    text[2 * size] = 0;
}

static unsigned digit_of(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

void tn__digest_read(const char *text, uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(digit_of(text[2 * i]) * 16 + digit_of(text[2 * i + 1]));
}
