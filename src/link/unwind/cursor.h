/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reads DWARF's encodings from unchecked bytes. A read beyond the end returns 0 and clears `good`, which stays cleared,
 * so callers may check it once, at the end. */

#ifndef TENON_CURSOR_H
#define TENON_CURSOR_H

#include "base/base.h"

struct tn__cursor {
    const uint8_t *at, *end;
    bool good;
};

static inline struct tn__cursor tn__cursor(const void *bytes, uint64_t size)
{
    return (struct tn__cursor){bytes, (const uint8_t *)bytes + size, true};
}

/* The next `size` bytes, or NULL. */
static inline const uint8_t *tn__cursor_take(struct tn__cursor *c, uint64_t size)
{
    const uint8_t *taken = c->at;
    if (!c->good || size > (uint64_t)(c->end - c->at)) {
        c->good = false;
        return NULL;
    }
    c->at += size;
    return taken;
}

/* A little-endian number of 1 to 8 bytes. */
static inline uint64_t tn__cursor_number(struct tn__cursor *c, unsigned size)
{
    const uint8_t *bytes = tn__cursor_take(c, size);
    uint64_t value = 0;
    if (bytes)
        memcpy(&value, bytes, size);
    return value;
}

static inline uint8_t tn__cursor_byte(struct tn__cursor *c)
{
    return (uint8_t)tn__cursor_number(c, 1);
}

enum { TN__LEB_MOST = 10 };

static inline uint64_t tn__cursor_leb(struct tn__cursor *c, bool is_signed)
{
    uint64_t value = 0;
    uint8_t byte = 0x80;
    unsigned shift = 0;
    for (; shift < 7 * TN__LEB_MOST && byte & 0x80; shift += 7) {
        byte = tn__cursor_byte(c);
        value |= (uint64_t)(byte & 0x7f) << (shift & 63);
    }
    c->good &= !(byte & 0x80);
    if (is_signed && byte & 0x40 && shift < 64)
        value |= -(1ULL << shift);
    return value;
}

/* Not inlined, for each reader calls these at many places. */
__attribute__((noinline, unused)) static uint64_t tn__cursor_uleb(struct tn__cursor *c)
{
    return tn__cursor_leb(c, false);
}

__attribute__((noinline, unused)) static int64_t tn__cursor_sleb(struct tn__cursor *c)
{
    return (int64_t)tn__cursor_leb(c, true);
}

/* A NUL-terminated string; "" if it does not end within the bytes. */
static inline const char *tn__cursor_text(struct tn__cursor *c)
{
    const uint8_t *nul = c->good ? memchr(c->at, 0, (size_t)(c->end - c->at)) : NULL;
    const uint8_t *text = tn__cursor_take(c, nul ? (uint64_t)(nul - c->at) + 1 : UINT64_MAX);
    return text ? (const char *)text : "";
}

#endif
