/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tn_image_build: inputs -> one module -> annotated -> shards, each multiplied, optimised and compiled by itself -> tables ->
 * archives. One context holds the module, and a shard is taken out of it by one thread at a time; what takes long, compiling,
 * happens in contexts of the threads' own. */

#include <pthread.h>
#include <stdio.h>

#include "base/os.h"
#include "codegen/image/image.h"
#include "codegen/image/join.h"
#include "codegen/llvm.h"
#include "image/format.h"

/* Functions up to so many instructions are worth a copy in every shard that calls them. */
enum { INLINE_SIZE = 40 };

struct build {
    const struct tn_image_input *inputs;
    size_t input_count;
    struct tn_image_options options;
    struct tn_image_stats stats;
    struct tn_error *err;

    struct tn_compile_options compile; /* of the module, then of its shards */
    struct tn__unit unit;
    struct tn_cpu_targets *targets;
    struct tn__mv mv;
    struct tn__split *split; /* of unit.module; whole: the module is one shard */
    char *triple, *layout;   /* in the arena */
    size_t slots;
    bool has_constructors;
    struct tn__image_function *functions;
    size_t function_count, function_capacity;
    struct tn__arena arena;

    pthread_mutex_t lock; /* of what follows, and of the module */
    size_t shard_count, next;
    int code;                                           /* the first error; nobody begins another shard then */
    struct tn__image_member *members[TN_IMAGE_OUTPUTS]; /* by shard; of objects one more */
};

static int out_of_memory(struct build *b)
{
    return tn__fail(b->err, TN_ENOMEM, "out of memory while building an image");
}

/* ---- one module ---- */

static int join_input(struct build *b, const struct tn_image_input *input)
{
    struct tn__unit other = {.name = input->name, .options = &b->compile};
    int code = tn__unit_read(&other, input->ir, input->length, false, b->err);
    if (code == TN_OK && strcmp(other.target->triple, b->unit.target->triple) != 0)
        code = tn__fail(b->err, TN_EINVAL, "%s is for %s, %s for %s", input->name, other.target->triple, b->unit.name,
                        b->unit.target->triple);
    LLVMModuleRef module = other.module;
    b->unit.managed = b->unit.managed || other.managed;
    if (code == TN_OK) {
        other.module = NULL;
        b->unit.diagnostics.name = input->name;
        if (!tn__image_join(b->unit.module, module))
            code = TN_ECOMPILE; /* the diagnostics have said why */
    }
    tn__unit_dispose(&other);
    return code;
}

static int read_inputs(struct build *b)
{
    b->unit.name = b->inputs[0].name;
    b->unit.options = &b->compile;
    int code = tn__unit_read(&b->unit, b->inputs[0].ir, b->inputs[0].length, false, b->err);
    for (size_t i = 1; i < b->input_count && code == TN_OK; i++)
        code = join_input(b, &b->inputs[i]);
    return code;
}

/* ---- targets ---- */

static int choose_targets(struct build *b)
{
    struct tn_cpu host = {.size = sizeof host};
    struct tn_cpu_parse_options options = {.size = sizeof options, .native = b->options.native};
    options.arch = tn_cpu_arch_find(b->unit.target->triple);
    if (!options.arch)
        return tn__fail(b->err, TN_ENOTSUP, "no CPUs are known of %s", b->unit.target->triple);
    int code = TN_OK;
    if (!options.native && options.arch == tn_cpu_arch_host()) {
        code = tn_cpu_host(&host, b->err);
        options.native = &host;
    }
    if (code == TN_OK)
        code = tn_cpu_parse_targets(b->options.targets, &options, &b->targets, b->err);
    if (code == TN_OK)
        code = tn__image_versions(b->targets, b->unit.target->names, b->options.name, &b->arena, &b->mv, b->err);
    if (code == TN_OK && b->unit.managed && b->mv.count > 1)
        return tn__fail(b->err, TN_ENOTSUP, "%s: managed code can be built for one target only", b->unit.name);
    return code;
}

static int keep_roots(struct build *b)
{
    const struct tn_image_options *options = &b->options;
    const char **roots = tn__arena_array(&b->arena, options->root_count + 1, sizeof *roots);
    size_t known = 0;
    if (!roots)
        return out_of_memory(b);
    for (size_t i = 0; i < options->root_count; i++) {
        if (tn__mv_defines(b->unit.module, options->roots[i]))
            roots[known++] = options->roots[i];
        else if (!options->unknown_root || options->unknown_root(options->context, i))
            return tn__fail(b->err, TN_EUNDEF, "root '%s' is not defined, or not public", options->roots[i]);
    }
    if (options->root_count)
        tn__mv_keep(b->unit.module, roots, known);
    return TN_OK;
}

/* ---- shards ---- */

static int divide(struct build *b)
{
    size_t parts = tn__split_parts(b->split);
    uint64_t *weights = tn__arena_array(&b->arena, parts, sizeof *weights);
    size_t *shard_of = tn__arena_array(&b->arena, parts, sizeof *shard_of);
    if (!weights || !shard_of)
        return out_of_memory(b);
    for (size_t i = 0; i < parts; i++)
        weights[i] = tn__split_weight(b->split, i);
    b->shard_count = tn__image_plan(weights, parts, shard_of);
    if (!b->shard_count)
        return out_of_memory(b);
    tn__split_regroup(b->split, shard_of, b->shard_count);
    return TN_OK;
}

static bool add_function(void *context, const struct tn__mv_function *function)
{
    struct build *b = context;
    char *name = tn__arena_text(&b->arena, function->name, strlen(function->name));
    if (!name || !tn__grow(NULL, &b->functions, &b->function_capacity, b->function_count + 1, sizeof *b->functions))
        return false;
    b->functions[b->function_count++] = (struct tn__image_function){name, function->clones, function->slot,
                                                                    function->is_public, function->entry_is_body};
    b->stats.versions += (unsigned)__builtin_popcountll(function->clones);
    return true;
}

/* Names of what was local get a number that tells images of one program apart. */
static uint64_t number_of(const char *image)
{
    return tn__image_checksum(image, strlen(image), 0) & UINT32_MAX;
}

static int prepare(void *user)
{
    struct build *b = user;
    int code = read_inputs(b);
    if (code == TN_OK)
        code = choose_targets(b);
    if (code == TN_OK)
        code = keep_roots(b);
    if (code != TN_OK)
        return code;
    b->slots = tn__mv_annotate(b->unit.module, &b->mv);
    b->has_constructors = LLVMGetNamedGlobal(b->unit.module, "llvm.global_ctors") != NULL;
    b->triple = tn__arena_text(&b->arena, b->unit.target->triple, strlen(b->unit.target->triple));
    b->layout = tn__arena_text(&b->arena, b->unit.target->layout, strlen(b->unit.target->layout));
    b->shard_count = 1;
    b->split = tn__split_create(b->unit.module, number_of(b->options.name), false);
    if (!b->triple || !b->layout || !tn__mv_each(b->unit.module, add_function, b))
        return out_of_memory(b);
    return tn__split_is_whole(b->split) ? TN_OK : divide(b);
}

static void multiply(void *context, LLVMModuleRef part)
{
    struct build *b = context;
    tn__mv_multiply(part, &b->mv);
}

struct extraction {
    struct build *b;
    size_t shard;
    struct tn_buffer *out;
};

static int extract(void *user)
{
    struct extraction *e = user;
    struct build *b = e->b;
    if (!tn__split_is_whole(b->split)) {
        struct tn__extraction how = {.inline_size = INLINE_SIZE, .finish = multiply, .context = b};
        return tn__split_extract(b->split, e->shard, &how, e->out) ? TN_OK : TN_ENOMEM;
    }
    multiply(b, b->unit.module);
    return tn__llvm_write_bitcode(b->unit.module, e->out) ? TN_OK : TN_ENOMEM;
}

/* ---- compiling ---- */

static const struct {
    const char *suffix;
    enum tn_emit emit;
} kinds[TN_IMAGE_OUTPUTS] = {
    [TN_IMAGE_OBJECTS] = {"o", TN_EMIT_OBJECT},
    [TN_IMAGE_BITCODE] = {"bc", TN_EMIT_BITCODE},
    [TN_IMAGE_UNOPTIMIZED] = {"bc", TN_EMIT_BITCODE},
    [TN_IMAGE_ASSEMBLY] = {"s", TN_EMIT_ASM},
};

static bool wants(const struct build *b, size_t kind)
{
    return b->options.outputs >> kind & 1;
}

/* Compiles one module to one kind of output. */
static int compile_as(const struct build *b, size_t kind, const char *name, const struct tn_buffer *bitcode,
                      struct tn_buffer *out, struct tn_error *err)
{
    struct tn_compile_options options = b->compile;
    struct tn_compile_observer nobody = {.size = sizeof nobody};
    options.emit = kinds[kind].emit;
    if (kind == TN_IMAGE_UNOPTIMIZED)
        return tn__buffer_fill(out, bitcode->data, bitcode->size) ? TN_OK
                                                                  : tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    return tn__compile_part(name, bitcode, &options, &nobody, out, NULL, err);
}

static int compile_shard(struct build *b, size_t shard, const struct tn_buffer *bitcode, struct tn_error *err)
{
    int code = TN_OK;
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS && code == TN_OK; kind++)
        if (wants(b, kind)) {
            struct tn__image_member *member = &b->members[kind][shard];
            snprintf(member->name, sizeof member->name, "text#%zu.%s", shard, kinds[kind].suffix);
            code = compile_as(b, kind, member->name, bitcode, &member->content, err);
        }
    return code;
}

/* Takes the next shard and its bitcode; false if there is none, or one has failed. */
static bool take_shard(struct build *b, size_t *shard, struct tn_buffer *bitcode)
{
    pthread_mutex_lock(&b->lock);
    bool found = b->code == TN_OK && b->next < b->shard_count;
    if (found) {
        *shard = b->next++;
        b->code = tn__contain(extract, &(struct extraction){b, *shard, bitcode}, b->err);
        if (b->code == TN_ENOMEM)
            out_of_memory(b);
        found = b->code == TN_OK;
    }
    pthread_mutex_unlock(&b->lock);
    return found;
}

static void *work(void *user)
{
    struct build *b = user;
    size_t shard;
    struct tn_buffer bitcode = {0};
    struct tn_error err;
    while (take_shard(b, &shard, &bitcode)) {
        int code = compile_shard(b, shard, &bitcode, &err);
        tn_buffer_free(&bitcode);
        pthread_mutex_lock(&b->lock);
        if (code != TN_OK && b->code == TN_OK) {
            b->code = code;
            tn__fail(b->err, code, "%s", err.text);
        }
        pthread_mutex_unlock(&b->lock);
    }
    return NULL;
}

/* This thread is one of those that work; fewer than asked for is no error. */
static int compile_all(struct build *b)
{
    enum { MOST = 256 };
    pthread_t threads[MOST];
    size_t wanted = (size_t)tn__min64(tn__min64(b->options.threads, b->shard_count), MOST), started = 0;
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, work, b) == 0)
        started++;
    work(b);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return b->code;
}

/* ---- tables and archives ---- */

static int write_metadata(struct build *b)
{
    struct tn__image_member *objects = b->members[TN_IMAGE_OBJECTS];
    struct tn__image_contents contents = {.image = b->options.name,
                                          .triple = b->triple,
                                          .layout = b->layout,
                                          .targets = b->targets,
                                          .functions = b->functions,
                                          .function_count = b->function_count,
                                          .slots = b->slots,
                                          .has_constructors = b->has_constructors};
    const char **needs = NULL;
    size_t need_count = 0;
    int code = TN_OK;
    if (wants(b, TN_IMAGE_OBJECTS))
        code = tn__image_needs(objects, b->shard_count, &b->arena, &needs, &need_count, b->err);
    /* The slots, which the tables' own object defines. */
    char slots[256];
    snprintf(slots, sizeof slots, "%s.slots", b->options.name);
    for (size_t i = 0; i < need_count; i++)
        if (strcmp(needs[i], slots) == 0) {
            memmove(needs + i, needs + i + 1, (--need_count - i) * sizeof *needs);
            break;
        }
    contents.needs = needs;
    contents.need_count = need_count;
    for (size_t i = 0; i < b->shard_count && wants(b, TN_IMAGE_OBJECTS); i++)
        for (size_t half = 0; half < 2; half++)
            contents.build_id[half] =
                tn__image_checksum(objects[i].content.data, objects[i].content.size, contents.build_id[half] + half);
    struct tn_buffer bitcode = {0};
    if (code == TN_OK)
        code = tn__image_metadata(&contents, &bitcode, b->err);
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS && code == TN_OK; kind++)
        if (wants(b, kind)) {
            struct tn__image_member *member = &b->members[kind][b->shard_count];
            snprintf(member->name, sizeof member->name, "metadata.%s", kinds[kind].suffix);
            code = compile_as(b, kind, member->name, &bitcode, &member->content, b->err);
        }
    tn_buffer_free(&bitcode);
    return code;
}

static int write_archives(struct build *b, struct tn_buffer *out)
{
    int code = write_metadata(b);
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS && code == TN_OK; kind++)
        if (wants(b, kind))
            code = tn__image_archive(b->members[kind], b->shard_count + 1, &out[kind], b->err);
    return code;
}

/* ---- the whole ---- */

/* Runs one step and notes how long it took. */
static uint64_t timed(uint64_t begin, uint64_t *took)
{
    uint64_t now = tn__os_now_ns();
    *took = now - begin;
    return now;
}

static int build(struct build *b, struct tn_buffer *out)
{
    uint64_t now = tn__os_now_ns();
    int code = tn__contain(prepare, b, b->err);
    now = timed(now, &b->stats.prepare_ns);
    if (code != TN_OK)
        return code;
    b->compile.cpu = b->mv.common.cpu; /* of what functions do not say themselves */
    b->compile.features = b->mv.common.features;
    b->compile.triple = b->triple;
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS; kind++) {
        b->members[kind] = tn__arena_array(&b->arena, b->shard_count + 1, sizeof *b->members[kind]);
        if (!b->members[kind])
            return out_of_memory(b);
    }
    code = compile_all(b);
    now = timed(now, &b->stats.compile_ns);
    if (code == TN_OK)
        code = write_archives(b, out);
    timed(now, &b->stats.write_ns);
    return code;
}

static int dispose_contained(void *user)
{
    struct build *b = user;
    if (b->split)
        tn__split_dispose(b->split);
    tn__unit_dispose(&b->unit);
    return TN_OK;
}

static void dispose(struct build *b, int code)
{
    if (code != TN_EFATAL) /* LLVM left it as it happened to be */
        tn__contain(dispose_contained, b, NULL);
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS; kind++)
        for (size_t i = 0; b->members[kind] && i <= b->shard_count; i++)
            tn_buffer_free(&b->members[kind][i].content);
    tn_cpu_targets_destroy(b->targets);
    tn__free(NULL, b->functions);
    tn__arena_free(&b->arena);
    pthread_mutex_destroy(&b->lock);
}

static bool is_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = strspn(name, letters);
    return length && length <= 200 && !name[length] && !(*name >= '0' && *name <= '9');
}

static int take_options(struct build *b, const struct tn_image_options *options)
{
    struct tn_image_options *taken = &b->options;
    int code = tn__take_options(taken, sizeof *taken, options, "struct tn_image_options", b->err);
    if (code != TN_OK)
        return code;
    if (!b->input_count)
        return tn__fail(b->err, TN_EINVAL, "tn_image_build: no input");
    if (taken->opt_level < 0 || taken->opt_level > 3)
        return tn__fail(b->err, TN_EINVAL, "opt_level is %d; it must be 0 to 3", taken->opt_level);
    if (taken->outputs >> TN_IMAGE_OUTPUTS)
        return tn__fail(b->err, TN_EINVAL, "outputs has bits that stand for nothing");
    taken->name = taken->name ? taken->name : "tn_image";
    if (!is_name(taken->name))
        return tn__fail(b->err, TN_EINVAL, "'%s' is no name for an image; it must be one for C, of 200 letters at most",
                        taken->name);
    taken->targets = taken->targets && *taken->targets ? taken->targets : "generic";
    taken->outputs = taken->outputs ? taken->outputs : 1 << TN_IMAGE_OBJECTS;
    b->compile = (struct tn_compile_options){
        .size = sizeof b->compile, .triple = taken->triple, .opt_level = taken->opt_level, .function_sections = 1};
    return TN_OK;
}

int tn_image_build(const struct tn_image_input *inputs, size_t count, const struct tn_image_options *options,
                   struct tn_buffer *out, struct tn_image_stats *stats, struct tn_error *err)
{
    struct tn_error unread = {0}; /* threads write down what failed in any case */
    struct build b = {.inputs = inputs, .input_count = count, .err = err ? err : &unread};
    memset(out, 0, TN_IMAGE_OUTPUTS * sizeof *out);
    if (stats && !tn__size_is_possible(stats->size))
        return tn__fail(err, TN_EINVAL, "struct tn_image_stats has size %zu; it has to be its sizeof, here %zu",
                        stats->size, sizeof *stats);
    int code = take_options(&b, options);
    if (code != TN_OK)
        return code;
    pthread_mutex_init(&b.lock, NULL);
    code = build(&b, out);
    b.stats.functions = b.function_count;
    b.stats.slots = b.slots;
    b.stats.shards = b.shard_count;
    for (size_t kind = 0; code != TN_OK && kind < TN_IMAGE_OUTPUTS; kind++)
        tn_buffer_free(&out[kind]);
    dispose(&b, code);
    if (stats)
        tn__give_stats(stats, sizeof b.stats, &b.stats);
    return code;
}
