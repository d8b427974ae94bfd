/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "coff_big.h"

#include <stdlib.h>

enum { HEADER = 20, BIG_HEADER = 56, GROWTH = BIG_HEADER - HEADER, SECTION = 40, SYMBOL = 18, BIG_SYMBOL = 20 };

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static void move_offset(uint8_t *at)
{
    if (get32(at))
        put32(at, get32(at) + GROWTH);
}

static void widen_symbols(uint8_t *out, const uint8_t *in, uint32_t count)
{
    for (uint32_t i = 0, records; i < count; i += records) {
        records = 1U + in[i * SYMBOL + 17];
        const uint8_t *symbol = in + i * SYMBOL;
        uint8_t *big = out + i * BIG_SYMBOL;
        memcpy(big, symbol, 12);
        put32(big + 12, (uint32_t)(int32_t)(int16_t)(symbol[12] | symbol[13] << 8));
        memcpy(big + 16, symbol + 14, 4);
        for (uint32_t k = 1; k < records; k++)
            memcpy(big + k * BIG_SYMBOL, symbol + k * SYMBOL, SYMBOL - 2);
    }
}

struct bytes coff_big(struct bytes object)
{
    static const uint8_t start[12] = {0, 0, 0xff, 0xff, 2, 0, 0x64, 0x86};
    static const uint8_t class[16] = {0xc7, 0xa1, 0xba, 0xd1, 0xee, 0xba, 0xa9, 0x4b,
                                      0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8};
    uint32_t sections = object.at[2] | (uint32_t)object.at[3] << 8, symtab = get32(object.at + 8);
    uint32_t symbols = get32(object.at + 12), strings = symtab + symbols * SYMBOL;
    struct bytes big = {calloc(1, object.size + GROWTH + 2 * symbols), object.size + GROWTH + 2 * symbols};
    assert_non_null(big.at);
    memcpy(big.at, start, sizeof start);
    memcpy(big.at + 12, class, sizeof class);
    put32(big.at + 44, sections);
    put32(big.at + 48, symtab + GROWTH);
    put32(big.at + 52, symbols);
    memcpy(big.at + BIG_HEADER, object.at + HEADER, symtab - HEADER);
    for (uint32_t i = 0; i < sections; i++)
        for (uint32_t field = 20; field <= 24; field += 4)
            move_offset(big.at + BIG_HEADER + i * SECTION + field);
    widen_symbols(big.at + symtab + GROWTH, object.at + symtab, symbols);
    memcpy(big.at + symtab + GROWTH + symbols * BIG_SYMBOL, object.at + strings, object.size - strings);
    free(object.at);
    return big;
}
