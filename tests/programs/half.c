/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Arithmetic on half floats: every value negated, compared and doubled; pairs of values at random. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static _Float16 value(uint16_t bits)
{
    _Float16 value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* NaNs are all the same: which one an operation yields is the processor's choice. */
static uint64_t bits(_Float16 value)
{
    uint16_t bits;
    memcpy(&bits, &value, sizeof bits);
    return value != value ? 0x7e00 : bits;
}

static uint64_t mix(uint64_t sum, uint64_t more)
{
    return (sum ^ more) * 0x9e3779b97f4a7c15 >> 7 ^ sum << 9;
}

int main(void)
{
    uint64_t unary = 0, binary = 0, random = 1;
    for (uint32_t i = 0; i < 0x10000; i++) {
        _Float16 x = value((uint16_t)i);
        unary = mix(unary, bits(-x));
        unary = mix(unary, bits(x + x));
        unary = mix(unary, (uint64_t)(x < (_Float16)1.5) | (uint64_t)(x >= -x) << 1);
    }
    for (uint32_t i = 0; i < 4000000; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        _Float16 x = value((uint16_t)(random >> 48)), y = value((uint16_t)(random >> 32));
        binary = mix(binary, bits(x + y) | bits(x - y) << 16 | bits(x * y) << 32 | bits(x / y) << 48);
        binary = mix(binary, (uint64_t)(x < y) | (uint64_t)(x == y) << 1 | (uint64_t)(x >= y) << 2);
        binary = mix(binary, bits(x * y + x - y)); /* three roundings, not one */
    }
    printf("%016llx %016llx\n", (unsigned long long)unary, (unsigned long long)binary);
    return 0;
}
