/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Memory that the client provides, here or in another process: each step of a chunk calls a function of struct
 * tn_memory. The addresses of such a window may mean something else in this process, so the linker itself reserves,
 * maps and flushes nothing there. */

#include "link/memory/strategy.h"

static enum tn_zone zone_of(enum tn__prot prot)
{
    return prot == TN__PROT_RX ? TN_ZONE_CODE : prot == TN__PROT_R ? TN_ZONE_RODATA : TN_ZONE_DATA;
}

/* Turns what the client's function returned into an error that says what failed. */
static int check_answer(int code, const char *verb, const struct tn__chunk *chunk, const struct tn_error *why,
                        struct tn_error *err)
{
    if (!code)
        return 0;
    return tn__fail(err, code < 0 ? code : TN_EINVAL, "the client's memory cannot be %s, %zu bytes at 0x%llx: %s", verb,
                    chunk->size, (unsigned long long)chunk->address, *why->text ? why->text : tn_error_string(code));
}

static int map(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    const struct tn_memory *client = chunk->client;
    struct tn_error why = {.text = ""};
    void *bytes = NULL;
    int code = client->map(client->context, zone_of(prot), chunk->address, chunk->size, &bytes, &why);
    if (!code && !bytes)
        return tn__fail(err, TN_EINVAL, "the client's memory is mapped, but it does not say where it is written");
    chunk->alias = bytes;
    return check_answer(code, "mapped", chunk, &why, err);
}

static int publish(struct tn__chunk *chunk, enum tn__prot prot, struct tn_error *err)
{
    const struct tn_memory *client = chunk->client;
    struct tn_error why = {.text = ""};
    int code = client->publish(client->context, zone_of(prot), chunk->address, chunk->size, chunk->alias, &why);
    return check_answer(code, "published", chunk, &why, err);
}

static void unmap(struct tn__chunk *chunk, enum tn__prot prot)
{
    const struct tn_memory *client = chunk->client;
    client->unmap(client->context, zone_of(prot), chunk->address, chunk->size, chunk->alias);
    chunk->alias = NULL;
}

const struct tn__strategy_ops tn__strategy_client = {
    .name = "client",
    .map = map,
    .publish = publish,
    .unmap = unmap,
};

const struct tn__strategy_ops tn__strategy_client_packed = {
    .name = "client",
    .packs = true,
    .map = map,
    .publish = publish,
    .unmap = unmap,
};
