/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Private memory, written and then switched to its final protection, never back. For systems without executable
 * memfds. */

#include "link/memory/strategy.h"

static int publish(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)err;
    return tn__os_protect(chunk->address, chunk->size, prot);
}

const struct tn__strategy_ops tn__strategy_mprotect = {
    .id = TN_STRATEGY_MPROTECT,
    .name = "mprotect",
    .policy = "PR_SET_MDWE (systemd's MemoryDenyWriteExecute) or SELinux execmem",
    .map = tn__chunk_map_private,
    .publish = publish,
    .unmap = tn__chunk_unmap_private,
};
