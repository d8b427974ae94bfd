/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "tenon_managed.h"

struct pair {
    struct pair tn_ref *first;
    void *rest[3];
};
TN_TYPE(struct pair, first);
