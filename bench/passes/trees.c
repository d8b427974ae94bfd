/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Binary trees: the workload of the collectors.
 *     trees [DEPTH] */

#include "bench/gc/bt.c"
