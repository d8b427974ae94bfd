/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "managed_file.h"

#include "tenon_gc.h"

int tn__managed_check_abi(const char *name, const uint8_t *versions, uint64_t size, struct tn_error *err)
{
    for (uint64_t at = 0; at + 4 <= size; at += 4)
        if (tn__get32(versions + at) != TN_GC_ABI)
            return tn__fail(
                err, TN_ENOTSUP,
                "%s: managed code for version %u of the runtime ABI, and this is version %d: compile it again", name,
                tn__get32(versions + at), TN_GC_ABI);
    if (size < 4)
        return tn__fail(err, TN_ENOTSUP,
                        "%s: managed code that does not say for which version of the runtime ABI it is, and this is "
                        "version %d: compile it again",
                        name, TN_GC_ABI);
    return 0;
}
