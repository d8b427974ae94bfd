/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The first half of building an image: what is common to all shards. The result has to be the same in every process
 * that compiles one of them. */

#include <stdio.h>

#include "codegen/image/build.h"
#include "codegen/llvm/arguments.h"
#include "codegen/llvm/fatal.h"
#include "codegen/managed/passes/passes.h"
#include "image/format/format.h"
#include "image/heap/layouts.h"

/* ---- layouts ---- */

/* The types that the code of an image was compiled with: the descriptors that its input defines. Saved objects of these
 * names have to be laid out alike. Those that the image is going to have are compared here, those of images that it
 * depends on when it is opened, for which the image has a table. */

/* What saved objects' type the descriptor stands for: the one whose address a value gives it, or else the one of its
 * name. */
static const char *name_of(const struct tn__image_build *b, const struct tn__descriptor *d)
{
    const struct tn_image_options *options = &b->options;
    size_t length;
    const char *symbol = LLVMGetValueName2(d->global, &length);
    for (size_t i = 0; i < options->value_count; i++)
        if (options->values[i].of == TN_IMAGE_VALUE_TYPE && strcmp(options->values[i].symbol, symbol) == 0)
            return options->values[i].name;
    return tn__descriptor_name(b->unit.module, d);
}

static int add_layout(struct tn__image_build *b, const struct tn__descriptor *d)
{
    struct tn_type *type = &b->layouts[b->layout_count];
    bool out_of_memory = false;
    const char *name = name_of(b, d);
    if (!tn__descriptor_type(b->unit.module, d, &b->arena, type, &out_of_memory))
        return out_of_memory ? tn__image_no_memory(b) : 0;
    type->name = tn__arena_text(&b->arena, name, strlen(name));
    b->layout_count++;
    return type->name ? 0 : tn__image_no_memory(b);
}

/* Finds the type descriptors of the joined module, and compares them with the types of the objects that the image is to
 * have. TN_ENOTSUP (one differs), TN_EFORMAT, TN_ENOMEM. */
static int image_take_layouts(struct tn__image_build *b)
{
    const struct tn_image_options *options = &b->options;
    LLVMModuleRef module = b->unit.module;
    struct tn__descriptor d;
    size_t count = 0;
    int code = 0;
    if (!b->saved && !options->value_count && !options->dependency_count)
        return 0;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        count += tn__read_descriptor(module, g, &d);
    b->layouts = tn__arena_array(&b->arena, count + 1, sizeof *b->layouts);
    if (!b->layouts)
        return tn__image_no_memory(b);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g && !code; g = LLVMGetNextGlobal(g))
        if (tn__read_descriptor(module, g, &d))
            code = add_layout(b, &d);
    for (size_t i = 0; i < b->layout_count && b->saved && !code; i++)
        code = tn__saved_check_type(b->saved, options->name, &b->layouts[i], b->err);
    return code;
}

/* ---- one module ---- */

static int join_input(struct tn__image_build *b, const struct tn_image_input *input)
{
    struct tn__unit other = {.name = input->name, .file = b->options.name, .options = &b->compile, .is_written = true};
    int code = tn__unit_read(&other, input->ir, input->length, TN__READ, b->err);
    if (!code && strcmp(other.target->triple, b->unit.target->triple) != 0)
        code = tn__fail(b->err, TN_EINVAL, "%s is for %s, %s for %s", input->name, other.target->triple, b->unit.name,
                        b->unit.target->triple);
    LLVMModuleRef module = other.module;
    b->unit.managed = b->unit.managed || other.managed;
    if (!code) {
        other.module = NULL;
        b->unit.diagnostics.name = input->name;
        if (!tn__image_join(b->unit.module, module, b->newest_counts))
            code = TN_ECOMPILE; /* the diagnostics have said why */
    }
    tn__unit_dispose(&other);
    return code;
}

static int read_inputs(struct tn__image_build *b)
{
    size_t at = 0, space = sizeof b->input_names; /* as many names as fit */
    for (size_t i = 0; i < b->input_count && at < space; i++)
        at += (size_t)snprintf(b->input_names + at, space - at, "%s%s", i ? ", " : "", b->inputs[i].name);
    if (at >= space)
        memcpy(b->input_names + space - sizeof "...", "...", sizeof "...");
    b->unit.name = b->inputs[0].name;
    b->unit.file = b->options.name; /* not the input's name, which may differ in another process */
    b->unit.options = &b->compile;
    b->unit.is_written = true;
    int code = tn__unit_read(&b->unit, b->inputs[0].ir, b->inputs[0].length, TN__READ, b->err);
    for (size_t i = 1; i < b->input_count && !code; i++)
        code = join_input(b, &b->inputs[i]);
    return code;
}

/* ---- targets ---- */

static int choose_targets(struct tn__image_build *b)
{
    struct tn_cpu_parse_options options = {
        .size = sizeof options, .native = b->options.native, .image = b->options.image_targets};
    options.arch = tn_cpu_arch_find(b->unit.target->triple);
    if (!options.arch)
        return tn__fail(b->err, TN_ENOTSUP, "no CPUs are known of %s", b->unit.target->triple);
    if (!options.native && options.arch == tn_cpu_arch_host()) {
        options.native = tn__native_host();
        if (!options.native)
            return tn__image_no_memory(b);
    }
    int code = tn_cpu_parse_targets(b->options.targets, &options, &b->targets, b->err);
    if (!code)
        code = tn__image_versions(b->targets, b->unit.target->names, b->options.name, &b->arena, &b->mv, b->err);
    return code;
}

static uint32_t rows_of(const struct tn__saved *saved, enum tn__image_table kind)
{
    return saved ? saved->view.tables[kind].count : 0;
}

enum { HANDLERS = 2 };

/* Symbols whose addresses saved objects have, if the input defines them. */
static void keep_bound(struct tn__image_build *b, enum tn__image_table kind, uint32_t name)
{
    for (uint32_t i = 0; i < rows_of(b->saved, kind); i++) {
        bool is_local, is_symbol = true;
        const uint8_t *row = tn__image_row(&b->saved->view.tables[kind], i);
        if (kind == TN__IMAGE_PATCH_TABLE)
            is_symbol = tn__get32(row + TN__IMAGE_PATCH_OF) == TN__PATCH_SYMBOL;
        const char *symbol = is_symbol ? tn__image_text(&b->saved->view, row + name) : NULL;
        if (symbol && tn__mv_defines(b->unit.module, symbol, &is_local))
            b->roots[b->root_count++] = symbol;
    }
}

static int mark_replaceable(struct tn__image_build *b)
{
    const struct tn_image_options *options = &b->options;
    const char *refused = NULL;
    if ((options->all_replaceable || options->replaceable_count) &&
        !tn__mv_mark_replaceable(b->unit.module, options->replaceable,
                                 options->all_replaceable ? 0 : options->replaceable_count, &refused))
        return tn__fail(b->err, TN_EUNDEF,
                        "'%s' cannot be replaceable: the input defines no public function of that name", refused);
    return 0;
}

/* The names of roots that have a signature, where the input has a function with that; NULL: no memory. */
static const char **names_by_signature(struct tn__image_build *b)
{
    size_t count = b->options.root_count;
    const char **names = tn__arena_array(&b->arena, count + 1, sizeof *names);
    if (names && b->options.root_signatures) {
        memcpy(names, b->options.roots, count * sizeof *names);
        tn__mv_find_signatures(b->unit.module, b->options.root_signatures, count, names);
    }
    return names;
}

/* What the pass lower-handlers makes calls of, although nothing names it yet. */
static void keep_handlers(struct tn__image_build *b)
{
    static const char *const names[HANDLERS][2] = {{"tenon.except_enter", "tenon_enter_handler"},
                                                   {"julia.except_enter", "ijl_enter_handler"}};
    bool is_local;
    for (size_t i = 0; i < HANDLERS; i++)
        if (LLVMGetNamedFunction(b->unit.module, names[i][0]) && tn__mv_defines(b->unit.module, names[i][1], &is_local))
            b->roots[b->root_count++] = names[i][1];
}

static int keep_roots(struct tn__image_build *b)
{
    const struct tn_image_options *options = &b->options;
    size_t bound = (size_t)rows_of(b->saved, TN__IMAGE_BINDING_TABLE) + rows_of(b->saved, TN__IMAGE_PATCH_TABLE);
    size_t replaceable = options->all_replaceable ? 0 : options->replaceable_count;
    b->roots = tn__arena_array(&b->arena, options->root_count + bound + replaceable + HANDLERS + 1, sizeof *b->roots);
    const char **named = names_by_signature(b);
    if (!b->roots || !named)
        return tn__image_no_memory(b);
    for (size_t i = 0; i < options->root_count; i++) {
        bool is_local;
        const char *name = named[i] ? named[i] : options->roots[i];
        if (tn__mv_defines(b->unit.module, name, &is_local))
            b->roots[b->root_count++] = name;
        else if (!options->unknown_root || options->unknown_root(options->context, i, is_local))
            return tn__fail(b->err, TN_EUNDEF, "root '%s' is not defined, or not public", options->roots[i]);
    }
    if (options->root_count && !b->root_count)
        return tn__fail(b->err, TN_EUNDEF, "none of the %zu roots is defined and public", options->root_count);
    for (size_t i = 0; i < replaceable; i++)
        b->roots[b->root_count++] = options->replaceable[i];
    keep_bound(b, TN__IMAGE_BINDING_TABLE, TN__IMAGE_BINDING_NAME);
    keep_bound(b, TN__IMAGE_PATCH_TABLE, TN__IMAGE_PATCH_INDEX);
    keep_handlers(b);
    if (options->root_count)
        tn__mv_keep(b->unit.module, b->roots, b->root_count);
    if (options->has_only_copies)
        tn__mv_drop_keys(b->unit.module);
    return 0;
}

/* Words are numbered in the order of the rows that are used. */
static int load_values(struct tn__image_build *b)
{
    const struct tn_image_options *options = &b->options;
    b->values = tn__arena_array(&b->arena, options->value_count + 1, sizeof *b->values);
    if (!b->values)
        return tn__image_no_memory(b);
    snprintf(b->values_symbol, sizeof b->values_symbol, "%s.values", options->name);
    for (size_t i = 0; i < options->value_count; i++) {
        const struct tn_image_value *value = &options->values[i];
        const char *owner = NULL;
        bool used = false;
        if (!tn__mv_load_address(b->unit.module, value->symbol, b->values_symbol, b->value_count, &used, &owner))
            return tn__fail(b->err, TN_ENOTSUP,
                            "the initial value of '%s' refers to '%s', whose address is known when the image is opened",
                            owner, value->symbol);
        if (used)
            b->values[b->value_count++] = *value;
    }
    return 0;
}

/* Tells the client what is undefined; intrinsics are lowered. */
static void tell_undefined(void *context, const char *name)
{
    static const char *const intrinsics[] = {"llvm.", "julia.", "tenon."};
    const struct tn__image_build *b = context;
    for (size_t i = 0; i < TN_COUNT(intrinsics); i++)
        if (!strncmp(name, intrinsics[i], strlen(intrinsics[i])))
            return;
    if (strcmp(name, b->values_symbol) != 0)
        b->options.undefined(b->options.context, name);
}

/* Managed code is normalised and verified once, not version by version; so errors use the names of the input. */
static int prepare_managed(struct tn__image_build *b)
{
    struct tn__unit *unit = &b->unit;
    if (!unit->managed)
        return 0;
    b->gc = (struct tn__gc){.module = unit->module, .context = unit->context, .diagnostics = &unit->diagnostics};
    b->gc.options = &b->compile;
    tn__gc_add_ni(&b->gc); /* the first input may not have been managed */
    return tn__gc_prepare(&b->gc);
}

/* ---- shards ---- */

static int divide(struct tn__image_build *b)
{
    size_t parts = tn__split_parts(b->split);
    uint64_t *weights = tn__arena_array(&b->arena, parts, sizeof *weights);
    size_t *shard_of = tn__arena_array(&b->arena, parts, sizeof *shard_of);
    if (!weights || !shard_of)
        return tn__image_no_memory(b);
    for (size_t i = 0; i < parts; i++)
        weights[i] = tn__split_weight(b->split, i);
    bool whole = tn__split_is_whole(b->split);
    b->shard_count = whole ? 1 : tn__image_plan(weights, parts, b->options.shards, shard_of);
    b->weights = b->shard_count ? tn__arena_array(&b->arena, b->shard_count, sizeof *b->weights) : NULL;
    if (!b->weights)
        return tn__image_no_memory(b);
    if (!whole)
        tn__split_regroup(b->split, shard_of, b->shard_count);
    for (size_t i = 0; i < parts; i++)
        b->weights[shard_of[i]] += weights[i];
    return 0;
}

static bool add_function(void *context, const struct tn__mv_function *function)
{
    struct tn__image_build *b = context;
    char *name = tn__arena_text(&b->arena, function->name, strlen(function->name));
    if (!name || !tn__grow(NULL, &b->functions, &b->function_capacity, b->function_count + 1, sizeof *b->functions))
        return false;
    b->functions[b->function_count++] = (struct tn__shard_function){
        .name = name,
        .clones = function->clones,
        .slot = function->slot,
        .cell = function->cell,
        .opaque = function->opaque,
        .is_public = function->is_public,
        .entry_is_body = function->entry_is_body,
    };
    b->stats.versions += (unsigned)__builtin_popcountll(function->clones);
    return true;
}

/* ---- fingerprint ---- */

static void mix(struct tn__image_build *b, const void *bytes, size_t size)
{
    for (size_t half = 0; half < TN_COUNT(b->fingerprint); half++)
        b->fingerprint[half] = tn__image_checksum(bytes, size, b->fingerprint[half] + half);
}

static void mix_text(struct tn__image_build *b, const char *text)
{
    mix(b, text, strlen(text));
}

/* Everything that the contents of a shard depend on, except its number. The names of inputs do not count, as they may
 * differ on another machine. An observer may leave passes out; what it does is unknown, but not that there is one. */
static int take_fingerprint(struct tn__image_build *b)
{
    uint64_t numbers[] = {(uint64_t)b->options.opt_level,
                          b->options.outputs,
                          b->shard_count,
                          b->mv.count,
                          b->newest_counts,
                          b->observer.before_pass != NULL,
                          b->options.all_replaceable != 0,
                          b->options.keep_ir != 0};
    mix(b, numbers, sizeof numbers);
    const char *const texts[] = {tn_version(), tn_codegen_llvm_version(), tn__llvm_arguments_taken(), b->options.name,
                                 b->triple};
    for (size_t i = 0; i < TN_COUNT(texts); i++)
        mix_text(b, texts[i]);
    for (size_t i = 0; i < b->mv.count; i++) {
        const struct tn__mv_target *target = &b->mv.targets[i];
        uint64_t flags[] = {target->clone_all, target->opt_size, target->min_size, target->wanted, target->base};
        mix_text(b, target->cpu);
        mix_text(b, target->features);
        mix(b, flags, sizeof flags);
    }
    for (size_t i = 0; i < b->root_count; i++)
        mix_text(b, b->roots[i]);
    for (size_t i = 0; i < b->options.replaceable_count; i++)
        mix_text(b, b->options.replaceable[i]);
    for (size_t i = 0; i < b->value_count; i++) {
        mix_text(b, b->values[i].symbol);
        mix_text(b, b->values[i].name);
        mix(b, &b->values[i].of, sizeof b->values[i].of);
    }
    for (size_t i = 0; i < b->input_count; i++)
        mix(b, b->inputs[i].ir, b->inputs[i].length);
    for (size_t i = 0; i < b->options.used_count; i++)
        mix(b, b->options.used[i].ir, b->options.used[i].length);
    return 0;
}

/* ---- the whole ---- */

static int check_name(struct tn__image_build *b)
{
    bool is_local;
    if (!tn__mv_defines(b->unit.module, b->options.name, &is_local))
        return 0;
    return tn__fail(b->err, TN_EDUP, "the image cannot be called '%s': the input defines a symbol of that name",
                    b->options.name);
}

/* Takes functions out of their COMDAT groups: a linker that keeps another file's copy of a group would drop versions,
 * too. */
static int leave_groups(struct tn__image_build *b)
{
    tn__split_leave_groups(b->unit.module);
    return 0;
}

static int tell_all_undefined(struct tn__image_build *b)
{
    if (b->options.undefined)
        tn__mv_each_undefined(b->unit.module, tell_undefined, b);
    return 0;
}

static int annotate(struct tn__image_build *b)
{
    struct tn__mv_counts counts = tn__mv_annotate(b->unit.module, &b->mv);
    b->slots = counts.slots;
    b->cells = counts.cells;
    b->is_managed = b->unit.managed;
    b->triple = tn__arena_text(&b->arena, b->unit.target->triple, strlen(b->unit.target->triple));
    b->layout = tn__arena_text(&b->arena, b->unit.target->layout, strlen(b->unit.target->layout));
    /* What was local gets this number in its name; it differs between images of one program. */
    char tag[16];
    snprintf(tag, sizeof tag, "%u", (unsigned)tn__image_checksum(b->options.name, strlen(b->options.name), 0));
    b->split = tn__split_create(b->unit.module, tag, false);
    if (tn__split_is_whole(b->split))
        tn__mv_share(b->unit.module, b->options.name, b->options.keep_ir ? b->split : NULL);
    bool good = b->triple && b->layout && tn__mv_each(b->unit.module, add_function, b);
    return good ? 0 : tn__image_no_memory(b);
}

/* Replaceable functions of a list are roots. Nothing that is kept need refer to the type of a root's object, so layouts
 * come before roots. */
static int (*const steps[])(struct tn__image_build *b) = {
    read_inputs,
    choose_targets,
    check_name,
    leave_groups,
    image_take_layouts,
    mark_replaceable,
    keep_roots,
    tn__image_take_bodies,
    load_values,
    tn__image_take_items,
    prepare_managed,
    tell_all_undefined,
    tn__image_mark_kept,
    annotate,
    tn__image_take_kept,
    tn__image_keep_offers,
    divide,
    take_fingerprint,
};

int tn__image_prepare(void *user)
{
    struct tn__image_build *b = user;
    int code = 0;
    b->is_abandoned = true; /* unless this function returns */
    for (size_t i = 0; i < TN_COUNT(steps) && !code; i++)
        code = steps[i](b);
    b->is_abandoned = false;
    return code;
}

static int free_module(void *user)
{
    struct tn__image_build *b = user;
    if (b->split)
        tn__split_dispose(b->split);
    b->split = NULL;
    tn__unit_dispose(&b->unit);
    return 0;
}

void tn__image_dispose_module(struct tn__image_build *b)
{
    if (!b->is_abandoned)
        tn__contain_disposal(free_module, b);
}
