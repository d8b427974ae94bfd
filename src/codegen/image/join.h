/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Linking modules of IR (join.cpp). */

#ifndef TENON_CODEGEN_JOIN_H
#define TENON_CODEGEN_JOIN_H

#include <stdbool.h>

#include <llvm-c/Types.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Links `other`, which may be of another context and is used up, into `module`. What both define is an error, unless
 * `other_counts`. False: the diagnostics of the module's context say why. */
bool tn__image_join(LLVMModuleRef module, LLVMModuleRef other, bool other_counts);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
