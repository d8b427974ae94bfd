/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "remote/connection.h"

/* ---- the connection with the server ---- */

/* Sends a request and receives the response, without the descriptor's bytes; the lock is held. */
static int ask(int socket, uint64_t sequence, enum tn__frame_type type, const struct tn__message *message,
               struct tn__frame *response, bool *is_end, uint64_t until, struct tn_error *err)
{
    *response = (struct tn__frame){.fd = -1};
    int code = tn__wire_send(socket, (uint16_t)type, 0, sequence, message, until, err);
    *is_end = code == TN_EREMOTE;
    if (!code)
        code = tn__wire_receive(socket, response, is_end, until, err);
    if (code)
        return code;
    if (response->type == type && (response->flags & TN__FRAME_RESPONSE) && response->sequence == sequence)
        return 0;
    tn__frame_free(response);
    return tn__fail(err, TN_EREMOTE, "the other process broke the protocol: not the response to this request");
}

/* A request to the server, whose outcome is 0 then; the body is what follows. */
static int control(struct tn__remote_server *server, enum tn__frame_type type, struct tn__message *message,
                   struct tn__frame *response, struct tn__body *body, struct tn_error *err)
{
    bool is_end;
    tn__mutex_lock(&server->control_lock);
    int code = tn__remote_check(server, err);
    if (!code) {
        code = ask(server->control, ++server->sequence, type, message, response, &is_end, tn__prompt_end(), err);
        if (code)
            __atomic_store_n(&server->is_broken, 1, __ATOMIC_RELEASE);
    }
    tn__mutex_unlock(&server->control_lock);
    tn__message_free(message);
    if (code)
        return code;
    *body = tn__frame_body(response);
    code = tn__get_outcome(body, err);
    if (!code)
        return 0;
    if (body->fd >= 0)
        tn__os_close(body->fd);
    tn__frame_free(response);
    return code;
}

bool tn__remote_is_own(const struct tn__remote_server *server)
{
    return server->process == tn__os_process_id();
}

int tn__remote_check(const struct tn__remote_server *server, struct tn_error *err)
{
    if (!tn__remote_is_own(server))
        return tn__fail(err, TN_EREMOTE, "the compile server is the parent process's");
    if (__atomic_load_n(&server->is_broken, __ATOMIC_ACQUIRE))
        return tn__fail(err, TN_EREMOTE, "the compile server is gone, or broke the protocol");
    return 0;
}

static int read_hello(struct tn__remote_server *server, struct tn__body *body, struct tn_error *err)
{
    uint64_t version = tn__get_number(body);
    const char *arch = tn__get_text(body), *library = tn__get_text(body);
    uint64_t deadline_ms = tn__get_number_to(body, UINT32_MAX);
    tn__get_number(body); /* what applies of memory is for the server to know */
    uint64_t workers = tn__get_number(body);
    const char *identity = tn__get_text(body);
    if (!tn__body_is_sound(body) || !arch || !library || !workers || version < TN__PROTOCOL_LOWEST ||
        version > TN__PROTOCOL_HIGHEST)
        return tn__fail(err, TN_EREMOTE, "the compile server broke the protocol: no greeting");
    if (strcmp(arch, tn_cpu_arch_name(tn_cpu_arch_host())) != 0)
        return tn__fail(err, TN_EREMOTE, "the compile server is of another architecture");
    const char *wanted = server->options.identity;
    if (wanted && (!identity || strcmp(identity, wanted) != 0))
        return tn__fail(err, TN_EREMOTE, "the compile server has '%s', not '%s'", identity ? identity : "no identity",
                        wanted);
    server->deadline_ns = deadline_ms * 1000000;
    server->options.workers = tn__min64(server->options.workers, workers);
    struct tn_buffer copy = {0};
    if (identity && !tn__buffer_fill(&copy, identity, strlen(identity) + 1))
        return tn__no_memory(err, NULL);
    server->identity = copy.data;
    return 0;
}

static int check_user(const struct tn__remote_server *server, struct tn_error *err)
{
    uint32_t user;
    int error = tn__os_peer_user(server->control, &user);
    if (error)
        return tn__fail(err, TN_EIO, "the system does not say whose the compile server is: error %d", error);
    if (user != tn__os_user() && !server->options.any_user)
        return tn__fail(err, TN_EREMOTE, "the compile server is user %u's", user);
    return 0;
}

int tn__remote_greet(struct tn__remote_server *server, struct tn_error *err)
{
    struct tn__message hello = TN__MESSAGE;
    struct tn__frame response;
    struct tn__body body;
    int code = check_user(server, err);
    if (code)
        return code;
    tn__put_number(&hello, TN__PROTOCOL_MAGIC);
    tn__put_number(&hello, TN__PROTOCOL_LOWEST);
    tn__put_number(&hello, TN__PROTOCOL_HIGHEST);
    tn__put_text(&hello, tn_cpu_arch_name(tn_cpu_arch_host()));
    tn__put_number(&hello, tn__min64(server->options.deadline_ms, UINT32_MAX));
    tn__put_number(&hello, server->options.memory);
    tn__put_number(&hello, server->options.workers);
    code = control(server, TN__HELLO, &hello, &response, &body, err);
    if (code)
        return code;
    code = read_hello(server, &body, err);
    if (body.fd >= 0)
        tn__os_close(body.fd);
    tn__frame_free(&response);
    return code;
}

/* ---- workers ---- */

/* Children of forks have copies of a socket, so that closing it alone would tell the other end nothing; those that they
 * close themselves are still this process's. */
static void close_socket(const struct tn__remote_server *server, int fd)
{
    if (fd < 0)
        return;
    if (tn__remote_is_own(server))
        tn__os_shutdown(fd);
    tn__os_close(fd);
}

static void free_worker(const struct tn__remote_server *server, struct tn__remote_worker *worker)
{
    close_socket(server, worker->socket);
    tn__free(NULL, worker->closing);
    tn__free(NULL, worker);
}

static int make_worker(struct tn__remote_server *server, struct tn__remote_worker **out, struct tn_error *err)
{
    struct tn__message request = TN__MESSAGE;
    struct tn__frame response;
    struct tn__body body;
    struct tn__remote_worker *worker = tn__alloc_zeroed(NULL, 1, sizeof *worker);
    if (!worker)
        return tn__no_memory(err, NULL);
    worker->socket = -1;
    tn__list_init(&worker->homes);
    tn__list_init(&worker->listed);
    int code = control(server, TN__WORKER, &request, &response, &body, err);
    if (!code) {
        worker->id = tn__get_number(&body);
        worker->socket = body.fd;
        body.fd = -1;
        if (worker->socket < 0 || !tn__body_is_sound(&body))
            code = tn__fail(err, TN_EREMOTE, "the compile server broke the protocol: no worker");
        tn__frame_free(&response);
    }
    if (code) {
        free_worker(server, worker);
        return code;
    }
    tn__count(&server->counters.workers, 1);
    worker->is_busy = true;
    *out = worker;
    return 0;
}

static struct tn__remote_worker *find_idle(struct tn__remote_server *server, const struct tn__list *homes,
                                           struct tn__remote_home **home)
{
    *home = NULL;
    if (homes)
        for (TN_EACH(struct tn__remote_home, h, homes, in_module))
            if (!h->worker->is_busy) {
                *home = h;
                return h->worker;
            }
    for (TN_EACH(struct tn__remote_worker, w, &server->workers, listed))
        if (!w->is_busy)
            return w;
    return NULL;
}

/* With the lock: ends an idle worker, or waits until something changes. */
static void make_room(struct tn__remote_server *server)
{
    struct tn__remote_home *none;
    struct tn__remote_worker *idle = find_idle(server, NULL, &none);
    if (!idle) {
        tn__mutex_wait(&server->lock, &server->changed, NULL);
        return;
    }
    idle->is_busy = idle->is_tired = true;
    tn__mutex_unlock(&server->lock);
    tn__remote_give(server, idle);
    tn__mutex_lock(&server->lock);
}

int tn__remote_take(struct tn__remote_server *server, const struct tn__list *homes, bool fresh,
                    struct tn__remote_worker **out, struct tn__remote_home **home, struct tn_error *err)
{
    int code = tn__remote_check(server, err);
    if (code)
        return code;
    *home = NULL;
    tn__mutex_lock(&server->lock);
    struct tn__remote_worker *worker = fresh ? NULL : find_idle(server, homes, home);
    while (!worker && server->worker_count >= server->options.workers) {
        make_room(server); /* without `fresh`, none is idle */
        worker = fresh ? NULL : find_idle(server, homes, home);
    }
    bool is_new = !worker;
    if (is_new)
        server->worker_count++;
    else
        worker->is_busy = true;
    tn__mutex_unlock(&server->lock);
    if (is_new)
        code = make_worker(server, &worker, err);
    if (is_new) {
        tn__mutex_lock(&server->lock);
        if (code)
            server->worker_count--;
        else
            tn__list_append(&server->workers, &worker->listed);
        pthread_cond_broadcast(&server->changed);
        tn__mutex_unlock(&server->lock);
    }
    *out = worker;
    return code;
}

/* With the lock: no module is open in it any more, as far as clients know. */
static void forget_homes(struct tn__remote_worker *worker)
{
    for (TN_EACH_TO_REMOVE(struct tn__remote_home, home, &worker->homes, in_worker)) {
        tn__list_remove(&home->in_worker);
        tn__list_remove(&home->in_module);
        tn__free(NULL, home);
    }
}

int tn__remote_end(struct tn__remote_server *server, struct tn__remote_worker *worker, struct tn__remote_end *end,
                   struct tn_error *err)
{
    struct tn__message request = TN__MESSAGE;
    struct tn__frame response;
    struct tn__body body;
    tn__mutex_lock(&server->lock);
    forget_homes(worker);
    tn__list_remove(&worker->listed);
    tn__mutex_unlock(&server->lock);
    tn__put_number(&request, worker->id);
    free_worker(server, worker);
    int code = control(server, TN__END, &request, &response, &body, err);
    if (!code) {
        end->end = (enum tn__os_end)tn__get_number_to(&body, TN__OS_SIGNALLED);
        end->number = (int)tn__get_number_to(&body, UINT8_MAX);
        if (!tn__body_is_sound(&body))
            code = tn__fail(err, TN_EREMOTE, "the compile server broke the protocol: no end");
        if (body.fd >= 0)
            tn__os_close(body.fd);
        tn__frame_free(&response);
    }
    tn__mutex_lock(&server->lock);
    server->worker_count--;
    pthread_cond_broadcast(&server->changed);
    tn__mutex_unlock(&server->lock);
    return code;
}

/* Tells a worker which modules to close. False: it does not listen. */
static bool send_closings(struct tn__remote_worker *worker, const uint64_t *ids, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        struct tn__message message = TN__MESSAGE;
        tn__put_number(&message, ids[i]);
        good = !tn__wire_send(worker->socket, TN__CLOSE, 0, ++worker->sequence, &message, tn__prompt_end(), NULL);
        tn__message_free(&message);
    }
    return good;
}

void tn__remote_give(struct tn__remote_server *server, struct tn__remote_worker *worker)
{
    bool is_spent =
        worker->requests >= server->options.recycle_requests || worker->peak >= server->options.recycle_memory;
    tn__mutex_lock(&server->lock);
    while (worker->closing_count && !worker->is_tired && !is_spent) {
        uint64_t *ids = worker->closing;
        size_t count = worker->closing_count;
        worker->closing = NULL;
        worker->closing_count = worker->closing_room = 0;
        tn__mutex_unlock(&server->lock);
        bool good = send_closings(worker, ids, count);
        tn__free(NULL, ids);
        tn__mutex_lock(&server->lock);
        worker->is_tired |= !good;
    }
    bool ends = worker->is_tired || is_spent;
    worker->is_busy = ends;
    pthread_cond_broadcast(&server->changed);
    tn__mutex_unlock(&server->lock);
    struct tn__remote_end end;
    if (!ends)
        return;
    tn__count(&server->counters.recycled, 1);
    tn__remote_end(server, worker, &end, NULL);
}

int tn__remote_ask(struct tn__remote_server *server, struct tn__remote_worker *worker, enum tn__frame_type type,
                   const struct tn__message *message, struct tn__frame *response, struct tn__remote_end *how,
                   struct tn_error *err)
{
    uint64_t until = server->deadline_ns ? tn__prompt_end() + server->deadline_ns : UINT64_MAX;
    bool is_end;
    tn__count(&server->counters.requests, 1);
    int code = ask(worker->socket, ++worker->sequence, type, message, response, &is_end, until, err);
    how->is_late = code && until != UINT64_MAX && tn__os_now_ns() >= until;
    how->is_gone = code && is_end && !how->is_late;
    worker->requests++;
    return code;
}

void tn__remote_leave(struct tn__remote_server *server, struct tn__list *homes)
{
    for (;;) {
        struct tn__remote_worker *idle = NULL;
        tn__mutex_lock(&server->lock);
        bool is_left = tn__list_is_empty(homes);
        if (!is_left) {
            struct tn__remote_home *home = tn__container_of(homes->next, struct tn__remote_home, in_module);
            struct tn__remote_worker *worker = home->worker;
            if (tn__grow(NULL, &worker->closing, &worker->closing_room, worker->closing_count + 1, sizeof home->id))
                worker->closing[worker->closing_count++] = home->id;
            else
                worker->is_tired = true;
            idle = worker->is_busy ? NULL : worker;
            worker->is_busy = true;
            tn__list_remove(&home->in_worker);
            tn__list_remove(&home->in_module);
            tn__free(NULL, home);
        }
        tn__mutex_unlock(&server->lock);
        if (is_left)
            return;
        if (idle)
            tn__remote_give(server, idle);
    }
}

void tn__remote_close(struct tn__remote_server *server)
{
    for (TN_EACH_TO_REMOVE(struct tn__remote_worker, worker, &server->workers, listed)) {
        for (TN_EACH_TO_REMOVE(struct tn__remote_home, home, &worker->homes, in_worker))
            tn__free(NULL, home); /* a child's of a fork, whose modules are gone */
        tn__list_remove(&worker->listed);
        free_worker(server, worker);
    }
    close_socket(server, server->control);
    server->control = -1;
}
