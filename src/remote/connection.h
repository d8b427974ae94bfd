/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A client's connection with a compile server, and the workers that it has there. */

#ifndef TENON_REMOTE_CONNECTION_H
#define TENON_REMOTE_CONNECTION_H

#include "base/mutex.h"
#include "base/os.h"
#include "remote/protocol.h"
#include "tenon_remote.h"

#pragma GCC visibility push(hidden)

struct tn__remote_worker {
    struct tn__list listed; /* of the server */
    struct tn__list homes;  /* of modules that are open in it */
    int socket;
    uint64_t id, sequence;
    uint64_t requests, peak; /* answered; bytes of memory */
    bool is_busy;            /* one thread has it */
    bool is_tired;           /* it ends instead of being used again */
    uint64_t *closing;       /* modules that it still has to close */
    size_t closing_count, closing_room;
};

/* A module that is open in a worker. Members of lists are under the server's lock. */
struct tn__remote_home {
    struct tn__list in_worker, in_module;
    struct tn__remote_worker *worker;
    uint64_t id;
};

struct tn__remote_server {
    struct tn_compiler compiler; /* the client's; its context is the server */
    struct tn_compile_server_options options;
    struct tn_compiler fallback; /* where options.fallback leads */
    char *identity;              /* NULL: it does not say */
    uint32_t process;            /* which has made the connection */
    struct tn__os_child child;   /* id 0: it was not started for this connection */
    uint64_t deadline_ns;        /* of a request; 0: none */

    struct tn__mutex control_lock; /* of the next three */
    int control;
    uint64_t sequence;
    int is_broken; /* atomic; set under the lock */

    struct tn__mutex lock; /* of the rest */
    pthread_cond_t changed;
    struct tn__list workers;
    uint64_t worker_count; /* with those that are being made */
    uint64_t last_id;
    struct tn_compile_server_stats counters; /* tn__count */
};

/* What became of a worker that did not answer. */
struct tn__remote_end {
    enum tn__os_end end;
    int number;
    bool is_late; /* it was not done when its time was over */
    bool is_gone; /* it was the first to close the connection */
};

/* Says hello. TN_EREMOTE, TN_ENOMEM. */
int tn__remote_greet(struct tn__remote_server *server, struct tn_error *err);
/* False: this is a child of the process that has the connection. Any thread may have been anywhere at the fork, so no
 * lock is taken there, and homes are left where they are until tn__remote_close. */
bool tn__remote_is_own(const struct tn__remote_server *server);
/* TN_EREMOTE: the server is gone, or the process is a child of the one that has the connection. */
int tn__remote_check(const struct tn__remote_server *server, struct tn_error *err);

/* Takes an idle worker, of those where the module with these homes is open if there is one (*home), or a new one, or
 * waits until one is idle. With `fresh` always a new one, for which an idle one may have to end. TN_EREMOTE, TN_EIO,
 * TN_ENOMEM. */
int tn__remote_take(struct tn__remote_server *server, const struct tn__list *homes, bool fresh,
                    struct tn__remote_worker **worker, struct tn__remote_home **home, struct tn_error *err);
/* Gives it back, for others, or to be ended. */
void tn__remote_give(struct tn__remote_server *server, struct tn__remote_worker *worker);
/* Ends a worker that does not answer as it should, and asks the server how it had ended. TN_EREMOTE: the server does
 * not say. */
int tn__remote_end(struct tn__remote_server *server, struct tn__remote_worker *worker, struct tn__remote_end *end,
                   struct tn_error *err);
/* Sends a request to a worker, and receives the response. After an error, the worker has to be ended; *how then has
 * is_late and is_gone. TN_EREMOTE; TN_ENOMEM, TN_ENOTSUP, TN_EIO (of this process). */
int tn__remote_ask(struct tn__remote_server *server, struct tn__remote_worker *worker, enum tn__frame_type type,
                   const struct tn__message *message, struct tn__frame *response, struct tn__remote_end *how,
                   struct tn_error *err);
/* The module is not needed any more where it is open. */
void tn__remote_leave(struct tn__remote_server *server, struct tn__list *homes);
/* Closes all connections. */
void tn__remote_close(struct tn__remote_server *server);

#pragma GCC visibility pop
#endif
