/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "baseline/host.h"

const bool tn__baseline_runs_here = false;
