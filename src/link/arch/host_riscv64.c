/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The architecture of this process. */

#include "link/arch/riscv64/riscv64.h"

const struct tn__arch *const tn__arch_host = &tn__arch_riscv64;

/* 1 if the compiler defines the macro, which it does as 1, and else 0. */
#define DEFINED(macro)                DEFINED_AS(macro)
#define DEFINED_AS(value)             DEFINED_BY(BEHIND_##value)
#define DEFINED_BY(begin)             SECOND_OF(begin 1, 0, 0)
#define BEHIND_1                      0,
#define SECOND_OF(first, second, ...) second

/* How the compiler of this file passes arguments ("RISC-V C API", ABI-related preprocessor definitions). */
const uint32_t tn__variant_host =
    DEFINED(__riscv_float_abi_single) * TN__RISCV64_SINGLE + DEFINED(__riscv_float_abi_double) * TN__RISCV64_DOUBLE +
    DEFINED(__riscv_float_abi_quad) * TN__RISCV64_QUAD + DEFINED(__riscv_abi_rve) * TN__RISCV64_RVE;
