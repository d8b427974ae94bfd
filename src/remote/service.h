/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_REMOTE_SERVICE_H
#define TENON_REMOTE_SERVICE_H

#include "base/base.h"
#include "tenon_remote.h"

#pragma GCC visibility push(hidden)

/* What a server can do. */
struct tn__service {
    struct tn_compiler compiler;
    /* As tn_compile; NULL: there is no such request. */
    int (*whole)(const char *name, const void *ir, size_t length, const struct tn_compile_options *options,
                 struct tn_buffer *out, struct tn_compile_stats *stats, struct tn_error *err);
};

/* tn_serve_compiler, for this. */
int tn__serve(const struct tn__service *service, const struct tn_serve_options *options, struct tn_error *err);

/* A worker (worker.c): answers what comes over the socket until that is closed. */
void tn__work(const struct tn__service *service, int socket, uint64_t deadline_ns);

#pragma GCC visibility pop
#endif
