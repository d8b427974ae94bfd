/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM's own options, for the tool. */

#ifndef TENON_CODEGEN_ARGUMENTS_H
#define TENON_CODEGEN_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* Sets those in `text`, "-name=value -name"; those that LLVM does not have are told to `unknown` and left out. False if
 * a value is not what its option takes; `message` (of `size` bytes) then says why. To be called once, before any
 * compilation. */
bool tn__llvm_arguments(const char *text, void (*unknown)(const char *argument), char *message, size_t size);

/* What it has set, in the order given; "" where it was not called. */
const char *tn__llvm_arguments_taken(void);

/* The name of an option that was set by another call, so that its value is not known; NULL: there is none. */
const char *tn__llvm_argument_unknown(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
