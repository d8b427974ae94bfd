/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "cache/description.h"
#include "toy.h"
#include "toy_number.h"

#define WHOLE(...)                                                                                                     \
    (struct tn_module_symbol[])                                                                                        \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static struct tn_module_symbol parts[] = {{.part = TOY_DATA, .name = "total"},
                                          {.part = TOY_DATA, .name = "number"},
                                          {.part = TOY_FIRST, .name = "first", .body = "first$body"},
                                          {.part = TOY_SECOND, .name = "second", .body = "second$body"}};

static const struct program {
    const char *name, *file;
    size_t count;
    struct tn_module_symbol *symbols;
    bool has_parts, fails;
    uint32_t flags;
} programs[] = {
    {"program", "whole", 4, WHOLE({.name = "total"}, {.name = "number"}, {.name = "first"}, {.name = "second"}), true},
    {"fails", "whole", 4, WHOLE({.name = "total"}, {.name = "number"}, {.name = "first"}, {.name = "second"}), true,
     true},
    {"alone", "alone", 1, WHOLE({.name = "first"})},
    {"weak", "weak", 2, WHOLE({.name = "first"}, {.name = "second", .flags = TN__SYMBOL_WEAK})},
    {"opaque", "alone", 1, WHOLE({.name = "first"}), .flags = TN__DESCRIBED_OPAQUE},
    {"data", "data", 2, WHOLE({.name = "total"}, {.name = "number"})},
    {"begins", "begins", 1, WHOLE({.name = "begins"}), .flags = TN__DESCRIBED_INITIALIZERS},
};

struct module {
    struct toy *toy;
    const struct program *program;
    bool whole;
    long number;
    struct tn_module_description description;
};

static void count(int *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static int identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context;
    return tn__buffer_fill(text, "toy", 3) ? 0 : tn__no_memory(err, NULL);
}

static void describe(struct module *m)
{
    m->description =
        (struct tn_module_description){.flags = (m->whole ? TN__DESCRIBED_WHOLE : 0) | m->program->flags,
                                       .parts = m->whole ? 1 : TOY_PARTS,
                                       .count = m->whole ? m->program->count : sizeof parts / sizeof parts[0],
                                       .symbols = m->whole ? m->program->symbols : parts};
}

static const struct program *find_program(const struct tn_ir *ir)
{
    for (const struct program *p = programs; p < programs + sizeof programs / sizeof programs[0]; p++)
        if (ir->length >= strlen(p->name) && memcmp(ir->bytes, p->name, strlen(p->name)) == 0)
            return p;
    return NULL;
}

static int open_module(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                       const struct tn_module_description **description, struct tn_error *err)
{
    (void)options;
    struct toy *toy = context;
    const struct program *program = find_program(ir);
    char text[30] = "";
    *module = NULL;
    if (!program)
        return tn__fail(err, TN_ECOMPILE, "%s: bad", ir->name);
    struct module *m = tn__alloc_zeroed(NULL, 1, sizeof *m);
    if (!m)
        return tn__no_memory(err, ir->name);
    memcpy(text, ir->bytes, ir->length < sizeof text ? ir->length : sizeof text - 1);
    *m = (struct module){toy, program, ir->whole || !program->has_parts, atol(text + strlen(program->name)), {0}};
    describe(m);
    *description = &m->description;
    count(&toy->opens);
    *module = m;
    return 0;
}

static int compile(void *module, const struct tn_part_request *request, struct tn_buffer *object, struct tn_error *err)
{
    static const char *const files[] = {"data", "first", "second"};
    static const long placeholder = TOY_NUMBER;
    const struct module *m = module;
    char bytes[20000], path[300];
    count(&m->toy->compiles);
    if (m->toy->before)
        m->toy->before(m->program->name, m->number);
    if (m->program->fails)
        return tn__fail(err, TN_ECOMPILE, "%s: cannot be compiled", request->name);
    snprintf(path, sizeof path, DATA "/%s%s.o", m->whole ? m->program->file : files[request->part],
             m->toy->has_levels && request->is_higher ? "_2" : "");
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 0 && size < sizeof bytes);
    char *at = memmem(bytes, size, &placeholder, sizeof placeholder);
    if (at)
        memcpy(at, &m->number, sizeof m->number);
    return tn__buffer_fill(object, bytes, size) ? 0 : tn__no_memory(err, request->name);
}

static void close_module(void *module)
{
    count(&((struct module *)module)->toy->closes);
    tn__free(NULL, module);
}

static int check_options(void *context, const struct tn_compile_options *options, struct tn_error *err)
{
    (void)options;
    const struct toy *toy = context;
    return toy->refuses ? tn__fail(err, toy->refuses, "the toy refuses these options") : 0;
}

/* Its form in memory is the text. */
static int write_module(void *context, void *module, struct tn_buffer *ir, struct tn_error *err)
{
    count(&((struct toy *)context)->writes);
    return tn__buffer_fill(ir, module, strlen(module)) ? 0 : tn__no_memory(err, NULL);
}

struct tn_compiler toy_compiler(struct toy *toy)
{
    return (struct tn_compiler){.size = sizeof(struct tn_compiler),
                                .context = toy,
                                .identify = identify,
                                .open = open_module,
                                .compile = compile,
                                .close = close_module,
                                .check = check_options,
                                .write = write_module};
}

int toy_reported;

static void report(void *context, const struct tn_error *err)
{
    (void)context;
    __atomic_store_n(&toy_reported, err->code, __ATOMIC_RELEASE); /* by a thread of tiers, too */
}

struct tn_jit_options toy_options(const struct tn_compiler *compiler, bool lazy)
{
    return (struct tn_jit_options){.size = sizeof(struct tn_jit_options),
                                   .lazy = lazy,
                                   .on_failure = (void (*)(void))no_function,
                                   .on_error = report,
                                   .compiler = compiler};
}

struct tn_jit_module toy_module(const char *ir)
{
    return (struct tn_jit_module){.size = sizeof(struct tn_jit_module), .name = "toy", .ir = ir, .length = strlen(ir)};
}

void check(int code, const struct tn_error *err)
{
    if (code)
        fail_msg("%s", err->text);
}

long call_first(struct tn_jit *jit, long x)
{
    return call(find(jit, "first"), x);
}

long no_function(void)
{
    return -1;
}

void *find(struct tn_jit *jit, const char *name)
{
    struct tn_error err;
    void *address;
    check(tn_jit_lookup(jit, name, &address, &err), &err);
    return address;
}

long call(const void *address, long x)
{
    long (*function)(long);
    memcpy(&function, &address, sizeof function);
    return function(x);
}

uint64_t code_bytes(struct tn_jit *jit)
{
    struct tn_stats stats = {.size = sizeof stats};
    tn_session_stats(tn_jit_session(jit), &stats);
    return stats.code_bytes;
}
