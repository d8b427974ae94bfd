/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The passes by name, when they run, and for which modules. */

#include <llvm-c/Analysis.h>

#include "codegen/managed/lower/lower.h"
#include "codegen/managed/passes/passes.h"
#include "codegen/managed/roots/roots.h"
#include "codegen/managed/verify/verify.h"

/* ---- the table ---- */

#define PASSES(X)                                                                                                      \
    X("gc-verify", tn__gc_verify_weak)                                                                                 \
    X("gc-verify-strong", tn__gc_verify_strong)                                                                        \
    X("normalize", tn__normalize)                                                                                      \
    X("normalize-clang", tn__normalize_clang)                                                                          \
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
    X("remove-ni", tn__gc_remove_ni)

static const struct pass {
    const char *name;
    void (*run)(struct tn__gc *gc);
} passes[] = {
#define ROW(name, run) {name, run},
    PASSES(ROW)
#undef ROW
};

const char *const *tn_codegen_passes(void)
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

int tn__gc_check_names(const char *list, struct tn_error *err)
{
    size_t length;
    for (const char *at = list; *at; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        if (find_pass(at, length))
            continue;
        int code = tn__fail(err, TN_EINVAL, "unknown pass '%.*s'; there are:", (int)length, at);
        for (size_t i = 0; i < TN_COUNT(passes); i++)
            tn__append(err, " %s", passes[i].name);
        return code;
    }
    return TN_OK;
}

/* Lets LLVM's verifier see what the passes made: in builds with sanitizers always. */
static int verify_module(struct tn__gc *gc)
{
    char *message = NULL;
    bool broken = LLVMVerifyModule(gc->module, LLVMReturnStatusAction, &message);
    if (broken)
        tn__diagnostics_report(gc->diagnostics, NULL, 0, 0, message);
    LLVMDisposeMessage(message);
    return broken ? TN_ECOMPILE : TN_OK;
}

int tn__gc_run(struct tn__gc *gc, const char *list)
{
    size_t length;
    int code = TN_OK;
    gc->builder = LLVMCreateBuilderInContext(gc->context);
    gc->nothing = LLVMVoidTypeInContext(gc->context);
    gc->i8 = LLVMInt8TypeInContext(gc->context);
    gc->i32 = LLVMInt32TypeInContext(gc->context);
    gc->i64 = LLVMInt64TypeInContext(gc->context);
    gc->pointer = LLVMPointerTypeInContext(gc->context, 0);
    gc->reference = LLVMPointerTypeInContext(gc->context, TRACKED);
    gc->derived = LLVMPointerTypeInContext(gc->context, DERIVED);
    tn__annotate_functions(gc);
    tn__mark_annotated_functions(gc);
    for (const char *at = list; *at && code == TN_OK; at += length + (at[length] == ',')) {
        length = strcspn(at, ",");
        find_pass(at, length)->run(gc);
        tn__arena_free(&gc->arena);
        code = gc->diagnostics->errors ? TN_ECOMPILE : TN_OK;
    }
    LLVMDisposeBuilder(gc->builder);
    bool is_examined = gc->options->passes || gc->options->verify_ir;
#ifdef TN_CHECKING
    is_examined = true;
#endif
    return code == TN_OK && *list && is_examined ? verify_module(gc) : code;
}

int tn__gc_prepare(struct tn__gc *gc)
{
    return tn__gc_run(gc, "normalize,gc-verify-strong,type-stack");
}

int tn__gc_lower(struct tn__gc *gc)
{
    return tn__gc_run(
        gc, "gc-verify,type-stack,scalarize,lower-calls,insert-polls,copy-arguments,insert-barriers,lower-allocations,"
            "manage-functions,transitions,place-roots,finish,root-tables");
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

bool tn__gc_is_managed(LLVMModuleRef module)
{
    if (strstr(LLVMGetDataLayoutStr(module), "-ni:10"))
        return true;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        if (tn__type_holds(LLVMGlobalGetValueType(f), IN_MANAGED) || tn__intrinsic_of(f) != TN__NOT_INTRINSIC ||
            has_managed_value(f))
            return true;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g; g = LLVMGetNextGlobal(g))
        if (tn__type_holds(LLVMGlobalGetValueType(g), IN_MANAGED))
            return true;
    return false;
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
