/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What compiled code refers to by name, besides tn__gc_block. */

#ifndef TENON_GC_NAMES_H
#define TENON_GC_NAMES_H

#include "base/base.h"

enum { TN__MANAGED_NAMES = 25 };
TN_HIDDEN extern const struct tn_definition tn__managed_names[TN__MANAGED_NAMES];

#endif
