/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* AArch64 alone, for programs whose link asks for this symbol (-Wl,-u, see tenon-codegen-target.pc.in). */

#include "codegen/target/rows.h"

TN__DEFINE_TARGETS(TN__AARCH64)

TN_HIDDEN extern const char tn__codegen_only_aarch64;
const char tn__codegen_only_aarch64 = 1;
