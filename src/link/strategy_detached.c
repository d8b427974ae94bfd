/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Memory that stands for another address space: bytes are prepared here and seen nowhere. What lies at the addresses of such
 * a window in this process is none of its business, so nothing is reserved, mapped or flushed there. */

#include "strategy.h"

static int map(struct tn__chunk *chunk, enum tn__prot prot)
{
    (void)prot;
    uint64_t here;
    int error = tn__os_reserve(0, chunk->size, false, &here);
    if (error)
        return error;
    error = tn__os_commit(here, chunk->size, TN__PROT_RW);
    if (error)
        tn__os_release(here, chunk->size);
    else
        chunk->alias = (uint8_t *)(uintptr_t)here;
    return error;
}

static int publish(struct tn__chunk *chunk, enum tn__prot prot)
{
    (void)chunk, (void)prot;
    return 0;
}

static void unmap(struct tn__chunk *chunk)
{
    tn__os_release((uintptr_t)chunk->alias, chunk->size);
    chunk->alias = NULL;
}

const struct tn__strategy tn__strategy_detached = {
    .name = "detached",
    .policy = "a limit on memory",
    .packs = true,
    .detached = true,
    .map = map,
    .publish = publish,
    .unmap = unmap,
};
