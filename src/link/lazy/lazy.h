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
/* tn_define_lazy for a maker whose functions may get better bodies. */
int tn__lazy_define_for(const void *maker, struct tn_library *library, const struct tn_lazy_symbol *symbols,
                        size_t count, struct tn_library *targets, const struct tn_stub_options *given,
                        struct tn_error *err);
/* Defines all or none, once no link holds one of the names (it waits for that); `target` 0: they are looked up. Errors
 * as for tn_define_lazy. */
int tn__lazy_define(struct tn__lazy_batch *batch, const struct tn_lazy_symbol *symbols, uint64_t target,
                    struct tn_tracker *owner, struct tn_error *err) TN__LOCKED;

#pragma GCC visibility pop
#endif
