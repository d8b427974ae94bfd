/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Private memory that is written where it is seen: the data zone keeps it so, other strategies start from it. */

#include "link/memory/strategy.h"

int tn__chunk_map_private(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)prot, (void)err;
    int error = tn__os_commit(chunk->address, chunk->size, TN__PROT_RW);
    if (!error)
        chunk->alias = (uint8_t *)(uintptr_t)chunk->address;
    return error;
}

void tn__chunk_unmap_private(struct tn__chunk *chunk, enum tn__prot prot)
{
    (void)prot;
    tn__os_decommit(chunk->address, chunk->size);
    chunk->alias = NULL;
}

static int publish(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)chunk, (void)prot, (void)err;
    return 0;
}

const struct tn__strategy_ops tn__strategy_data = {
    .name = "data",
    .policy = "a limit on memory",
    .packs = true,
    .map = tn__chunk_map_private,
    .publish = publish,
    .unmap = tn__chunk_unmap_private,
};
