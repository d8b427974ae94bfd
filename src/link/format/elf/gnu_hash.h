/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* How tables of names in ELF files (DT_GNU_HASH) hash a name. */

#ifndef TENON_ELF_GNU_HASH_H
#define TENON_ELF_GNU_HASH_H

#include <stdint.h>

static inline uint32_t tn__gnu_hash(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (uint8_t)*name;
    return hash;
}

#endif
