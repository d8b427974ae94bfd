/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The collector of heaps that name none. It has a file of its own, so that a program which defines this variable leaves
 * this one out, and the collector with it. */

#include "tenon_heap.h"

const struct tn_collector *const tn_default_collector = &tn_collector_generational;
