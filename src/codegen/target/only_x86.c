/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* X86 alone, for programs whose link asks for this symbol (-Wl,-u, see tenon-codegen-target.pc.in). */

#include "codegen/target/rows.h"

TN__DEFINE_TARGETS(TN__X86)

TN_HIDDEN extern const char tn__codegen_only_x86;
const char tn__codegen_only_x86 = 1;
