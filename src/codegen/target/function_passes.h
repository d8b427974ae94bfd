/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A list of LLVM's function passes that runs them one after the other (emitter.cpp). */

#ifndef TENON_CODEGEN_FUNCTION_PASSES_H
#define TENON_CODEGEN_FUNCTION_PASSES_H

#include "llvm/Pass.h"

#endif
