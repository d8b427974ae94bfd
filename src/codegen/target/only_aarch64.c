/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64, for programs whose link asks for this symbol (-Wl,-u, see tenon-codegen-target.pc.in). Files of other
 * targets may be in the same link. */

#include "codegen/target/rows.h"

TN__DEFINE_ONLY(TN__AARCH64)

TN_HIDDEN extern const char tn__codegen_only_aarch64;
const char tn__codegen_only_aarch64 = 1;
