/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The targets of a program: all that are built in (all.c), or those that its link asks for (only_*.c, each in an
 * archive of its own). Other targets are not linked. */

#ifndef TENON_CODEGEN_ROWS_H
#define TENON_CODEGEN_ROWS_H

#include <llvm-c/Target.h>

#include "base/base.h"
#include "codegen/llvm/fatal.h"

struct tn__target_row {
    const char *name;
    void (*init_info)(void);
    struct tn__once init;
    const char *prefix;   /* LLVM's, for its architectures */
    const char *baseline; /* features of "generic" that every Linux distribution assumes */
    bool medium;          /* it has the medium code model */
};

enum { TN__MOST_TARGETS = 3 };
/* NULL where a target is not there. */
TN_HIDDEN extern struct tn__target_row *const tn__targets[TN__MOST_TARGETS];

#define TN__X86(X)     X(X86, "x86", "", true)
#define TN__AARCH64(X) X(AArch64, "aarch64", "", false)
#define TN__RISCV(X)   X(RISCV, "riscv64", "+m,+a,+f,+d,+c,+zicsr,+zifencei", true)

#define TN__TARGET_INIT(Name, ...)                                                                                     \
    static void init_info_##Name(void)                                                                                 \
    {                                                                                                                  \
        LLVMInitialize##Name##TargetInfo();                                                                            \
    }                                                                                                                  \
    static bool init_##Name(void)                                                                                      \
    {                                                                                                                  \
        LLVMInitialize##Name##Target();                                                                                \
        LLVMInitialize##Name##TargetMC();                                                                              \
        LLVMInitialize##Name##AsmParser();                                                                             \
        LLVMInitialize##Name##AsmPrinter();                                                                            \
        return true;                                                                                                   \
    }
#define TN__TARGET_ROW(Name, ...)                                                                                      \
    .name = #Name, .init_info = init_info_##Name, .init = TN__ONCE(init_##Name), __VA_ARGS__

/* A file that defines all of them. */
#define TN__ALL_ROW(Name, ...)   static struct tn__target_row row_##Name = {TN__TARGET_ROW(Name, __VA_ARGS__)};
#define TN__ALL_ENTRY(Name, ...) &row_##Name,
#define TN__DEFINE_TARGETS(TARGETS)                                                                                    \
    TARGETS(TN__TARGET_INIT)                                                                                           \
    TARGETS(TN__ALL_ROW)                                                                                               \
    struct tn__target_row *const tn__targets[TN__MOST_TARGETS] = {TARGETS(TN__ALL_ENTRY)};

/* A file that defines one. Each of them has the same list, of which a program keeps one. */
#define TN__ONLY_DECLARED(Name, ...) TN_HIDDEN extern struct tn__target_row tn__only_##Name __attribute__((weak));
#define TN__ONLY_ROW(Name, ...)      struct tn__target_row tn__only_##Name = {TN__TARGET_ROW(Name, __VA_ARGS__)};
#define TN__ONLY_ENTRY(Name, ...)    &tn__only_##Name,
#define TN__EACH_TARGET(X)           TN__X86(X) TN__AARCH64(X) TN__RISCV(X)
#define TN__DEFINE_ONLY(TARGET)                                                                                        \
    TARGET(TN__TARGET_INIT)                                                                                            \
    TN__EACH_TARGET(TN__ONLY_DECLARED)                                                                                 \
    TARGET(TN__ONLY_ROW)                                                                                               \
    __attribute__((weak)) struct tn__target_row *const tn__targets[TN__MOST_TARGETS] = {                               \
        TN__EACH_TARGET(TN__ONLY_ENTRY)};

#endif
