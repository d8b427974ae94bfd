/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "lazy_frame.h"

const struct tn__lazy_watch *tn__lazy_watch;
