/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "remote/wire.h"

#include <errno.h>

#include "base/os.h"

uint64_t tn__prompt_ns = 5000000000;

uint64_t tn__prompt_end(void)
{
    return tn__os_now_ns() + tn__prompt_ns;
}

void tn__frame_write_head(const struct tn__frame *frame, uint8_t head[TN__FRAME_HEAD])
{
    tn__put32(head, frame->length);
    tn__put16(head + 4, frame->type);
    tn__put16(head + 6, frame->flags);
    tn__put64(head + 8, frame->sequence);
}

bool tn__frame_read_head(const uint8_t head[TN__FRAME_HEAD], struct tn__frame *frame)
{
    *frame = (struct tn__frame){.length = tn__get32(head),
                                .type = tn__get16(head + 4),
                                .flags = tn__get16(head + 6),
                                .sequence = tn__get64(head + 8),
                                .fd = -1};
    return frame->length <= TN__FRAME_MOST && frame->type && !(frame->flags & ~TN__FRAME_FLAGS);
}

void tn__frame_free(struct tn__frame *frame)
{
    tn__free(NULL, frame->bytes);
    if (frame->fd >= 0)
        tn__os_close(frame->fd);
    frame->bytes = NULL;
    frame->fd = -1;
}

struct tn__body tn__frame_body(struct tn__frame *frame)
{
    struct tn__body body = {.at = frame->bytes, .end = (const char *)frame->bytes + frame->length, .fd = frame->fd};
    frame->fd = -1;
    return body;
}

/* ---- sending ---- */

static int fail_system(int error, struct tn_error *err)
{
    if (error == ENOMEM)
        return tn__no_memory(err, NULL);
    if (error == EPIPE)
        return tn__fail(err, TN_EREMOTE, "the other process has closed the connection");
    if (error == ETIMEDOUT)
        return tn__fail(err, TN_EREMOTE, "the other process does not answer in time");
    if (error == EPROTO)
        return tn__fail(err, TN_EREMOTE, "the other process broke the protocol: descriptors that were not announced");
    return tn__fail(err, TN_EREMOTE, "the connection with the other process failed: error %d", error);
}

static int fail_message(int error, struct tn_error *err)
{
    if (error == ENOMEM)
        return tn__no_memory(err, NULL);
    if (error == EMSGSIZE)
        return tn__fail(err, TN_ENOTSUP, "a message to another process is larger than %d bytes", TN__FRAME_MOST);
    return tn__fail(err, TN_EIO, "no file in memory could be made for another process: error %d", error);
}

int tn__wire_send(int socket, uint16_t type, uint16_t flags, uint64_t sequence, const struct tn__message *message,
                  uint64_t until, struct tn_error *err)
{
    if (message->error)
        return fail_message(message->error, err);
    if (message->size > TN__FRAME_MOST)
        return fail_message(EMSGSIZE, err);
    uint8_t head[TN__FRAME_HEAD];
    const struct tn__frame frame = {.length = (uint32_t)message->size,
                                    .type = type,
                                    .flags = (uint16_t)(flags | (message->fd >= 0 ? TN__FRAME_DESCRIPTOR : 0)),
                                    .sequence = sequence};
    tn__frame_write_head(&frame, head);
    int error = tn__os_send(socket, head, sizeof head, message->fd, until);
    if (!error)
        error = tn__os_send(socket, message->bytes, message->size, -1, until);
    return error ? fail_system(error, err) : 0;
}

/* ---- receiving ---- */

static int fail_frame(struct tn__frame *frame, const char *what, struct tn_error *err)
{
    tn__frame_free(frame);
    return tn__fail(err, TN_EREMOTE, "the other process broke the protocol: %s", what);
}

/* As tn__os_receive, for all of the bytes. */
static int receive(int socket, void *bytes, size_t size, int *fd, bool *is_end, uint64_t until)
{
    size_t got;
    int error = tn__os_receive(socket, bytes, size, fd, until, &got);
    *is_end = !error && got < size;
    return *is_end ? EPIPE : error;
}

static int receive_body(int socket, struct tn__frame *frame, bool *is_end, uint64_t until, struct tn_error *err)
{
    frame->bytes = tn__alloc(NULL, frame->length ? frame->length : 1);
    int error = frame->bytes ? receive(socket, frame->bytes, frame->length, NULL, is_end, until) : ENOMEM;
    if (!error)
        return 0;
    tn__frame_free(frame);
    return fail_system(error, err);
}

int tn__wire_receive(int socket, struct tn__frame *frame, bool *is_end, uint64_t until, struct tn_error *err)
{
    uint8_t head[TN__FRAME_HEAD];
    int fd;
    *frame = (struct tn__frame){.fd = -1};
    int error = receive(socket, head, sizeof head, &fd, is_end, until);
    if (error) {
        if (fd >= 0)
            tn__os_close(fd);
        return fail_system(error, err);
    }
    bool is_head = tn__frame_read_head(head, frame);
    frame->fd = fd;
    if (!is_head)
        return fail_frame(frame, "no frame begins so", err);
    if (((frame->flags & TN__FRAME_DESCRIPTOR) != 0) != (fd >= 0))
        return fail_frame(frame, "a frame without its descriptor, or with another", err);
    return receive_body(socket, frame, is_end, tn__min64(until, tn__prompt_end()), err);
}
