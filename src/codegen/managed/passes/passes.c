/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The table of passes, when they run, and for which modules. */

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

static const struct {
    const char *name;
    void (*run)(struct tn__gc *gc);
} passes[TN__PASSES] = {
    [TN__PASS_CPU_FEATURES] = {"cpufeatures", answer_cpu},
    [TN__PASS_VERIFY] = {"gc-verify", tn__gc_verify_weak},
    [TN__PASS_VERIFY_STRONG] = {"gc-verify-strong", tn__gc_verify_strong},
    [TN__PASS_NORMALIZE] = {"normalize", tn__normalize},
    [TN__PASS_NORMALIZE_CLANG] = {"normalize-clang", tn__normalize_clang},
    [TN__PASS_EXPAND_ATOMIC_MODIFY] = {"expand-atomic-modify", tn__expand_atomic_modify},
    [TN__PASS_ZERO_INDIRECT] = {"zero-indirect", tn__zero_indirectly},
    [TN__PASS_LOWER_HANDLERS] = {"lower-handlers", tn__lower_handlers},
    [TN__PASS_TYPE_STACK] = {"type-stack", tn__type_stack},
    [TN__PASS_SCALARIZE] = {"scalarize", tn__scalarize},
    [TN__PASS_LOWER_CALLS] = {"lower-calls", tn__lower_calls},
    [TN__PASS_INSERT_POLLS] = {"insert-polls", tn__insert_polls},
    [TN__PASS_COPY_ARGUMENTS] = {"copy-arguments", tn__copy_arguments},
    [TN__PASS_INSERT_BARRIERS] = {"insert-barriers", tn__insert_barriers},
    [TN__PASS_LOWER_ALLOCATIONS] = {"lower-allocations", tn__lower_allocations},
    [TN__PASS_MANAGE_FUNCTIONS] = {"manage-functions", tn__manage_functions},
    [TN__PASS_TRANSITIONS] = {"transitions", tn__make_transitions},
    [TN__PASS_PLACE_ROOTS] = {"place-roots", tn__place_roots},
    [TN__PASS_FINISH] = {"finish", tn__finish},
    [TN__PASS_ROOT_TABLES] = {"root-tables", tn__make_root_tables},
    [TN__PASS_REMOVE_ADDRSPACES] = {"remove-addrspaces", tn__remove_spaces},
    [TN__PASS_REMOVE_NI] = {"remove-ni", tn__gc_remove_ni},
    [TN__PASS_COUNT_CALLS] = {"count-calls", tn__count_calls},
};

const char *tn__gc_pass_name(size_t pass)
{
    return passes[pass].name;
}

size_t tn__gc_find_pass(const char *name, size_t length)
{
    size_t pass = 0;
    while (pass < TN__PASSES && (strlen(passes[pass].name) != length || memcmp(passes[pass].name, name, length) != 0))
        pass++;
    return pass;
}

/* ---- the lowering ---- */

/* In this order; the client's hook is called between the two lists. Other passes of ours may stand between these. */
static const uint8_t to_calls[] = {TN__PASS_VERIFY,          TN__PASS_TYPE_STACK,        TN__PASS_SCALARIZE,
                                   TN__PASS_LOWER_CALLS,     TN__PASS_INSERT_POLLS,      TN__PASS_COPY_ARGUMENTS,
                                   TN__PASS_INSERT_BARRIERS, TN__PASS_LOWER_ALLOCATIONS, TN__PASS_MANAGE_FUNCTIONS,
                                   TN__PASS_TRANSITIONS};
static const uint8_t to_roots[] = {TN__PASS_PLACE_ROOTS, TN__PASS_FINISH, TN__PASS_ROOT_TABLES};
enum { CALLS = sizeof to_calls, ALL = CALLS + sizeof to_roots, SPOILED }; /* values of gc->lowered */

/* Only the rest of the lowering may run where roots are placed. */
static void spoil(struct tn__gc *gc)
{
    gc->lowered = gc->lowered > CALLS ? SPOILED : gc->lowered;
}

static void count_lowering(struct tn__gc *gc, uint8_t pass)
{
    unsigned at = 0;
    while (at < ALL && pass != (at < CALLS ? to_calls[at] : to_roots[at - CALLS]))
        at++;
    if (at == ALL)
        return;
    if (at == gc->lowered)
        gc->lowered++;
    else
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

static int run_pass(struct tn__gc *gc, uint8_t pass)
{
    bool is_watched = gc->watch && tn__watch_begin(gc->watch, passes[pass].name, gc->module);
    if (gc->watch && !is_watched && gc->options->emit >= TN_EMIT_LLVM)
        return 0; /* the observer has stopped the pipeline; machine code cannot be made without our passes */
    passes[pass].run(gc);
    tn__arena_free(&gc->arena);
    count_lowering(gc, pass);
    if (is_watched)
        tn__watch_end(gc->watch, passes[pass].name, gc->module);
    return gc->diagnostics->errors ? TN_ECOMPILE : 0;
}

bool tn__gc_begin(struct tn__gc *gc)
{
    if (gc->builder)
        return false;
    gc->builder = LLVMCreateBuilderInContext(gc->context);
    gc->declared_count = 0;
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

int tn__gc_run(struct tn__gc *gc, const uint8_t *list, size_t count)
{
    int code = 0;
    struct tn_compile_stats not_reported = {0}, *stats = gc->stats;
    gc->stats = stats ? stats : &not_reported;
    bool begun = tn__gc_begin(gc);
    gc->declared_count = 0; /* others may have removed what nothing used */
    tn__annotate_functions(gc);
    tn__mark_annotated_functions(gc);
    for (size_t i = 0; i < count && !code; i++) {
        gc->is_typed_next = i + 1 < count && list[i + 1] == TN__PASS_TYPE_STACK && !gc->watch;
        code = run_pass(gc, list[i]);
    }
    if (begun)
        tn__gc_end(gc);
    gc->stats = stats;
    return !code && count ? tn__gc_examine(gc, gc->options->passes) : code;
}

int tn__gc_prepare(struct tn__gc *gc)
{
    static const uint8_t list[] = {TN__PASS_NORMALIZE,      TN__PASS_EXPAND_ATOMIC_MODIFY, TN__PASS_ZERO_INDIRECT,
                                   TN__PASS_LOWER_HANDLERS, TN__PASS_VERIFY_STRONG,        TN__PASS_TYPE_STACK};
    return tn__gc_run(gc, list, TN_COUNT(list));
}

int tn__gc_lower(struct tn__gc *gc, bool is_verified)
{
    /* The first two would find nothing new. Builds with checks look all the same. */
    unsigned done = is_verified && !gc->lowered && !gc->watch && !TN__IS_CHECKING ? 2 : 0;
    gc->lowered += done;
    gc->is_optimized |= done != 0;
    tn__find_left_functions(gc);
    int code = tn__gc_run(gc, to_calls + done, TN_COUNT(to_calls) - done);
    if (!code)
        code = tn__gc_call_hook(gc, TN_HOOK_LOWERED);
    return code ? code : tn__gc_run(gc, to_roots, TN_COUNT(to_roots));
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
