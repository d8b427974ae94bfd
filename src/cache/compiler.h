/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_CACHE_COMPILER_H
#define TENON_CACHE_COMPILER_H

#include "base/base.h"
#include "tenon_compiler.h"

#pragma GCC visibility push(hidden)

/* Copies what this version knows of a client's compiler. TN_EINVAL (also: a function is missing that has to be
 * there). */
int tn__take_compiler(const struct tn_compiler *given, struct tn_compiler *taken, struct tn_error *err);

#pragma GCC visibility pop
#endif
