/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One memfd mapped twice: a writable alias somewhere, a read-only or executable view in the window. No system call per
 * object. The alias is not inherited by a fork; a chunk made before one is never written again (see codemem.c), because
 * parent and child share the file. */

#include <unistd.h>

#include "strategy.h"

static int map_both(int fd, struct tn__chunk *chunk, enum tn__prot prot)
{
    int error = tn__os_map_alias(fd, 0, chunk->size, &chunk->alias);
    if (error)
        return error;
    error = tn__os_map_view(fd, 0, chunk->address, chunk->size, prot, false);
    if (error) {
        tn__os_release((uintptr_t)chunk->alias, chunk->size);
        chunk->alias = NULL;
    }
    return error;
}

static int map(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)err;
    int error = tn__os_memfd(chunk->size, &chunk->fd);
    if (error)
        return error;
    error = map_both(chunk->fd, chunk, prot);
    if (error)
        tn__os_close(chunk->fd);
    else
        chunk->file = tn__os_identify(chunk->fd);
    chunk->has_file = !error;
    chunk->pid = getpid();
    return error;
}

static int publish(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)chunk, (void)prot, (void)err;
    return 0;
}

/* The mappings keep the memory without the descriptor; a forked child has not inherited the alias. */
static void leave(struct tn__chunk *chunk)
{
    if (chunk->has_file && tn__os_is(chunk->fd, chunk->file))
        tn__os_close(chunk->fd);
    chunk->has_file = false;
    if (chunk->alias && chunk->pid == getpid())
        tn__os_release((uintptr_t)chunk->alias, chunk->size);
    chunk->alias = NULL;
}

static void unmap(struct tn__chunk *chunk, enum tn__prot prot)
{
    (void)prot;
    leave(chunk);
    tn__os_decommit(chunk->address, chunk->size);
}

const struct tn__strategy tn__strategy_dual = {
    .id = TN_STRATEGY_DUAL,
    .name = "dual",
    .policy = "vm.memfd_noexec, SELinux execmem, or a seccomp filter on memfd_create",
    .packs = true,
    .shared = true,
    .map = map,
    .publish = publish,
    .unmap = unmap,
    .leave = leave,
};
