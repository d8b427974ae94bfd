/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_CODEGEN_JIT_COMPILER_H
#define TENON_CODEGEN_JIT_COMPILER_H

#include "codegen/parts/module.h"

#pragma GCC visibility push(hidden)

/* The build of the code generator and its LLVM, generated (tools/build/rules.mk). */
extern const char tn__codegen_build[];

/* How functions are copied out of modules in a lazy JIT, for code of this level; of a higher tier or not. */
struct tn__extraction tn__jit_extraction(const struct tn_compile_options *options, int opt_level, bool is_higher);

#pragma GCC visibility pop
#endif
