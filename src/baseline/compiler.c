/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The baseline compiler for a JIT: flat files, in one piece or function by function. The tables of a file are checked
 * when it is opened, and a function when it is compiled. */

#include <elf.h>
#include <stdio.h>

#include "base/os.h"
#include "base/shown_name.h"
#include "baseline/file/file.h"
#include "baseline/host.h"
#include "baseline/object.h"
#include "cache/description.h"
#include "tenon_build.h"

struct opened {
    struct tn__flat_file file;
    void *copy; /* of the IR, unless it stays */
    bool whole;
    /* By which objects know the symbols; then follow those of bodies, of each function that is a part. */
    struct tn__flat_symbol *names;
    struct tn__code_symbol *symbols;
    size_t symbol_count;
    struct tn_module_symbol *described;
    struct tn_module_description description;
    struct tn__arena arena;
};

static int identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context;
    char line[100];
    int length = snprintf(line, sizeof line, "tenon %s baseline x86-64 flat %x abi %d", TN_VERSION_STRING,
                          TN__FLAT_MAGIC, TN_RUNTIME_ABI);
    return tn__buffer_fill(text, line, (size_t)length) ? 0 : tn__no_memory(err, NULL);
}

/* ---- names ---- */

static const char *join(struct opened *o, const char *name, const char *middle, const char *end)
{
    size_t sizes[] = {strlen(name), strlen(middle), strlen(end)};
    char *text = tn__arena_alloc(&o->arena, sizes[0] + sizes[1] + sizes[2] + 1);
    if (!text)
        return NULL;
    memcpy(text, name, sizes[0]);
    memcpy(text + sizes[0], middle, sizes[1]);
    memcpy(text + sizes[0] + sizes[1], end, sizes[2] + 1);
    return text;
}

/* What is local to a module in parts is hidden in the library, under a name that no other module has. */
static bool name_symbols(struct opened *o, const char *tag)
{
    for (uint32_t i = 0; i < o->file.symbol_count; i++) {
        struct tn__flat_symbol *s = &o->names[i];
        *s = o->file.symbols[i];
        if (o->whole || s->binding != TN__FLAT_LOCAL)
            continue;
        *s = (struct tn__flat_symbol){join(o, s->name, TN__NAME_LOCAL, tag), TN__FLAT_GLOBAL, STV_HIDDEN, 0};
        if (!s->name)
            return false;
    }
    return true;
}

static bool is_near(const struct opened *o, uint32_t symbol)
{
    const struct tn__flat_symbol *s = &o->names[symbol];
    return (s->flags & TN__FLAT_DIRECT) ||
           (o->file.defined[symbol] &&
            (s->binding == TN__FLAT_LOCAL || s->visibility == STV_HIDDEN || s->visibility == STV_INTERNAL));
}

static void make_symbols(struct opened *o)
{
    for (uint32_t i = 0; i < o->file.symbol_count; i++) {
        const struct tn__flat_symbol *s = &o->names[i];
        bool may_lack = s->binding == TN__FLAT_WEAK && !o->file.defined[i];
        o->symbols[i] = (struct tn__code_symbol){s->name, is_near(o, i) && !may_lack, may_lack, s->visibility};
    }
}

/* Several modules of a library may have a weak function of the same name, but its stub leads to only one of them. */
static bool name_bodies(struct opened *o, const char *tag)
{
    for (uint32_t i = 0; !o->whole && i < o->file.function_count; i++) {
        const struct tn__flat_symbol *s = &o->names[o->file.functions[i].symbol];
        bool is_weak = s->binding == TN__FLAT_WEAK;
        const char *name = join(o, s->name, is_weak ? TN__NAME_BODY "." : TN__NAME_BODY, is_weak ? tag : "");
        if (!name)
            return false;
        o->symbols[o->file.symbol_count + i] = (struct tn__code_symbol){.name = name, .direct = true};
    }
    return true;
}

/* ---- opening ---- */

static void describe_symbol(struct opened *o, uint32_t symbol, uint32_t part, const char *body)
{
    const struct tn__flat_symbol *s = &o->names[symbol];
    bool is_hidden = s->visibility == STV_HIDDEN || s->visibility == STV_INTERNAL;
    if (s->binding == TN__FLAT_LOCAL)
        return;
    o->described[o->description.count++] =
        (struct tn_module_symbol){.part = part,
                                  .name = s->name,
                                  .body = body,
                                  .flags = (s->binding == TN__FLAT_WEAK ? TN__SYMBOL_WEAK : 0) |
                                           (is_hidden ? TN__SYMBOL_HIDDEN : 0) | (body ? TN__SYMBOL_FIXED : 0)};
}

static void describe(struct opened *o)
{
    o->description = (struct tn_module_description){.flags = o->whole ? TN__DESCRIBED_WHOLE : 0,
                                                    .parts = o->whole ? 1 : 1 + o->file.function_count,
                                                    .symbols = o->described};
    for (uint32_t i = 0; i < o->file.data_count; i++)
        describe_symbol(o, o->file.data[i].symbol, 0, NULL);
    for (uint32_t i = 0; i < o->file.function_count; i++)
        describe_symbol(o, o->file.functions[i].symbol, o->whole ? 0 : i + 1,
                        o->whole ? NULL : o->symbols[o->file.symbol_count + i].name);
}

static int prepare(struct opened *o, const struct tn_ir *ir, struct tn_error *err)
{
    char tag[TN__TAG_SIZE] = "";
    size_t count = o->file.symbol_count, functions = o->file.function_count;
    o->names = tn__arena_array(&o->arena, count + 1, sizeof *o->names);
    o->symbols = tn__arena_array(&o->arena, count + functions + 1, sizeof *o->symbols);
    o->described = tn__arena_array(&o->arena, count + 1, sizeof *o->described);
    o->symbol_count = count + (o->whole ? 0 : functions);
    if (!o->whole)
        tn__tag_write(ir->digest, ir->copy, tag);
    if (!o->names || !o->symbols || !o->described || !name_symbols(o, tag))
        return tn__no_memory(err, ir->name);
    make_symbols(o);
    if (!name_bodies(o, tag))
        return tn__no_memory(err, ir->name);
    describe(o);
    return 0;
}

static void close_module(void *module)
{
    struct opened *o = module;
    tn__flat_file_free(&o->file);
    tn__arena_free(&o->arena);
    tn__free(NULL, o->copy);
    tn__free(NULL, o);
}

static int read_file(struct opened *o, const struct tn_ir *ir, struct tn_error *err)
{
    const void *bytes = ir->bytes;
    if (!ir->stays && ir->length) {
        o->copy = tn__alloc(NULL, ir->length);
        if (!o->copy)
            return tn__no_memory(err, ir->name);
        bytes = memcpy(o->copy, ir->bytes, ir->length);
    }
    return tn__flat_read(bytes, ir->length, &o->file, err);
}

static int open_module(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                       const struct tn_module_description **description, struct tn_error *err)
{
    (void)context, (void)options;
    *module = NULL;
    struct opened *o = tn__alloc_zeroed(NULL, 1, sizeof *o);
    if (!o)
        return tn__no_memory(err, ir->name);
    o->whole = ir->whole;
    int code = read_file(o, ir, err);
    if (!code)
        code = prepare(o, ir, err);
    if (code) {
        close_module(o);
        return code;
    }
    *description = &o->description;
    *module = o;
    return 0;
}

/* ---- compiling ---- */

/* What is used again for each function of an object. */
struct shop {
    const struct opened *opened;
    const struct tn_part_request *request;
    struct tn__flat flat;
    struct tn__flat_analysis analysis;
    struct tn__x64_scratch *scratch;
    struct tn__baseline_object object;
    struct tn_compile_stats stats;
    struct tn_error *err;
};

static void free_shop(struct shop *s)
{
    s->object.symbols = NULL; /* the module's */
    tn__baseline_object_free(&s->object);
    tn__flat_free(&s->flat);
    tn__flat_analysis_free(&s->analysis);
    tn__x64_scratch_free(s->scratch);
}

static int compile_function(struct shop *s, uint32_t number)
{
    const struct opened *o = s->opened;
    struct tn__baseline_object *object = &s->object;
    uint32_t symbol = o->file.functions[number].symbol;
    const struct tn__flat_symbol *name = &o->names[symbol];
    int code = tn__flat_read_function(&o->file, number, &s->flat, s->err);
    if (code)
        return code;
    if (!tn__flat_analyse(&s->flat, &s->analysis) ||
        !tn__grow(NULL, &object->definitions, &object->definition_room, object->code.function_count + 1,
                  sizeof *object->definitions))
        return tn__no_memory(s->err, name->name);
    code = tn__x64_compile(&s->flat, &s->analysis, o->symbols, &s->scratch, &object->code, s->err);
    if (code == TN_ENOTSUP)
        tn__append(s->err, ", in '%s'", name->name);
    if (code)
        return code;
    object->definitions[object->code.function_count - 1] =
        o->whole ? (struct tn__baseline_definition){.symbol = symbol,
                                                    .binding = name->binding,
                                                    .visibility = name->visibility}
                 : (struct tn__baseline_definition){.symbol = o->file.symbol_count + number, .binding = STB_GLOBAL};
    s->stats.functions++;
    s->stats.baseline_functions++;
    s->stats.instructions += s->flat.inst_count;
    return 0;
}

/* The functions from `first` up to `end`, and perhaps the data. */
static int compile_parts(struct shop *s, uint32_t first, uint32_t end, bool has_data, struct tn_buffer *out)
{
    const struct opened *o = s->opened;
    int code = 0;
    for (uint32_t i = first; !code && i < end; i++)
        code = compile_function(s, i);
    if (!code && has_data && !tn__flat_add_data(&o->file, o->names, &s->object))
        code = tn__no_memory(s->err, s->request->name);
    return code ? code : tn__baseline_write(&s->object, NULL, out, s->err);
}

static int compile_request(struct shop *s, struct tn_buffer *out)
{
    const struct opened *o = s->opened;
    uint64_t part = s->request->part;
    if (o->whole)
        return compile_parts(s, 0, o->file.function_count, true, out);
    if (part > o->file.function_count)
        return tn__fail(s->err, TN_EINVAL, "%s: there is no part %llu", s->request->name, (unsigned long long)part);
    return compile_parts(s, part ? (uint32_t)part - 1 : 0, (uint32_t)part, !part, out);
}

static void report(const struct shop *s, uint64_t begin, uint64_t end)
{
    const struct tn_compile_observer *observer = s->request->observer;
    const struct opened *o = s->opened;
    uint64_t first = o->whole ? 0 : s->request->part - 1;
    struct tn_compiled compiled = {.size = sizeof compiled, .ns = end - begin};
    if (observer->phase)
        observer->phase(observer->context, s->request->name, TN_PHASE_EMIT, begin, end);
    for (size_t i = 0; observer->compiled && i < s->object.code.function_count; i++) {
        compiled.name = o->file.symbols[o->file.functions[first + i].symbol].name;
        observer->compiled(observer->context, &compiled);
    }
}

static int compile(void *module, const struct tn_part_request *request, struct tn_buffer *object, struct tn_error *err)
{
    const struct opened *o = module;
    uint64_t begin = tn__os_now_ns();
    struct shop s = {.opened = o, .request = request, .err = err};
    s.object.symbols = o->symbols;
    s.object.symbol_count = o->symbol_count;
    int code = compile_request(&s, object);
    uint64_t end = tn__os_now_ns();
    if (!code) {
        s.stats.size = request->stats->size;
        s.stats.emit_ns = s.stats.baseline_ns = end - begin;
        *request->stats = s.stats;
        report(&s, begin, end);
    }
    free_shop(&s);
    return code;
}

/* ---- options ---- */

static bool is_target(const char *triple)
{
    /* Of x86_64-...: other formats than ELF, and another size of pointers. */
    static const char *const others[] = {"apple", "darwin", "macos", "ios",   "windows", "win32",
                                         "mingw", "cygwin", "uefi",  "macho", "coff",    "x32"};
    static const char arch[] = "x86_64";
    size_t length = sizeof arch - 1;
    if (strncmp(triple, arch, length) != 0 || (triple[length] && triple[length] != '-'))
        return false;
    for (size_t i = 0; i < TN_COUNT(others); i++)
        if (strstr(triple, others[i]))
            return false;
    return true;
}

static int check(void *context, const struct tn_compile_options *options, struct tn_error *err)
{
    (void)context;
    if (options->triple ? !is_target(options->triple) : !tn__baseline_runs_here)
        return tn__fail(err, TN_ENOTSUP, "the baseline compiler makes code for x86-64 and ELF only");
    if (options->code_model != TN_CODE_SMALL)
        return tn__fail(err, TN_ENOTSUP, "the baseline compiler has the small code model only");
    if (options->emit != TN_EMIT_OBJECT || options->passes || options->hook)
        return tn__fail(err, TN_ENOTSUP, "the baseline compiler has no passes, and makes objects only");
    return 0;
}

const struct tn_compiler *tn_baseline_compiler(void)
{
    static const struct tn_compiler compiler = {.size = sizeof compiler,
                                                .identify = identify,
                                                .open = open_module,
                                                .compile = compile,
                                                .close = close_module,
                                                .check = check};
    return &compiler;
}
