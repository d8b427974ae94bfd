/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The frames of a compile server, and what they have in common (doc/REMOTE.md): version 1 of the protocol.
 *
 * Sockets are AF_UNIX, SOCK_STREAM. All numbers are little-endian. A frame is a head of 16 bytes, and a body:
 *
 *     0-3    length of the body: at most 16 MiB
 *     4-5    type: not 0
 *     6-7    flags: 1, a response; 2, one descriptor comes with the first byte of the head. No others
 *     8-15   sequence: of a request, its number; of a response, that of the request
 *
 * After a head, the rest of the frame has to come within 5 s. Bodies consist of
 *
 *     number    8 bytes
 *     text      its size with the NUL at its end, as a number; these bytes. Size 0: no text
 *     bulk      its size as a number; up to 64 KiB, these bytes; else none, and the frame's descriptor is a file of
 *               exactly this size in memory (memfd), sealed against writing, growing, shrinking and further seals. At
 *               most 1 GiB
 *     options   a number for each of opt_level, reloc_model, code_model, emit, function_sections, polls, verify_ir,
 *               any_threads and baseline; a text for triple, cpu, features and passes; in the order of struct
 *               tn_compile_options (options.c has the rows), with a CPU in the place of `native`: the text of its
 *               architecture, or none and nothing more; the text of its name, 8 words of features, the number of cores
 *     outcome   the error code, negated, as a number; the text of the error if it is not 0, and nothing more
 *     events    a sequence of what observers are told of (events.c): a number for the kind, and its members
 *     output    the count of statistics, these (struct tn_compile_stats without its size); the most bytes of memory
 *               that the worker has had; the size of the events; bulk: the output, and the events behind it
 *
 * "Watched" is a number with a bit for each kind of events that are observed, those for stages from bit 8 on. Each
 * response begins with an outcome; what follows here comes after one of 0. Of the connection with the server:
 *
 *     HELLO     the first frame: magic, lowest and highest version, text of the architecture, deadline in ms, memory in
 *               bytes, number of workers; 0: no limit. Response: version, text of the architecture, text of the
 *               library's version, then deadline, memory and workers that apply, text of the compiler's identity
 *     WORKER    response: number of the worker; the descriptor is the connection with it
 *     END       the worker is ended: its number. Response: 1 if it has exited, 2 if a signal ended it, else 0; exit
 *               status or signal
 *
 * Of the connection with a worker, which begins with one byte that the server takes: 0, or the error for which the
 * worker could not be confined:
 *
 *     OPEN      number for the module; whole; copy; 32 bytes of the digest; text of the name; watched; options; bulk:
 *               the IR. Response: an output, the description (doc/CACHE.md, "Descriptions")
 *     COMPILE   number of the module; part; text of its name; level; is_higher; is_idle; text of the counters; watched;
 *               count and texts of the symbols that are needed. Response: an output, the object
 *     CLOSE     number of the module
 *     WHOLE     as tn_compile: text of the name; watched; options; bulk: the IR. Response: an output
 *
 * Workers answer types that they do not know with TN_ENOTSUP. */

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
