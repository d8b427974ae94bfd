/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One compilation: read (unit.c), optimise, emit. Everything it creates hangs on a struct compilation and goes away
 * with it, unless LLVM gives up (see fatal.cpp). */

#include <stdio.h>

#include <llvm/Config/llvm-config.h>

#include "base/at_exit.h"
#include "base/os.h"
#include "codegen/compile/sizes.h"
#include "codegen/compile/unit.h"
#include "codegen/flatten/flatten.h"
#include "codegen/llvm/fatal.h"
#include "codegen/llvm/remarks.h"
#include "codegen/managed/lower/lower.h"
#include "codegen/managed/passes/passes.h"
#include "codegen/managed/roots/roots.h"
#include "codegen/pipeline/pipeline.h"
#include "jit/options.h"

struct compilation {
    const char *name;
    const char *ir;
    size_t length;
    bool is_ours; /* a part of a module that was read before */
    bool is_read; /* the unit holds the module already */
    bool was_lowered;
    bool is_apart; /* of no module of a JIT, or of an image, which tell their types themselves */
    struct tn_compile_options options;
    struct tn_compile_observer observer;
    struct tn_compile_stats stats;
    struct tn_buffer *out;
    struct tn_error *err;

    struct tn__unit *unit;
    const struct tn__counters *counters; /* NULL: calls are not counted */
    struct tn__gc gc;
    struct tn__arena sizes; /* of functions, and their names, for an observer */
    struct tn_compiled *compiled;
    size_t compiled_count;
};

/* ---- options ---- */

int tn__check_passes(const struct tn_compile_options *options, struct tn_error *err)
{
    return options->passes ? tn__pipeline_check(options->passes, err) : 0;
}

/* ---- watching ---- */

static uint64_t report_phase(struct compilation *c, enum tn_phase phase, uint64_t begin)
{
    uint64_t end = tn__os_now_ns();
    if (c->observer.phase)
        c->observer.phase(c->observer.context, c->name, phase, begin, end);
    return end - begin;
}

static bool wants(const struct compilation *c, enum tn_stage stage)
{
    return c->observer.stage && (c->observer.stages >> stage & 1);
}

static void show(struct compilation *c, enum tn_stage stage, const void *bytes, size_t length)
{
    c->observer.stage(c->observer.context, c->name, stage, bytes, length);
}

static void show_text(struct compilation *c, enum tn_stage stage)
{
    char *text = wants(c, stage) ? LLVMPrintModuleToString(c->unit->module) : NULL;
    if (text)
        show(c, stage, text, strlen(text));
    LLVMDisposeMessage(text);
}

/* For LLVM, a function that was lowered for the baseline compiler. */
static void give_to_llvm(struct tn__gc *gc, LLVMValueRef function)
{
    bool begun = tn__gc_begin(gc);
    tn__expand_polls(gc, function);
    if (tn__is_managed_function(function))
        tn__relocate(function);
    tn__expand_barriers(gc, function);
    if (begun)
        tn__gc_end(gc);
    tn__arena_free(&gc->arena);
}

static void give_all_to_llvm(struct compilation *c, LLVMModuleRef module)
{
    struct tn__gc gc = {.module = module, .context = c->unit->context, .options = &c->options, .stats = &c->stats};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        give_to_llvm(&gc, f);
}

/* Emitting uses the module up, so assembly is made of a copy. */
static void show_assembly(struct compilation *c)
{
    if (!wants(c, TN_STAGE_ASSEMBLY))
        return;
    LLVMModuleRef copy = LLVMCloneModule(c->unit->module);
    LLVMMemoryBufferRef buffer = NULL;
    char *message = NULL;
    give_all_to_llvm(c, copy);
    if (LLVMTargetMachineEmitToMemoryBuffer(c->unit->target->machine, copy, LLVMAssemblyFile, &message, &buffer))
        LLVMDisposeMessage(message); /* the object will fail as well, and say so */
    if (buffer) {
        show(c, TN_STAGE_ASSEMBLY, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
        LLVMDisposeMemoryBuffer(buffer);
    }
    LLVMDisposeModule(copy);
}

/* ---- counting ---- */

/* What a front end says of the types of a function's arguments; NULL: nothing. */
static const char *signature_of(LLVMValueRef function)
{
    static const char key[] = "tenon.signature";
    unsigned length;
    LLVMAttributeRef attribute =
        LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, key, sizeof key - 1);
    return attribute ? LLVMGetStringAttributeValue(attribute, &length) : NULL; /* with a NUL behind it */
}

/* Notes every function that optimisation has left, before those that the baseline compiler compiles become
 * declarations. False: no memory. */
static bool note_functions(struct compilation *c)
{
    size_t most = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(c->unit->module); f && c->observer.compiled; f = LLVMGetNextFunction(f))
        most += tn__is_defined(f) && *tn__module_name(f);
    c->compiled = most ? tn__arena_array(&c->sizes, most, sizeof *c->compiled) : NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(c->unit->module); f && c->compiled; f = LLVMGetNextFunction(f)) {
        const char *name = tn__module_name(f);
        if (!tn__is_defined(f) || !*name)
            continue;
        c->compiled[c->compiled_count] = (struct tn_compiled){
            .size = sizeof *c->compiled,
            .name = tn__arena_text(&c->sizes, name, strlen(name)),
            .signature = signature_of(f),
            .opt_level = c->options.opt_level,
        };
        if (!c->compiled[c->compiled_count++].name)
            return false;
    }
    return !most || c->compiled;
}

static void report_functions(struct compilation *c)
{
    for (struct tn_compiled *f = c->compiled; f < c->compiled + c->compiled_count; f++) {
        f->ns = c->stats.parse_ns + c->stats.optimize_ns + c->stats.emit_ns;
        c->observer.compiled(c->observer.context, f);
    }
}

/* ---- emitting ---- */

static int fill(struct compilation *c, const char *bytes, size_t size)
{
    return tn__buffer_fill(c->out, bytes, size)
               ? 0
               : tn__fail(c->err, TN_ENOMEM, "%s: no memory for %zu bytes of output", c->name, size);
}

static int fill_from(struct compilation *c, LLVMMemoryBufferRef buffer)
{
    if (!buffer)
        return tn__fail(c->err, TN_ENOMEM, "%s: no memory for the output", c->name);
    int code = fill(c, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return code;
}

static int emit_assembly(struct compilation *c)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(c->unit->target->machine, c->unit->module, LLVMAssemblyFile, &message,
                                            &buffer)) {
        tn__fail(c->err, TN_ECOMPILE, "%s: error: ", c->name);
        tn__append_text(c->err, message);
        LLVMDisposeMessage(message);
        return TN_ECOMPILE;
    }
    return fill_from(c, buffer);
}

static bool emit_by_llvm(struct compilation *c, struct tn_buffer *out)
{
    struct tn__target *target = c->unit->target;
    bool good = tn__llvm_emit(&target->emitter, target->machine, c->unit->module, &c->observer, out);
    if (c->unit->diagnostics.errors)
        tn__llvm_emitter_free(&target->emitter);
    return good;
}

/* Of a compilation by the baseline compiler. */
struct baseline {
    struct compilation *c;
    struct tn__flattened done;
    uint64_t reported; /* of `done`, in nanoseconds */
};

static uint64_t time_of(const struct tn__flattened *done)
{
    return done->flatten_ns + done->analyse_ns + done->compile_ns;
}

static void report_compiled(struct baseline *b, LLVMValueRef function)
{
    const struct tn_compile_observer *o = &b->c->observer;
    size_t length;
    const struct tn_pass pass = {.size = sizeof pass,
                                 .name = "baseline",
                                 .pipeline_name = "baseline",
                                 .function = LLVMGetValueName2(function, &length),
                                 .ns = time_of(&b->done) - b->reported};
    if (o->after_emit_pass)
        o->after_emit_pass(o->context, &pass);
}

static void report_left(struct compilation *c, LLVMValueRef global, const char *why)
{
    char text[100];
    bool is_function = global && LLVMIsAFunction(global);
    if (c->unit->managed && is_function)
        give_to_llvm(&c->gc, global);
    LLVMValueRef at = is_function ? LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(global)) : NULL;
    if (at)
        tn__llvm_remark(at, "baseline", "NotCovered", false, why);
    else if (c->observer.remark) {
        snprintf(text, sizeof text, "data: %s", why);
        tn__llvm_remark_of(global, &c->observer, "baseline", "DataNotCovered", text);
    }
}

static void report_global(void *context, LLVMValueRef global, const char *why)
{
    struct baseline *b = context;
    if (why)
        report_left(b->c, global, why);
    else
        report_compiled(b, global);
    b->reported = time_of(&b->done);
}

/* What the baseline compiler covers comes first. If that is not everything, LLVM compiles the rest, and all data. */
static int emit_by_baseline(struct compilation *c)
{
    struct tn__unit *unit = c->unit;
    struct tn__baseline_object object = {0};
    struct baseline b = {.c = c};
    struct tn_buffer rest = {0};
    int code = tn__flatten_module(unit->module, unit->target->machine, report_global, &b, &object, &b.done, c->err);
    c->stats.baseline_functions = b.done.functions;
    c->stats.baseline_left = b.done.left;
    c->stats.baseline_ns = time_of(&b.done);
    bool has_code = b.done.functions || b.done.is_all;
    if (!code && !b.done.is_all && !emit_by_llvm(c, has_code ? &rest : c->out))
        code = fill_from(c, NULL);
    if (!code && has_code && !unit->diagnostics.errors)
        code = tn__baseline_write(&object, b.done.is_all ? NULL : &rest, c->out, c->err);
    tn__baseline_object_free(&object);
    tn_buffer_free(&rest);
    return code;
}

static int emit(struct compilation *c)
{
    LLVMModuleRef module = c->unit->module;
    struct tn__target *target = c->unit->target;
    bool good;
    /* LLVM keeps the addresses of what is in this list with the machine, for good. */
    if (LLVMGetNamedGlobal(module, "llvm.used"))
        target->spent = true;
    switch (c->options.emit) {
    case TN_EMIT_ASM:
        return emit_assembly(c);
    case TN_EMIT_LLVM: {
        char *text = LLVMPrintModuleToString(module);
        int code = text ? fill(c, text, strlen(text)) : fill_from(c, NULL);
        LLVMDisposeMessage(text);
        return code;
    }
    case TN_EMIT_BITCODE:
        good = tn__llvm_write_bitcode(module, c->out);
        break;
    case TN_EMIT_FLAT:
        return tn__flatten_file(module, target->machine, NULL, NULL, c->out, c->err);
    default:
        if (tn__is_for_baseline(&c->options))
            return emit_by_baseline(c);
        good = emit_by_llvm(c, c->out);
    }
    return good ? 0 : fill_from(c, NULL);
}

/* ---- the whole ---- */

static int run_pipeline(struct compilation *c)
{
    struct tn__unit *unit = c->unit;
    c->gc.module = unit->module;
    c->gc.context = unit->context;
    c->gc.diagnostics = &unit->diagnostics;
    c->gc.machine = unit->target->machine;
    c->gc.leaves_rows = tn__is_for_baseline(&c->options) && tn__flatten_takes(unit->module, c->gc.machine);
    uint64_t begin = tn__os_now_ns();
    int code = tn__pipeline_run(&c->gc, unit->managed, unit->is_prepared, &c->observer);
    c->stats.optimize_ns = report_phase(c, TN_PHASE_OPTIMIZE, begin);
    return code;
}

static int run_passes(struct compilation *c)
{
    struct tn_optimized optimized = {.size = sizeof optimized, .module = c->name, .opt_level = c->options.opt_level};
    if (!c->observer.optimized)
        return run_pipeline(c);
    struct tn__sizes before = tn__sizes_of(&c->sizes, c->unit->module);
    int code = run_pipeline(c);
    struct tn__sizes after = tn__sizes_of(&c->sizes, c->unit->module);
    optimized.ns = c->stats.optimize_ns;
    optimized.before = before.list;
    optimized.before_count = before.count;
    optimized.after = after.list;
    optimized.after_count = after.count;
    if (!code)
        c->observer.optimized(c->observer.context, &optimized);
    return code;
}

static const char *pipeline_of(const struct compilation *c)
{
    return c->options.passes ? c->options.passes : "tenon";
}

/* Managed code that was lowered before has roots in its frames that no pass knows of. */
static int check_unlowered(struct compilation *c)
{
    c->was_lowered = c->unit->managed && tn__gc_was_lowered(c->unit->module);
    if (!c->was_lowered || !*pipeline_of(c))
        return 0;
    return tn__fail(
        c->err, TN_ECOMPILE,
        "%s: error: no passes can run over managed code that was lowered before, only an empty pipeline, and "
        "not '%s'",
        c->name, pipeline_of(c));
}

/* A pipeline of the client's own may leave managed code as it was: without barriers and without stack maps. */
static int check_lowered(struct compilation *c)
{
    bool is_code = c->options.emit == TN_EMIT_OBJECT || c->options.emit == TN_EMIT_ASM;
    if (!is_code || !c->unit->managed || c->was_lowered || tn__gc_is_lowered(&c->gc))
        return 0;
    return tn__fail(
        c->err, TN_ECOMPILE,
        "%s: error: managed code cannot become machine code without intrinsic-lowering, of which nothing may "
        "be missing or run twice, nor LLVM's passes come after it, in the pipeline '%s'",
        c->name, pipeline_of(c));
}

static int run_phases(struct compilation *c)
{
    uint64_t begin = tn__os_now_ns();
    if (c->is_read)
        tn__diagnostics_attach(&c->unit->diagnostics,
                               c->unit->context); /* with another observer than when it was read */
    int code =
        c->is_read ? 0 : tn__unit_read(c->unit, c->ir, c->length, c->is_ours ? TN__READ_VERIFIED : TN__READ, c->err);
    if (code)
        return code;
    for (LLVMValueRef f = LLVMGetFirstFunction(c->unit->module); f; f = LLVMGetNextFunction(f))
        c->stats.functions += tn__is_defined(f);
    c->stats.instructions = tn__llvm_count_instructions(c->unit->module);
    c->stats.parse_ns = c->is_read ? 0 : report_phase(c, TN_PHASE_PARSE, begin);
    show_text(c, TN_STAGE_UNOPTIMIZED);
    code = check_unlowered(c);
    if (!code && c->was_lowered && !tn__is_for_baseline(&c->options))
        give_all_to_llvm(c, c->unit->module);
    if (!code)
        code = run_passes(c);
    if (!code)
        code = check_lowered(c);
    if (code)
        return code;
    if (c->options.any_threads)
        tn__llvm_ask_for_thread_data(c->unit->module);
    show_text(c, TN_STAGE_OPTIMIZED);
    show_assembly(c);
    if (!note_functions(c))
        return tn__fail(c->err, TN_ENOMEM, "%s: no memory for the names of functions", c->name);
    begin = tn__os_now_ns();
    code = emit(c);
    if (c->unit->diagnostics.errors) /* some, as in inline assembly, do not stop LLVM from finishing the object */
        code = TN_ECOMPILE;
    c->stats.emit_ns = report_phase(c, TN_PHASE_EMIT, begin);
    if (!code && c->options.emit == TN_EMIT_OBJECT) {
        if (wants(c, TN_STAGE_OBJECT))
            show(c, TN_STAGE_OBJECT, c->out->data, c->out->size);
        report_functions(c);
    }
    return code;
}

/* Freeing, too, is LLVM's work and happens inside the containment. */
static int run_and_dispose(void *user)
{
    struct compilation *c = user;
    int code = run_phases(c);
    uint64_t begin = tn__os_now_ns();
    tn__unit_dispose(c->unit);
    c->stats.free_ns = tn__os_now_ns() - begin;
    return code;
}

static int compile(struct compilation *c, struct tn_compile_stats *stats)
{
    c->gc = (struct tn__gc){
        .options = &c->options, .stats = &c->stats, .counters = c->counters, .writes_types = c->is_apart};
    int code = tn__contain(run_and_dispose, c, c->err);
    tn__arena_free(&c->gc.arena);
    tn__arena_free(&c->sizes);
    if (code)
        tn_buffer_free(c->out);
    if (stats)
        tn__give_stats(stats, sizeof c->stats, &c->stats);
    return code;
}

int tn_compile(const char *name, const void *ir, size_t length, const struct tn_compile_options *options,
               struct tn_buffer *out, struct tn_compile_stats *stats, struct tn_error *err)
{
    if (!out || (!ir && length))
        return tn__fail(err, TN_EINVAL, "tn_compile: no %s", out ? "input" : "place for the output");
    *out = (struct tn_buffer){0};
    if (stats && !tn__size_is_possible(stats->size))
        return tn__fail(err, TN_EINVAL, "struct tn_compile_stats has size %zu; it has to be its sizeof, here %zu",
                        stats->size, sizeof *stats);

    struct tn__unit unit = {.name = name ? name : "<memory>"};
    struct compilation c = {.name = unit.name,
                            .ir = ir ? ir : "",
                            .length = length,
                            .is_apart = true,
                            .out = out,
                            .err = err,
                            .unit = &unit};
    unit.options = &c.options;
    unit.observer = &c.observer;
    int code = tn__take_compile_options(options, &c.options, &c.observer, err);
    if (!code)
        code = tn__check_passes(&c.options, err);
    if (!code)
        code = compile(&c, stats);
    tn__at_exit_renew();
    return code;
}

int tn__compile_part(const char *name, const char *input, const struct tn_buffer *bitcode, bool is_prepared,
                     const struct tn_compile_options *options, const struct tn__counters *counters,
                     const struct tn_compile_observer *observer, struct tn_buffer *out, struct tn_compile_stats *stats,
                     struct tn_error *err)
{
    struct tn__unit unit = {
        .name = input, .file = name, .options = options, .observer = observer, .is_prepared = is_prepared};
    struct compilation c = {.name = name,
                            .unit = &unit,
                            .ir = bitcode->data,
                            .length = bitcode->size,
                            .is_ours = true,
                            .options = *options,
                            .counters = counters,
                            .observer = *observer,
                            .out = out,
                            .err = err};
    *out = (struct tn_buffer){0};
    return compile(&c, stats);
}

int tn__compile_unit(struct tn__unit *unit, const struct tn__counters *counters,
                     const struct tn_compile_observer *observer, struct tn_buffer *out, struct tn_compile_stats *stats,
                     struct tn_error *err)
{
    struct compilation c = {.name = unit->name,
                            .unit = unit,
                            .is_read = true,
                            .options = *unit->options,
                            .counters = counters,
                            .observer = *observer,
                            .out = out,
                            .err = err};
    *out = (struct tn_buffer){0};
    unit->diagnostics.err = err;
    unit->diagnostics.observer = &c.observer;
    return compile(&c, stats);
}

const char *tn_codegen_llvm_version(void)
{
    return LLVM_VERSION_STRING;
}
