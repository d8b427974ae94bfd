/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Code without LLVM: modules are built by the functions below, or written by `tenon compile --emit=flat`, and compiled
 * by the baseline compiler (doc/BASELINE.md), which is a part of libtenon.a. */

#ifndef TENON_BUILD_H
#define TENON_BUILD_H

#include "tenon_compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Compiles flat files for a JIT (tn_jit_options.compiler), for x86-64. It optimises nothing, so levels make no
 * difference. A file is checked as it is read: TN_EFORMAT says what is wrong with it; TN_ENOTSUP: it has an operation
 * that this version does not know, or a function that is too large. Any thread. */
TN_API const struct tn_compiler *tn_baseline_compiler(void);

#ifdef __cplusplus
}
#endif
#endif
