/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One memfd mapped twice: a writable alias at a random address, a read-only or executable view in the window. No system
 * call per object. Between the two mappings the file is sealed: then only the alias can write to it, whatever the
 * program does with descriptors, mprotect or /proc. The descriptor is closed, and the alias is accessible only as long
 * as something is linked into the chunk now and then (zones.c).
 *
 * The alias is not inherited by a fork; a chunk made before one is never written again, because parent and child share
 * the file. */

#include <errno.h>
#include <unistd.h>

#include "link/memory/strategy.h"

static int map_view(int fd, const struct tn__chunk *chunk, enum tn__prot prot)
{
    int error = tn__os_seal_views(fd);
    if (error && error != EINVAL) /* Linux before 5.1 has no such seal */
        return error;
    return tn__os_map_view(fd, 0, chunk->address, chunk->size, prot, false);
}

static int map(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)err;
    int fd, error = tn__os_memfd(chunk->size, &fd);
    if (error)
        return error;
    error = tn__os_map_alias(fd, 0, chunk->size, &chunk->alias);
    if (!error) {
        error = map_view(fd, chunk, prot);
        if (error)
            tn__os_release((uintptr_t)chunk->alias, chunk->size);
    }
    tn__os_close(fd);
    if (error)
        chunk->alias = NULL;
    chunk->pid = getpid();
    return error;
}

static int publish(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    (void)chunk, (void)prot, (void)err;
    return 0;
}

static int protect(const struct tn__chunk *chunk, bool writable)
{
    return tn__os_protect((uintptr_t)chunk->alias, chunk->size, writable ? TN__PROT_RW : TN__PROT_NONE);
}

/* The mappings keep the memory without the descriptor; a forked child has not inherited the alias. */
static void leave(struct tn__chunk *chunk)
{
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

const struct tn__strategy_ops tn__strategy_dual = {
    .id = TN_STRATEGY_DUAL,
    .name = "dual",
    .policy = "vm.memfd_noexec, SELinux execmem, a seccomp filter on memfd_create or getrandom, or RLIMIT_FSIZE",
    .packs = true,
    .files = true,
    .shared = true,
    .map = map,
    .publish = publish,
    .unmap = unmap,
    .protect = protect,
    .leave = leave,
};
