/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A module that stays in memory and is compiled part by part. As long as threads come one at a time, parts are compiled
 * in the context of the module, as its guests. Once a second thread has had to wait for that, parts are copied into
 * contexts of their own: then the lock is only held while a part is copied, and parts are compiled in parallel. */

#include <pthread.h>

#include "base/fork.h"
#include "base/os.h"
#include "codegen/compile/unit.h"
#include "codegen/llvm/fatal.h"
#include "codegen/managed/passes/passes.h"
#include "codegen/pipeline/pipeline.h"
#include "codegen/parts/module.h"
#include "jit/background.h"

struct tn__module {
    struct tn__list listed;
    bool locked_for_fork;
    bool in_one_piece;     /* it is being compiled as a whole, without the lock */
    struct tn__mutex lock; /* recursive: the observer of a compilation may compile as well */
    struct tn__unit unit;
    struct tn__split *split;
    const struct tn__split
        *symbols; /* the first split, which has the lists of symbols; if LLVM gave up, it is not the last */
    struct tn_buffer types;
    const char *tag; /* behind the name */
    char *ir;        /* a copy, to read the module again; NULL if there is none */
    size_t length;
    bool whole;  /* not taken apart */
    bool apart;  /* parts are compiled in contexts of their own */
    bool broken; /* LLVM gave up in it */
    char name[];
};

/* ---- opening and closing ---- */

struct opening {
    struct tn__module *module;
    const void *ir;
    size_t length;
    bool whole;
    bool stays; /* the IR outlives the module, whose bodies may be read when they are needed */
    struct tn_error *err;
};

/* What managed code keeps in memory is found with the whole module in view, however it is divided afterwards. */
static int prepare_managed(struct tn__unit *unit)
{
    if (!unit->managed || !tn__pipeline_is_staged(unit->options->passes))
        return 0;
    struct tn__gc gc = {
        .module = unit->module, .context = unit->context, .options = unit->options, .diagnostics = &unit->diagnostics};
    int code = tn__gc_prepare(&gc);
    tn__arena_free(&gc.arena);
    unit->is_prepared = !code;
    return code;
}

/* LLVM names a module as its client does, and so its source file if it names none. What is made of a module does not
 * depend on that. */
static void forget_name(const struct tn__unit *unit)
{
    static const char name[] = "ir";
    size_t length;
    const char *source = LLVMGetSourceFileName(unit->module, &length);
    if (length == strlen(unit->name) && memcmp(source, unit->name, length) == 0)
        LLVMSetSourceFileName(unit->module, name, sizeof name - 1);
    LLVMSetModuleIdentifier(unit->module, name, sizeof name - 1);
}

/* Reads the module and divides it. */
static int read_parts(struct opening *o, enum tn__reading how)
{
    struct tn__unit *unit = &o->module->unit;
    int code = tn__unit_read(unit, o->ir, o->length, how, o->err);
    if (!code)
        forget_name(unit);
    if (!code)
        code = prepare_managed(unit);
    if (code) {
        tn__unit_dispose(unit);
        return code;
    }
    if (!o->module->types.size && !tn__describe_types(unit->module, &o->module->types)) {
        tn__unit_dispose(unit);
        return tn__no_memory(o->err, unit->name);
    }
    o->module->split = tn__split_create(unit->module, o->module->tag, o->whole);
    o->module->whole = tn__split_is_whole(o->module->split);
    return 0;
}

static int open_contained(void *user)
{
    struct opening *o = user;
    struct tn__unit *unit = &o->module->unit;
    const struct tn__unit unread = *unit;
    bool lazily = o->stays && !o->whole;
    int code = read_parts(o, lazily ? TN__READ_LAZILY : TN__READ);
    if (!code && lazily && o->module->whole) { /* it cannot be divided, so all bodies are needed */
        tn__split_dispose(o->module->split);
        tn__unit_dispose(unit);
        *unit = unread;
        code = read_parts(o, TN__READ);
    }
    if (code)
        return code;
    tn__target_give(unit->target); /* it is needed again when something is compiled */
    unit->target = NULL;
    unit->diagnostics.err = NULL;
    LLVMContextSetDiscardValueNames(unit->context, !o->module->whole); /* names in parts are not visible to anybody */
    return 0;
}

/* ---- forks ---- */

static struct {
    struct tn__mutex lock;
    struct tn__list modules;
} all = {TN__MUTEX(TN__LEVEL_MODULES), {&all.modules, &all.modules}};

/* Compiling may take long, so a fork does not wait for it. */
static void before_fork(void)
{
    for (TN_EACH(struct tn__module, module, &all.modules, listed))
        module->locked_for_fork = tn__mutex_try(&module->lock);
}

/* A module that another thread was compiling is treated as if LLVM had given up in it: it is read again when it is
 * needed. The child cannot unlock recursive locks, which know their owner by its number in the parent. */
static void after_fork(bool in_child)
{
    for (TN_EACH(struct tn__module, module, &all.modules, listed)) {
        if (in_child) {
            tn__mutex_forget(&module->lock);
            tn__mutex_init_recursive(&module->lock, TN__LEVEL_MODULE);
        } else if (module->locked_for_fork) {
            tn__mutex_unlock(&module->lock);
        }
        module->broken |= in_child && !module->locked_for_fork;
        module->broken |= in_child && __atomic_load_n(&module->in_one_piece, __ATOMIC_RELAXED);
    }
}

/* ---- opening ---- */

struct writing {
    LLVMModuleRef module;
    struct tn_buffer *out;
};

static int write_contained(void *user)
{
    struct writing *w = user;
    return tn__llvm_write_bitcode(w->module, w->out) ? 0 : TN_ENOMEM;
}

int tn__module_write(LLVMModuleRef module, struct tn_buffer *out, struct tn_error *err)
{
    struct writing w = {module, out};
    return tn__contain(write_contained, &w, err);
}

static void free_module(struct tn__module *module)
{
    tn_buffer_free(&module->types);
    tn__free(NULL, module->ir);
    tn__free(NULL, module);
}

int tn__module_open(const char *name, const void *ir, size_t length, const struct tn_compile_options *options,
                    const char *tag, bool whole, struct tn__module **out, struct tn_error *err)
{
    static const struct tn__fork_hooks hooks = {&all.lock, before_fork, after_fork};
    size_t name_size = strlen(name) + 1, tag_size = strlen(tag) + 1;
    struct tn__module *module = tn__alloc_zeroed(NULL, sizeof *module + name_size + tag_size, 1);
    *out = NULL;
    if (!module)
        return tn__no_memory(err, name);
    memcpy(module->name, name, name_size);
    tn__mutex_init_recursive(&module->lock, TN__LEVEL_MODULE);
    module->tag = memcpy(module->name + name_size, tag, tag_size);
    module->unit.name = module->name;
    module->unit.options = options;
    module->unit.observer = options->observer;
    module->ir = whole ? NULL : tn__alloc(NULL, length ? length : 1);
    module->length = length;
    if (module->ir)
        ir = memcpy(module->ir, ir, length);
    struct opening o = {
        .module = module, .ir = ir, .length = length, .whole = whole, .stays = module->ir != NULL, .err = err};
    int code = tn__contain(open_contained, &o, err);
    if (code) {
        tn__mutex_destroy(&module->lock);
        free_module(module);
        return code;
    }
    module->symbols = module->split;
    module->apart = !module->whole && !module->ir;
    if (module->whole) {
        tn__free(NULL, module->ir);
        module->ir = NULL;
    }
    tn__forks_watch(TN__LEVEL_MODULES, &hooks);
    tn__mutex_lock(&all.lock);
    tn__list_append(&all.modules, &module->listed);
    tn__mutex_unlock(&all.lock);
    *out = module;
    return 0;
}

static int close_contained(void *user)
{
    struct tn__module *module = user;
    tn__split_dispose(module->split);
    tn__unit_dispose(&module->unit);
    return 0;
}

void tn__module_close(struct tn__module *module)
{
    if (!module)
        return;
    tn__mutex_lock(&all.lock);
    tn__list_remove(&module->listed);
    tn__mutex_unlock(&all.lock);
    if (!module->broken)
        tn__contain_disposal(close_contained, module);
    tn__mutex_destroy(&module->lock);
    free_module(module);
}

/* LLVM gave up in a part that was the module's guest: the module is read again, and there are no more guests. What
 * was read before stays in memory, because the names of symbols are there. */
static int open_again(struct tn__module *module, struct tn_error *err)
{
    if (!module->ir)
        return tn__fail(err, TN_EFATAL, "%s: LLVM has given up before", module->name);
    module->unit = (struct tn__unit){.name = module->name, .options = module->unit.options};
    struct opening o = {.module = module, .ir = module->ir, .length = module->length, .stays = true, .err = err};
    int code = tn__contain(open_contained, &o, err);
    if (code)
        return code;
    module->broken = false;
    return 0;
}

/* ---- parts ---- */

bool tn__module_is_whole(const struct tn__module *module)
{
    return module->whole;
}

const struct tn__split *tn__module_split(const struct tn__module *module)
{
    return module->symbols;
}

const struct tn_buffer *tn__module_types(const struct tn__module *module)
{
    return &module->types;
}

struct extracting {
    struct tn__module *module;
    size_t part;
    const struct tn__extraction *how;
    struct tn_buffer *out;
    struct tn__unit *guest; /* NULL: the part goes to `out` */
    struct tn_error *err;
    bool finished;
};

/* As reading reports what is invalid. */
static int refuse_body(struct extracting *e, const char *problem)
{
    struct tn__diagnostics diagnostics = {.name = e->module->name, .err = e->err};
    tn__diagnostics_report(&diagnostics, NULL, 0, 0, problem);
    return TN_ECOMPILE;
}

static int extract_contained(void *user)
{
    struct extracting *e = user;
    struct tn__module *module = e->module;
    const char *problem;
    if (!e->guest) {
        bool good = tn__split_extract(module->split, e->part, e->how, e->out, &problem);
        e->finished = true;
        return good ? 0 : problem ? refuse_body(e, problem) : TN_ENOMEM;
    }
    struct tn__unit *guest = e->guest;
    guest->module = tn__split_copy(module->split, e->part, e->how, &problem);
    if (!guest->module) {
        e->finished = true;
        return refuse_body(e, problem);
    }
    guest->managed = tn__gc_is_managed(guest->module);
    guest->diagnostics.module = guest->module;
    tn__diagnostics_attach(&guest->diagnostics, guest->context);
    int code = tn__target_take(&guest->target, guest->options, LLVMGetTarget(guest->module), guest->diagnostics.err);
    if (code)
        tn__unit_dispose(guest);
    e->finished = true;
    return code;
}

/* With the lock. */
static int extract(struct extracting *e, struct tn_error *err)
{
    struct tn__module *module = e->module;
    int code = module->broken ? open_again(module, err) : 0;
    if (code)
        return code;
    e->err = err;
    code = tn__contain(extract_contained, e, err);
    module->broken = !e->finished; /* LLVM left it as it happened to be */
    if (code == TN_EFATAL && !e->finished)
        tn__append(err, " (while a function of '%s' was copied)", module->name);
    else if (code == TN_ENOMEM)
        tn__fail(err, code, "%s: no memory for a copy of a function", module->name);
    return code;
}

/* ---- compiling ---- */

/* What compiling a part takes and gives. */
struct job {
    struct tn__module *module;
    size_t part;
    const struct tn__part_compilation *how;
    const struct tn_compile_options *options;
    struct tn_buffer *out;
    uint64_t *extract_ns;
    struct tn_compile_stats *stats;
    struct tn_error *err;
};

static int compile_as_guest(const struct job *job)
{
    struct tn__module *module = job->module;
    struct tn__unit guest = {.name = job->how->name,
                             .options = job->options,
                             .context = module->unit.context,
                             .is_guest = true,
                             .is_prepared = module->unit.is_prepared,
                             .diagnostics = {.name = job->how->name, .err = job->err}};
    struct extracting e = {.module = module, .part = job->part, .how = &job->how->how, .guest = &guest};
    uint64_t begin = tn__os_now_ns();
    *job->out = (struct tn_buffer){0};
    int code = extract(&e, job->err);
    *job->extract_ns = tn__os_now_ns() - begin;
    if (!code) {
        code = tn__compile_unit(&guest, job->how->counters, job->how->observer, job->out, job->stats, job->err);
        module->broken |= guest.module != NULL; /* LLVM gave up before it was disposed of */
    }
    module->apart |= module->broken; /* one such part is enough */
    if (!module->broken)
        tn__diagnostics_attach(&module->unit.diagnostics, module->unit.context);
    return code;
}

static int compile_apart(const struct job *job, bool waited)
{
    struct tn__module *module = job->module;
    struct tn_buffer bitcode = {0};
    struct extracting e = {.module = module, .part = job->part, .how = &job->how->how, .out = &bitcode};
    uint64_t begin = tn__os_now_ns();
    bool was_in = tn__compiler_leave();
    tn__mutex_lock(&module->lock);
    module->apart = module->apart || waited;
    int code = !was_in || tn__compiler_enter()
                   ? extract(&e, job->err)
                   : tn__fail(job->err, TN_ECANCELLED, "%s: the program ends", job->how->name);
    tn__mutex_unlock(&module->lock);
    *job->extract_ns = tn__os_now_ns() - begin;
    if (code)
        return code;
    const char *name = job->how->name;
    code = tn__compile_part(name, name, &bitcode, module->unit.is_prepared, job->options, job->how->counters,
                            job->how->observer, job->out, job->stats, job->err);
    tn_buffer_free(&bitcode);
    return code;
}

int tn__module_compile_part(struct tn__module *module, size_t part, const struct tn__part_compilation *how,
                            struct tn_buffer *out, uint64_t *extract_ns, struct tn_compile_stats *stats,
                            struct tn_error *err)
{
    struct tn_compile_options options = *module->unit.options;
    const struct job job = {module, part, how, &options, out, extract_ns, stats, err};
    options.opt_level = how->opt_level;
    if (part == 0 || how->is_background) /* the data comes with the debug information of the module */
        return compile_apart(&job, how->is_background);
    if (!tn__mutex_try(&module->lock))
        return compile_apart(&job, true);
    bool apart = module->apart || module->broken;
    int code = apart ? 0 : compile_as_guest(&job);
    tn__mutex_unlock(&module->lock);
    return apart ? compile_apart(&job, false) : code;
}

/* Like a definition that other modules need, and not only this one. */
static void keep(LLVMModuleRef module, const char *name)
{
    LLVMValueRef value = LLVMGetNamedFunction(module, name);
    if (!value)
        value = LLVMGetNamedGlobal(module, name);
    if (!value)
        value = LLVMGetNamedGlobalAlias(module, name, strlen(name));
    if (value && LLVMGetLinkage(value) == LLVMLinkOnceODRLinkage)
        LLVMSetLinkage(value, LLVMWeakODRLinkage);
    else if (value && LLVMGetLinkage(value) == LLVMLinkOnceAnyLinkage)
        LLVMSetLinkage(value, LLVMWeakAnyLinkage);
}

struct whole {
    struct tn__module *module;
    const struct tn__needed *needed;
};

/* The lists of symbols are not needed any more, and refer to the IR, which compiling disposes of. */
static int prepare_whole(void *user)
{
    const struct whole *whole = user;
    struct tn__module *module = whole->module;
    struct tn__unit *unit = &module->unit;
    for (size_t i = 0; whole->needed && i < whole->needed->count; i++)
        keep(unit->module, whole->needed->names[i]);
    tn__split_dispose(module->split);
    module->symbols = module->split = NULL;
    int code = tn__target_take(&unit->target, unit->options, LLVMGetTarget(unit->module), unit->diagnostics.err);
    if (code)
        tn__unit_dispose(unit);
    return code;
}

int tn__module_compile_whole(struct tn__module *module, const struct tn__needed *needed,
                             const struct tn_compile_observer *observer, struct tn_buffer *out,
                             struct tn_compile_stats *stats, struct tn_error *err)
{
    if (module->broken)
        return tn__fail(err, TN_EREMOVED, "%s: another thread was compiling it when the process forked", module->name);
    __atomic_store_n(&module->in_one_piece, true, __ATOMIC_RELAXED);
    module->unit.diagnostics.err = err;
    struct whole whole = {module, needed};
    int code = tn__contain(prepare_whole, &whole, err);
    if (!code)
        code = tn__compile_unit(&module->unit, NULL, observer, out, stats, err);
    module->broken = module->unit.module != NULL; /* LLVM gave up before it was disposed of */
    __atomic_store_n(&module->in_one_piece, false, __ATOMIC_RELAXED);
    return code;
}
