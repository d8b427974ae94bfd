/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The copying collector, with which tests compare the library's collectors: a program that is linked with it has it
 * under TENON_GC=copy. */

#ifndef TENON_TESTS_GC_ORACLE_H
#define TENON_TESTS_GC_ORACLE_H

#include "tenon_heap.h"

extern const struct tn_collector tn_collector_copying;

#endif
