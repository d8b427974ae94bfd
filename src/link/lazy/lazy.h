/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Lazy and redirectable functions: what their definitions share. */

#ifndef TENON_LAZY_H
#define TENON_LAZY_H

#include "link/redirect/cell.h"

#pragma GCC visibility push(hidden)

/* ---- definitions (lazy.c) ---- */

/* Checks what a client gave. TN_EINVAL, TN_ENOTSUP. */
int tn__lazy_take_options(const struct tn_library *library, const struct tn_stub_options *given, bool may_fail,
                          struct tn_stub_options *options, struct tn_error *err);
/* A batch that leads to symbols of `targets`; NULL: out of memory. */
struct tn__lazy_batch *tn__lazy_new_batch(struct tn_library *library, const struct tn_lazy_symbol *symbols,
                                          size_t count, struct tn_library *targets,
                                          const struct tn_stub_options *options);
/* Under the lock: defines all or none, once no link holds one of the names (it waits for that); `target` 0: they are
 * looked up. Errors as for tn_define_lazy. */
int tn__lazy_define(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, uint64_t target,
                    struct tn_tracker *owner, struct tn_error *err);

/* ---- what observers are told (lazy_names.c) ---- */

/* Under the session's lock, when stubs have been taken for these functions of one definition. TN_ENOMEM, or what an
 * observer answers; then it is as if none had been told. */
int tn__lazy_tell_defined(const struct tn_library *library, const struct tn__cell_facts *facts, size_t count,
                          struct tn_error *err);
/* They are about to be given back. */
void tn__lazy_tell_removed(const struct tn_library *library, const struct tn__cell_facts *facts, size_t count);

#pragma GCC visibility pop
#endif
