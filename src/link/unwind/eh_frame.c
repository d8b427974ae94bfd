/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Checks unwind data (LSB Core, "The .eh_frame section") before it is registered with the program's unwinder. Unwinders
 * trust it: at the first throw anywhere, they walk the table from length to length, and abort at unknown encodings.
 * What is accepted here, libgcc and LLVM's libunwind read without leaving the table or aborting. The instructions in it
 * are not checked. */

#include "link/unwind/unwind.h"

#include "link/unwind/cursor.h"

enum { PE_FORMAT = 0x0f, PE_APPLICATION = 0x70, PE_PCREL = 0x10 };

/* What a common entry says about encodings lies within so many bytes: others read it for each of their entries. */
enum { MOST = 128 };

/* The size of a value in this encoding (DW_EH_PE_...), or 0 for those that compilers do not emit. Accepted are 4 or 8
 * bytes, absolute or PC-relative: libgcc aborts at function-relative values, libunwind at all other bases. */
static unsigned encoded_size(uint8_t encoding)
{
    static const uint8_t sizes[16] = {[0x0] = 8, [0x3] = 4, [0x4] = 8, [0xb] = 4, [0xc] = 8};
    bool known = (encoding & PE_APPLICATION) <= PE_PCREL;
    return known ? sizes[encoding & PE_FORMAT] : 0;
}

static void skip_personality(struct tn__cursor *c)
{
    unsigned size = encoded_size(tn__cursor_byte(c));
    c->good &= size != 0;
    tn__cursor_take(c, size);
}

/* The encoding of addresses according to the augmentation of a common entry (CIE). */
static uint8_t address_encoding(struct tn__cursor *entry, const char *letters)
{
    uint64_t length = tn__cursor_uleb(entry);
    const uint8_t *bytes = tn__cursor_take(entry, length);
    uint8_t encoding = 0;
    if (!bytes)
        return 0;
    struct tn__cursor c = tn__cursor(bytes, length);
    for (; *letters && c.good; letters++) {
        if (*letters == 'R') {
            encoding = tn__cursor_byte(&c);
            break;
        }
        if (*letters == 'P')
            skip_personality(&c);
        else if (*letters == 'L')
            tn__cursor_byte(&c);
        else if (*letters != 'S' && *letters != 'B' && *letters != 'G')
            break; /* readers stop at a letter that they do not know */
    }
    entry->good &= c.good;
    return encoding;
}

/* The same for a common entry after its length and number; UNSOUND if it is malformed. */
static int encoding_of(struct tn__cursor c)
{
    uint8_t version = tn__cursor_byte(&c);
    const char *letters = tn__cursor_text(&c);
    tn__cursor_uleb(&c); /* code alignment, */
    tn__cursor_uleb(&c); /* data alignment (signed, but of the same length) */
    if (version == 1)
        tn__cursor_byte(&c); /* and the return address's register */
    else
        tn__cursor_uleb(&c);
    uint8_t encoding = *letters == 'z' ? address_encoding(&c, letters + 1) : 0;
    bool known = version == 1 || version == 3, indirect = encoding & 0x80;
    return c.good && known && !indirect && encoded_size(encoding) ? encoding : TN__UNWIND_UNSOUND;
}

int tn__unwind_encoding(const uint8_t *common, const uint8_t *end)
{
    if ((size_t)(end - common) < 8)
        return TN__UNWIND_UNSOUND;
    uint32_t length = tn__get32(common);
    if (length < 5 || length > (size_t)(end - common) - 4 || tn__get32(common + 4))
        return TN__UNWIND_UNSOUND;
    return encoding_of(tn__cursor(common + 8, tn__min64(length - 4, MOST)));
}

bool tn__unwind_data_is_sound(const uint8_t *table, uint64_t size)
{
    const uint8_t *end = table + size, *common = NULL;
    unsigned address_size = 0;
    for (const uint8_t *at = table; at < end;) {
        if (end - at < 4)
            return false;
        uint32_t length = tn__get32(at);
        if (!length)
            return true; /* unwinders stop here */
        if (length < 4 || length > (size_t)(end - at) - 4)
            return false;
        uint32_t distance = tn__get32(at + 4);
        if (distance > (size_t)(at + 4 - table))
            return false;
        const uint8_t *wanted = distance ? at + 4 - distance : at;
        if (wanted != common) {
            common = wanted;
            int encoding = tn__unwind_encoding(common, end);
            address_size = encoding < 0 ? 0 : encoded_size((uint8_t)encoding);
        }
        if (!address_size || (distance && length < 4 + 2 * address_size))
            return false;
        at += 4 + length;
    }
    return true;
}
