/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* RISC-V alone, for programs whose link asks for this symbol (-Wl,-u, see tenon-codegen-target.pc.in). */

#include "codegen/target/rows.h"

TN__DEFINE_TARGETS(TN__RISCV)

TN_HIDDEN extern const char tn__codegen_only_riscv;
const char tn__codegen_only_riscv = 1;
