/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "cache/compiler.h"

int tn__take_compiler(const struct tn_compiler *given, struct tn_compiler *taken, struct tn_error *err)
{
    int code = tn__take_options(taken, sizeof *taken, given, "struct tn_compiler", err);
    if (!code && (!taken->open || !taken->compile || !taken->close))
        code = tn__fail(err, TN_EINVAL, "a compiler has to open, compile and close modules");
    return code;
}
