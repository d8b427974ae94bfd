/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_TESTS_CODEGEN_LLVM_MODULE_H
#define TENON_TESTS_CODEGEN_LLVM_MODULE_H

#include "codegen/llvm/diagnostics.h"
#include "codegen/llvm/llvm.h"

/* A module as it comes from a client that uses LLVM's API itself. Fails the running test if the IR is wrong. */
LLVMModuleRef parse_module(LLVMContextRef context, const char *ir, size_t length);

#endif
