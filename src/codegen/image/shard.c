/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A shard that one process has compiled and another makes part of an image: a header, and the contents for each kind of
 * output. Nothing else is needed, because both processes have read the same input with the same options, which the
 * fingerprint shows. */

#include <inttypes.h>

#include "codegen/image/build.h"
#include "image/format/format.h"

enum {
    AT_CHECKSUM = 8, /* of all that follows it */
    AT_SHARD = 16,
    AT_SHARDS = 20,
    AT_FINGERPRINT = 24,
    AT_SIZES = 40, /* 8 bytes for each kind of output; 0: there is none */
    HEADER = AT_SIZES + 8 * TN_IMAGE_OUTPUTS
};

static uint64_t checksum_of(const uint8_t *bytes, size_t size)
{
    return tn__image_checksum(bytes + AT_SHARD, size - AT_SHARD, 0);
}

/* ---- writing ---- */

int tn__image_write_shard(struct tn__image_build *b)
{
    size_t size = HEADER, shard = b->first;
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS; kind++)
        size += tn__image_wants(b, kind) ? b->members[kind][shard].content.size : 0;
    uint8_t *bytes = tn__alloc_zeroed(NULL, size, 1);
    if (!bytes)
        return tn__image_no_memory(b);
    uint8_t *at = bytes + HEADER;
    memcpy(bytes, TN__IMAGE_SHARD_MAGIC, 8);
    tn__put32(bytes + AT_SHARD, (uint32_t)shard);
    tn__put32(bytes + AT_SHARDS, (uint32_t)b->shard_count);
    tn__put64(bytes + AT_FINGERPRINT, b->fingerprint[0]);
    tn__put64(bytes + AT_FINGERPRINT + 8, b->fingerprint[1]);
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS; kind++) {
        const struct tn_buffer *content = &b->members[kind][shard].content;
        if (!tn__image_wants(b, kind))
            continue;
        tn__put64(bytes + AT_SIZES + 8 * kind, content->size);
        memcpy(at, content->data, content->size);
        at += content->size;
    }
    tn__put64(bytes + AT_CHECKSUM, checksum_of(bytes, size));
    *b->out = (struct tn_buffer){bytes, size};
    return 0;
}

/* ---- taking ---- */

static int check_shard(struct tn__image_build *b, const struct tn_image_shard *file)
{
    const uint8_t *bytes = file->bytes;
    uint64_t rest = file->length - HEADER; /* that the outputs may take up */
    if (file->length < HEADER || memcmp(bytes, TN__IMAGE_SHARD_MAGIC, 8) != 0)
        return tn__fail(b->err, TN_EFORMAT, "%s is not a shard of an image", file->name);
    if (tn__get64(bytes + AT_CHECKSUM) != checksum_of(bytes, file->length))
        return tn__fail(b->err, TN_EFORMAT, "%s is damaged: its checksum differs", file->name);
    if (tn__get64(bytes + AT_FINGERPRINT) != b->fingerprint[0] ||
        tn__get64(bytes + AT_FINGERPRINT + 8) != b->fingerprint[1])
        return tn__fail(b->err, TN_EINVAL,
                        "%s was compiled from other input, with other options (LLVM's are some of them), or by another "
                        "version of Tenon",
                        file->name);
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS; kind++) {
        uint64_t size = tn__get64(bytes + AT_SIZES + 8 * kind);
        if (size > rest)
            return tn__fail(b->err, TN_EFORMAT, "%s is damaged: output %zu is larger than the file", file->name, kind);
        rest -= size;
    }
    if (tn__get32(bytes + AT_SHARDS) != b->shard_count || tn__get32(bytes + AT_SHARD) >= b->shard_count)
        return tn__fail(b->err, TN_EFORMAT, "%s is damaged: it is shard %" PRIu32 " of %" PRIu32, file->name,
                        tn__get32(bytes + AT_SHARD), tn__get32(bytes + AT_SHARDS));
    return 0;
}

static int take(struct tn__image_build *b, const struct tn_image_shard *file)
{
    int code = check_shard(b, file);
    if (code)
        return code;
    const uint8_t *bytes = file->bytes, *at = bytes + HEADER;
    size_t shard = tn__get32(bytes + AT_SHARD);
    if (b->is_finished[shard])
        return tn__fail(b->err, TN_EINVAL, "%s: shard %zu is given twice", file->name, shard);
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS; kind++) {
        size_t size = (size_t)tn__get64(bytes + AT_SIZES + 8 * kind);
        if (tn__image_wants(b, kind) && !tn__buffer_fill(&b->members[kind][shard].content, at, size))
            return tn__image_no_memory(b);
        at += size;
    }
    b->is_finished[shard] = true;
    b->done++;
    return 0;
}

int tn__image_take_shards(struct tn__image_build *b)
{
    int code = 0;
    b->end = b->shard_count;
    for (size_t i = 0; i < b->options.finished_count && !code; i++)
        code = take(b, &b->options.finished[i]);
    return code;
}
