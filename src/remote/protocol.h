/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The frames of a compile server, and what they have in common (doc/REMOTE.md). */

#ifndef TENON_REMOTE_PROTOCOL_H
#define TENON_REMOTE_PROTOCOL_H

#include "remote/wire.h"
#include "tenon_compiler.h"
#include "tenon_cpu.h"

#pragma GCC visibility push(hidden)

enum tn__frame_type {
    /* of the connection with a server */
    TN__HELLO = 1,
    TN__WORKER, /* gives the connection with a new worker */
    TN__END,    /* ends a worker, and says how it had ended */
    /* of that with a worker */
    TN__OPEN = 16,
    TN__COMPILE,
    TN__CLOSE, /* has no response */
    TN__WHOLE  /* a module from IR to object, as tn_compile */
};

/* The range of versions that this library speaks. */
enum { TN__PROTOCOL_LOWEST = 1, TN__PROTOCOL_HIGHEST = 1 };
#define TN__PROTOCOL_MAGIC 0x65746f6d65526e54 /* "TnRemote" */

enum { TN__BULK_MOST = 1 << 30 }; /* bytes of IR, or of an object with its events */

/* ---- options of compilations (options.c) ---- */

void tn__put_compile_options(struct tn__message *message, const struct tn_compile_options *options);
/* Texts are those of the body. `native` is filled in if the options have one. What is out of its range is a mistake. */
void tn__get_compile_options(struct tn__body *body, struct tn_compile_options *options, struct tn_cpu *native);
/* Whether they can be sent. TN_ENOTSUP; TN_EINVAL: one is out of its range. */
int tn__check_remote_options(const struct tn_compile_options *options, struct tn_error *err);

/* All members of this struct but the first are numbers of eight bytes. */
void tn__put_stats(struct tn__message *message, const struct tn_compile_stats *stats);
void tn__get_stats(struct tn__body *body, struct tn_compile_stats *stats);

/* A failure, which begins each response: its code, and its text if that is not 0. */
void tn__put_outcome(struct tn__message *message, int code, const struct tn_error *error);
/* TN_EREMOTE: it was sent no outcome. */
int tn__get_outcome(struct tn__body *body, struct tn_error *err);

/* ---- what an observer sees (events.c) ---- */

/* Which of its functions an observer has, as bits; those of stages begin at bit 8. */
uint64_t tn__events_wanted(const struct tn_compile_observer *observer);
/* An observer that writes down what it sees, of what is wanted. */
void tn__events_record(struct tn_compile_observer *observer, uint64_t wanted, struct tn__message *events);
/* Calls an observer for what was written down. False: these are no events. */
bool tn__events_replay(const void *bytes, size_t size, const struct tn_compile_observer *observer);

#pragma GCC visibility pop
#endif
