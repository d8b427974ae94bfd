/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The floating-point environment of the thread (C11, section 7.6), in functions that compute with floating-point
 * numbers and that a program calls without knowing it: a compiler folds constants, a collector divides. They compute
 * as if the program had changed nothing (rounding, traps, flush to zero), and leave no flag behind. <fenv.h> would
 * do, but its functions are in a library of their own (-lm), which programs without a compiler do not need. */

#ifndef TENON_FLOAT_ENV_H
#define TENON_FLOAT_ENV_H

#include <stdbool.h>
#include <stdint.h>

#if defined __x86_64__

/* SSE has MXCSR; x87 has a control word, and a status word with the flags. */
struct tn__float_env {
    uint32_t mxcsr;
    uint16_t control, status;
};

enum { TN__DEFAULT_MXCSR = 0x1f80, TN__DEFAULT_CONTROL = 0x37f };

static inline void tn__float_env_begin(struct tn__float_env *found)
{
    const uint32_t mxcsr = TN__DEFAULT_MXCSR;
    __asm__ volatile("stmxcsr %0" : "=m"(found->mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(found->control));
    __asm__ volatile("fnstsw %0" : "=m"(found->status));
    if (found->mxcsr != mxcsr)
        __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    if (found->control != TN__DEFAULT_CONTROL)
        __asm__ volatile("fninit");
}

static inline void tn__float_env_end(const struct tn__float_env *found)
{
    uint16_t control, status;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    __asm__ volatile("fnstsw %0" : "=m"(status));
    if (control != found->control || status != found->status) { /* only FLDENV loads flags */
        struct {
            uint16_t control, unused, status, others[11];
        } all;
        __asm__ volatile("fnstenv %0" : "=m"(all));
        all.control = found->control;
        all.status = found->status;
        __asm__ volatile("fldenv %0" : : "m"(all));
    }
    __asm__ volatile("ldmxcsr %0" : : "m"(found->mxcsr));
}

#elif defined __aarch64__

struct tn__float_env {
    uint64_t control, status;
};

static inline void tn__float_env_begin(struct tn__float_env *found)
{
    __asm__ volatile("mrs %0, fpcr" : "=r"(found->control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(found->status));
    if (found->control)
        __asm__ volatile("msr fpcr, xzr");
}

static inline void tn__float_env_end(const struct tn__float_env *found)
{
    if (found->control)
        __asm__ volatile("msr fpcr, %0" : : "r"(found->control));
    __asm__ volatile("msr fpsr, %0" : : "r"(found->status));
}

#elif defined __riscv_flen

struct tn__float_env {
    uint64_t control; /* rounding mode and flags; there are no traps */
};

static inline void tn__float_env_begin(struct tn__float_env *found)
{
    __asm__ volatile("fscsr %0, zero" : "=r"(found->control));
}

static inline void tn__float_env_end(const struct tn__float_env *found)
{
    __asm__ volatile("fscsr %0" : : "r"(found->control));
}

#else /* numbers are computed by functions, which have no environment */

struct tn__float_env {
    bool is_empty;
};

static inline void tn__float_env_begin(struct tn__float_env *found)
{
    found->is_empty = true;
}

static inline void tn__float_env_end(const struct tn__float_env *found)
{
    (void)found;
}

#endif

static inline struct tn__float_env tn__default_float_env(void)
{
    struct tn__float_env found;
    tn__float_env_begin(&found);
    return found;
}

/* At the beginning of a function: it runs in the default environment, and returns with the one that it found. */
#define TN__KEEP_FLOAT_ENV                                                                                             \
    __attribute__((cleanup(tn__float_env_end))) const struct tn__float_env tn__kept_float_env = tn__default_float_env()

#endif
