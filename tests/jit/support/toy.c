/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "cache/description.h"
#include "toy.h"

struct module {
    struct toy *toy;
    bool whole, fails;
};

static void count(int *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static int identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context;
    return tn__buffer_fill(text, "toy", 3) ? TN_OK : tn__no_memory(err, NULL);
}

static bool describe(bool whole, struct tn_buffer *out)
{
    static struct tn__described_symbol parts[] = {{.part = TOY_DATA, .name = "total"},
                                                  {.part = TOY_FIRST, .name = "first", .body = "first$body"},
                                                  {.part = TOY_SECOND, .name = "second", .body = "second$body"}},
                                       all[] = {{.name = "total"}, {.name = "first"}, {.name = "second"}};
    struct tn__description d = {.flags = whole ? TN__DESCRIBED_WHOLE : 0,
                                .parts = whole ? 1 : TOY_PARTS,
                                .count = TOY_PARTS,
                                .symbols = whole ? all : parts};
    return tn__description_write(&d, out);
}

static int open_module(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                       struct tn_buffer *description, struct tn_error *err)
{
    (void)options;
    struct toy *toy = context;
    *module = NULL;
    count(&toy->opens);
    if (ir->length >= 3 && memcmp(ir->bytes, "bad", 3) == 0) {
        count(&toy->closes);
        return tn__fail(err, TN_ECOMPILE, "%s: bad", ir->name);
    }
    struct module *m = tn__alloc_zeroed(NULL, 1, sizeof *m);
    if (!m || !describe(ir->whole, description)) {
        tn__free(NULL, m);
        count(&toy->closes);
        return tn__no_memory(err, ir->name);
    }
    *m = (struct module){toy, ir->whole, ir->length >= 5 && memcmp(ir->bytes, "fails", 5) == 0};
    *module = m;
    return TN_OK;
}

static int compile(void *module, const struct tn_part_request *request, struct tn_buffer *object, struct tn_error *err)
{
    static const char *const files[] = {DATA "/data.o", DATA "/first.o", DATA "/second.o"};
    static char bytes[100000];
    const struct module *m = module;
    count(&m->toy->compiles);
    if (m->fails)
        return tn__fail(err, TN_ECOMPILE, "%s: cannot be compiled", request->name);
    FILE *file = fopen(m->whole ? DATA "/whole.o" : files[request->part], "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 0 && size < sizeof bytes);
    return tn__buffer_fill(object, bytes, size) ? TN_OK : tn__no_memory(err, request->name);
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
    return toy->refuses ? tn__fail(err, toy->refuses, "the toy refuses these options") : TN_OK;
}

/* Its form in memory is the text. */
static int write_module(void *context, void *module, struct tn_buffer *ir, struct tn_error *err)
{
    count(&((struct toy *)context)->writes);
    return tn__buffer_fill(ir, module, strlen(module)) ? TN_OK : tn__no_memory(err, NULL);
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
    struct tn_error err;
    void *address;
    long (*first)(long);
    check(tn_jit_lookup(jit, "first", &address, &err), &err);
    memcpy(&first, &address, sizeof first);
    return first(x);
}

long no_function(void)
{
    return -1;
}
