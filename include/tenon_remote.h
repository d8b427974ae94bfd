/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A compiler in another process: its crashes, its memory and its size are not this program's. doc/REMOTE.md has the
 * protocol, and what the processes trust each other with.
 *
 *     const char *const command[] = {"/usr/bin/tenon", "serve", "--compile", "fd:3", NULL};
 *     struct tn_compile_server_options options = {.size = sizeof options, .command = command};
 *     struct tn_compiler *server;
 *     tn_compile_server_start(&options, &server, &err);
 *     jit_options.compiler = server;
 *
 * A server makes a process, a worker, for each request that is under way, and uses it again for later ones. A worker
 * has nothing but its memory and its connection: it cannot open files or sockets, nor start programs. If one crashes,
 * the request is tried once more in a new one; then it is TN_EFATAL, and the text has the signal and the function. The
 * program gets no signal, and needs no handler. Errors as in tenon.h. */

#ifndef TENON_REMOTE_H
#define TENON_REMOTE_H

#include "tenon_compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the server ---- */

struct tn_serve_options {
    size_t size; /* sizeof(struct tn_serve_options) */
    /* "fd:N": descriptor N is a connected socket, and the process is the server's: all its other descriptors but the
     * standard ones are closed. "unix:PATH": listens there; each connection has a process. The path must not exist;
     * only this user can connect, unless any_user says otherwise. */
    const char *address;
    uint64_t deadline_ms; /* a request that takes longer is given up; 0: no limit. Clients may ask for less */
    uint64_t memory;      /* bytes that a worker may have of its own; 0: no limit. Clients may ask for less */
    uint64_t workers;     /* of a connection; 0: 64. Clients may ask for less */
    int any_user;         /* not 0: other users may connect */
    int no_sandbox;       /* not 0: workers are not confined */
};

/* Serves a compiler, which has to work in the children of forks: until the client closes the connection, with "fd:N";
 * with "unix:PATH", until the process is killed. For programs with one thread, which it makes children of.
 * tn_compile_serve (tenon_codegen.h) serves LLVM. TN_EINVAL, TN_EREMOTE (the client broke the protocol, or is another
 * user), TN_EIO (no socket), TN_ENOMEM. */
TN_API int tn_serve_compiler(const struct tn_compiler *compiler, const struct tn_serve_options *options,
                             struct tn_error *err);

/* ---- the client ---- */

/* Zero selects the defaults. */
struct tn_compile_server_options {
    size_t size; /* sizeof(struct tn_compile_server_options) */
    /* A program and its arguments, NULL at the end, which serves at "fd:3". The first is a path. */
    const char *const *command;
    /* Without a command: this program is forked, and the child calls this function for "fd:3", such as
     * tn_compile_serve. No other threads may exist yet. */
    int (*serve)(const struct tn_serve_options *options, struct tn_error *err);
    uint64_t deadline_ms;      /* a request that takes longer is TN_EFATAL; 0: no limit */
    uint64_t memory;           /* bytes that a worker may have of its own; 0: no limit */
    uint64_t workers;          /* at most so many requests at once; 0: the number of processors */
    uint64_t recycle_requests; /* a worker ends after so many requests; 0: 1000 */
    uint64_t recycle_memory;   /* or when it has had so many bytes of memory; 0: 1 GiB */
    /* What the server's compiler has to say of itself (tn_compiler.identify); NULL: anything. Borrowed for the call. */
    const char *identity;
    /* Compiles when the server is gone; NULL: that is TN_EREMOTE. For a module that the server has described already
     * only if it gives the same description. Its functions outlive the client. */
    const struct tn_compiler *fallback;
    /* Called on the compiling thread when the second worker has crashed as well, with its signal (0: unknown) and the
     * module's IR. NULL: none. */
    void (*crashed)(void *context, const char *name, int signal, const void *ir, size_t length);
    void *context;
    int any_user; /* not 0: the server may be another user's, which decides what this program executes */
};

/* Starts a server, and waits at most 5 s until it answers. *out is a compiler; tn_compile_server_stop ends it after all
 * that uses it. After a fork, the child's calls fail with TN_EREMOTE. TN_EINVAL, TN_EIO (no process or socket could be
 * made), TN_EREMOTE (it does not answer, is another user's, for another architecture, or has another identity),
 * TN_ENOMEM. */
TN_API int tn_compile_server_start(const struct tn_compile_server_options *options, struct tn_compiler **out,
                                   struct tn_error *err);
/* The same with a server that is there: "fd:N", a connected socket that belongs to the client from now on, or
 * "unix:PATH". */
TN_API int tn_compile_server_connect(const char *address, const struct tn_compile_server_options *options,
                                     struct tn_compiler **out, struct tn_error *err);
/* Ends the connection, the workers, and a server that was started for it. NULL is ignored. */
TN_API void tn_compile_server_stop(struct tn_compiler *server);

/* tn_compile in a worker: a module from IR to what options->emit says. TN_EINVAL (also: not a client's compiler),
 * TN_EREMOTE, TN_ENOTSUP (an option that cannot be sent; the server has no such request), TN_ECOMPILE, TN_EFATAL,
 * TN_ENOMEM. The fallback is not asked. */
TN_API int tn_compile_server_compile(const struct tn_compiler *server, const char *name, const void *ir, size_t length,
                                     const struct tn_compile_options *options, struct tn_buffer *out,
                                     struct tn_compile_stats *stats, struct tn_error *err);

struct tn_compile_server_stats {
    size_t size;       /* in: sizeof(struct tn_compile_server_stats) as the caller knows it */
    uint64_t requests; /* sent to workers */
    uint64_t workers;  /* that the server has made */
    uint64_t recycled, crashed, retried, expired; /* workers that ended for these reasons; requests tried once more;
                                                   * workers that were too late */
    uint64_t fallbacks;                           /* modules that the fallback has opened */
};
TN_API void tn_compile_server_stats(const struct tn_compiler *server, struct tn_compile_server_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
