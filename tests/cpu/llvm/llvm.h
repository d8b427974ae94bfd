/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What LLVM's tables say, of which its C interface does not tell. */

#ifndef TENON_TESTS_CPU_LLVM_H
#define TENON_TESTS_CPU_LLVM_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A CPU with "+a,-b..." applied. NULL: this LLVM was built without the architecture. Lives to the end of the
 * program. */
struct llvm_cpu *llvm_cpu(const char *triple, const char *name, const char *features);

/* By index; NULL behind the last. */
const char *llvm_name_at(const struct llvm_cpu *cpu, size_t index);
const char *llvm_feature_at(const struct llvm_cpu *cpu, size_t index);

/* What feature number `index` of LLVM's is on this CPU. */
bool llvm_has(const struct llvm_cpu *cpu, size_t index);
/* True if feature number `index` implies, directly, feature number `other`. */
bool llvm_implies(const struct llvm_cpu *cpu, size_t index, size_t other);

#ifdef __cplusplus
}
#endif
#endif
