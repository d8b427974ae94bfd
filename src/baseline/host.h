/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#ifndef TENON_BASELINE_HOST_H
#define TENON_BASELINE_HOST_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

/* Whether this machine runs what the baseline compiler makes (host_*.c). */
extern const bool tn__baseline_runs_here;

#pragma GCC visibility pop
#endif
