/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What tn_codegen_llvm_options has set of LLVM's own options. */

#ifndef TENON_CODEGEN_ARGUMENTS_H
#define TENON_CODEGEN_ARGUMENTS_H

#pragma GCC visibility push(hidden)
#ifdef __cplusplus
extern "C" {
#endif

/* In the order given; "" where it was not called. */
const char *tn__llvm_arguments_taken(void);

/* From now on they stay: compilations may have read them. Safe to call from any thread, any number of times. */
void tn__llvm_arguments_settle(void);

/* The name of an option that was set by another call, so that its value is not known; NULL: there is none. */
const char *tn__llvm_argument_unknown(void);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
