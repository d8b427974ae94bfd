/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The targets of a program: all that are built in (all.c), or one (only_*.c, each in an archive of its own). What a
 * list does not name is not linked. A file that defines the list says TN__DEFINE_TARGETS. */

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

struct tn__target_list {
    struct tn__target_row *rows;
    size_t count;
    const char *const *names; /* up to NULL */
};
TN_HIDDEN extern const struct tn__target_list tn__target_list;

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
#define TN__TARGET_ROW(Name, ...)  {#Name, init_info_##Name, TN__ONCE(init_##Name), __VA_ARGS__},
#define TN__TARGET_NAME(Name, ...) #Name,

#define TN__DEFINE_TARGETS(TARGETS)                                                                                    \
    TARGETS(TN__TARGET_INIT)                                                                                           \
    static struct tn__target_row rows[] = {TARGETS(TN__TARGET_ROW)};                                                   \
    static const char *const names[] = {TARGETS(TN__TARGET_NAME) NULL};                                                \
    const struct tn__target_list tn__target_list = {rows, TN_COUNT(rows), names};

#endif
