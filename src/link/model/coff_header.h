/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The beginnings of COFF objects (Microsoft's "PE Format", "COFF File Header", "Import Header"). Such files have no
 * magic number: they begin with a machine's. Objects with 32-bit section numbers (cl /bigobj) and members of import
 * libraries begin with two numbers that no machine has. */

#ifndef TENON_COFF_HEADER_H
#define TENON_COFF_HEADER_H

#include "base/base.h"

enum {
    TN__COFF_HEADER = 20,
    TN__COFF_BIG_HEADER = 56,
    TN__COFF_IMPORT_HEADER = 20,
    TN__COFF_SECTION_HEADER = 40,
    TN__COFF_MOST_SECTIONS = 0xfeff, /* the numbers above are special */
    TN__COFF_BIG_VERSION = 2,        /* 0: an import; 1: something without code */
};

enum tn__coff_kind { TN__COFF_NONE = 0, TN__COFF_OBJECT, TN__COFF_BIG, TN__COFF_IMPORT };

/* What the bytes may be; *machine is set then. Files that are too short to say may be anything. */
static inline enum tn__coff_kind tn__coff_kind(const uint8_t *bytes, size_t size, uint32_t *machine)
{
    enum { EXECUTABLE = 2 };
    static const uint8_t class[16] = {0xc7, 0xa1, 0xba, 0xd1, 0xee, 0xba, 0xa9, 0x4b,
                                      0xaf, 0x20, 0xfa, 0xf6, 0x6a, 0xa4, 0xdc, 0xb8};
    *machine = size >= 2 ? tn__get16(bytes) : 0;
    if (size < TN__COFF_HEADER || *machine)
        return size < TN__COFF_HEADER || (!tn__get16(bytes + 16) && !(tn__get16(bytes + 18) & EXECUTABLE) &&
                                          tn__get16(bytes + 2) <= TN__COFF_MOST_SECTIONS)
                   ? TN__COFF_OBJECT
                   : TN__COFF_NONE;
    *machine = tn__get16(bytes + 6);
    if (tn__get16(bytes + 2) != 0xffff)
        return TN__COFF_NONE;
    if (tn__get16(bytes + 4) < TN__COFF_BIG_VERSION)
        return tn__get16(bytes + 4) ? TN__COFF_NONE : TN__COFF_IMPORT;
    return size < TN__COFF_BIG_HEADER || !memcmp(bytes + 12, class, sizeof class) ? TN__COFF_BIG : TN__COFF_NONE;
}

#endif
