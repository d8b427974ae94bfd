/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The passes by name, when they run, and for which modules. */

#include <stdio.h>

#include "codegen/llvm/llvm.h"
#include "codegen/llvm/watch.h"
#include "codegen/managed/lower/lower.h"
#include "codegen/managed/passes/passes.h"
#include "codegen/managed/roots/roots.h"
#include "codegen/managed/verify/verify.h"

static void answer_cpu(struct tn__gc *gc)
{
    gc->stats->answered_tests += tn__llvm_answer_cpu(gc->module, gc->machine);
}

/* ---- the table ---- */

#define PASSES(X)                                                                                                      \
    X("cpufeatures", answer_cpu)                                                                                       \
    X("gc-verify", tn__gc_verify_weak)                                                                                 \
    X("gc-verify-strong", tn__gc_verify_strong)                                                                        \
    X("normalize", tn__normalize)                                                                                      \
    X("normalize-clang", tn__normalize_clang)                                                                          \
    X("expand-atomic-modify", tn__expand_atomic_modify)                                                                \
    X("zero-indirect", tn__zero_indirectly)                                                                            \
    X("lower-handlers", tn__lower_handlers)                                                                            \
    X("type-stack", tn__type_stack)                                                                                    \
    X("scalarize", tn__scalarize)                                                                                      \
    X("lower-calls", tn__lower_calls)                                                                                  \
    X("insert-polls", tn__insert_polls)                                                                                \
    X("copy-arguments", tn__copy_arguments)                                                                            \
    X("insert-barriers", tn__insert_barriers)                                                                          \
    X("lower-allocations", tn__lower_allocations)                                                                      \
    X("manage-functions", tn__manage_functions)                                                                        \
    X("transitions", tn__make_transitions)                                                                             \
    X("place-roots", tn__place_roots)                                                                                  \
    X("finish", tn__finish)                                                                                            \
    X("root-tables", tn__make_root_tables)                                                                             \
    X("remove-addrspaces", tn__remove_spaces)                                                                          \
    X("remove-ni", tn__gc_remove_ni)                                                                                   \
    X("count-calls", tn__count_calls)

static const struct pass {
    const char *name;
    void (*run)(struct tn__gc *gc);
} passes[] = {
#define ROW(name, run) {name, run},
    PASSES(ROW)
#undef ROW
};

const char *const *tn__gc_passes(void)
{
#define NAME(name, run) name,
    static const char *const names[] = {PASSES(NAME) NULL};
#undef NAME
    return names;
}

static const struct pass *find_pass(const char *name, size_t length)
{
    for (size_t i = 0; i < TN_COUNT(passes); i++)
        if (strlen(passes[i].name) == length && strncmp(passes[i].name, name, length) == 0)
            return &passes[i];
    return NULL;
}

bool tn__gc_has_pass(const char *name, size_t length)
{
    return find_pass(name, length) != NULL;
}

/* ---- the lowering ---- */

/* These passes in their order, each between commas. Others of ours may stand between them, and the client's hook is
 * called before roots are placed. */
#define TO_CALLS                                                                                                       \
    ",gc-verify,type-stack,scalarize,lower-calls,insert-polls,copy-arguments,insert-barriers,lower-allocations,"       \
    "manage-functions,transitions"
static const char lowering[] = TO_CALLS ",place-roots,finish,root-tables,";
enum { CALLS = sizeof TO_CALLS - 1, ALL = sizeof lowering - 2, SPOILED }; /* values of gc->lowered */

/* Only the rest of the lowering may run where roots are placed. */
static void spoil(struct tn__gc *gc)
{
    gc->lowered = gc->lowered > CALLS ? SPOILED : gc->lowered;
}

static void count_lowering(struct tn__gc *gc, const struct pass *pass)
{
    char name[40];
    int length = snprintf(name, sizeof name, ",%s,", pass->name);
    const char *found = strstr(lowering, name);
    if (found == lowering + gc->lowered)
        gc->lowered += (unsigned)length - 1;
    else if (found)
        spoil(gc);
}

void tn__gc_optimized(struct tn__gc *gc)
{
    spoil(gc);
}

bool tn__gc_is_lowered(const struct tn__gc *gc)
{
    return gc->lowered == ALL;
}

/* ---- running ---- */

static int run_pass(struct tn__gc *gc, const struct pass *pass)
{
    bool is_watched = gc->watch && tn__watch_begin(gc->watch, pass->name, gc->module);
    if (gc->watch && !is_watched && gc->options->emit >= TN_EMIT_LLVM)
        return TN_OK; /* the observer has stopped the pipeline; machine code cannot be made without our passes */
    pass->run(gc);
    tn__arena_free(&gc->arena);
    count_lowering(gc, pass);
    if (is_watched)
        tn__watch_end(gc->watch, pass->name, gc->module);
    return gc->diagnostics->errors ? TN_ECOMPILE : TN_OK;
}

bool tn__gc_begin(struct tn__gc *gc)
{
    if (gc->builder)
        return false;
    gc->builder = LLVMCreateBuilderInContext(gc->context);
    gc->nothing = LLVMVoidTypeInContext(gc->context);
    gc->i8 = LLVMInt8TypeInContext(gc->context);
    gc->i32 = LLVMInt32TypeInContext(gc->context);
    gc->i64 = LLVMInt64TypeInContext(gc->context);
    gc->pointer = LLVMPointerTypeInContext(gc->context, 0);
    gc->reference = LLVMPointerTypeInContext(gc->context, TRACKED);
    gc->derived = LLVMPointerTypeInContext(gc->context, DERIVED);
    return true;
}

void tn__gc_end(struct tn__gc *gc)
{
    LLVMDisposeBuilder(gc->builder);
    gc->builder = NULL;
}

int tn__gc_run(struct tn__gc *gc, const char *list, size_t length)
{
    int code = TN_OK;
    struct tn_compile_stats not_reported = {0}, *stats = gc->stats;
    gc->stats = stats ? stats : &not_reported;
    bool begun = tn__gc_begin(gc);
    tn__annotate_functions(gc);
    tn__mark_annotated_functions(gc);
    for (const char *at = list, *next; at < list + length && code == TN_OK; at = next + 1) {
        next = memchr(at, ',', (size_t)(list + length - at));
        next = next ? next : list + length;
        code = run_pass(gc, find_pass(at, (size_t)(next - at)));
    }
    if (begun)
        tn__gc_end(gc);
    gc->stats = stats;
    return code == TN_OK && length ? tn__gc_examine(gc, gc->options->passes) : code;
}

int tn__gc_prepare(struct tn__gc *gc)
{
    static const char names[] = "normalize,expand-atomic-modify,zero-indirect,lower-handlers,gc-verify-strong,"
                                "type-stack";
    return tn__gc_run(gc, names, strlen(names));
}

int tn__gc_lower(struct tn__gc *gc)
{
    int code = tn__gc_run(gc, lowering + 1, CALLS - 1);
    if (code == TN_OK)
        code = tn__gc_call_hook(gc, TN_HOOK_LOWERED);
    return code == TN_OK ? tn__gc_run(gc, lowering + CALLS + 1, ALL - CALLS - 1) : code;
}

/* ---- which modules ---- */

static bool has_managed_value(LLVMValueRef function)
{
    if (tn__is_managed_function(function))
        return true;
    for (TN__EACH_BLOCK(b, function))
        for (TN__EACH_INSTRUCTION(i, b))
            if (tn__space_of(i) >= TRACKED && tn__space_of(i) <= LOADED)
                return true;
    return false;
}

bool tn__holds_managed(LLVMValueRef function)
{
    return tn__type_holds(LLVMGlobalGetValueType(function), IN_MANAGED) || has_managed_value(function);
}

bool tn__gc_is_managed(LLVMModuleRef module)
{
    if (strstr(LLVMGetDataLayoutStr(module), "-ni:10"))
        return true;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (tn__holds_managed(f) || tn__intrinsic_of(f) != TN__NOT_INTRINSIC)
            return true;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        if (tn__type_holds(LLVMGlobalGetValueType(g), IN_MANAGED))
            return true;
    return false;
}

bool tn__gc_was_lowered(LLVMModuleRef module)
{
    return tn__has_root_tables(module);
}

/* ---- the data layout ---- */

static void set_layout(struct tn__gc *gc, const char *suffix)
{
    const char *old = LLVMGetDataLayoutStr(gc->module), *ni = strstr(old, "-ni:");
    size_t start = ni ? (size_t)(ni - old) : strlen(old), rest = ni ? start + 1 + strcspn(ni + 1, "-") : start;
    size_t size = strlen(old) + strlen(suffix) + 1;
    char *layout = tn__gc_array(gc, size, 1);
    memcpy(layout, old, start);
    memcpy(layout + start, old + rest, strlen(old + rest));
    strncat(layout, suffix, size - strlen(layout) - 1);
    LLVMSetDataLayout(gc->module, layout);
}

void tn__gc_add_ni(struct tn__gc *gc)
{
    set_layout(gc, "-ni:10:11:12:13");
}

void tn__gc_remove_ni(struct tn__gc *gc)
{
    if (strstr(LLVMGetDataLayoutStr(gc->module), "-ni:"))
        set_layout(gc, "");
}
