/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What links do for COFF objects alone. */

#include "link/passes/steps.h"

const struct tn__steps tn__steps_coff = {TN__STEPS_FIELDS,
                                         .scan_sound = tn__scan_sound,
                                         .bind_stand_ins = tn__bind_stand_ins,
                                         .stand_in_address = tn__stand_in_address,
                                         .check_alias = tn__check_alias,
                                         .take_alias = tn__take_alias,
                                         .enter_aliases = tn__enter_aliases,
                                         .compare_copies = tn__compare_copies,
                                         .drop_lost = tn__drop_lost,
                                         .gather_groups = tn__gather_groups};
