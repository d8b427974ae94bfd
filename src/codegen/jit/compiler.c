/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* LLVM in this process as a compiler for the JIT: modules stay in memory and are compiled part by part (parts/). */

#include <stdio.h>

#include "base/shown_name.h"
#include "cache/description.h"
#include "codegen/compile/compile.h"
#include "codegen/jit/compiler.h"
#include "codegen/llvm/arguments.h"
#include "tenon_gc.h"

/* What callers may inline of functions that are compiled apart: callees of up to `size` instructions, of which many
 * will go, and up to `budget` for each function. The first time, what LLVM's inliner takes without a second look. A
 * function that is called often is worth more: of unoptimised IR, callees of 100 instructions are about as large as
 * that inliner takes (doc/TIERS.md, "Choosing"). */
static const struct {
    unsigned size, budget;
} first = {25, 400}, higher = {100, 800};

struct opened {
    struct tn__module *module;
    const struct tn_compile_options *options;
    bool whole;
    struct tn_module_description description;
    struct tn_module_symbol *symbols; /* of that */
};

struct tn__extraction tn__jit_extraction(const struct tn_compile_options *options, int opt_level, bool is_higher)
{
    struct tn__extraction how = {.stubs = true, .tier = is_higher ? opt_level : 0};
    if (opt_level >= 2 && !options->passes) {
        how.inline_size = is_higher ? higher.size : first.size;
        how.inline_budget = is_higher ? higher.budget : first.budget;
    }
    return how;
}

static int identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context;
    char line[600];
    const char *unknown = tn__llvm_argument_unknown();
    if (unknown)
        return tn__fail(err, TN_ENOTSUP, "LLVM's option '%s' was set by other means than tn_codegen_llvm_options",
                        unknown);
    int length = snprintf(line, sizeof line, "tenon %s llvm %s host %s abi %d %d build %s options %s",
                          TN_VERSION_STRING, tn_codegen_llvm_version(), tn_codegen_host_triple(), TN_RUNTIME_ABI,
                          TN_GC_ABI, tn__codegen_build, tn__llvm_arguments_taken());
    if (length >= (int)sizeof line)
        return tn__fail(err, TN_ENOTSUP, "the options of LLVM are too long");
    return tn__buffer_fill(text, line, (size_t)length) ? 0 : tn__no_memory(err, NULL);
}

/* ---- opening ---- */

static bool describe(struct opened *opened)
{
    const struct tn__split *split = tn__module_split(opened->module);
    struct tn_module_description *d = &opened->description;
    *d = (struct tn_module_description){.parts = (uint32_t)tn__split_parts(split),
                                        .types = tn__module_types(opened->module)->data,
                                        .types_size = tn__module_types(opened->module)->size,
                                        .flags = (tn__split_is_whole(split) ? TN__DESCRIBED_WHOLE : 0) |
                                                 (tn__split_is_opaque(split) ? TN__DESCRIBED_OPAQUE : 0) |
                                                 (tn__split_has_initializers(split) ? TN__DESCRIBED_INITIALIZERS : 0)};
    size_t count, next = 0;
    for (size_t part = 0; part < d->parts; part++, d->count += count)
        tn__split_symbols(split, part, &count);
    struct tn_module_symbol *all = tn__alloc_zeroed(NULL, d->count + 1, sizeof *all);
    d->symbols = opened->symbols = all;
    for (size_t part = 0; part < d->parts && all; part++) {
        const struct tn__split_symbol *symbols = tn__split_symbols(split, part, &count);
        for (const struct tn__split_symbol *s = symbols; s < symbols + count; s++)
            all[next++] = (struct tn_module_symbol){.part = (uint32_t)part,
                                                    .name = s->name,
                                                    .of = s->of,
                                                    .body = s->body,
                                                    .flags = s->flags,
                                                    .managed_registers = s->managed_registers,
                                                    .managed_stack = s->managed_stack};
    }
    return all;
}

static void close_module(void *module)
{
    struct opened *opened = module;
    tn__module_close(opened->module);
    tn__free(NULL, opened->symbols);
    tn__free(NULL, opened);
}

static int open_module(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                       const struct tn_module_description **description, struct tn_error *err)
{
    (void)context;
    char tag[TN__TAG_SIZE];
    struct opened *opened = tn__alloc_zeroed(NULL, 1, sizeof *opened);
    *module = NULL;
    if (!opened)
        return tn__no_memory(err, ir->name);
    tn__tag_write(ir->digest, ir->copy, tag);
    opened->options = options;
    int code = tn__module_open(ir->name, ir->bytes, ir->length, options, tag, ir->whole, &opened->module, err);
    if (!code && !describe(opened))
        code = tn__fail(err, TN_ENOMEM, "%s: no memory for its description", ir->name);
    if (code) {
        close_module(opened);
        return code;
    }
    opened->whole = tn__module_is_whole(opened->module);
    *description = &opened->description;
    *module = opened;
    return 0;
}

/* ---- compiling ---- */

static int compile_part(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                        struct tn_error *err)
{
    const struct opened *opened = module;
    struct tn_compile_stats stats = {.size = sizeof stats};
    uint64_t extract_ns = 0;
    const struct tn__counters counters = {
        .tag = request->counters, .part = (uint32_t)request->part, .level = request->opt_level};
    struct tn__part_compilation how = {.name = request->name,
                                       .how =
                                           tn__jit_extraction(opened->options, request->opt_level, request->is_higher),
                                       .opt_level = request->opt_level,
                                       .counters = request->counters ? &counters : NULL,
                                       .is_background = request->is_idle,
                                       .observer = request->observer};
    const struct tn__needed needed = {request->needed, request->needed_count};
    int code = opened->whole ? tn__module_compile_whole(opened->module, &needed, request->observer, object, &stats, err)
                             : tn__module_compile_part(opened->module, (size_t)request->part, &how, object, &extract_ns,
                                                       &stats, err);
    stats.extract_ns = extract_ns;
    *request->stats = stats;
    if (!code && request->cancelled && *request->cancelled) {
        tn_buffer_free(object);
        code = tn__fail(err, TN_ECANCELLED, "%s: the object is not wanted any more", request->name);
    }
    return code;
}

/* ---- options, modules in memory ---- */

static int check(void *context, const struct tn_compile_options *options, struct tn_error *err)
{
    (void)context;
    return tn__check_passes(options, err);
}

static int write_module(void *context, void *module, struct tn_buffer *ir, struct tn_error *err)
{
    (void)context;
    return tn__module_write(module, ir, err);
}

const struct tn_compiler *tn_codegen_compiler(void)
{
    static const struct tn_compiler compiler = {.size = sizeof compiler,
                                                .identify = identify,
                                                .open = open_module,
                                                .compile = compile_part,
                                                .close = close_module,
                                                .check = check,
                                                .write = write_module};
    return &compiler;
}
