/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What links do for Mach-O objects alone. */

#include "link/passes/steps.h"

const struct tn__steps tn__steps_macho = {TN__STEPS_FIELDS, .scan_sound = tn__scan_sound,
                                          .parse_bound = tn__parse_bound};
