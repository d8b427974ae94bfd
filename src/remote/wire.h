/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Frames between processes (doc/REMOTE.md): how they are sent, received and checked, and what they consist of. wire.c
 * knows frames, message.c what is in them, options.c those of compilations; protocol.h names them; client.c asks,
 * service.c answers. Nothing that comes from the other end is believed. */

#ifndef TENON_REMOTE_WIRE_H
#define TENON_REMOTE_WIRE_H

#include "base/base.h"

#pragma GCC visibility push(hidden)

enum {
    TN__FRAME_HEAD = 16,
    TN__FRAME_MOST = 16 << 20,  /* bytes of a body */
    TN__BULK_INLINE = 64 << 10, /* longer ones are in a file in memory */
    TN__FRAME_RESPONSE = 1,     /* flags */
    TN__FRAME_DESCRIPTOR = 2,   /* one comes with the first byte */
    TN__FRAME_FLAGS = 3,
};

/* How long the other end may take for what takes no time, such as the rest of a frame: 5 s; tests change it. */
extern uint64_t tn__prompt_ns;
uint64_t tn__prompt_end(void); /* that from now on */

/* ---- bodies (message.c) ---- */

/* What is going to be sent. A zeroed struct with `fd` -1 is empty. */
struct tn__message {
    char *bytes;
    size_t size, room;
    int fd;        /* passed along; -1: none. Closed with the message, unless it is borrowed */
    bool borrowed; /* the descriptor is another's */
    int error;     /* of memory, or of the system; 0: none so far */
};
#define TN__MESSAGE                                                                                                    \
    (struct tn__message)                                                                                               \
    {                                                                                                                  \
        .fd = -1                                                                                                       \
    }
void tn__message_free(struct tn__message *message);
void tn__put_number(struct tn__message *message, uint64_t number);
void tn__put_text(struct tn__message *message, const char *text); /* NULL differs from "" */
void tn__put_bytes(struct tn__message *message, const void *bytes, size_t size);
/* Bytes of any number, once in a message: within it if they are few, else as a sealed file. */
void tn__put_bulk(struct tn__message *message, const void *bytes, size_t size);
/* The same with a sealed file that the caller keeps; -1: there is none, as for few bytes. */
void tn__put_kept_bulk(struct tn__message *message, const void *bytes, size_t size, int fd);

/* What was received, from one end to the other. After a mistake, all is 0 and NULL. */
struct tn__body {
    const char *at, *end;
    int fd; /* that came with it; -1: none, or it was taken */
    bool bad;
};
uint64_t tn__get_number(struct tn__body *body);
uint32_t tn__get_number_to(struct tn__body *body, uint32_t most); /* a larger one is a mistake */
const char *tn__get_text(struct tn__body *body);                  /* within the body; may be NULL */
const void *tn__get_bytes(struct tn__body *body, size_t size);    /* within the body */
/* Copies bulk into an empty buffer. TN_EREMOTE (mistakes; also: more bytes than `most`), TN_ENOMEM. */
int tn__get_bulk(struct tn__body *body, uint64_t most, struct tn_buffer *out, struct tn_error *err);
/* All was read, and there was no mistake. */
bool tn__body_is_sound(const struct tn__body *body);

/* ---- frames (wire.c) ---- */

struct tn__frame {
    uint32_t length; /* of the body */
    uint16_t type, flags;
    uint64_t sequence;
    void *bytes; /* the body */
    int fd;      /* -1: none */
};

void tn__frame_write_head(const struct tn__frame *frame, uint8_t head[TN__FRAME_HEAD]);
/* Takes a head apart. False: no frame begins so. */
bool tn__frame_read_head(const uint8_t head[TN__FRAME_HEAD], struct tn__frame *frame);
void tn__frame_free(struct tn__frame *frame);            /* its body, and the descriptor if it was not taken */
struct tn__body tn__frame_body(struct tn__frame *frame); /* takes the descriptor */

/* Sends a frame by then (tn__os_now_ns). TN_EREMOTE, TN_ENOMEM, TN_EIO (the message could not be made). */
int tn__wire_send(int socket, uint16_t type, uint16_t flags, uint64_t sequence, const struct tn__message *message,
                  uint64_t until, struct tn_error *err);
/* Receives one, to be freed. TN_EREMOTE, TN_ENOMEM: the connection is of no use any more; *is_end: because the other
 * end is closed, perhaps within a frame. */
int tn__wire_receive(int socket, struct tn__frame *frame, bool *is_end, uint64_t until, struct tn_error *err);

#pragma GCC visibility pop
#endif
