/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the tests of the code generator share. Every compilation goes through here, so that each is also a test that
 * nothing is printed. */

#ifndef TENON_TESTS_CODEGEN_SUPPORT_H
#define TENON_TESTS_CODEGEN_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tenon_codegen.h"
#include "tenon_cpu.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define DEFAULTS     .size = sizeof(struct tn_compile_options)
#define X86          DEFAULTS, .triple = "x86_64-linux-gnu"
#define AARCH64      DEFAULTS, .triple = "aarch64-linux-gnu"
#define RISCV        DEFAULTS, .triple = "riscv64-linux-gnu"

struct outcome {
    int code;
    struct tn_buffer out;
    struct tn_error err;
    struct tn_compile_stats stats;
};

/* Compiles under the name "test.ll". Fails the running test if anything was printed. */
struct outcome compile(const void *ir, size_t length, const struct tn_compile_options *options);
struct outcome compile_text(const char *ir, const struct tn_compile_options *options);

/* The same for input that has to be accepted: assembly (or what options->emit says) as a string to free. */
char *assembly(const char *ir, struct tn_compile_options options);

/* Collects what is printed from here on; quiet_end fails the running test if that is anything. */
void quiet_begin(void);
void quiet_end(void);

/* Whether the options' triple belongs to a target that is built in; others are skipped. */
bool built_in(const struct tn_compile_options *options);

/* An x86-64 CPU by its name. */
struct tn_cpu cpu_named(const char *name);

/* Calls `check` with the bitcode of each program of the corpus, optimised by clang and not; names as rules.mk gives
 * them. */
void for_each_program(const char *const *programs, size_t count,
                      void (*check)(const char *path, const void *bytes, size_t length));
/* Calls `check` with a program's bitcode of one of the ways in rules.mk. */
void for_program(const char *program, const char *way,
                 void (*check)(const char *path, const void *bytes, size_t length));

#define assert_contains(text, part)                                                                                    \
    do {                                                                                                               \
        if (!strstr(text, part))                                                                                       \
            fail_msg("no '%s' in: %s", part, text);                                                                    \
    } while (0)

#endif
