/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_image_build: inputs -> one module -> annotated -> shards, each multiplied, optimised and compiled by itself ->
 * tables -> archives. */

#include <stdio.h>

#include "base/at_exit.h"
#include "base/os.h"
#include "codegen/image/build.h"
#include "codegen/llvm/fatal.h"
#include "image/format/format.h"

/* ---- tables and archives ---- */

/* Leaves out what the tables' own object defines. Returns how many remain. */
static size_t leave_own(const struct tn__image_build *b, const char **needs, size_t count)
{
    static const char *const own[] = {".slots", ".values", ".cells"};
    size_t kept = 0, length = strlen(b->options.name);
    for (size_t i = 0; i < count; i++) {
        bool is_own = false;
        for (size_t k = 0; k < TN_COUNT(own); k++)
            is_own |= strncmp(needs[i], b->options.name, length) == 0 && strcmp(needs[i] + length, own[k]) == 0;
        if (!is_own)
            needs[kept++] = needs[i];
    }
    return kept;
}

/* As the versions of functions were compiled. */
static int list_settings(struct tn__image_build *b, struct tn__image_contents *contents)
{
    struct tn__image_setting *settings = tn__arena_array(&b->arena, b->mv.count + 1, sizeof *settings);
    contents->settings = settings;
    for (size_t i = 0; settings && i <= b->mv.count; i++) {
        const struct tn__mv_target *target = i < b->mv.count ? &b->mv.targets[i] : &b->mv.common;
        settings[i] = (struct tn__image_setting){target->cpu, target->features};
    }
    return settings ? 0 : tn__image_no_memory(b);
}

static int write_metadata(struct tn__image_build *b)
{
    struct tn__image_member *objects = b->members[TN_IMAGE_OBJECTS];
    struct tn__image_contents contents = {.image = b->options.name,
                                          .triple = b->triple,
                                          .layout = b->layout,
                                          .targets = b->targets,
                                          .functions = b->functions,
                                          .function_count = b->function_count,
                                          .slots = b->slots,
                                          .cells = b->cells,
                                          .dependencies = b->options.dependencies,
                                          .dependency_count = b->options.dependency_count,
                                          .values = b->values,
                                          .value_count = b->value_count,
                                          .used = b->used,
                                          .offers = b->offers,
                                          .edges = b->edges,
                                          .reliances = b->reliances,
                                          .reliance_count = b->reliance_count,
                                          .reached = b->reached,
                                          .reached_count = b->reached_count,
                                          .kept = b->kept,
                                          .kept_count = b->kept_count,
                                          .shared = b->shared,
                                          .shared_count = b->shared_count,
                                          .opt_level = b->options.opt_level,
                                          .layouts = b->layouts,
                                          .layout_count = b->layout_count,
                                          .saved = b->saved,
                                          .is_managed = b->is_managed};
    const char **needs = NULL;
    size_t need_count = 0;
    int code = list_settings(b, &contents);
    if (code)
        return code;
    if (b->saved && b->saved->view.machine != tn__image_machine(tn_cpu_arch_name(tn_cpu_targets_arch(b->targets))))
        return tn__fail(b->err, TN_EINVAL, "the objects were saved for %s",
                        tn__image_arch_name(b->saved->view.machine));
    if (tn__image_wants(b, TN_IMAGE_OBJECTS))
        code = tn__image_needs(objects, b->shard_count, &b->arena, &needs, &need_count, b->err);
    contents.needs = needs;
    contents.need_count = leave_own(b, needs, need_count);
    for (size_t half = 0; b->saved && half < 2; half++)
        contents.build_id[half] = tn__get64(b->saved->view.header + TN__IMAGE_AT_BUILD_ID + 8 * half);
    for (size_t i = 0; i < b->shard_count && tn__image_wants(b, TN_IMAGE_OBJECTS); i++)
        for (size_t half = 0; half < 2; half++)
            contents.build_id[half] =
                tn__image_checksum(objects[i].content.data, objects[i].content.size, contents.build_id[half] + half);
    struct tn_buffer bitcode = {0};
    if (!code)
        code = tn__image_metadata(&contents, &bitcode, b->err);
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS && !code; kind++)
        if (tn__image_wants(b, kind)) {
            struct tn__image_member *member = &b->members[kind][b->shard_count];
            code = tn__image_compile(b, kind, member->name, &bitcode, &member->content, NULL, b->err);
        }
    tn_buffer_free(&bitcode);
    return code;
}

static bool has_heap(const struct tn__image_build *b)
{
    return b->saved && tn__image_wants(b, TN_IMAGE_OBJECTS);
}

static int write_heap(struct tn__image_build *b)
{
    struct tn__image_member *members = b->members[TN_IMAGE_OBJECTS];
    return has_heap(b) ? tn__saved_object(b->saved, b->options.name, &members[b->shard_count + 1].content, b->err) : 0;
}

static int write_archives(struct tn__image_build *b)
{
    int code = 0;
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS && !code; kind++)
        if (tn__image_wants(b, kind)) {
            size_t count = b->shard_count + 1 + (has_heap(b) && kind == TN_IMAGE_OBJECTS);
            code = tn__image_archive(b->members[kind], count, &b->out[kind], b->err);
        }
    return code;
}

/* ---- options ---- */

static int take_options(struct tn__image_build *b)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    struct tn_image_options *taken = &b->options;
    int code = tn__take_options(taken, sizeof *taken, b->given, "struct tn_image_options", b->err);
    if (code)
        return code;
    if (!b->input_count)
        return tn__fail(b->err, TN_EINVAL, "tn_image_build: no input");
    if (taken->opt_level < 0 || taken->opt_level > 3)
        return tn__fail(b->err, TN_EINVAL, "opt_level is %d; it must be 0 to 3", taken->opt_level);
    for (size_t i = 0; i < taken->value_count; i++)
        if (!taken->values || !taken->values[i].symbol || !taken->values[i].name ||
            taken->values[i].of > TN_IMAGE_VALUE_ROOT)
            return tn__fail(b->err, TN_EINVAL, "value %zu: no symbol, no name, or of an unknown kind", i);
    for (size_t i = 0; i < taken->replaceable_count; i++)
        if (!taken->replaceable || !taken->replaceable[i])
            return tn__fail(b->err, TN_EINVAL, "replaceable function %zu has no name", i);
    if (taken->used_count && (!taken->used || !taken->dependency_count))
        return tn__fail(b->err, TN_EINVAL, "`used` are the inputs of dependencies, and there are none");
    if (taken->outputs >> TN_IMAGE_OUTPUTS)
        return tn__fail(b->err, TN_EINVAL, "outputs has bits that stand for nothing");
    if (taken->shards > TN__IMAGE_SHARDS)
        return tn__fail(b->err, TN_EINVAL, "%zu shards; an image has at most %d", taken->shards, TN__IMAGE_SHARDS);
    taken->name = taken->name ? taken->name : "tn_image";
    size_t length = strspn(taken->name, letters);
    if (!length || length > 200 || taken->name[length] || (*taken->name >= '0' && *taken->name <= '9'))
        return tn__fail(b->err, TN_EINVAL, "'%s' is no name for an image; it must be one for C, of 200 letters at most",
                        taken->name);
    taken->targets = taken->targets && *taken->targets ? taken->targets : "generic";
    taken->outputs = taken->outputs ? taken->outputs : 1 << TN_IMAGE_OBJECTS;
    code = tn__take_options(&b->observer, sizeof b->observer, taken->observer, "struct tn_compile_observer", b->err);
    /* The input is read for any CPU: what functions get depends on the targets, never on the machine that builds. */
    b->compile = (struct tn_compile_options){.size = sizeof b->compile,
                                             .triple = taken->triple,
                                             .cpu = "generic",
                                             .opt_level = taken->opt_level,
                                             .function_sections = 1,
                                             .assembly_files = taken->assembly_files};
    return code;
}

/* The objects for the image to have. */
static int take_objects(struct tn__image_build *b)
{
    const struct tn_image_options *options = &b->options;
    struct tn__saved *saved = options->save || options->objects ? tn__arena_array(&b->arena, 1, sizeof *saved) : NULL;
    b->saved = saved;
    if (!options->save && !options->objects)
        return 0;
    if (!saved)
        return tn__image_no_memory(b);
    if (!options->save)
        return tn__saved_read_file("the objects", options->objects, options->objects_length, &b->arena, saved, b->err);
    *saved = *(const struct tn__saved *)(const void *)options->save;
    return saved->zones ? 0 : tn__fail(b->err, TN_EINVAL, "no objects were taken for this image");
}

/* ---- the phases ---- */

static int prepare(struct tn__image_build *b)
{
    int code = tn__contain(tn__image_prepare, b, b->err);
    if (code)
        return code;
    b->compile.cpu = b->mv.common.cpu; /* of what functions do not say themselves */
    b->compile.features = b->mv.common.features;
    b->compile.triple = b->triple;
    return 0;
}

static void end_prepared(struct tn__image_build *b)
{
    tn__image_dispose_module(b);
    tn_cpu_targets_destroy(b->targets);
    tn__free(NULL, b->functions);
    tn__image_free_items(b);
    tn__image_free_kept(b);
    tn__arena_free(&b->gc.arena);
}

static int make_space(struct tn__image_build *b)
{
    b->is_finished = tn__arena_array(&b->arena, b->shard_count, sizeof *b->is_finished);
    b->parts = tn__arena_array(&b->arena, b->shard_count, sizeof *b->parts);
    if (!b->is_finished || !b->parts)
        return tn__image_no_memory(b);
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS; kind++) {
        struct tn__image_member *members = tn__arena_array(&b->arena, b->shard_count + 2, sizeof *members);
        if (!members)
            return tn__image_no_memory(b);
        for (size_t i = 0; i < b->shard_count; i++)
            snprintf(members[i].name, sizeof members[i].name, "text#%zu.%s", i, tn__image_suffix(kind));
        snprintf(members[b->shard_count].name, sizeof members[0].name, "metadata.%s", tn__image_suffix(kind));
        snprintf(members[b->shard_count + 1].name, sizeof members[0].name, "heap.o");
        b->members[kind] = members;
    }
    return 0;
}

static void end_space(struct tn__image_build *b)
{
    for (size_t i = 0; b->parts && i < b->shard_count; i++)
        tn_buffer_free(&b->parts[i].bitcode);
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS; kind++)
        for (size_t i = 0; b->members[kind] && i <= b->shard_count + 1; i++)
            tn_buffer_free(&b->members[kind][i].content);
}

static int choose_shard(struct tn__image_build *b)
{
    b->end = b->first + 1;
    return b->first < b->shard_count ? 0
                                     : tn__fail(b->err, TN_EINVAL, "there is no shard %zu; the input makes %zu of them",
                                                b->first, b->shard_count);
}

enum { COUNT = 1, SHARD = 2, WHOLE = 4, ANY = COUNT | SHARD | WHOLE }; /* what is wanted of the input */
#define TIMER(member) offsetof(struct tn_image_stats, member##_ns)

static const struct phase {
    unsigned wanted;
    size_t timer; /* 0: its time does not count */
    int (*run)(struct tn__image_build *b);
    void (*end)(struct tn__image_build *b); /* when the build ends, however far it has come; NULL: nothing is left */
} phases[] = {
    {ANY, 0, take_options},
    {ANY, 0, take_objects},
    {ANY, TIMER(prepare), prepare, end_prepared},
    {SHARD | WHOLE, 0, make_space, end_space},
    {SHARD, 0, choose_shard},
    {WHOLE, 0, tn__image_take_shards},
    {SHARD | WHOLE, TIMER(compile), tn__image_compile_shards},
    {SHARD, 0, tn__image_write_shard},
    {WHOLE, TIMER(write), write_metadata},
    {WHOLE, TIMER(write), write_heap},
    {WHOLE, TIMER(write), write_archives},
};

static int run_phase(struct tn__image_build *b, const struct phase *phase)
{
    uint64_t begin = tn__os_now_ns(), *timer = (uint64_t *)(void *)((char *)&b->stats + phase->timer);
    int code = phase->run(b);
    if (phase->timer)
        *timer += tn__os_now_ns() - begin;
    return code;
}

/* `outputs`: how many buffers the caller has for what is wanted. */
static int build(struct tn__image_build *b, unsigned wanted, const struct tn_image_options *options, size_t outputs,
                 struct tn_image_stats *stats)
{
    struct tn_error unread = {0}; /* threads write down what failed in any case */
    int code = 0;
    b->err = b->err ? b->err : &unread;
    b->given = options;
    b->is_whole = wanted == WHOLE;
    for (size_t i = 0; i < outputs; i++)
        b->out[i] = (struct tn_buffer){0};
    if (stats && !tn__size_is_possible(stats->size))
        return tn__fail(b->err, TN_EINVAL, "struct tn_image_stats has size %zu; it has to be its sizeof, here %zu",
                        stats->size, sizeof *stats);
    tn__mutex_init(&b->lock, TN__LEVEL_BUILD);
    pthread_cond_init(&b->extracted_more, NULL);
    for (size_t i = 0; i < TN_COUNT(phases) && !code; i++)
        code = phases[i].wanted & wanted ? run_phase(b, &phases[i]) : 0;
    b->stats.functions = b->function_count;
    b->stats.slots = b->slots;
    b->stats.shards = b->shard_count;
    for (size_t i = 0; i < outputs && code; i++)
        tn_buffer_free(&b->out[i]);
    for (size_t i = TN_COUNT(phases); i-- > 0;)
        if (phases[i].end)
            phases[i].end(b);
    tn__arena_free(&b->arena);
    pthread_cond_destroy(&b->extracted_more);
    tn__mutex_destroy(&b->lock);
    tn__at_exit_renew();
    if (stats)
        tn__give_stats(stats, sizeof b->stats, &b->stats);
    return code;
}

/* ---- the whole, and shards of it ---- */

int tn__image_build(const struct tn_image_input *inputs, size_t count, bool newest_counts,
                    const struct tn_image_options *options, struct tn_buffer *out, struct tn_image_stats *stats,
                    struct tn_error *err)
{
    struct tn__image_build b = {
        .inputs = inputs, .input_count = count, .newest_counts = newest_counts, .out = out, .err = err};
    return build(&b, WHOLE, options, TN_IMAGE_OUTPUTS, stats);
}

int tn_image_build(const struct tn_image_input *inputs, size_t count, const struct tn_image_options *options,
                   struct tn_buffer *out, struct tn_image_stats *stats, struct tn_error *err)
{
    if (!out || (!inputs && count))
        return tn__no_argument(err);
    return tn__image_build(inputs, count, false, options, out, stats, err);
}

int tn_image_build_shard(const struct tn_image_input *inputs, size_t count, const struct tn_image_options *options,
                         size_t shard, struct tn_buffer *out, struct tn_image_stats *stats, struct tn_error *err)
{
    if (!out || (!inputs && count))
        return tn__no_argument(err);
    struct tn__image_build b = {.inputs = inputs, .input_count = count, .first = shard, .out = out, .err = err};
    return build(&b, SHARD, options, 1, stats);
}

int tn_image_count_shards(const struct tn_image_input *inputs, size_t count, const struct tn_image_options *options,
                          size_t *shards, struct tn_error *err)
{
    if (!shards || (!inputs && count))
        return tn__no_argument(err);
    struct tn__image_build b = {.inputs = inputs, .input_count = count, .err = err};
    int code = build(&b, COUNT, options, 0, NULL);
    *shards = code ? 0 : b.shard_count;
    return code;
}
