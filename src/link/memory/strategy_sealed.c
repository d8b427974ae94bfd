/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bytes are written to private memory, copied into a memfd, which is sealed against writing and then mapped privately
 * in their place: the code cannot be changed any more, not even through the descriptor. One mapping per range. */

#include "link/memory/strategy.h"

static int publish(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)err;
    int fd, error = tn__os_memfd(chunk->size, &fd);
    if (error)
        return error;
    error = tn__os_write(fd, 0, &(struct tn__piece){chunk->alias, chunk->size}, 1);
    if (!error)
        error = tn__os_seal(fd);
    if (!error)
        error = tn__os_map_view(fd, 0, chunk->address, chunk->size, prot, true);
    tn__os_close(fd);
    return error;
}

const struct tn__strategy_ops tn__strategy_sealed = {
    .id = TN_STRATEGY_SEALED,
    .name = "sealed",
    .policy = "vm.memfd_noexec, SELinux execmem, a seccomp filter on memfd_create, or RLIMIT_FSIZE",
    .files = true,
    .map = tn__chunk_map_private,
    .publish = publish,
    .unmap = tn__chunk_unmap_private,
};
