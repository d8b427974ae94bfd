/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A compile server as a compiler: modules are opened, and their parts compiled, in workers. A module may be open in
 * several of them, so that several threads compile its parts; after a crash it is opened again in another one. */

#include <limits.h>
#include <signal.h>
#include <stdlib.h>

#include "base/sha256/sha256.h"
#include "cache/compiler.h"
#include "cache/description.h"
#include "remote/connection.h"

enum { DEFAULT_RECYCLE_REQUESTS = 1000 };
static const uint64_t DEFAULT_RECYCLE_MEMORY = 1 << 30;

struct module {
    struct tn__remote_server *server;
    const struct tn_compile_options *options;
    struct tn_ir ir;       /* the client's own, with what it points to */
    char *copy;            /* of that */
    int file;              /* the IR as a sealed file, which goes to each worker; -1: it is short */
    struct tn__list homes; /* under the server's lock */
    struct tn_module_description description;
    struct tn__arena tables;    /* of that */
    struct tn_buffer described; /* as bytes; empty: the fallback has it from the beginning */
    void *fallback;             /* atomic: the module there; NULL: it was not needed so far */
};

/* A request and what became of it. */
struct call {
    struct tn__remote_server *server;
    struct module *module; /* NULL: of a whole compilation */
    const char *name;      /* of the module, or of the module and the function */
    const void *ir;
    size_t length;
    const struct tn_compile_observer *observer;
    enum tn__frame_type type;
    const struct tn_part_request *part; /* of TN__COMPILE */
    const struct tn_compile_options *options;
    struct tn_buffer out;
    struct tn_compile_stats stats;
};

/* ---- requests ---- */

static void put_open(struct tn__message *m, const struct module *module, uint64_t id)
{
    const struct tn_ir *ir = &module->ir;
    tn__put_number(m, id);
    tn__put_number(m, ir->whole != 0);
    tn__put_number(m, ir->copy);
    tn__put_bytes(m, ir->digest, TN__SHA256_SIZE);
    tn__put_text(m, ir->name);
    tn__put_number(m, tn__events_wanted(module->options->observer));
    tn__put_compile_options(m, module->options);
    tn__put_kept_bulk(m, ir->bytes, ir->length, module->file);
}

static void put_compile(struct tn__message *m, const struct tn_part_request *part, uint64_t id)
{
    tn__put_number(m, id);
    tn__put_number(m, part->part);
    tn__put_text(m, part->name);
    tn__put_number(m, (uint64_t)part->opt_level);
    tn__put_number(m, part->is_higher != 0);
    tn__put_number(m, part->is_idle != 0);
    tn__put_text(m, part->counters);
    tn__put_number(m, tn__events_wanted(part->observer));
    tn__put_number(m, part->needed_count);
    for (size_t i = 0; i < part->needed_count; i++)
        tn__put_text(m, part->needed[i]);
}

static void put_whole(struct tn__message *m, const struct call *c)
{
    tn__put_text(m, c->name);
    tn__put_number(m, tn__events_wanted(c->observer));
    tn__put_compile_options(m, c->options);
    tn__put_bulk(m, c->ir, c->length);
}

/* ---- responses ---- */

/* Takes the output and the events behind it apart. */
static int read_output(struct call *c, struct tn__remote_worker *worker, struct tn__body *body, struct tn_error *err)
{
    tn__get_stats(body, &c->stats);
    uint64_t peak = tn__get_number(body), events = tn__get_number(body);
    int code = tn__get_bulk(body, TN__BULK_MOST, &c->out, err);
    if (code)
        return code;
    worker->peak = peak;
    bool good = events <= c->out.size && tn__body_is_sound(body);
    c->out.size -= good ? events : 0;
    good = good && tn__events_replay((const char *)c->out.data + c->out.size, events, c->observer);
    return good ? 0 : tn__fail(err, TN_EREMOTE, "the other process broke the protocol: no output");
}

/* 0: *outcome is the worker's answer, and *err its text if that is an error. Else the worker has to be ended. */
static int exchange(struct call *c, struct tn__remote_worker *worker, enum tn__frame_type type,
                    struct tn__message *request, int *outcome, struct tn__remote_end *how, struct tn_error *err)
{
    struct tn__frame response;
    int code = tn__remote_ask(c->server, worker, type, request, &response, how, err);
    tn__message_free(request);
    if (code)
        return code;
    struct tn__body body = tn__frame_body(&response);
    *outcome = tn__get_outcome(&body, err);
    if (!*outcome)
        code = read_output(c, worker, &body, err);
    else if (*outcome == TN_EREMOTE || !tn__body_is_sound(&body))
        code = tn__fail(err, TN_EREMOTE, "the other process broke the protocol: an outcome that cannot be");
    if (body.fd >= 0)
        tn__os_close(body.fd);
    tn__frame_free(&response);
    if (code)
        tn_buffer_free(&c->out);
    return code;
}

/* ---- where modules are open ---- */

static int add_home(struct module *module, struct tn__remote_worker *worker, uint64_t id, struct tn__remote_home **out,
                    struct tn_error *err)
{
    struct tn__remote_home *home = tn__alloc(NULL, sizeof *home);
    if (!home)
        return tn__no_memory(err, module->ir.name);
    *home = (struct tn__remote_home){.worker = worker, .id = id};
    tn__mutex_lock(&module->server->lock);
    tn__list_append(&worker->homes, &home->in_worker);
    tn__list_append(&module->homes, &home->in_module);
    tn__mutex_unlock(&module->server->lock);
    *out = home;
    return 0;
}

/* Opens the module in a worker; c->out is the description. */
static int open_there(struct call *c, struct tn__remote_worker *worker, struct tn__remote_home **home, int *outcome,
                      struct tn__remote_end *how, struct tn_error *err)
{
    struct tn__message request = TN__MESSAGE;
    tn__mutex_lock(&c->server->lock);
    uint64_t id = ++c->server->last_id;
    tn__mutex_unlock(&c->server->lock);
    put_open(&request, c->module, id);
    int code = exchange(c, worker, TN__OPEN, &request, outcome, how, err);
    if (!code && !*outcome)
        code = add_home(c->module, worker, id, home, err);
    return code;
}

/* Compiles a part where the module is open, or opens it first. */
static int compile_there(struct call *c, struct tn__remote_worker *worker, struct tn__remote_home *home, int *outcome,
                         struct tn__remote_end *how, struct tn_error *err)
{
    if (!home) {
        const struct tn_compile_observer *observer = c->observer;
        c->observer = NULL; /* it was told of that the first time */
        int code = open_there(c, worker, &home, outcome, how, err);
        bool is_same = code || *outcome ||
                       (c->out.size == c->module->described.size &&
                        memcmp(c->out.data, c->module->described.data, c->out.size) == 0);
        c->observer = observer;
        tn_buffer_free(&c->out);
        if (!is_same)
            return tn__fail(err, TN_EREMOTE, "%s: the compile server has described it in another way before", c->name);
        if (code || *outcome)
            return code;
    }
    struct tn__message request = TN__MESSAGE;
    put_compile(&request, c->part, home->id);
    return exchange(c, worker, TN__COMPILE, &request, outcome, how, err);
}

static int send_to(struct call *c, struct tn__remote_worker *worker, struct tn__remote_home *home, int *outcome,
                   struct tn__remote_end *how, struct tn_error *err)
{
    struct tn__message request = TN__MESSAGE;
    if (c->type == TN__COMPILE)
        return compile_there(c, worker, home, outcome, how, err);
    if (c->type == TN__OPEN)
        return open_there(c, worker, &home, outcome, how, err);
    put_whole(&request, c);
    return exchange(c, worker, TN__WHOLE, &request, outcome, how, err);
}

/* ---- trying ---- */

/* Of those by which compilers end; "" for others. */
static const char *name_of_signal(int number)
{
    static const char *const names[NSIG] = {
        [SIGSEGV] = " (SIGSEGV)", [SIGBUS] = " (SIGBUS)",   [SIGILL] = " (SIGILL)",   [SIGFPE] = " (SIGFPE)",
        [SIGABRT] = " (SIGABRT)", [SIGTRAP] = " (SIGTRAP)", [SIGKILL] = " (SIGKILL)", [SIGSYS] = " (SIGSYS)"};
    return number > 0 && number < NSIG && names[number] ? names[number] : "";
}

static int report_crash(const struct call *c, const struct tn__remote_end *end, struct tn_error *err)
{
    struct tn__remote_server *server = c->server;
    if (server->options.crashed)
        server->options.crashed(server->options.context, c->name, end->number, c->ir, c->length);
    if (end->end == TN__OS_UNKNOWN)
        return tn__fail(err, TN_EFATAL, "%s: the compiler has crashed twice; the signal is unknown", c->name);
    return tn__fail(err, TN_EFATAL, "%s: the compiler has crashed twice, by signal %d%s", c->name, end->number,
                    name_of_signal(end->number));
}

/* After a worker did not answer as it should; `code` and *err say how. *again: a new one may do better. TN_EREMOTE only
 * if the server is gone: what a worker did with the request must not be tried in this process. */
static int take_failure(struct call *c, struct tn__remote_worker *worker, struct tn__remote_end *how, int code,
                        bool is_first, bool *again, struct tn_error *err)
{
    struct tn_error gone;
    int ended = tn__remote_end(c->server, worker, how, &gone);
    *again = false;
    if (code != TN_EREMOTE)
        return code;
    if (ended) {
        tn__fail(err, ended, "%s", "");
        tn__append_text(err, gone.text);
        return ended;
    }
    if (how->is_late || (how->end == TN__OS_SIGNALLED && how->number == SIGALRM)) {
        tn__count(&c->server->counters.expired, 1);
        return tn__fail(err, TN_EFATAL, "%s: it took longer than %llu ms, the deadline", c->name,
                        (unsigned long long)(c->server->deadline_ns / 1000000));
    }
    tn__count(&c->server->counters.crashed, 1);
    if (is_first) {
        tn__count(&c->server->counters.retried, 1);
        *again = true;
        return code;
    }
    if (how->is_gone && how->end != TN__OS_EXITED)
        return report_crash(c, how, err);
    struct tn_error wrong = *err;
    tn__fail(err, TN_EFATAL, "%s: the compiler has failed twice: ", c->name);
    tn__append_text(err, wrong.text);
    return TN_EFATAL;
}

static int attempt(struct call *c, bool is_first, bool *again, struct tn_error *err)
{
    struct tn__remote_worker *worker;
    struct tn__remote_home *home;
    struct tn__remote_end how = {TN__OS_UNKNOWN};
    int outcome = 0;
    *again = false;
    int code = tn__remote_take(c->server, c->module ? &c->module->homes : NULL, !is_first, &worker, &home, err);
    if (code)
        return code;
    code = send_to(c, worker, home, &outcome, &how, err);
    if (code)
        return take_failure(c, worker, &how, code, is_first, again, err);
    tn__remote_give(c->server, worker);
    return outcome;
}

/* TN_EREMOTE: the server is of no use any more. On success *err is as it was. */
static int call(struct call *c, struct tn_error *err)
{
    struct tn_error error = {0};
    bool again;
    int code = attempt(c, true, &again, &error);
    if (again)
        code = attempt(c, false, &again, &error);
    if (!code)
        return 0;
    tn_buffer_free(&c->out);
    if (err)
        *err = error;
    return code;
}

/* ---- the fallback ---- */

static int open_fallback(struct module *module, void **opened, const struct tn_module_description **description,
                         struct tn_error *err)
{
    const struct tn_compiler *f = &module->server->fallback;
    int code = f->check ? f->check(f->context, module->options, err) : 0;
    if (!code)
        code = f->open(f->context, &module->ir, module->options, opened, description, err);
    if (!code)
        tn__count(&module->server->counters.fallbacks, 1);
    return code;
}

/* Objects of the fallback have to fit the description that the server gave. */
static int check_description(const struct module *module, const struct tn_module_description *description,
                             struct tn_error *err)
{
    struct tn_buffer bytes = {0};
    if (!tn__description_write(description, &bytes))
        return tn__no_memory(err, module->ir.name);
    bool is_same = bytes.size == module->described.size && memcmp(bytes.data, module->described.data, bytes.size) == 0;
    tn_buffer_free(&bytes);
    return is_same ? 0
                   : tn__fail(err, TN_EREMOTE,
                              "%s: the compile server is gone, and the fallback describes the module "
                              "in another way",
                              module->ir.name);
}

/* Threads may come at the same time: the module of one of them stays. */
static int compile_by_fallback(struct module *module, const struct tn_part_request *request, struct tn_buffer *object,
                               struct tn_error *err)
{
    const struct tn_compiler *f = &module->server->fallback;
    const struct tn_module_description *description;
    void *opened = __atomic_load_n(&module->fallback, __ATOMIC_ACQUIRE), *other = NULL;
    if (!opened) {
        int code = open_fallback(module, &opened, &description, err);
        if (code)
            return code;
        code = check_description(module, description, err);
        bool is_kept = !code && __atomic_compare_exchange_n(&module->fallback, &other, opened, false, __ATOMIC_ACQ_REL,
                                                            __ATOMIC_ACQUIRE);
        if (!is_kept)
            f->close(opened);
        if (code)
            return code;
        opened = is_kept ? opened : other;
    }
    return f->compile(opened, request, object, err);
}

/* ---- the compiler ---- */

static int identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    const struct tn__remote_server *server = context;
    if (!server->identity)
        return tn__fail(err, TN_ENOTSUP, "the compile server does not say what it is");
    return tn__buffer_fill(text, server->identity, strlen(server->identity)) ? 0 : tn__no_memory(err, NULL);
}

static int check(void *context, const struct tn_compile_options *options, struct tn_error *err)
{
    (void)context;
    return tn__check_remote_options(options, err);
}

static void close_module(void *context)
{
    struct module *module = context;
    if (tn__remote_is_own(module->server))
        tn__remote_leave(module->server, &module->homes);
    if (module->fallback)
        module->server->fallback.close(module->fallback);
    if (module->file >= 0)
        tn__os_close(module->file);
    tn__arena_free(&module->tables);
    tn_buffer_free(&module->described);
    tn__free(NULL, module->copy);
    tn__free(NULL, module);
}

/* Copies what the module borrows for the call only: name, digest, and IR that does not stay, also if it is much and a
 * sealed file then: the client or the fallback may want it. */
static int keep_ir(struct module *module, const struct tn_ir *ir, struct tn_error *err)
{
    size_t name = strlen(ir->name) + 1, bytes = ir->stays ? 0 : ir->length;
    module->copy = tn__alloc(NULL, TN__SHA256_SIZE + name + bytes);
    if (!module->copy)
        return tn__no_memory(err, ir->name);
    module->ir = *ir;
    module->ir.digest = memcpy(module->copy, ir->digest, TN__SHA256_SIZE);
    module->ir.name = memcpy(module->copy + TN__SHA256_SIZE, ir->name, name);
    if (bytes)
        module->ir.bytes = memcpy(module->copy + TN__SHA256_SIZE + name, ir->bytes, bytes);
    module->ir.stays = 1;
    if (ir->length > TN__BULK_MOST)
        return tn__fail(err, TN_ENOTSUP, "%s: %zu bytes are too much for a compile server", ir->name, ir->length);
    if (ir->length <= TN__BULK_INLINE)
        return 0;
    int error = tn__os_make_sealed(ir->bytes, ir->length, &module->file);
    if (error)
        module->file = -1;
    return error ? tn__fail(err, TN_EIO, "%s: no file in memory could be made: error %d", ir->name, error) : 0;
}

static int open_remotely(struct module *module, struct tn_error *err)
{
    struct call c = {.server = module->server,
                     .module = module,
                     .name = module->ir.name,
                     .ir = module->ir.bytes,
                     .length = module->ir.length,
                     .observer = module->options->observer,
                     .type = TN__OPEN,
                     .options = module->options};
    int code = call(&c, err);
    if (code)
        return code;
    code = tn__description_read(c.out.data, c.out.size, &module->tables, &module->description, NULL);
    if (!code) {
        module->described = c.out;
        return 0;
    }
    tn_buffer_free(&c.out);
    if (code == TN_ENOMEM)
        return tn__no_memory(err, module->ir.name);
    return tn__fail(err, TN_EFATAL, "%s: the compile server broke the protocol: no description", module->ir.name);
}

static int open_module(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **out,
                       const struct tn_module_description **description, struct tn_error *err)
{
    struct tn__remote_server *server = context;
    struct module *module = tn__alloc_zeroed(NULL, 1, sizeof *module);
    *out = NULL;
    if (!module)
        return tn__no_memory(err, ir->name);
    module->server = server;
    module->options = options;
    module->file = -1;
    tn__list_init(&module->homes);
    int code = keep_ir(module, ir, err);
    *description = &module->description;
    if (!code)
        code = open_remotely(module, err);
    if (code == TN_EREMOTE && server->fallback.open)
        code = open_fallback(module, &module->fallback, description, err);
    if (code) {
        module->fallback = NULL; /* it was not opened */
        close_module(module);
    } else {
        *out = module;
    }
    return code;
}

static int compile_part(void *context, const struct tn_part_request *request, struct tn_buffer *object,
                        struct tn_error *err)
{
    struct module *module = context;
    if (!module->described.size) /* the fallback's from the beginning */
        return module->server->fallback.compile(module->fallback, request, object, err);
    struct call c = {.server = module->server,
                     .module = module,
                     .name = request->name,
                     .ir = module->ir.bytes,
                     .length = module->ir.length,
                     .observer = request->observer,
                     .type = TN__COMPILE,
                     .part = request,
                     .options = module->options};
    int code = call(&c, err);
    if (code == TN_EREMOTE && module->server->fallback.open)
        return compile_by_fallback(module, request, object, err);
    if (code)
        return code;
    if (request->stats)
        tn__give_stats(request->stats, sizeof c.stats, &c.stats);
    if (request->cancelled && *request->cancelled) {
        tn_buffer_free(&c.out);
        return tn__fail(err, TN_ECANCELLED, "%s: the object is not wanted any more", request->name);
    }
    *object = c.out;
    return 0;
}

/* ---- clients ---- */

static bool count_thread(void *context, uint32_t thread)
{
    (void)thread;
    ++*(unsigned *)context;
    return true;
}

/* False also where the system does not tell. */
static bool has_other_threads(void)
{
    unsigned count = 0;
    return !tn__os_each_thread(count_thread, &count) && count > 1;
}

static void free_server(struct tn__remote_server *server)
{
    int number;
    bool is_own = tn__remote_is_own(server);
    tn__remote_close(server);
    if (server->child.id && is_own)
        tn__os_end_child(&server->child, tn__prompt_end(), &number);
    if (is_own) { /* in a child of a fork, threads that are not there may hold them and wait for them */
        tn__mutex_destroy(&server->control_lock);
        tn__mutex_destroy(&server->lock);
        pthread_cond_destroy(&server->changed);
    }
    if (server->child.watch >= 0)
        tn__os_close(server->child.watch);
    tn__free(NULL, server->identity);
    tn__free(NULL, server);
}

static int make_server(const struct tn_compile_server_options *options, struct tn__remote_server **out,
                       struct tn_error *err)
{
    struct tn__remote_server *server = tn__alloc_zeroed(NULL, 1, sizeof *server);
    *out = NULL;
    if (!server)
        return tn__no_memory(err, NULL);
    struct tn_compile_server_options *taken = &server->options;
    int code = tn__take_options(taken, sizeof *taken, options, "struct tn_compile_server_options", err);
    if (!code && taken->fallback)
        code = tn__take_compiler(taken->fallback, &server->fallback, err);
    if (code) {
        tn__free(NULL, server);
        return code;
    }
    taken->workers = taken->workers ? taken->workers : tn__os_usable_cores();
    taken->recycle_requests = taken->recycle_requests ? taken->recycle_requests : DEFAULT_RECYCLE_REQUESTS;
    taken->recycle_memory = taken->recycle_memory ? taken->recycle_memory : DEFAULT_RECYCLE_MEMORY;
    server->process = tn__os_process_id();
    server->control = server->child.watch = -1;
    server->compiler = (struct tn_compiler){.size = sizeof server->compiler,
                                            .context = server,
                                            .identify = identify,
                                            .open = open_module,
                                            .compile = compile_part,
                                            .close = close_module,
                                            .check = check};
    tn__list_init(&server->workers);
    tn__mutex_init(&server->lock, TN__LEVEL_REMOTE);
    tn__mutex_init(&server->control_lock, TN__LEVEL_CONTROL);
    pthread_cond_init(&server->changed, NULL);
    *out = server;
    return 0;
}

/* Greets, and gives the compiler or ends everything. */
static int finish(struct tn__remote_server *server, struct tn_compiler **out, struct tn_error *err)
{
    int code = tn__remote_greet(server, err);
    if (code)
        free_server(server);
    else
        *out = &server->compiler;
    return code;
}

static int run_server(void *context)
{
    const struct tn_serve_options options = {.size = sizeof options, .address = "fd:3"};
    return ((struct tn__remote_server *)context)->options.serve(&options, NULL) != 0;
}

static int start(struct tn__remote_server *server, struct tn_error *err)
{
    int pair[2];
    const char *const *command = server->options.command;
    if (!command && !server->options.serve)
        return tn__fail(err, TN_EINVAL, "neither a command nor a function that serves");
    if (command ? !command[0] : has_other_threads())
        return tn__fail(err, TN_EINVAL, command ? "an empty command" : "there are other threads already");
    int error = tn__os_socket_pair(pair);
    if (error)
        return tn__fail(err, TN_EIO, "no socket could be made: error %d", error);
    error = command ? tn__os_spawn(command, pair[1], &server->child)
                    : tn__os_fork_child(pair[1], false, run_server, server, &server->child);
    tn__os_close(pair[1]);
    server->control = pair[0];
    return error ? tn__fail(err, TN_EIO, "the compile server could not be started: error %d", error) : 0;
}

int tn_compile_server_start(const struct tn_compile_server_options *options, struct tn_compiler **out,
                            struct tn_error *err)
{
    struct tn__remote_server *server;
    if (!out)
        return tn__no_argument(err);
    *out = NULL;
    int code = make_server(options, &server, err);
    if (code)
        return code;
    code = start(server, err);
    if (!code)
        return finish(server, out, err);
    free_server(server);
    return code;
}

static int reach(struct tn__remote_server *server, const char *address, struct tn_error *err)
{
    static const char by_number[] = "fd:", by_path[] = "unix:";
    if (strncmp(address, by_path, sizeof by_path - 1) == 0) {
        int error = tn__os_connect(address + sizeof by_path - 1, &server->control);
        if (error)
            server->control = -1;
        return error ? tn__fail(err, TN_EREMOTE, "%s: no compile server answers: error %d", address, error) : 0;
    }
    char *end;
    const char *number = address + sizeof by_number - 1;
    bool is_number = strncmp(address, by_number, sizeof by_number - 1) == 0 && *number >= '0' && *number <= '9';
    long fd = is_number ? strtol(number, &end, 10) : -1;
    if (fd < 0 || *end || fd > INT_MAX)
        return tn__fail(err, TN_EINVAL, "'%s' is no address; it is fd:N or unix:PATH", address);
    int error = tn__os_keep_socket((int)fd);
    if (error)
        return tn__fail(err, TN_EINVAL, "%s: no open descriptor: error %d", address, error);
    server->control = (int)fd;
    return 0;
}

int tn_compile_server_connect(const char *address, const struct tn_compile_server_options *options,
                              struct tn_compiler **out, struct tn_error *err)
{
    struct tn__remote_server *server;
    if (!address || !out)
        return tn__no_argument(err);
    *out = NULL;
    int code = make_server(options, &server, err);
    if (code)
        return code;
    code = reach(server, address, err);
    if (!code)
        return finish(server, out, err);
    free_server(server);
    return code;
}

/* NULL: it is not a client's compiler. */
static struct tn__remote_server *server_of(const struct tn_compiler *compiler)
{
    return compiler && compiler->open == open_module ? compiler->context : NULL;
}

void tn_compile_server_stop(struct tn_compiler *compiler)
{
    struct tn__remote_server *server = server_of(compiler);
    if (server)
        free_server(server);
}

int tn_compile_server_compile(const struct tn_compiler *compiler, const char *name, const void *ir, size_t length,
                              const struct tn_compile_options *options, struct tn_buffer *out,
                              struct tn_compile_stats *stats, struct tn_error *err)
{
    struct tn__remote_server *server = server_of(compiler);
    struct tn_compile_options taken;
    if (!compiler || (!ir && length) || !out)
        return tn__no_argument(err);
    *out = (struct tn_buffer){0};
    if (!server)
        return tn__fail(err, TN_EINVAL, "this compiler is no compile server");
    int code = tn__take_options(&taken, sizeof taken, options, "struct tn_compile_options", err);
    if (!code)
        code = tn__check_remote_options(&taken, err);
    if (code)
        return code;
    struct call c = {.server = server,
                     .name = name ? name : "<memory>",
                     .ir = ir,
                     .length = length,
                     .observer = taken.observer,
                     .type = TN__WHOLE,
                     .options = &taken};
    code = call(&c, err);
    if (code)
        return code;
    if (stats)
        tn__give_stats(stats, sizeof c.stats, &c.stats);
    *out = c.out;
    return 0;
}

void tn_compile_server_stats(const struct tn_compiler *compiler, struct tn_compile_server_stats *stats)
{
    const struct tn__remote_server *server = server_of(compiler);
    if (server && stats)
        tn__give_counters(stats, sizeof server->counters, &server->counters);
}
