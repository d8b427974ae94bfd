/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "ahead_world.h"

struct toy toy;
struct tn_compiler compiler;
static struct tn_compiler plain;

/* ---- compilations that are ahead ---- */

int (*in_compilation)(void);
_Atomic int ahead_parts[TOY_PARTS], called_parts[TOY_PARTS];

static int compile(void *module, const struct tn_part_request *request, struct tn_buffer *object, struct tn_error *err)
{
    const struct tn_pass pass = {.size = sizeof pass, .name = "pass"};
    const struct tn_compile_observer *observer = request->observer;
    (request->cancelled ? ahead_parts : called_parts)[request->part]++;
    if (request->cancelled && in_compilation)
        in_compilation();
    if (request->cancelled && observer->before_pass(observer->context, &pass))
        return tn__fail(err, *request->cancelled ? TN_ECANCELLED : TN_EFATAL, "cancelled");
    return plain.compile(module, request, object, err);
}

/* ---- idle tasks, run when the test says so ---- */

static struct tn_task *tasks[64];
static atomic_size_t task_count; /* threads that are left behind at exit enqueue, too */
static size_t tasks_run;

bool (*instead)(struct tn_task *task);

static void enqueue(void *context, struct tn_task *task)
{
    (void)context;
    if (instead && instead(task))
        return;
    assert_int_equal(tn_task_class(task), TN_TASK_IDLE);
    assert_true(task_count < sizeof tasks / sizeof *tasks);
    tasks[task_count++] = task;
}

void run_idle(void)
{
    for (size_t i = 0; i < task_count; i++, tasks_run++)
        tn_task_run(tasks[i]);
    task_count = 0;
}

/* ---- a JIT that compiles ahead ---- */

int open_world(struct world *w, const struct tn_ahead_options *given, struct tn_error *err)
{
    const struct tn_session_options session = {.size = sizeof session, .dispatch = enqueue};
    struct tn_ahead_options options = {.size = sizeof options, .callees = 1};
    *w = (struct world){0};
    int code = tn_session_create(&session, &w->session, err);
    struct tn_jit_options jit = toy_options(&compiler, true);
    jit.on_error = NULL;
    jit.session = w->session;
    if (!code)
        code = tn_jit_create(&jit, &w->jit, err);
    return code ? code : tn_jit_compile_ahead(w->jit, given ? given : &options, err);
}

void close_world(struct world *w)
{
    tn_jit_destroy(w->jit);
    run_idle();
    tn_session_destroy(w->session);
    assert_int_equal(toy.opens, toy.closes);
}

struct world begin(const struct tn_ahead_options *options, const char *ir)
{
    struct world w;
    struct tn_error err;
    struct tn_jit_module module = toy_module(ir);
    check(open_world(&w, options, &err), &err);
    check(tn_jit_add_module(w.jit, NULL, &module, &err), &err);
    return w;
}

struct tn_ahead_stats stats_of(const struct tn_jit *jit)
{
    struct tn_ahead_stats stats = {.size = sizeof stats};
    tn_ahead_stats(jit, &stats);
    return stats;
}

int prepare(void **state)
{
    (void)state;
    toy = (struct toy){0};
    plain = compiler = toy_compiler(&toy);
    compiler.compile = compile;
    toy_reported = 0;
    in_compilation = NULL;
    instead = NULL;
    for (int i = 0; i < TOY_PARTS; i++)
        ahead_parts[i] = called_parts[i] = 0;
    return 0;
}

const struct tn_ahead_options named_only = {.size = sizeof named_only};
const char *const both[2] = {"first", "second"};

struct tn_prefetch *prefetch(struct tn_jit *jit, const char *const *names, size_t count)
{
    struct tn_error err;
    struct tn_prefetch *handle;
    check(tn_jit_prefetch(jit, names, count, &handle, &err), &err);
    return handle;
}
