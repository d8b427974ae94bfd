/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A worker: modules that are open in it, and requests one after the other. It may crash at any of them. */

#include <errno.h>

#include "base/os.h"
#include "cache/description.h"
#include "remote/protocol.h"
#include "remote/service.h"

/* A module, with all that its compiler has borrowed. */
struct opened {
    struct tn__list listed;
    uint64_t id;
    void *module;
    struct tn_buffer ir;
    struct tn__frame frame; /* texts of the options, the name and the digest lie there */
    struct tn_compile_options options;
    struct tn_cpu native;
    struct tn_compile_observer observer; /* of opening */
};

struct worker {
    const struct tn__service *service;
    int socket;
    uint64_t deadline_ns;
    struct tn__list modules;
};

/* A request and its response. */
struct task {
    struct worker *worker;
    struct tn__frame *frame;
    struct tn__body body;
    struct tn__message events;
    struct tn_buffer out;
    struct tn_compile_stats stats;
    struct tn_error err;
    int code;
};

static int fail_request(struct task *t)
{
    return tn__fail(&t->err, TN_EREMOTE, "the client broke the protocol: a request that cannot be read");
}

static struct opened *find(const struct worker *w, uint64_t id)
{
    for (TN_EACH(struct opened, o, &w->modules, listed))
        if (o->id == id)
            return o;
    return NULL;
}

static void free_opened(struct opened *o)
{
    tn_buffer_free(&o->ir);
    tn__frame_free(&o->frame);
    tn__free(NULL, o);
}

static void close_opened(struct worker *w, struct opened *o)
{
    if (!o)
        return;
    tn__list_remove(&o->listed);
    w->service->compiler.close(o->module);
    free_opened(o);
}

/* ---- responses ---- */

/* Bulk is the output and the events behind it, whose size comes apart. */
static void put_output(struct tn__message *response, struct task *t)
{
    size_t size = t->out.size, events = t->events.size;
    tn__put_stats(response, &t->stats);
    tn__put_number(response, tn__os_peak_memory());
    tn__put_number(response, events);
    char *bytes = events ? tn__realloc(NULL, t->out.data, size + events) : t->out.data;
    if (!bytes && events) {
        response->error = ENOMEM;
        return;
    }
    t->out.data = bytes;
    if (events)
        memcpy(bytes + size, t->events.bytes, events);
    tn__put_bulk(response, bytes, size + events);
}

/* False: the client is gone. */
static bool respond(struct task *t)
{
    struct tn__message response = TN__MESSAGE;
    struct tn_error err;
    if (!t->code && t->events.error)
        t->code = tn__fail(&t->err, t->events.error == ENOMEM ? TN_ENOMEM : TN_ENOTSUP,
                           "what the observer is told of is more than a response can hold");
    tn__put_outcome(&response, t->code, &t->err);
    if (!t->code)
        put_output(&response, t);
    int code = tn__wire_send(t->worker->socket, t->frame->type, TN__FRAME_RESPONSE, t->frame->sequence, &response,
                             UINT64_MAX, &err);
    if (code && code != TN_EREMOTE) { /* nothing was sent */
        tn__message_free(&response);
        tn__put_outcome(&response, code, &err);
        code = tn__wire_send(t->worker->socket, t->frame->type, TN__FRAME_RESPONSE, t->frame->sequence, &response,
                             UINT64_MAX, NULL);
    }
    tn__message_free(&response);
    return !code;
}

/* ---- requests ---- */

static void read_ir(struct task *t, struct opened *o, struct tn_ir *ir)
{
    o->id = tn__get_number(&t->body);
    *ir = (struct tn_ir){.size = sizeof *ir, .stays = 1};
    ir->whole = (int)tn__get_number_to(&t->body, 1);
    ir->copy = tn__get_number(&t->body);
    ir->digest = tn__get_bytes(&t->body, 32);
    ir->name = tn__get_text(&t->body);
    uint64_t wanted = tn__get_number(&t->body);
    tn__get_compile_options(&t->body, &o->options, &o->native);
    t->code = t->body.bad || !ir->name ? fail_request(t) : tn__get_bulk(&t->body, TN__BULK_MOST, &o->ir, &t->err);
    if (!t->code && !tn__body_is_sound(&t->body))
        t->code = fail_request(t);
    ir->bytes = o->ir.data;
    ir->length = o->ir.size;
    tn__events_record(&o->observer, wanted, &t->events);
    o->options.observer = &o->observer;
}

static void open_module(struct task *t)
{
    const struct tn_compiler *compiler = &t->worker->service->compiler;
    const struct tn_module_description *description;
    struct tn_ir ir;
    struct opened *o = tn__alloc_zeroed(NULL, 1, sizeof *o);
    if (!o) {
        t->code = tn__no_memory(&t->err, NULL);
        return;
    }
    o->frame.fd = -1;
    read_ir(t, o, &ir);
    if (!t->code && find(t->worker, o->id))
        t->code = fail_request(t);
    if (!t->code && compiler->check)
        t->code = compiler->check(compiler->context, &o->options, &t->err);
    if (!t->code)
        t->code = compiler->open(compiler->context, &ir, &o->options, &o->module, &description, &t->err);
    if (t->code) {
        free_opened(o);
        return;
    }
    o->frame = *t->frame; /* the body is the module's now */
    t->frame->bytes = NULL;
    tn__events_record(&o->observer, 0, NULL);
    tn__list_append(&t->worker->modules, &o->listed);
    if (!tn__description_write(description, &t->out)) {
        t->code = tn__no_memory(&t->err, ir.name);
        close_opened(t->worker, o);
    }
}

/* Names that the request lists, in the arena. */
static const char *const *get_needed(struct task *t, struct tn__arena *arena, size_t *count)
{
    *count = tn__get_number_to(&t->body, TN__FRAME_MOST / sizeof(uint64_t));
    const char **names = tn__arena_array(arena, *count + 1, sizeof *names);
    for (size_t i = 0; i < *count && names && !t->body.bad; i++) {
        names[i] = tn__get_text(&t->body);
        t->body.bad |= !names[i];
    }
    t->body.bad |= !names;
    return names;
}

static void compile_part(struct task *t)
{
    struct tn__arena arena = {0};
    struct tn_compile_observer observer;
    struct tn_part_request request = {.size = sizeof request, .stats = &t->stats, .observer = &observer};
    const struct opened *o = find(t->worker, tn__get_number(&t->body));
    request.part = tn__get_number(&t->body);
    request.name = tn__get_text(&t->body);
    request.opt_level = (int)tn__get_number_to(&t->body, 3);
    request.is_higher = (int)tn__get_number_to(&t->body, 1);
    request.is_idle = (int)tn__get_number_to(&t->body, 1);
    request.counters = tn__get_text(&t->body);
    uint64_t wanted = tn__get_number(&t->body);
    request.needed = get_needed(t, &arena, &request.needed_count);
    tn__events_record(&observer, wanted, &t->events);
    if (!o || !request.name || !tn__body_is_sound(&t->body))
        t->code = fail_request(t);
    else
        t->code = t->worker->service->compiler.compile(o->module, &request, &t->out, &t->err);
    tn__arena_free(&arena);
}

static void close_module(struct task *t)
{
    close_opened(t->worker, find(t->worker, tn__get_number(&t->body)));
}

static void compile_whole(struct task *t)
{
    struct tn_compile_options options;
    struct tn_compile_observer observer;
    struct tn_cpu native;
    struct tn_buffer ir = {0};
    const char *name = tn__get_text(&t->body);
    uint64_t wanted = tn__get_number(&t->body);
    tn__get_compile_options(&t->body, &options, &native);
    t->code = t->body.bad ? fail_request(t) : tn__get_bulk(&t->body, TN__BULK_MOST, &ir, &t->err);
    tn__events_record(&observer, wanted, &t->events);
    options.observer = &observer;
    if (!t->code && !tn__body_is_sound(&t->body))
        t->code = fail_request(t);
    if (!t->code)
        t->code = t->worker->service->whole(name, ir.data, ir.size, &options, &t->out, &t->stats, &t->err);
    tn_buffer_free(&ir);
}

static void refuse(struct task *t)
{
    t->code = tn__fail(&t->err, TN_ENOTSUP, "this server has no such request");
}

/* ---- the loop ---- */

static void (*handler_of(const struct worker *w, uint16_t type))(struct task *)
{
    switch (type) {
    case TN__OPEN:
        return open_module;
    case TN__COMPILE:
        return compile_part;
    case TN__CLOSE:
        return close_module;
    case TN__WHOLE:
        return w->service->whole ? compile_whole : refuse;
    default:
        return refuse;
    }
}

/* False: the worker is of no use any more. */
static bool handle(struct worker *w, struct tn__frame *frame)
{
    struct task t = {.worker = w, .frame = frame, .events = TN__MESSAGE, .stats = {.size = sizeof t.stats}};
    t.body = tn__frame_body(frame);
    tn__os_end_after(w->deadline_ns);
    handler_of(w, frame->type)(&t);
    tn__os_end_after(0);
    bool good = frame->type == TN__CLOSE || respond(&t);
    if (t.body.fd >= 0)
        tn__os_close(t.body.fd);
    tn__message_free(&t.events);
    tn_buffer_free(&t.out);
    tn__frame_free(frame);
    return good;
}

void tn__work(const struct tn__service *service, int socket, uint64_t deadline_ns)
{
    struct worker w = {.service = service, .socket = socket, .deadline_ns = deadline_ns};
    struct tn__frame frame;
    bool is_end;
    tn__list_init(&w.modules);
    while (!tn__wire_receive(socket, &frame, &is_end, UINT64_MAX, NULL))
        if (frame.flags & TN__FRAME_RESPONSE || !handle(&w, &frame))
            break;
    /* The process ends; nothing needs to be closed. */
}
