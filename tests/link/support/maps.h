/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What /proc/self/maps says about code memory. */

#ifndef TENON_TESTS_LINK_MAPS_H
#define TENON_TESTS_LINK_MAPS_H

#include "support.h"

struct mapping {
    uint64_t start, end;
    char prot[5];
    bool memfd; /* of the linker */
};

/* Valid until the next look. */
extern struct mapping mappings[4000];
extern size_t mapping_count;

/* Looks at the map; fails the test if a mapping is writable and executable. */
void read_mappings(void);
/* These look anew. */
const struct mapping *mapping_at(const void *address);
void assert_prot(const void *address, const char *prot);
/* How many mappings of memfds have this protection. */
size_t count_memfd_mappings(const char *prot);
/* That many aliases are writable and inaccessible. */
void check_aliases(size_t writable, size_t sealed);

#endif
