/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* X86, for programs whose link asks for this symbol (-Wl,-u, see tenon-codegen-target.pc.in). Files of other
 * targets may be in the same link. */

#include "codegen/target/rows.h"

TN__DEFINE_ONLY(TN__X86)

TN_HIDDEN extern const char tn__codegen_only_x86;
const char tn__codegen_only_x86 = 1;
