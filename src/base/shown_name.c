/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "shown_name.h"

#include <stdio.h>
#include <string.h>

void tn__tag_write(const unsigned char *digest, uint64_t copy, char text[TN__TAG_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    enum { BYTES = 8 };
    for (int i = 0; i < BYTES; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[2 * BYTES] = 0;
    if (copy)
        snprintf(text + 2 * BYTES, TN__TAG_SIZE - 2 * BYTES, ".%llu", (unsigned long long)copy);
}

/* Where the last `mark` begins, if only these characters follow it; else `length`. */
static size_t cut(const char *name, size_t length, const char *mark, const char *after)
{
    size_t size = strlen(mark);
    for (size_t at = length; at-- > 0;)
        if (length - at >= size && memcmp(name + at, mark, size) == 0)
            return at + size + strspn(name + at + size, after) >= length ? at : length;
    return length;
}

/* A body may have the module's tag and a tier, and its managed part ends in ".m". */
size_t tn__shown_length(const char *symbol)
{
    size_t length = cut(symbol, strlen(symbol), TN__NAME_BODY, ".0123456789abcdefmt");
    return cut(symbol, length, TN__NAME_LOCAL, ".0123456789abcdef");
}
