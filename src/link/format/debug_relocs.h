/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Relocating data for debuggers: .debug_* and, where it is only shown to them, .eh_frame. */

#ifndef TENON_DEBUG_RELOCS_H
#define TENON_DEBUG_RELOCS_H

#include "link/model/object.h"

#pragma GCC visibility push(hidden)

/* S + A of a reference, or `discarded` if it leads to code or data that the result does not have. */
typedef uint64_t tn__debug_value(const void *context, const struct tn__object_data *data, const struct tn__reloc *reloc,
                                 uint64_t discarded);

/* Relocates a copy of the section at `bytes`, whose address is P of its first byte. Data for debuggers has absolute and
 * relative references, and differences. All others (to a personality routine through the GOT, say) are of no use to a
 * debugger, and are left as they are. */
void tn__debug_relocate(const struct tn__object_data *data, const struct tn__input_section *section, uint8_t *bytes,
                        uint64_t address, tn__debug_value *value, const void *context);

#pragma GCC visibility pop
#endif
