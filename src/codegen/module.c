/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A module that is kept and compiled part by part. Its lock is held while a part is extracted, not while it is compiled. */

#include <pthread.h>

#include "base/os.h"
#include "codegen/codegen.h"
#include "codegen/module.h"

struct tn__module {
    pthread_mutex_t lock;
    struct tn__unit unit;
    struct tn__split *split;
    bool whole;  /* not taken apart */
    bool broken; /* LLVM gave up in it */
    char name[];
};

/* ---- opening and closing ---- */

struct opening {
    struct tn__module *module;
    const void *ir;
    size_t length;
    uint64_t number;
    bool whole;
    struct tn_error *err;
};

static int open_contained(void *user)
{
    struct opening *o = user;
    struct tn__unit *unit = &o->module->unit;
    int code = tn__unit_read(unit, o->ir, o->length, false, o->err);
    if (code != TN_OK) {
        tn__unit_dispose(unit);
        return code;
    }
    o->module->split = tn__split_create(unit->module, o->number, o->whole);
    o->module->whole = tn__split_is_whole(o->module->split);
    tn__target_give(unit->target); /* it is needed again when something is compiled */
    unit->target = NULL;
    unit->diagnostics.err = NULL;
    return TN_OK;
}

int tn__module_open(const char *name, const void *ir, size_t length, const struct tn_compile_options *options,
                    uint64_t number, bool whole, struct tn__module **out, struct tn_error *err)
{
    size_t name_size = strlen(name) + 1;
    struct tn__module *module = tn__alloc_zeroed(NULL, sizeof *module + name_size, 1);
    *out = NULL;
    if (!module)
        return tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    memcpy(module->name, name, name_size);
    pthread_mutex_init(&module->lock, NULL);
    module->unit.name = module->name;
    module->unit.options = options;
    struct opening o = {.module = module, .ir = ir, .length = length, .number = number, .whole = whole, .err = err};
    int code = tn__contain(open_contained, &o, err);
    if (code != TN_OK) {
        tn__free(NULL, module);
        return code;
    }
    *out = module;
    return TN_OK;
}

static int close_contained(void *user)
{
    struct tn__module *module = user;
    tn__split_dispose(module->split);
    tn__unit_dispose(&module->unit);
    return TN_OK;
}

void tn__module_close(struct tn__module *module)
{
    if (!module)
        return;
    if (!module->broken)
        tn__contain(close_contained, module, NULL);
    pthread_mutex_destroy(&module->lock);
    tn__free(NULL, module);
}

/* ---- parts ---- */

bool tn__module_is_opaque(const struct tn__module *module)
{
    return tn__split_is_opaque(module->split);
}

bool tn__module_is_whole(const struct tn__module *module)
{
    return module->whole;
}

size_t tn__module_parts(const struct tn__module *module)
{
    return tn__split_parts(module->split);
}

bool tn__module_has_initializers(const struct tn__module *module)
{
    return tn__split_has_initializers(module->split);
}

const struct tn__split_symbol *tn__module_symbols(const struct tn__module *module, size_t part, size_t *count)
{
    return tn__split_symbols(module->split, part, count);
}

void tn__module_compiled(struct tn__module *module, size_t part)
{
    pthread_mutex_lock(&module->lock);
    tn__split_compiled(module->split, part);
    pthread_mutex_unlock(&module->lock);
}

struct extracting {
    struct tn__module *module;
    size_t part;
    const struct tn__extraction *how;
    struct tn_buffer *out;
    bool finished;
};

static int extract_contained(void *user)
{
    struct extracting *e = user;
    bool good = tn__split_extract(e->module->split, e->part, e->how, e->out);
    e->finished = true;
    return good ? TN_OK : TN_ENOMEM;
}

static int extract(struct tn__module *module, size_t part, const struct tn__extraction *how, struct tn_buffer *out,
                   struct tn_error *err)
{
    struct extracting e = {.module = module, .part = part, .how = how, .out = out};
    *out = (struct tn_buffer){0};
    pthread_mutex_lock(&module->lock);
    int code = module->broken ? tn__fail(err, TN_EFATAL, "%s: LLVM has given up before", module->name)
                              : tn__contain(extract_contained, &e, err);
    module->broken = module->broken || !e.finished; /* LLVM left it as it happened to be */
    pthread_mutex_unlock(&module->lock);
    if (code == TN_EFATAL && !e.finished)
        tn__append(err, " (while a function of '%s' was copied)", module->name);
    else if (code != TN_OK)
        tn__fail(err, code, "%s: no memory for a copy of a function", module->name);
    return code;
}

/* ---- compiling ---- */

int tn__module_compile_part(struct tn__module *module, size_t part, const char *name, const struct tn__extraction *how,
                            const struct tn_compile_observer *observer, struct tn_buffer *out, uint64_t *extract_ns,
                            struct tn_compile_stats *stats, struct tn_error *err)
{
    struct tn_buffer bitcode;
    uint64_t begin = tn__os_now_ns();
    int code = extract(module, part, how, &bitcode, err);
    *extract_ns = tn__os_now_ns() - begin;
    if (code != TN_OK)
        return code;
    code = tn__compile_part(name, &bitcode, module->unit.options, observer, out, stats, err);
    tn_buffer_free(&bitcode);
    return code;
}

/* What was listed is not needed any more, and refers to what compiling disposes of. */
static int forget_split(void *user)
{
    struct tn__module *module = user;
    tn__split_dispose(module->split);
    module->split = NULL;
    return tn__target_take(&module->unit.target, module->unit.options, LLVMGetTarget(module->unit.module),
                           module->unit.diagnostics.err);
}

int tn__module_compile_whole(struct tn__module *module, const struct tn_compile_observer *observer,
                             struct tn_buffer *out, struct tn_compile_stats *stats, struct tn_error *err)
{
    module->unit.diagnostics.err = err;
    int code = tn__contain(forget_split, module, err);
    if (code == TN_OK)
        code = tn__compile_unit(&module->unit, observer, out, stats, err);
    module->broken = module->unit.module != NULL; /* LLVM gave up before it was disposed of */
    return code;
}
