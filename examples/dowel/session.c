/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The JIT. A function is compiled quickly when it is first called, and well when it has been called often; one that is
 * defined again replaces the old one under its callers. */

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <llvm-c/BitWriter.h>

#include "dowel.h"

/* C functions of this program that programs may declare. */
TN_EXPORT(sqrt);
TN_EXPORT(sin);
TN_EXPORT(cos);
TN_EXPORT(exp);
TN_EXPORT(log);
TN_EXPORT(pow);
TN_EXPORT(floor);
TN_EXPORT(puts);
TN_EXPORT(abs);
TN_EXPORT(getenv);
TN_EXPORT(raise);

/* runtime.c, compiled into this program. */
#define RUNTIME_EXPORT(name)                                                                                           \
    extern const char name[];                                                                                          \
    TN_EXPORT(name)
RUNTIME_EXPORT(dowel_text);
RUNTIME_EXPORT(dowel_text_of_i64);
RUNTIME_EXPORT(dowel_text_of_double);
RUNTIME_EXPORT(dowel_text_of_bool);
RUNTIME_EXPORT(dowel_join);
RUNTIME_EXPORT(dowel_sub);
RUNTIME_EXPORT(dowel_equal);
RUNTIME_EXPORT(dowel_print);
RUNTIME_EXPORT(dowel_words);
RUNTIME_EXPORT(dowel_references);
RUNTIME_EXPORT(dowel_bad_index);
RUNTIME_EXPORT(tenon_enter_handler);
RUNTIME_EXPORT(tenon_pop_handler);
RUNTIME_EXPORT(dowel_throw);
RUNTIME_EXPORT(dowel_caught);
RUNTIME_EXPORT(dowel_report);
RUNTIME_EXPORT(dowel_map);
RUNTIME_EXPORT(dowel_map_string);
RUNTIME_EXPORT(dowel_map_i64);
RUNTIME_EXPORT(dowel_map_keys);

/* The C functions that it calls, and code with handlers. */
TN_EXPORT(printf);
TN_EXPORT(snprintf);
TN_EXPORT(dprintf);
TN_EXPORT(strtod);
TN_EXPORT(fflush);
TN_EXPORT(memcpy);
TN_EXPORT(memset);
TN_EXPORT(__sigsetjmp);
TN_EXPORT(siglongjmp);

/* runtime.c as bitcode, for executables. */
extern const char dowel_runtime[], dowel_runtime_end[];
__asm__(".section .rodata\n"
        ".globl dowel_runtime, dowel_runtime_end\n"
        "dowel_runtime: .incbin \"" RUNTIME "\"\n"
        "dowel_runtime_end: .byte 0\n"
        ".previous\n");

static const struct tn_tier tiers[] = {{.opt_level = 0, .calls = 1000, .loops = 20}, {.opt_level = 2}};

static void report(void *context, const struct tn_error *err)
{
    (void)context;
    fprintf(stderr, "dowel: %s\n", err->text);
}

/* In place of a function that cannot be compiled, which is reported. */
static void no_function(void)
{
    exit(1);
}

static void out_of_memory(void *context, size_t size)
{
    (void)context;
    fflush(stdout);
    fprintf(stderr, "dowel: out of memory: there are no %zu bytes\n", size);
    _exit(1);
}

static void corrupt(void *context, const char *what)
{
    (void)context;
    fprintf(stderr, "dowel: the collector found: %s\n", what);
    abort();
}

const char *plain(const char *symbol)
{
    size_t length = strlen(SYMBOL_PREFIX);
    return strncmp(symbol, SYMBOL_PREFIX, length) == 0 ? symbol + length : symbol;
}

/* ---- begin and end ---- */

static int open_heap(struct session *s, uint64_t limit, struct tn_error *err)
{
    struct tn_heap_options options;
    int code = tn_heap_options_from_environment(&options, err);
    options.out_of_memory = out_of_memory;
    options.on_corruption = corrupt;
    options.limit = limit ? limit : options.limit;
    if (!code)
        code = tn_heap_create(&options, &s->heap, err);
    if (!code)
        code = tn_heap_attach(s->heap, err);
    return code;
}

static int open_cache(struct session *s, const char *path, struct tn_error *err)
{
    const struct tn_folder_options folder = {.size = sizeof folder, .path = path};
    const struct tn_cache_options options = {
        .size = sizeof options, .stores = &s->store, .store_count = 1, .compiler = tn_codegen_compiler()};
    int code = tn_store_open_folder(&folder, &s->store, err);
    return code ? code : tn_cache_create(&options, &s->cache, err);
}

static int open_jit(struct session *s, const struct session_options *options, struct tn_error *err)
{
    const struct tn_compile_options compile = {.size = sizeof compile, .opt_level = options->gdb ? 0 : 2};
    /* gdb looks for the lines of breakpoints in what is compiled. */
    const struct tn_jit_options jit = {.size = sizeof jit,
                                       .compile = &compile,
                                       .lazy = !options->gdb,
                                       .keep_ir = 1,
                                       .on_failure = no_function,
                                       .on_error = report,
                                       .resolver = tn_resolve_exports,
                                       .compiler = s->cache,
                                       .tiers = tiers,
                                       .tier_count = options->gdb ? 0 : sizeof tiers / sizeof *tiers,
                                       .tiering = tn_jit_tiering(),
                                       .session_flags = TN_SESSION_OWN_THREADS,
                                       .managed = tn_enable_managed_code};
    int code = tn_jit_create(&jit, &s->jit, err);
    if (!code && options->gdb)
        code = tn_observe_gdb(tn_jit_session(s->jit), err);
    if (!code && options->perf)
        code = tn_observe_perf(tn_jit_session(s->jit), TN_PERF_JITDUMP, options->perf, err);
    return code;
}

/* Executables have it from the JIT. In one piece: handlers are no functions to be looked up while they are entered. */
static int add_runtime(struct session *s, struct tn_error *err)
{
    const struct tn_jit_module module = {.size = sizeof module,
                                         .name = "runtime",
                                         .ir = dowel_runtime,
                                         .length = (size_t)(dowel_runtime_end - dowel_runtime),
                                         .whole = 1,
                                         .stays = 1};
    return tn_jit_add_module(s->jit, NULL, &module, err);
}

bool open_session(struct session *s, const struct session_options *options, struct tn_error *err)
{
    *s = (struct session){0};
    begin_compiler(&s->compiler);
    s->compiler.session = s;
    s->builds = options->builds;
    int code = open_heap(s, options->bytes, err);
    if (!code && options->cache)
        code = open_cache(s, options->cache, err);
    if (!code)
        code = open_jit(s, options, err);
    if (!code)
        code = watch(s, options->seconds, err);
    if (!code && options->builds)
        code = add_runtime(s, err);
    return code == 0;
}

void close_session(struct session *s)
{
    tn_heap_detach();
    tn_jit_destroy(s->jit);
    close_packages(s);
    tn_heap_destroy(s->heap);
    tn_cache_destroy(s->cache);
    tn_store_close_folder(s->store);
    end_compiler(&s->compiler);
}

bool knows_c_function(const struct session *s, const char *name)
{
    struct tn_known known = {.name = name};
    struct tn_error err;
    return s->builds || (!tn_lookup_flags(tn_jit_library(s->jit), &known, 1, &err) && known.flags);
}

/* ---- what was compiled ---- */

static int add(struct session *s, const struct pending *pending, struct tn_error *err)
{
    const struct tn_jit_module module = {
        .size = sizeof module, .name = s->compiler.file, .llvm_module = pending->module};
    return pending->kind == REPLACES ? tn_jit_replace(s->jit, NULL, &module, err)
                                     : tn_jit_add_module(s->jit, NULL, &module, err);
}

bool run_pending(struct session *s)
{
    struct tn_error err = {0};
    struct pending *first = s->compiler.pending;
    bool good = true;
    for (struct pending *pending = first; pending; pending = pending->next) {
        if (good && add(s, pending, &err))
            good = (report(NULL, &err), false);
        LLVMDisposeModule(pending->module);
    }
    for (struct pending *pending = first; pending && good; pending = pending->next) {
        void *address;
        if (pending->kind != RUNS)
            continue;
        s->has_run = true;
        if (tn_jit_lookup(s->jit, pending->name, &address, &err))
            good = (report(NULL, &err), false);
        else
            good = ((int64_t(*)(void))address)() == 0;
    }
    s->compiler.pending = NULL;
    return good;
}

bool run_text(struct session *s, const char *file, const char *text)
{
    if (compile(&s->compiler, file, text))
        return run_pending(s);
    fprintf(stderr, "%s\n", s->compiler.mistake);
    return false;
}
