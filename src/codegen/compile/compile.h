/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compilations, for those who need not see LLVM: compile.c has their phases, unit.c the first of them
 * (unit.h). The passes are in pipeline/. */

#ifndef TENON_CODEGEN_COMPILE_H
#define TENON_CODEGEN_COMPILE_H

#include "base/base.h"
#include "jit/counter.h"
#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)

/* Whether the passes that the options name are there. TN_EINVAL, TN_ENOTSUP. */
int tn__check_passes(const struct tn_compile_options *options, struct tn_error *err);

/* tn_compile for the bitcode of a part of a module that was read, verified and fitted to its target before, with
 * options that were taken. `name`: the part's, for observers; `input`: what errors say. `is_prepared`: tn__gc_prepare
 * was run as well. `counters` NULL: calls are not counted. */
int tn__compile_part(const char *name, const char *input, const struct tn_buffer *bitcode, bool is_prepared,
                     const struct tn_compile_options *options, const struct tn__counters *counters,
                     const struct tn_compile_observer *observer, struct tn_buffer *out, struct tn_compile_stats *stats,
                     struct tn_error *err);

#pragma GCC visibility pop
#endif
