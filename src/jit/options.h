/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Options of compilations, for all that is done with them before a compiler sees them. */

#ifndef TENON_JIT_OPTIONS_H
#define TENON_JIT_OPTIONS_H

#include "base/base.h"
#include "tenon_compiler.h"
#include "tenon_cpu.h"

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Copies options, and checks the ranges of numbers. TN_EINVAL. */
int tn__take_compile_options(const struct tn_compile_options *given, struct tn_compile_options *options,
                             struct tn_compile_observer *observer, struct tn_error *err);

/* Copies what the options point to, but for the observer: texts to `texts`, the CPU to *native. NULL: copies nothing.
 * Returns how many bytes the texts take. */
size_t tn__keep_compile_options(struct tn_compile_options *options, char *texts, struct tn_cpu *native);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
