/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Processors for which there are no lazy stubs yet. */

#include "link/redirect/cell.h"

const struct tn__lazy_machine tn__lazy_machine = {.stub_size = 16};
