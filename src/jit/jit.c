/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Creating a JIT, looking up, and what its compilations report. */

#include <stddef.h>
#include <stdio.h>

#include "base/fork.h"
#include "cache/compiler.h"
#include "jit/jit.h"
#include "jit/options.h"
#include "link/demand/promise.h"
#include "link/passes/dynamic.h"
#include "link/redirect/cell.h"

/* ---- the lock ---- */

static struct tn__mutex lock = TN__MUTEX(TN__LEVEL_JITS);

void tn__jit_lock(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &lock};
    tn__forks_watch(TN__LEVEL_JITS, &hooks);
    tn__mutex_lock(&lock);
}

void tn__jit_unlock(void)
{
    tn__mutex_unlock(&lock);
}

/* ---- creating and destroying ---- */

static int take_compiler(const struct tn_compiler *given, struct tn_jit *jit, struct tn_error *err)
{
    struct tn_compiler *taken = &jit->compiler;
    if (!given)
        return tn__fail(err, TN_EINVAL, "a JIT needs a compiler, such as tn_codegen_compiler() or a cache");
    int code = tn__take_compiler(given, taken, err);
    return !code && taken->check ? taken->check(taken->context, &jit->compile, err) : code;
}

static int take_options(const struct tn_jit_options *given, struct tn_jit_options *options, struct tn_jit *jit,
                        struct tn_error *err)
{
    int code = tn__take_options(options, sizeof *options, given, "struct tn_jit_options", err);
    if (!code)
        code = tn__take_compile_options(options->compile, &jit->compile, &jit->observer, err);
    if (code)
        return code;
    if (jit->compile.emit != TN_EMIT_OBJECT)
        return tn__fail(err, TN_EINVAL, "a JIT compiles to objects, and nothing else");
    if (options->tier_count && (!options->tiers || !options->tiering || !options->lazy))
        return tn__fail(err, TN_EINVAL, "tiers need a lazy JIT, the tiers, and tn_jit_tiering()");
    if (options->lazy && !options->on_failure)
        return tn__fail(err, TN_EINVAL, "a lazy JIT needs on_failure");
    if (options->session && (options->threads || options->on_error || options->session_flags || options->managed))
        return tn__fail(err, TN_EINVAL,
                        "threads, on_error, session_flags and managed belong to the session, which is given");
    return take_compiler(options->compiler, jit, err);
}

static int open_session(struct tn_jit *jit, const struct tn_jit_options *options, struct tn_error *err)
{
    struct tn_session_options session = {.size = sizeof session,
                                         .context = options->context,
                                         .flags = options->session_flags,
                                         .on_error = options->on_error,
                                         .threads = options->threads};
    jit->session = options->session;
    jit->owns_session = !options->session;
    int code = jit->session ? 0 : tn_session_create(&session, &jit->session, err);
    if (!code) {
        jit->compile.any_threads |= jit->session->any_threads;
        tn__session_lock(jit->session);
        tn__session_offer_dynamic(jit->session);
        tn__session_unlock(jit->session);
    }
    if (!code)
        code = tn_library_create(jit->session, "main", &jit->library, err);
    if (!code && options->resolver)
        code = tn_add_resolver(jit->library, options->resolver, options->resolver_context, err);
    if (!code && options->managed)
        code = options->managed(jit->library, err);
    return code;
}

int tn_jit_create(const struct tn_jit_options *given, struct tn_jit **out, struct tn_error *err)
{
    struct tn_jit_options options;
    if (!out)
        return tn__fail(err, TN_EINVAL, "tn_jit_create: no place for the JIT");
    *out = NULL;
    struct tn_jit *jit = tn__alloc_zeroed(NULL, 1, sizeof *jit);
    if (!jit)
        return tn__fail(err, TN_ENOMEM, "no memory for a JIT");
    jit->users = 1;
    int code = take_options(given, &options, jit, err);
    if (!code)
        jit->strings = tn__alloc(NULL, tn__keep_compile_options(&jit->compile, NULL, NULL) + 1);
    if (!code && !jit->strings)
        code = tn__fail(err, TN_ENOMEM, "no memory for a JIT");
    if (!code)
        tn__keep_compile_options(&jit->compile, jit->strings, &jit->native);
    jit->compile.observer = &jit->observer;
    if (!code)
        code = open_session(jit, &options, err);
    jit->lazy = options.lazy != 0;
    jit->keeps_ir = options.keep_ir != 0;
    jit->on_failure = options.on_failure;
    if (!code && options.tier_count)
        code = options.tiering->open(jit, &options, err);
    if (code) {
        tn_jit_destroy(jit);
        return code;
    }
    *out = jit;
    return 0;
}

void tn__jit_use(struct tn_jit *jit)
{
    atomic_fetch_add(&jit->users, 1);
}

static void free_initializers(struct tn__jit_initializer *each)
{
    for (struct tn__jit_initializer *next; each; each = next) {
        next = each->next;
        tn__free(NULL, each);
    }
}

void tn__jit_release(struct tn_jit *jit)
{
    if (atomic_fetch_sub(&jit->users, 1) != 1)
        return;
    free_initializers(jit->initializers);
    for (struct tn__jit_kept *each = jit->kept, *next; each; each = next) {
        next = each->next;
        tn__free(NULL, each);
    }
    for (struct tn__jit_version *each = jit->versions, *next; each; each = next) {
        next = each->next;
        tn__claims_release(each->claims);
        tn__free(NULL, each);
    }
    if (jit->ahead)
        tn__ahead_hooks_of(jit)->free(jit->ahead);
    tn__jit_free_tags(jit);
    if (jit->tiering)
        jit->tiering->free(jit);
    tn__free(NULL, jit->strings);
    tn__free(NULL, jit);
}

static void forget_at_exit(const struct tn_jit *jit)
{
    for (struct tn__jit_at_exit *each = jit->at_exit, *next; each; each = next) {
        next = each->next;
        tn__at_exit_remove(&each->registered);
        tn__free(NULL, each);
    }
}

void tn_jit_destroy(struct tn_jit *jit)
{
    if (!jit)
        return;
    forget_at_exit(jit);
    if (jit->tiering)
        jit->tiering->close(jit);
    if (jit->ahead)
        tn__ahead_hooks_of(jit)->end(jit->ahead);
    if (jit->owns_session)
        tn_session_destroy(jit->session); /* NULL if it could not be created */
    tn__jit_release(jit);
}

/* ---- using ---- */

struct tn_session *tn_jit_session(const struct tn_jit *jit)
{
    return jit->session;
}

struct tn_library *tn_jit_library(const struct tn_jit *jit)
{
    return jit->library;
}

int tn_jit_lookup(struct tn_jit *jit, const char *name, void **address, struct tn_error *err)
{
    if (!jit)
        return tn__no_argument(err);
    return tn_lookup(jit->library, name, address, err);
}

/* Takes those of the library off the list, oldest first. */
static struct tn__jit_initializer *take_initializers(struct tn_jit *jit, const struct tn_library *library)
{
    struct tn__jit_initializer *taken = NULL;
    const uint64_t number = tn_library_number(library);
    tn__jit_lock();
    for (struct tn__jit_initializer **at = &jit->initializers, *each; (each = *at);) {
        if (each->library != number) {
            at = &each->next;
            continue;
        }
        *at = each->next;
        each->next = taken;
        taken = each;
    }
    tn__jit_unlock();
    return taken;
}

static void give_back(struct tn_jit *jit, struct tn__jit_initializer *each)
{
    tn__jit_lock();
    for (struct tn__jit_initializer *next; each; each = next) {
        next = each->next;
        each->next = jit->initializers;
        jit->initializers = each;
    }
    tn__jit_unlock();
}

void tn__jit_forget_initializers(struct tn_jit *jit, const struct tn_library *library)
{
    free_initializers(take_initializers(jit, library));
}

/* Asks for the symbols that bring the modules' objects. These need nothing of them, but the request does. */
static void ask_for_initializers(struct tn__request *request, const struct tn__jit_initializer *all)
{
    request->initializers = true;
    for (const struct tn__jit_initializer *each = all; each; each = each->next)
        if (*each->symbol) /* weak: the module may have been removed */
            request->symbols[request->count++] =
                (struct tn_wanted){each->symbol, TN_WANTED_WEAK | TN_WANTED_HIDDEN, NULL};
        else
            request->everything = true;
}

/* Links in one step: what a first link of several had linked, no definition of the others could override. */
static int link_with(struct tn_library *library, const struct tn__jit_initializer *all, const char *const *names,
                     size_t count, struct tn_error *err)
{
    size_t most = count + 1;
    for (const struct tn__jit_initializer *each = all; each; each = each->next)
        most++;
    struct tn__request request = {.library = library, .everything = names};
    request.symbols = tn__alloc_zeroed(NULL, most, sizeof *request.symbols);
    if (!request.symbols)
        return tn__fail(err, TN_ENOMEM, "no memory for a lookup");
    while (request.count < count) {
        request.symbols[request.count] = (struct tn_wanted){names[request.count], TN_WANTED_HIDDEN, NULL};
        request.count++;
    }
    ask_for_initializers(&request, all);
    int code = tn__wanted_check(library, request.symbols, request.count, err);
    if (!code)
        code = tn__query_link(&request, err);
    tn__free(NULL, request.symbols);
    return code;
}

/* With modules that have initializers. `names`, unless it is NULL, asks for everything too. */
static int link_modules(struct tn_jit *jit, struct tn_library *library, const char *const *names, size_t count,
                        struct tn_error *err)
{
    struct tn__jit_initializer *all = take_initializers(jit, library);
    int code = all || names ? link_with(library, all, names, count, err) : 0;
    if (code && code != TN_EREMOVED)
        give_back(jit, all);
    else
        free_initializers(all);
    return code;
}

int tn__jit_link_initializers(struct tn_jit *jit, struct tn_library *library, struct tn_error *err)
{
    return link_modules(jit, library, NULL, 0, err);
}

int tn_jit_link(struct tn_jit *jit, struct tn_library *library, const char *const *symbols, size_t count,
                struct tn_error *err)
{
    static const char *const none[] = {NULL};
    if (!jit)
        return tn__no_argument(err);
    if (count && !symbols)
        return tn__fail(err, TN_EINVAL, "tn_jit_link: symbols are counted, but there are none");
    return link_modules(jit, library ? library : jit->library, symbols ? symbols : none, count, err);
}

int tn_jit_run_initializers(struct tn_jit *jit, struct tn_library *library, int argc, char **argv, char **envp,
                            struct tn_error *err)
{
    if (!jit)
        return tn__no_argument(err);
    library = library ? library : jit->library;
    int code = tn__jit_link_initializers(jit, library, err);
    return code ? code : tn_run_initializers(library, argc, argv, envp, err);
}

void tn_jit_stats(const struct tn_jit *jit, struct tn_jit_stats *stats)
{
    tn__give_counters(stats, sizeof jit->counters, &jit->counters);
}

void tn__jit_count(struct tn_jit *jit, const struct tn_compile_stats *stats)
{
    struct tn_jit_stats *counters = &jit->counters;
    tn__count(&counters->extract_ns, stats->extract_ns);
    tn__count(&counters->free_ns, stats->free_ns);
    tn__count(&counters->baseline_functions, stats->baseline_functions);
    tn__count(&counters->baseline_left, stats->baseline_left);
    tn__count(&counters->baseline_ns, stats->baseline_ns);
}

/* ---- what compilations report ---- */

static void on_phase(void *context, const char *module, enum tn_phase phase, uint64_t begin, uint64_t end)
{
    const struct tn__jit_watch *watch = context;
    struct tn_jit *jit = watch->jit;
    uint64_t *const sums[] = {&jit->counters.parse_ns, &jit->counters.optimize_ns, &jit->counters.emit_ns};
    tn__count(sums[phase], end - begin);
    if (jit->observer.phase)
        jit->observer.phase(jit->observer.context, module, phase, begin, end);
}

static const char *signature_of(const struct tn__added_module *module, const char *name)
{
    for (size_t i = 0; i < module->instance_count; i++) {
        const struct tn_jit_instance *instance = &module->instances[i];
        if ((instance->invoke && strcmp(instance->invoke, name) == 0) ||
            (instance->specialized && strcmp(instance->specialized, name) == 0))
            return instance->signature;
    }
    return NULL;
}

static void on_compiled(void *context, const struct tn_compiled *function)
{
    const struct tn__jit_watch *watch = context;
    struct tn_compiled shown = *function;
    const char *signature = signature_of(watch->module, shown.name);
    shown.signature = signature ? signature : function->signature;
    watch->jit->observer.compiled(watch->jit->observer.context, &shown);
}

static void on_stage(void *context, const char *module, enum tn_stage stage, const void *bytes, size_t length)
{
    const struct tn_compile_observer *client = &((const struct tn__jit_watch *)context)->jit->observer;
    client->stage(client->context, module, stage, bytes, length);
}

static int on_before_pass(void *context, const struct tn_pass *pass)
{
    const struct tn__jit_watch *watch = context;
    const struct tn_compile_observer *client = &watch->jit->observer;
    if (watch->is_cancelled && watch->is_cancelled(watch->context))
        return 1;
    return client->before_pass ? client->before_pass(client->context, pass) : 0;
}

static void on_after_pass(void *context, const struct tn_pass *pass)
{
    const struct tn_compile_observer *client = &((const struct tn__jit_watch *)context)->jit->observer;
    client->after_pass(client->context, pass);
}

static void on_after_emit_pass(void *context, const struct tn_pass *pass)
{
    const struct tn_compile_observer *client = &((const struct tn__jit_watch *)context)->jit->observer;
    client->after_emit_pass(client->context, pass);
}

static void on_remark(void *context, const struct tn_remark *remark)
{
    const struct tn_compile_observer *client = &((const struct tn__jit_watch *)context)->jit->observer;
    client->remark(client->context, remark);
}

static void on_warning(void *context, const char *text)
{
    const struct tn_compile_observer *client = &((const struct tn__jit_watch *)context)->jit->observer;
    client->warning(client->context, text);
}

static void on_optimized(void *context, const struct tn_optimized *optimized)
{
    const struct tn_compile_observer *client = &((const struct tn__jit_watch *)context)->jit->observer;
    client->optimized(client->context, optimized);
}

void tn__jit_watch(struct tn__jit_watch *watch, struct tn_compile_observer *observer)
{
    const struct tn_compile_observer *client = &watch->jit->observer;
    *observer = (struct tn_compile_observer){
        .size = sizeof *observer,
        .context = watch,
        .phase = on_phase,
        .compiled = client->compiled ? on_compiled : NULL,
        .stage = client->stage ? on_stage : NULL,
        .stages = client->stages,
        .before_pass = client->before_pass || watch->is_cancelled ? on_before_pass : NULL,
        .after_pass = client->after_pass ? on_after_pass : NULL,
        .remark = client->remark ? on_remark : NULL,
        .warning = client->warning ? on_warning : NULL,
        .optimized = client->optimized ? on_optimized : NULL,
        .after_emit_pass = client->after_emit_pass ? on_after_emit_pass : NULL,
    };
}
