/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as a frame and as what frames consist of: what is read lies within them, and is written the same way. */

#include "fuzz.h"
#include "holds.h"
#include "remote/protocol.h"

/* Heads that are taken are those that are written. */
static void try_head(const uint8_t *bytes)
{
    struct tn__frame frame;
    uint8_t again[TN__FRAME_HEAD];
    if (!tn__frame_read_head(bytes, &frame))
        return;
    holds(frame.length <= TN__FRAME_MOST && frame.type && frame.fd == -1);
    tn__frame_write_head(&frame, again);
    holds(memcmp(again, bytes, sizeof again) == 0);
}

static void try_options(struct tn__body body)
{
    struct tn_compile_options options;
    struct tn_cpu native;
    struct tn__message message = TN__MESSAGE;
    const char *begin = body.at;
    tn__get_compile_options(&body, &options, &native);
    if (body.bad)
        return;
    tn__put_compile_options(&message, &options);
    if (!message.error && !options.native) /* whose architecture has several names */
        holds(message.size == (size_t)(body.at - begin) && memcmp(message.bytes, begin, message.size) == 0);
    tn__message_free(&message);
}

static void try_outcome(struct tn__body body)
{
    struct tn_error err;
    struct tn_compile_stats stats;
    struct tn_buffer bulk = {0};
    holds(tn__get_outcome(&body, &err) <= 0);
    tn__get_stats(&body, &stats);
    if (!tn__get_bulk(&body, TN__BULK_MOST, &bulk, NULL))
        holds(bulk.size <= TN__BULK_INLINE);
    holds(body.at <= body.end);
    tn_buffer_free(&bulk);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct tn__body body = {.at = (const char *)bytes, .end = (const char *)bytes + size, .fd = -1};
    if (size >= TN__FRAME_HEAD)
        try_head(bytes);
    try_options(body);
    try_outcome(body);
    tn__events_replay(bytes, size, NULL);
    return 0;
}
