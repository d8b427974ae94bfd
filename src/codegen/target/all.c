/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* All targets that are built in. */

#include "codegen/target/rows.h"

#if TN_TARGET_X86
#define IF_X86(X) TN__X86(X)
#else
#define IF_X86(X)
#endif
#if TN_TARGET_AArch64
#define IF_AARCH64(X) TN__AARCH64(X)
#else
#define IF_AARCH64(X)
#endif
#if TN_TARGET_RISCV
#define IF_RISCV(X) TN__RISCV(X)
#else
#define IF_RISCV(X)
#endif
#define TARGETS(X) IF_X86(X) IF_AARCH64(X) IF_RISCV(X)

TN__DEFINE_TARGETS(TARGETS)
