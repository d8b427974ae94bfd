/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "onward.h"

const struct tn__onward *tn__onward_stubs, *tn__onward_entries;
