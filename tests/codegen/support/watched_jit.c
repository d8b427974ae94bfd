/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "watched_jit.h"

struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_compiled(void *context, const struct tn_compiled *compiled)
{
    (void)context;
    pthread_mutex_lock(&seen.lock);
    size_t length = strlen(seen.compiled);
    snprintf(seen.compiled + length, sizeof seen.compiled - length, " %s%s%s ", compiled->name,
             compiled->signature ? ":" : "", compiled->signature ? compiled->signature : "");
    pthread_mutex_unlock(&seen.lock);
}

static void note_error(void *context, const struct tn_error *error)
{
    (void)context;
    pthread_mutex_lock(&seen.lock);
    snprintf(seen.error, sizeof seen.error, "%s", error->text);
    pthread_mutex_unlock(&seen.lock);
    seen.errors++;
}

/* Takes the place of functions that could not be compiled. */
static long failed(void)
{
    seen.failures++;
    return -1;
}

const struct tn_compile_observer watching = {.size = sizeof watching, .compiled = note_compiled};
static const struct tn_compile_options levels[] = {
    {DEFAULTS, .opt_level = 0, .observer = &watching},
    {DEFAULTS, .opt_level = 1, .observer = &watching},
    {DEFAULTS, .opt_level = 2, .observer = &watching},
};

struct tn_jit *create_jit(bool lazy, size_t threads, int level)
{
    struct tn_jit *jit;
    struct tn_error err;
    struct tn_jit_options options = {.size = sizeof options,
                                     .threads = threads,
                                     .on_error = note_error,
                                     .compile = &levels[level],
                                     .lazy = lazy,
                                     .on_failure = (void (*)(void))failed,
                                     .resolver = tn_resolve_dlsym};
    *seen.compiled = '\0';
    seen.errors = seen.failures = 0;
    if (tn_jit_create(&options, &jit, &err))
        fail_msg("%s", err.text);
    return jit;
}

int add_ir(struct tn_jit *jit, const char *name, const char *ir, struct tn_error *err)
{
    struct tn_jit_module module = {.size = sizeof module, .name = name, .ir = ir, .length = strlen(ir)};
    return tn_jit_add_module(jit, NULL, &module, err);
}

void add_good(struct tn_jit *jit, const char *name, const char *ir)
{
    struct tn_error err;
    if (add_ir(jit, name, ir, &err))
        fail_msg("%s", err.text);
}

function *look_up(struct tn_jit *jit, const char *name)
{
    struct tn_error err;
    void *address;
    if (tn_jit_lookup(jit, name, &address, &err))
        fail_msg("%s", err.text);
    function *f;
    memcpy(&f, &address, sizeof f);
    return f;
}

const char caller[] = "@offset = global i64 100\n"
                      "declare i64 @callee(i64)\n"
                      "define i64 @caller(i64 %x) {\n  %a = call i64 @callee(i64 %x)\n  %o = load i64, ptr @offset\n"
                      "  %b = add i64 %a, %o\n  ret i64 %b\n}\n"
                      "define i64 @other(i64 %x) {\n  ret i64 %x\n}\n";
const char callee[] = "define i64 @callee(i64 %x) {\n  %a = mul i64 %x, 3\n  ret i64 %a\n}\n";
