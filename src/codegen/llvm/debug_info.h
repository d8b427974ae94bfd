/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Debug information that LLVM's verifier accepts and its writer of DWARF cannot write (debug_info.cpp). */

#ifndef TENON_CODEGEN_DEBUG_INFO_H
#define TENON_CODEGEN_DEBUG_INFO_H

#include "llvm/IR/Module.h"

#pragma GCC visibility push(hidden)

/* Of a module that was verified. */
bool tn__has_bad_debug_info(const llvm::Module &module);

#pragma GCC visibility pop
#endif
