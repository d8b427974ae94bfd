/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A server: one process for a connection, which makes workers and says how they have ended. It never compiles, except
 * once at first, so that all workers begin with a compiler that is set up. A worker is forked before one is asked for,
 * so that no request waits for that. */

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/os.h"
#include "base/sha256/sha256.h"
#include "cache/compiler.h"
#include "remote/protocol.h"
#include "remote/service.h"

enum { DEFAULT_WORKERS = 64, MOST_WORKERS = 1024 };

struct worker {
    struct tn__os_child child;
    uint64_t id; /* 0: there is none */
};

struct server {
    const struct tn__service *service;
    struct tn_serve_options options;
    int socket;
    uint64_t deadline_ns, memory, workers; /* what applies to this client */
    struct worker *all;                    /* `workers` of them */
    uint64_t last_id;
    struct tn__os_child spare;
    int spare_socket; /* -1: there is no spare one */
};

/* ---- making workers ---- */

/* A worker first says by one byte that it is confined as it should be: 0, or the error number for which it is not. So
 * what comes later from it, or its end, never is about that. */
static int run_worker(void *context)
{
    const struct server *s = context;
    int error = tn__os_limit_memory(s->memory);
    if (!error && !s->options.no_sandbox)
        error = tn__os_enter_sandbox();
    const uint8_t status = (uint8_t)error;
    int unsent = tn__os_send(TN__OS_CHILD_SOCKET, &status, sizeof status, -1, tn__prompt_end());
    if (!error && !unsent)
        tn__work(s->service, TN__OS_CHILD_SOCKET, s->deadline_ns);
    return 0;
}

static int make_spare(struct server *s)
{
    int pair[2];
    int error = tn__os_socket_pair(pair);
    if (error)
        return error;
    error = tn__os_fork_child(pair[1], true, run_worker, s, &s->spare);
    tn__os_close(pair[1]);
    if (error)
        tn__os_close(pair[0]);
    else
        s->spare_socket = pair[0];
    return error;
}

static void drop_spare(struct server *s)
{
    int number;
    if (s->spare_socket < 0)
        return;
    tn__os_close(s->spare_socket);
    tn__os_end_child(&s->spare, 0, &number);
    s->spare_socket = -1;
}

/* Whether the spare worker is as it should be, which is only then given out. TN_EREMOTE, TN_EIO. */
static int check_spare(struct server *s, struct tn_error *err)
{
    uint8_t status;
    size_t got;
    int error = tn__os_receive(s->spare_socket, &status, sizeof status, NULL, tn__prompt_end(), &got);
    if (error || !got)
        return tn__fail(err, TN_EIO, "a new worker does not begin: error %d", error);
    return status ? tn__fail(err, TN_EREMOTE, "the compile server cannot confine its workers: error %d", status) : 0;
}

/* A spare worker that may be given out: one that was made before may have ended since. */
static int prepare_spare(struct server *s, struct tn_error *err)
{
    int code = TN_EIO;
    for (int turn = 0; turn < 2 && code == TN_EIO; turn++) {
        int error = s->spare_socket < 0 ? make_spare(s) : 0;
        code = error ? tn__fail(err, TN_EIO, "no worker could be made: error %d", error) : check_spare(s, err);
        if (code)
            drop_spare(s);
    }
    return code;
}

static struct worker *worker_of(struct server *s, uint64_t id)
{
    for (struct worker *w = s->all; w < s->all + s->workers; w++)
        if (w->id == id)
            return w;
    return NULL;
}

/* ---- requests of the connection ---- */

static bool respond(struct server *s, const struct tn__frame *frame, struct tn__message *response)
{
    bool good =
        !tn__wire_send(s->socket, frame->type, TN__FRAME_RESPONSE, frame->sequence, response, tn__prompt_end(), NULL);
    tn__message_free(response);
    return good;
}

static bool respond_with(struct server *s, const struct tn__frame *frame, int code, const struct tn_error *err)
{
    struct tn__message response = TN__MESSAGE;
    tn__put_outcome(&response, code, err);
    return respond(s, frame, &response);
}

static bool give_worker(struct server *s, const struct tn__frame *frame)
{
    struct tn_error err;
    struct worker *w = worker_of(s, 0);
    if (!w)
        return respond_with(s, frame, tn__fail(&err, TN_EREMOTE, "the server has no further worker"), &err);
    int code = prepare_spare(s, &err);
    if (code)
        return respond_with(s, frame, code, &err);
    struct tn__message response = TN__MESSAGE;
    *w = (struct worker){s->spare, ++s->last_id};
    response.fd = s->spare_socket;
    s->spare_socket = -1;
    tn__put_outcome(&response, 0, NULL);
    tn__put_number(&response, w->id);
    if (!respond(s, frame, &response))
        return false;
    make_spare(s); /* for the next time; if that fails, it is tried again then */
    return true;
}

static bool end_worker(struct server *s, const struct tn__frame *frame, struct tn__body *body)
{
    struct tn_error err;
    struct tn__message response = TN__MESSAGE;
    uint64_t id = tn__get_number(body);
    struct worker *w = id ? worker_of(s, id) : NULL;
    int number;
    if (!w || !tn__body_is_sound(body))
        return respond_with(s, frame, tn__fail(&err, TN_EREMOTE, "there is no such worker"), &err);
    enum tn__os_end end = tn__os_end_child(&w->child, 0, &number);
    w->id = 0;
    tn__put_outcome(&response, 0, NULL);
    tn__put_number(&response, end);
    tn__put_number(&response, (uint64_t)number);
    return respond(s, frame, &response);
}

static bool handle(struct server *s, struct tn__frame *frame)
{
    struct tn__body body = tn__frame_body(frame);
    bool good = body.fd < 0 && !(frame->flags & TN__FRAME_RESPONSE);
    if (!good)
        ;
    else if (frame->type == TN__WORKER)
        good = tn__body_is_sound(&body) && give_worker(s, frame);
    else
        good = frame->type == TN__END && end_worker(s, frame, &body);
    if (body.fd >= 0)
        tn__os_close(body.fd);
    return good;
}

/* ---- the handshake ---- */

static uint64_t lesser(uint64_t ours, uint64_t wanted)
{
    return ours && wanted ? tn__min64(ours, wanted) : ours | wanted;
}

static int check_client(const struct server *s, struct tn_error *err)
{
    uint32_t user;
    int error = tn__os_peer_user(s->socket, &user);
    if (error)
        return tn__fail(err, TN_EIO, "the system does not say who the client is: error %d", error);
    if (!s->options.any_user && user != tn__os_user())
        return tn__fail(err, TN_EREMOTE, "the client is user %u's", user);
    return 0;
}

static int take_hello(struct server *s, struct tn__frame *frame, struct tn_error *err)
{
    struct tn__body body = tn__frame_body(frame);
    uint64_t magic = tn__get_number(&body);
    uint32_t lowest = tn__get_number_to(&body, UINT32_MAX), highest = tn__get_number_to(&body, UINT32_MAX);
    const char *arch = tn__get_text(&body);
    uint64_t deadline_ms = lesser(s->options.deadline_ms, tn__get_number_to(&body, UINT32_MAX));
    s->deadline_ns = tn__min64(deadline_ms, UINT32_MAX) * 1000000; /* as clients take it: 49 days */
    s->memory = lesser(s->options.memory, tn__get_number(&body));
    s->workers = lesser(s->options.workers, tn__get_number(&body));
    s->workers = tn__min64(s->workers ? s->workers : DEFAULT_WORKERS, MOST_WORKERS);
    if (body.fd >= 0)
        tn__os_close(body.fd);
    if (frame->type != TN__HELLO || frame->flags || magic != TN__PROTOCOL_MAGIC || body.bad)
        return tn__fail(err, TN_EREMOTE, "the client broke the protocol: no greeting");
    if (lowest > TN__PROTOCOL_HIGHEST || highest < TN__PROTOCOL_LOWEST)
        return tn__fail(err, TN_EREMOTE, "the client speaks versions %u to %u, the server %d to %d", lowest, highest,
                        TN__PROTOCOL_LOWEST, TN__PROTOCOL_HIGHEST);
    if (!arch || strcmp(arch, tn_cpu_arch_name(tn_cpu_arch_host())) != 0)
        return tn__fail(err, TN_EREMOTE, "the client is of another architecture");
    return 0;
}

static int greet(struct server *s, const struct tn__frame *frame, struct tn_error *err)
{
    struct tn__message response = TN__MESSAGE;
    struct tn_buffer identity = {0};
    const struct tn_compiler *compiler = &s->service->compiler;
    int code = compiler->identify ? compiler->identify(compiler->context, &identity, err) : TN_ENOTSUP;
    if (code && code != TN_ENOTSUP) {
        respond_with(s, frame, code, err);
        return code;
    }
    tn__put_outcome(&response, 0, NULL);
    tn__put_number(&response, TN__PROTOCOL_HIGHEST);
    tn__put_text(&response, tn_cpu_arch_name(tn_cpu_arch_host()));
    tn__put_text(&response, tn_version());
    tn__put_number(&response, s->deadline_ns / 1000000);
    tn__put_number(&response, s->memory);
    tn__put_number(&response, s->workers);
    tn__put_number(&response, code ? 0 : identity.size + 1);
    tn__put_bytes(&response, identity.data, code ? 0 : identity.size);
    tn__put_bytes(&response, "", code ? 0 : 1);
    tn_buffer_free(&identity);
    return respond(s, frame, &response) ? 0 : tn__fail(err, TN_EREMOTE, "the client is gone");
}

/* The client is told the text of an error, which may not be NULL here. */
static int shake_hands(struct server *s, struct tn_error *err)
{
    struct tn__frame frame;
    bool is_end;
    int code = check_client(s, err);
    if (code)
        return code;
    code = tn__wire_receive(s->socket, &frame, &is_end, tn__prompt_end(), err);
    if (code)
        return code;
    code = take_hello(s, &frame, err);
    if (code)
        respond_with(s, &frame, code, err);
    else
        code = greet(s, &frame, err);
    tn__frame_free(&frame);
    return code;
}

/* ---- a connection ---- */

/* The client's processes end with the connection, in whatever state they are. */
static void end_all(struct server *s)
{
    int number;
    drop_spare(s);
    for (struct worker *w = s->all; w < s->all + s->workers; w++)
        if (w->id)
            tn__os_end_child(&w->child, 0, &number);
    tn__free(NULL, s->all);
}

static int answer_all(struct server *s, struct tn_error *err)
{
    for (;;) {
        struct tn__frame frame;
        bool is_end;
        int code = tn__wire_receive(s->socket, &frame, &is_end, UINT64_MAX, err);
        if (code)
            return is_end ? 0 : code;
        bool good = handle(s, &frame);
        tn__frame_free(&frame);
        if (!good)
            return tn__fail(err, TN_EREMOTE, "the client broke the protocol, or is gone");
    }
}

static int serve_connection(struct server *s, struct tn_error *err)
{
    struct tn_error error = {0};
    int code = shake_hands(s, &error);
    if (code && err)
        *err = error;
    if (code)
        return code;
    s->spare_socket = -1;
    s->all = tn__alloc_zeroed(NULL, s->workers, sizeof *s->all);
    if (!s->all)
        return tn__no_memory(err, NULL);
    make_spare(s); /* if that fails, it is tried again when one is needed */
    code = answer_all(s, err);
    end_all(s);
    return code;
}

/* ---- listening ---- */

static int run_connection(void *context)
{
    struct server *s = context;
    s->socket = TN__OS_CHILD_SOCKET;
    return serve_connection(s, NULL) != 0;
}

static bool is_passing(int error)
{
    return error == ENFILE || error == EMFILE || error == ENOMEM || error == ENOBUFS;
}

/* Tells a client that no process will serve it: the response to its greeting, which need not have come yet. */
static void turn_away(int fd, int error)
{
    struct tn_error err;
    struct tn__message response = TN__MESSAGE;
    tn__fail(&err, TN_EREMOTE, "the compile server has no room for a further client: error %d", error);
    tn__put_outcome(&response, TN_EREMOTE, &err);
    tn__wire_send(fd, TN__HELLO, TN__FRAME_RESPONSE, 1, &response, tn__prompt_end(), NULL);
    tn__message_free(&response);
}

static void serve_one(struct server *s, int fd)
{
    struct tn__os_child child = {0, -1};
    int error = tn__os_fork_child(fd, false, run_connection, s, &child);
    if (error)
        turn_away(fd, error);
    if (child.watch >= 0)
        tn__os_close(child.watch);
    tn__os_close(fd);
}

/* When the system has no descriptor for a connection: takes one in place of the spare one. It would be found again and
 * again otherwise. Nothing tells when there is memory again, so this sleeps for a while if that fails too. */
static void serve_by_reserve(struct server *s, int listening, int *reserve)
{
    enum { PAUSE_NS = 50000000 };
    const uint32_t never = 0;
    int fd;
    if (*reserve >= 0)
        tn__os_close(*reserve);
    if (tn__os_accept(listening, &fd))
        tn__os_wait(&never, 0, PAUSE_NS);
    else
        serve_one(s, fd);
    if (tn__os_open_again(listening, reserve))
        *reserve = -1;
}

static int listen_at(struct server *s, const char *path, struct tn_error *err)
{
    int listening, reserve;
    int error = tn__os_listen(path, s->options.any_user, &listening);
    if (error)
        return tn__fail(err, TN_EIO, "%s: no socket could be made: error %d", path, error);
    tn__os_forget_children();
    if (tn__os_open_again(listening, &reserve))
        reserve = -1;
    while (!error) {
        int fd;
        error = tn__os_accept(listening, &fd);
        if (!error) {
            serve_one(s, fd);
        } else if (is_passing(error)) {
            serve_by_reserve(s, listening, &reserve);
            error = 0;
        }
    }
    if (reserve >= 0)
        tn__os_close(reserve);
    tn__os_close(listening);
    return tn__fail(err, TN_EIO, "%s: no connection could be taken: error %d", path, error);
}

/* A module of one function, so that the compiler is set up before workers are forked. What it makes is not looked at:
 * a compiler need not know IR as text. */
static void warm_up(const struct tn__service *service)
{
    static const char text[] = "define void @f() {\n  ret void\n}\n";
    uint8_t digest[TN__SHA256_SIZE] = {0};
    const struct tn_compile_observer observer = {.size = sizeof observer};
    const struct tn_compile_options options = {.size = sizeof options, .opt_level = 2, .observer = &observer};
    const struct tn_ir ir = {.size = sizeof ir,
                             .name = "first",
                             .bytes = text,
                             .length = sizeof text - 1,
                             .whole = 1,
                             .digest = digest,
                             .stays = 1};
    struct tn_compile_stats stats = {.size = sizeof stats};
    const struct tn_part_request request = {
        .size = sizeof request, .name = "first", .stats = &stats, .observer = &observer, .opt_level = 2};
    const struct tn_compiler *compiler = &service->compiler;
    const struct tn_module_description *description;
    struct tn_buffer object = {0};
    void *module;
    if (compiler->open(compiler->context, &ir, &options, &module, &description, NULL))
        return;
    if (!compiler->compile(module, &request, &object, NULL))
        tn_buffer_free(&object);
    compiler->close(module);
}

static bool take_number(const char *text, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);
    *number = (int)value;
    return *text >= '0' && *text <= '9' && !*end && value <= INT_MAX;
}

int tn__serve(const struct tn__service *service, const struct tn_serve_options *options, struct tn_error *err)
{
    static const char by_number[] = "fd:", by_path[] = "unix:";
    struct server s = {.service = service, .spare_socket = -1};
    int code = tn__take_options(&s.options, sizeof s.options, options, "struct tn_serve_options", err);
    if (code)
        return code;
    const char *address = s.options.address ? s.options.address : "";
    bool is_number = strncmp(address, by_number, sizeof by_number - 1) == 0;
    if (is_number && take_number(address + sizeof by_number - 1, &s.socket) && s.socket > 2) {
        tn__os_close_others(s.socket);
        tn__os_keep_socket(s.socket); /* another one fails later */
        warm_up(service);
        return serve_connection(&s, err);
    }
    if (strncmp(address, by_path, sizeof by_path - 1) != 0)
        return tn__fail(err, TN_EINVAL, "'%s' is no address; it is fd:N, of at least 3, or unix:PATH", address);
    warm_up(service);
    return listen_at(&s, address + sizeof by_path - 1, err);
}

int tn_serve_compiler(const struct tn_compiler *compiler, const struct tn_serve_options *options, struct tn_error *err)
{
    struct tn__service service = {.whole = NULL};
    if (!compiler || !options)
        return tn__no_argument(err);
    int code = tn__take_compiler(compiler, &service.compiler, err);
    return code ? code : tn__serve(&service, options, err);
}
