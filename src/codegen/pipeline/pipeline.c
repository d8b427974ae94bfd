/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Pipelines as texts: checked, and run. */

#include <pthread.h>
#include <string.h>

#include "codegen/managed/passes/passes.h"
#include "codegen/pipeline/optimizer.h"

/* ---- elements ---- */

/* One name between commas; where it is tenon<...>, what stands between < and >. */
struct element {
    const char *name;
    size_t length;
    bool is_all; /* tenon<...> */
    const char *options;
    size_t options_length;
};

static const char all_stages[] = "tenon";

static int lower(struct tn__gc *gc)
{
    return tn__gc_lower(gc, false);
}

/* Stages that are ours. */
static const struct stage {
    const char *name;
    int (*run)(struct tn__gc *gc);
} our_stages[] = {
    {"preparation", tn__gc_prepare},
    {"intrinsic-lowering", lower},
};

/* The end of the element that begins here: a comma outside of <...>, or the end of the text. */
static const char *end_of(const char *at)
{
    for (int depth = 0; *at && (depth > 0 || *at != ','); at++)
        depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
    return at;
}

static struct element read_element(const char *at)
{
    size_t length = (size_t)(end_of(at) - at), name = strlen(all_stages);
    struct element e = {.name = at, .length = length};
    if (length < name || memcmp(at, all_stages, name) != 0)
        return e;
    e.is_all = length == name || (at[name] == '<' && at[length - 1] == '>');
    e.options = at + name + (length > name);
    e.options_length = length > name ? length - name - 2 : 0;
    return e;
}

static const struct stage *find_stage(const struct element *e)
{
    for (size_t i = 0; i < TN_COUNT(our_stages); i++)
        if (strlen(our_stages[i].name) == e->length && memcmp(our_stages[i].name, e->name, e->length) == 0)
            return &our_stages[i];
    return NULL;
}

static bool is_ours(struct element e)
{
    return tn__gc_find_pass(e.name, e.length) < TN__PASSES;
}

/* The elements of a text, with `at` set to each. */
#define EACH_ELEMENT(at, text)                                                                                         \
    const char *at = (text);                                                                                           \
    *at;                                                                                                               \
    at = end_of(at) + (*end_of(at) == ',')

int tn__pipeline_check(const char *text, struct tn_error *err)
{
    for (EACH_ELEMENT(at, text)) {
        struct element e = read_element(at);
        struct tn__stages unused = tn__stages_default(0);
        int code = e.is_all ? tn__stages_parse(e.options, e.options_length, &unused, err)
                   : find_stage(&e) || is_ours(e) || tn__llvm_has_pass(e.name, e.length)
                       ? 0
                       : tn__fail(err, TN_EINVAL, "unknown pass '%.*s'; 'tenon opt' and tn_codegen_passes list them",
                                  (int)e.length, e.name);
        if (code)
            return code;
    }
    return 0;
}

bool tn__pipeline_is_staged(const char *text)
{
    struct element e = read_element(text ? text : all_stages);
    struct tn__stages stages = tn__stages_default(0);
    return e.is_all && tn__stages_parse(e.options, e.options_length, &stages, NULL) == 0 &&
           stages.options & TN__OUR_PASSES;
}

/* ---- names ---- */

struct names {
    const char *list[256];
    size_t count;
};

static void add_name(void *context, const char *name)
{
    struct names *names = context;
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0)
            return;
    if (names->count < TN_COUNT(names->list) - 1)
        names->list[names->count++] = name;
}

static struct names names;

static void list_names(void)
{
    add_name(&names, all_stages);
    for (size_t i = 0; i < TN_COUNT(our_stages); i++)
        add_name(&names, our_stages[i].name);
    for (size_t pass = 0; pass < TN__PASSES; pass++)
        add_name(&names, tn__gc_pass_name(pass));
    tn__llvm_each_pass(add_name, &names);
}

const char *const *tn_codegen_passes(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_names);
    return names.list;
}

/* ---- running ---- */

static void mark(struct tn__gc *gc, const char *marker)
{
    if (gc->watch && tn__watch_begin(gc->watch, marker, gc->module))
        tn__watch_end(gc->watch, marker, gc->module);
}

static int run_pass(struct tn__gc *gc, uint8_t pass)
{
    return tn__gc_run(gc, &pass, 1);
}

struct run {
    struct tn__gc *gc;
    struct tn__watch *watch;
    bool is_managed, is_prepared;
    bool is_unchanged; /* since it was prepared */
};

/* LLVM's stages, with managed code prepared before them. */
static int run_middle(struct run *r, const struct tn__stages *stages)
{
    struct tn__gc *gc = r->gc;
    if (r->is_managed)
        tn__keep_results(gc);
    r->is_unchanged = !tn__llvm_run_stages(gc->module, gc->machine, stages, r->watch) && !gc->options->hook;
    if (r->is_managed)
        tn__release_results(gc);
    tn__gc_optimized(gc);
    return gc->diagnostics->errors ? TN_ECOMPILE : 0;
}

static int run_all(struct run *r, const struct tn__stages *stages)
{
    struct tn__gc *gc = r->gc;
    bool ours = stages->options & TN__OUR_PASSES;
    gc->off = stages->level ? ~stages->options & TN__OPTIMIZATIONS : TN__OPTIMIZATIONS;
    mark(gc, "BeforeOptimization");
    int code = tn__gc_call_hook(gc, TN_HOOK_BEGIN);
    if (!code && ours)
        code = run_pass(gc, TN__PASS_CPU_FEATURES);
    if (!code && ours && r->is_managed && !r->is_prepared)
        code = tn__gc_prepare(gc);
    if (!code)
        code = run_middle(r, stages);
    if (!code)
        code = tn__gc_call_hook(gc, TN_HOOK_OPTIMIZED);
    mark(gc, "BeforeIntrinsicLowering");
    if (!code && ours && r->is_managed && stages->options & TN__LOWER_INTRINSICS)
        code = tn__gc_lower(gc, r->is_unchanged);
    mark(gc, "AfterIntrinsicLowering");
    if (!code && ours && stages->options & TN__REMOVE_NI)
        code = run_pass(gc, TN__PASS_REMOVE_NI);
    mark(gc, "AfterOptimization");
    r->is_prepared = false; /* a second time, everything starts again */
    gc->off = 0;
    return code;
}

/* The passes of ours from here on run as one list, and LLVM's verifier looks at what all of them made. */
static int run_ours(struct tn__gc *gc, const char *at, const char **end)
{
    size_t count = 0, space = strlen(at); /* names are longer than a byte */
    uint8_t *list = tn__alloc(NULL, space);
    if (!list)
        return tn__no_memory(gc->diagnostics->err, gc->diagnostics->name);
    for (struct element e = read_element(at); is_ours(e); e = read_element(*end + (**end == ','))) {
        list[count++] = (uint8_t)tn__gc_find_pass(e.name, e.length);
        *end = e.name + e.length;
    }
    int code = tn__gc_run(gc, list, count);
    tn__free(NULL, list);
    return code;
}

static int run_element(struct run *r, const char *at, const char **end)
{
    struct tn__gc *gc = r->gc;
    struct element e = read_element(at);
    struct tn__stages stages = tn__stages_default(gc->options->opt_level);
    stages.gc = gc;
    *end = at + e.length;
    if (e.is_all) {
        tn__stages_parse(e.options, e.options_length, &stages, NULL); /* was checked */
        stages.options |= r->is_managed && stages.options & TN__OUR_PASSES ? TN__MANAGED : 0;
        return run_all(r, &stages);
    }
    if (find_stage(&e))
        return find_stage(&e)->run(gc);
    if (is_ours(e))
        return run_ours(gc, at, end);
    stages.level += stages.level ? 0 : 2; /* stages of level 0 have no passes */
    stages.options |= r->is_managed ? TN__MANAGED : 0;
    tn__llvm_run_pass(gc->module, gc->machine, e.name, e.length, &stages, r->watch);
    tn__gc_optimized(gc);
    return gc->diagnostics->errors ? TN_ECOMPILE : 0;
}

int tn__pipeline_run(struct tn__gc *gc, bool is_managed, bool is_prepared, const struct tn_compile_observer *observer)
{
    const char *text = gc->options->passes ? gc->options->passes : all_stages;
    struct run r = {gc, tn__watch_create(observer), is_managed, is_prepared};
    gc->watch = tn__watch_is_observed(r.watch) ? r.watch : NULL;
    tn__gc_begin(gc);
    int code = *text ? 0 : tn__gc_run(gc, NULL, 0);
    for (const char *end; *text && !code; text = end + (*end == ','))
        code = run_element(&r, text, &end);
    if (!code && gc->counters)
        code = run_pass(gc, TN__PASS_COUNT_CALLS);
    tn__gc_end(gc);
    gc->watch = NULL;
    tn__watch_destroy(r.watch);
    return code;
}
