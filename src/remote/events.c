/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the observer of a compilation sees in a worker, written down there, and told to the client's observer. */

#include "remote/protocol.h"

enum event { PHASE = 1, COMPILED, STAGE, REMARK, WARNING, OPTIMIZED };
enum { STAGES = 8, ALL_STAGES = 15 };

uint64_t tn__events_wanted(const struct tn_compile_observer *o)
{
    if (!o)
        return 0;
    const bool has[] = {[PHASE] = o->phase,   [COMPILED] = o->compiled, [STAGE] = o->stage && o->stages,
                        [REMARK] = o->remark, [WARNING] = o->warning,   [OPTIMIZED] = o->optimized};
    uint64_t wanted = 0;
    for (unsigned i = 0; i < TN_COUNT(has); i++)
        wanted |= (uint64_t)has[i] << i;
    return wanted | (has[STAGE] ? (uint64_t)(o->stages & ALL_STAGES) << STAGES : 0);
}

/* ---- writing ---- */

static void on_phase(void *context, const char *module, enum tn_phase phase, uint64_t begin_ns, uint64_t end_ns)
{
    tn__put_number(context, PHASE);
    tn__put_text(context, module);
    tn__put_number(context, phase);
    tn__put_number(context, begin_ns);
    tn__put_number(context, end_ns);
}

static void on_compiled(void *context, const struct tn_compiled *function)
{
    tn__put_number(context, COMPILED);
    tn__put_text(context, function->name);
    tn__put_text(context, function->signature);
    tn__put_number(context, (uint64_t)function->opt_level);
    tn__put_number(context, function->ns);
}

static void on_stage(void *context, const char *module, enum tn_stage stage, const void *bytes, size_t length)
{
    tn__put_number(context, STAGE);
    tn__put_text(context, module);
    tn__put_number(context, stage);
    tn__put_number(context, length);
    tn__put_bytes(context, bytes, length);
}

static void on_remark(void *context, const struct tn_remark *remark)
{
    const char *const texts[] = {remark->pass, remark->name, remark->function,
                                 remark->file, remark->text, remark->yaml};
    tn__put_number(context, REMARK);
    tn__put_number(context, remark->kind);
    for (size_t i = 0; i < TN_COUNT(texts); i++)
        tn__put_text(context, texts[i]);
    tn__put_number(context, remark->line);
    tn__put_number(context, remark->column);
}

static void on_warning(void *context, const char *text)
{
    tn__put_number(context, WARNING);
    tn__put_text(context, text);
}

static void put_sizes(struct tn__message *events, const struct tn_function_size *sizes, size_t count)
{
    tn__put_number(events, count);
    for (size_t i = 0; i < count; i++) {
        tn__put_text(events, sizes[i].name);
        tn__put_number(events, sizes[i].instructions);
        tn__put_number(events, sizes[i].blocks);
    }
}

static void on_optimized(void *context, const struct tn_optimized *optimized)
{
    tn__put_number(context, OPTIMIZED);
    tn__put_text(context, optimized->module);
    tn__put_number(context, (uint64_t)optimized->opt_level);
    tn__put_number(context, optimized->ns);
    put_sizes(context, optimized->before, optimized->before_count);
    put_sizes(context, optimized->after, optimized->after_count);
}

void tn__events_record(struct tn_compile_observer *observer, uint64_t wanted, struct tn__message *events)
{
    *observer = (struct tn_compile_observer){.size = sizeof *observer,
                                             .context = events,
                                             .phase = wanted >> PHASE & 1 ? on_phase : NULL,
                                             .compiled = wanted >> COMPILED & 1 ? on_compiled : NULL,
                                             .stage = wanted >> STAGE & 1 ? on_stage : NULL,
                                             .stages = (unsigned)(wanted >> STAGES & ALL_STAGES),
                                             .remark = wanted >> REMARK & 1 ? on_remark : NULL,
                                             .warning = wanted >> WARNING & 1 ? on_warning : NULL,
                                             .optimized = wanted >> OPTIMIZED & 1 ? on_optimized : NULL};
}

/* ---- reading ---- */

/* Each reads its event, and then tells it, unless there is no observer or something is wrong. */

static void read_phase(struct tn__body *body, const struct tn_compile_observer *o)
{
    const char *module = tn__get_text(body);
    uint32_t phase = tn__get_number_to(body, TN_PHASE_EMIT);
    uint64_t begin_ns = tn__get_number(body), end_ns = tn__get_number(body);
    body->bad |= !module;
    if (!body->bad && o->phase)
        o->phase(o->context, module, (enum tn_phase)phase, begin_ns, end_ns);
}

static void read_compiled(struct tn__body *body, const struct tn_compile_observer *o)
{
    struct tn_compiled compiled = {.size = sizeof compiled};
    compiled.name = tn__get_text(body);
    compiled.signature = tn__get_text(body);
    compiled.opt_level = (int)tn__get_number_to(body, 3);
    compiled.ns = tn__get_number(body);
    body->bad |= !compiled.name;
    if (!body->bad && o->compiled)
        o->compiled(o->context, &compiled);
}

static void read_stage(struct tn__body *body, const struct tn_compile_observer *o)
{
    const char *module = tn__get_text(body);
    uint32_t stage = tn__get_number_to(body, TN_STAGE_OBJECT);
    size_t length = tn__get_number_to(body, TN__FRAME_MOST);
    const void *bytes = tn__get_bytes(body, length);
    body->bad |= !module;
    if (!body->bad && o->stage && o->stages >> stage & 1)
        o->stage(o->context, module, (enum tn_stage)stage, bytes, length);
}

static void read_remark(struct tn__body *body, const struct tn_compile_observer *o)
{
    struct tn_remark remark = {.size = sizeof remark};
    const char **const texts[] = {&remark.pass, &remark.name, &remark.function,
                                  &remark.file, &remark.text, &remark.yaml};
    remark.kind = (enum tn_remark_kind)tn__get_number_to(body, TN_REMARK_FAILURE);
    for (size_t i = 0; i < TN_COUNT(texts); i++)
        *texts[i] = tn__get_text(body);
    remark.line = tn__get_number_to(body, UINT32_MAX);
    remark.column = tn__get_number_to(body, UINT32_MAX);
    body->bad |= !remark.pass || !remark.name || !remark.function || !remark.text || !remark.yaml;
    if (!body->bad && o->remark)
        o->remark(o->context, &remark);
}

static void read_warning(struct tn__body *body, const struct tn_compile_observer *o)
{
    const char *text = tn__get_text(body);
    body->bad |= !text;
    if (!body->bad && o->warning)
        o->warning(o->context, text);
}

/* In the arena; NULL and a mistake if it is no list, or memory is out. */
static const struct tn_function_size *get_sizes(struct tn__body *body, struct tn__arena *arena, size_t *count)
{
    *count = tn__get_number_to(body, TN__FRAME_MOST);
    body->bad |= *count > (size_t)(body->end - body->at) / (3 * sizeof(uint64_t));
    struct tn_function_size *sizes = body->bad ? NULL : tn__arena_array(arena, *count + 1, sizeof *sizes);
    body->bad |= !sizes;
    for (size_t i = 0; i < *count && !body->bad; i++) {
        sizes[i].name = tn__get_text(body);
        sizes[i].instructions = tn__get_number(body);
        sizes[i].blocks = tn__get_number(body);
        body->bad |= !sizes[i].name;
    }
    return sizes;
}

static void read_optimized(struct tn__body *body, const struct tn_compile_observer *o)
{
    struct tn__arena arena = {0};
    struct tn_optimized optimized = {.size = sizeof optimized};
    optimized.module = tn__get_text(body);
    optimized.opt_level = (int)tn__get_number_to(body, 3);
    optimized.ns = tn__get_number(body);
    optimized.before = get_sizes(body, &arena, &optimized.before_count);
    optimized.after = get_sizes(body, &arena, &optimized.after_count);
    body->bad |= !optimized.module;
    if (!body->bad && o->optimized)
        o->optimized(o->context, &optimized);
    tn__arena_free(&arena);
}

bool tn__events_replay(const void *bytes, size_t size, const struct tn_compile_observer *observer)
{
    static void (*const readers[])(struct tn__body *, const struct tn_compile_observer *) = {
        [PHASE] = read_phase,   [COMPILED] = read_compiled, [STAGE] = read_stage,
        [REMARK] = read_remark, [WARNING] = read_warning,   [OPTIMIZED] = read_optimized};
    static const struct tn_compile_observer none = {.size = sizeof none};
    struct tn__body body = {.at = bytes, .end = (const char *)bytes + size, .fd = -1};
    while (body.at < body.end && !body.bad) {
        uint32_t event = tn__get_number_to(&body, OPTIMIZED);
        body.bad |= !event;
        if (!body.bad)
            readers[event](&body, observer ? observer : &none);
    }
    return !body.bad;
}
