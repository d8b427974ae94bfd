/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Bodies of frames: numbers of eight bytes, texts, and bulk. */

#include <errno.h>

#include "base/os.h"
#include "remote/wire.h"

/* ---- writing ---- */

void tn__message_free(struct tn__message *message)
{
    tn__free(NULL, message->bytes);
    if (message->fd >= 0 && !message->borrowed)
        tn__os_close(message->fd);
    *message = TN__MESSAGE;
}

void tn__put_bytes(struct tn__message *message, const void *bytes, size_t size)
{
    if (message->error || !size)
        return;
    if (size > TN__FRAME_MOST - message->size)
        message->error = EMSGSIZE;
    else if (!tn__grow(NULL, &message->bytes, &message->room, message->size + size, 1))
        message->error = ENOMEM;
    if (message->error)
        return;
    memcpy(message->bytes + message->size, bytes, size);
    message->size += size;
}

void tn__put_number(struct tn__message *message, uint64_t number)
{
    tn__put_bytes(message, &number, sizeof number);
}

void tn__put_text(struct tn__message *message, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    tn__put_number(message, size);
    tn__put_bytes(message, text, size);
}

void tn__put_bulk(struct tn__message *message, const void *bytes, size_t size)
{
    tn__put_number(message, size);
    if (size <= TN__BULK_INLINE)
        tn__put_bytes(message, bytes, size);
    else if (!message->error)
        message->error = tn__os_make_sealed(bytes, size, &message->fd);
}

void tn__put_kept_bulk(struct tn__message *message, const void *bytes, size_t size, int fd)
{
    if (fd < 0) {
        tn__put_bulk(message, bytes, size);
        return;
    }
    tn__put_number(message, size);
    message->fd = fd;
    message->borrowed = true;
}

/* ---- reading ---- */

const void *tn__get_bytes(struct tn__body *body, size_t size)
{
    const char *at = body->at;
    body->bad |= size > (size_t)(body->end - at);
    if (body->bad)
        return NULL;
    body->at += size;
    return at;
}

uint64_t tn__get_number(struct tn__body *body)
{
    const void *bytes = tn__get_bytes(body, sizeof(uint64_t));
    return bytes ? tn__get64(bytes) : 0;
}

uint32_t tn__get_number_to(struct tn__body *body, uint32_t most)
{
    uint64_t number = tn__get_number(body);
    body->bad |= number > most;
    return body->bad ? 0 : (uint32_t)number;
}

const char *tn__get_text(struct tn__body *body)
{
    size_t size = tn__get_number_to(body, TN__FRAME_MOST);
    const char *text = size ? tn__get_bytes(body, size) : NULL;
    if (!text)
        return NULL;
    body->bad |= memchr(text, 0, size) != text + size - 1;
    return body->bad ? NULL : text;
}

static int fail_bulk(struct tn_error *err)
{
    return tn__fail(err, TN_EREMOTE, "the other process broke the protocol: bytes that are not as announced");
}

static int read_file(struct tn__body *body, size_t size, struct tn_buffer *out, struct tn_error *err)
{
    size_t got = 0;
    int fd = body->fd, error = 0;
    body->fd = -1;
    if (!tn__os_is_sealed(fd, size)) {
        body->bad = true;
    } else {
        out->data = tn__alloc(NULL, size);
        error = out->data ? tn__os_read_open(fd, 0, out->data, size, &got) : ENOMEM;
    }
    tn__os_close(fd);
    if (!error && got == size) {
        out->size = size;
        return 0;
    }
    tn_buffer_free(out);
    return error == ENOMEM ? tn__no_memory(err, NULL) : fail_bulk(err);
}

int tn__get_bulk(struct tn__body *body, uint64_t most, struct tn_buffer *out, struct tn_error *err)
{
    uint64_t size = tn__get_number(body);
    bool is_inline = size <= TN__BULK_INLINE;
    body->bad |= size > most || size > SIZE_MAX || is_inline == (body->fd >= 0);
    if (body->bad)
        return fail_bulk(err);
    if (!is_inline)
        return read_file(body, (size_t)size, out, err);
    const void *bytes = tn__get_bytes(body, (size_t)size);
    if (body->bad)
        return fail_bulk(err);
    return tn__buffer_fill(out, bytes, (size_t)size) ? 0 : tn__no_memory(err, NULL);
}

bool tn__body_is_sound(const struct tn__body *body)
{
    return !body->bad && body->at == body->end && body->fd < 0;
}
