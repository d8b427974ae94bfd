/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "link/arch/reloc.h"

/* As many bytes as there are (DWARF 5, 7.6): all but the last have their high bit set. */
bool tn__field_put_uleb(uint8_t *at, uint64_t left, uint64_t value)
{
    enum { BITS = 7, MORE = 0x80, MOST = 10 };
    uint64_t count = 0, most = left < MOST ? left : MOST;
    while (count < most && at[count] & MORE)
        count++;
    if (count == most || (count + 1 < MOST && value >> (BITS * (count + 1))))
        return false;
    for (uint64_t i = 0; i <= count; i++, value >>= BITS)
        at[i] = (uint8_t)((value & (MORE - 1)) | (i < count ? MORE : 0));
    return true;
}
