/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* One compilation: read, verify, fit to the target, optimise, emit. Everything it creates hangs on a struct compilation
 * and goes away with it, unless LLVM gives up (see fatal.c). */

#include <stdlib.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Target.h>

#include "base/os.h"
#include "codegen/codegen.h"
#include "codegen/llvm.h"

struct compilation {
    const char *name;
    const char *ir;
    size_t length;
    struct tn_compile_options options;
    struct tn_compile_stats stats;
    struct tn_buffer *out;
    struct tn_error *err;

    struct tn__diagnostics diagnostics;
    LLVMContextRef context;
    LLVMModuleRef module;
    struct tn__target target;
    int target_code; /* of opening the target, which the reader asks for in the middle of its work */
    char *layout;    /* the target's data layout */
    bool managed;    /* there is managed code in the module */
    struct tn__gc gc;
};

/* ---- options ---- */

static int take_options(const struct tn_compile_options *given, struct tn_compile_options *options,
                        struct tn_error *err)
{
    int code = tn__take_options(options, sizeof *options, given, "struct tn_compile_options", err);
    if (code != TN_OK)
        return code;
    const struct range {
        const char *name;
        int value, last;
    } ranges[] = {
        {"opt_level", options->opt_level, 3},
        {"reloc_model", (int)options->reloc_model, TN_RELOC_STATIC},
        {"code_model", (int)options->code_model, TN_CODE_LARGE},
        {"emit", (int)options->emit, TN_EMIT_BITCODE},
        {"polls", options->polls, TN_POLL_ENTRIES | TN_POLL_LOOPS},
    };
    for (size_t i = 0; i < TN_COUNT(ranges); i++)
        if (ranges[i].value < 0 || ranges[i].value > ranges[i].last)
            return tn__fail(err, TN_EINVAL, "%s is %d; it must be 0 to %d", ranges[i].name, ranges[i].value,
                            ranges[i].last);
    return options->passes ? tn__gc_check_names(options->passes, err) : TN_OK;
}

/* ---- reading ---- */

/* Opens the target as soon as the module's triple is known. IR without a layout of its own is read with the target's. */
static const char *choose_layout(void *user, const char *triple, const char *layout)
{
    struct compilation *c = user;
    c->target_code = tn__target_open(&c->target, &c->options, triple, c->err);
    if (c->target_code != TN_OK) {
        c->diagnostics.err = NULL; /* this is the error to report, whatever the reader finds next */
        return NULL;
    }
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(c->target.machine);
    c->layout = LLVMCopyStringRepOfTargetData(data);
    LLVMDisposeTargetData(data);
    return *layout ? NULL : c->layout;
}

/* The text reader needs a NUL behind the text; bitcode is read in place. */
static int parse(struct compilation *c)
{
    char *copy = NULL;
    const char *bytes = c->ir;
    if (!tn__llvm_is_bitcode(c->ir, c->length)) {
        copy = tn__alloc(NULL, c->length + 1);
        if (!copy)
            return tn__fail(c->err, TN_ENOMEM, "out of memory");
        memcpy(copy, c->ir, c->length);
        copy[c->length] = 0;
        bytes = copy;
    }
    c->module = tn__llvm_parse(c->context, c->name, bytes, c->length, choose_layout, c, tn__diagnostics_report,
                               &c->diagnostics);
    c->diagnostics.module = c->module;
    tn__free(NULL, copy);
    return TN_OK;
}

static int read_module(struct compilation *c)
{
    int code = parse(c);
    if (c->module && !c->layout && c->target_code == TN_OK) /* bitcode without a single definition */
        choose_layout(c, LLVMGetTarget(c->module), LLVMGetDataLayoutStr(c->module));
    if (code != TN_OK || c->target_code != TN_OK)
        return code != TN_OK ? code : c->target_code;
    return c->module && c->diagnostics.errors == 0 ? TN_OK : TN_ECOMPILE;
}

/* ---- fitting the module to the target ---- */

static int verify(struct compilation *c)
{
    char *message = NULL;
    int code = TN_OK;
    if (LLVMVerifyModule(c->module, LLVMReturnStatusAction, &message))
        code = tn__fail(c->err, TN_ECOMPILE, "%s: error: invalid IR: %s", c->name, message);
    LLVMDisposeMessage(message);
    return code;
}

static int fit(struct compilation *c)
{
    if (*LLVMGetDataLayoutStr(c->module) == 0)
        LLVMSetDataLayout(c->module, c->layout);
    LLVMSetTarget(c->module, c->target.triple);
    c->managed = tn__gc_is_managed(c->module);
    if (c->managed)
        tn__gc_remove_ni(&c->gc);
    if (!tn__llvm_same_layout(c->module, c->target.machine))
        return tn__fail(c->err, TN_ECOMPILE, "%s: error: the module's data layout '%s' is not that of %s, '%s'",
                        c->name, LLVMGetDataLayoutStr(c->module), c->target.triple, c->layout);
    if (c->managed)
        tn__gc_add_ni(&c->gc);
    return tn__target_apply(&c->target, c->module, c->name, c->err);
}

static void count(struct compilation *c)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(c->module); f; f = LLVMGetNextFunction(f))
        c->stats.functions += !LLVMIsDeclaration(f);
    c->stats.instructions = tn__llvm_count_instructions(c->module);
}

/* ---- passes ---- */

static int optimize(struct compilation *c)
{
    if (c->options.passes)
        return tn__gc_run(&c->gc, c->options.passes);
    int code = c->managed ? tn__gc_prepare(&c->gc) : TN_OK;
    if (code != TN_OK)
        return code;
    tn__llvm_optimize(c->module, c->target.machine, c->options.opt_level);
    if (c->diagnostics.errors)
        return TN_ECOMPILE;
    return c->managed ? tn__gc_lower(&c->gc) : TN_OK;
}

/* ---- emitting ---- */

static int fill(struct compilation *c, const char *bytes, size_t size)
{
    c->out->data = tn__alloc(NULL, size ? size : 1);
    if (!c->out->data)
        return tn__fail(c->err, TN_ENOMEM, "%s: no memory for %zu bytes of output", c->name, size);
    memcpy(c->out->data, bytes, size);
    c->out->size = size;
    return TN_OK;
}

static int fill_from(struct compilation *c, LLVMMemoryBufferRef buffer)
{
    if (!buffer)
        return tn__fail(c->err, TN_ENOMEM, "%s: no memory for the output", c->name);
    int code = fill(c, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return code;
}

static int emit_machine_code(struct compilation *c, LLVMCodeGenFileType type)
{
    char *message = NULL;
    LLVMMemoryBufferRef buffer = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(c->target.machine, c->module, type, &message, &buffer)) {
        tn__fail(c->err, TN_ECOMPILE, "%s: error: %s", c->name, message);
        LLVMDisposeMessage(message);
        return TN_ECOMPILE;
    }
    /* Errors in inline assembly do not stop LLVM from finishing the object. */
    if (c->diagnostics.errors) {
        if (buffer)
            LLVMDisposeMemoryBuffer(buffer);
        return TN_ECOMPILE;
    }
    return fill_from(c, buffer);
}

static int emit_text(struct compilation *c)
{
    char *text = LLVMPrintModuleToString(c->module);
    if (!text)
        return fill_from(c, NULL);
    int code = fill(c, text, strlen(text));
    LLVMDisposeMessage(text);
    return code;
}

static int emit(struct compilation *c)
{
    switch (c->options.emit) {
    case TN_EMIT_ASM:
        return emit_machine_code(c, LLVMAssemblyFile);
    case TN_EMIT_LLVM:
        return emit_text(c);
    case TN_EMIT_BITCODE:
        return fill_from(c, LLVMWriteBitcodeToMemoryBuffer(c->module));
    default:
        return emit_machine_code(c, LLVMObjectFile);
    }
}

/* ---- the whole ---- */

static int run(void *user)
{
    struct compilation *c = user;
    uint64_t start = tn__os_now_ns();
    c->context = LLVMContextCreate();
    tn__diagnostics_attach(&c->diagnostics, c->context);
    int code = read_module(c);
    c->gc.module = c->module;
    c->gc.context = c->context;
    if (code == TN_OK)
        code = verify(c);
    if (code == TN_OK)
        code = fit(c);
    if (code != TN_OK)
        return code;
    count(c);
    uint64_t parsed = tn__os_now_ns();

    code = optimize(c);
    uint64_t optimized = tn__os_now_ns();
    if (code != TN_OK)
        return code;

    code = emit(c);
    c->stats.parse_ns = parsed - start;
    c->stats.optimize_ns = optimized - parsed;
    c->stats.emit_ns = tn__os_now_ns() - optimized;
    return code;
}

static void dispose(struct compilation *c)
{
    if (c->module)
        LLVMDisposeModule(c->module);
    if (c->context)
        LLVMContextDispose(c->context);
    LLVMDisposeMessage(c->layout);
    tn__target_close(&c->target);
}

/* Freeing, too, is LLVM's work and happens inside the containment. */
static int run_and_dispose(void *user)
{
    int code = run(user);
    dispose(user);
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

    struct compilation c = {
        .name = name ? name : "<memory>", .ir = ir ? ir : "", .length = length, .out = out, .err = err};
    c.diagnostics = (struct tn__diagnostics){.name = c.name, .err = err};
    c.gc = (struct tn__gc){.options = &c.options, .diagnostics = &c.diagnostics, .stats = &c.stats};
    int code = take_options(options, &c.options, err);
    if (code != TN_OK)
        return code;
    code = tn__contain(run_and_dispose, &c, err);
    tn__arena_free(&c.gc.arena);
    if (code != TN_OK)
        tn_buffer_free(out);
    if (stats)
        tn__give_stats(stats, sizeof c.stats, &c.stats);
    return code;
}

void tn_buffer_free(struct tn_buffer *buffer)
{
    if (!buffer)
        return;
    tn__free(NULL, buffer->data);
    *buffer = (struct tn_buffer){0};
}

const char *tn_codegen_llvm_version(void)
{
    return tn__llvm_version();
}
