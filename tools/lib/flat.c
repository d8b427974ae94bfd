/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Flat files beside IR: a compiler that hands each module to the one that knows its form. */

#include <stdlib.h>

#include "baseline/file/file.h"
#include "lib/tool.h"
#include "tenon_build.h"

struct module {
    const struct tn_compiler *compiler;
    void *opened;
};

/* A cache tells modules apart by their bytes, and the code generator's build covers the baseline compiler. */
static int identify(void *context, struct tn_buffer *text, struct tn_error *err)
{
    (void)context;
    return tn_codegen_compiler()->identify(tn_codegen_compiler()->context, text, err);
}

static int open_module(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                       const struct tn_module_description **description, struct tn_error *err)
{
    (void)context;
    bool is_flat = tn__flat_is_file(ir->bytes, ir->length);
    const struct tn_compiler *compiler = is_flat ? tn_baseline_compiler() : tn_codegen_compiler();
    struct module *m = malloc(sizeof *m);
    *module = NULL;
    if (!m)
        return tn__no_memory(err, ir->name);
    *m = (struct module){compiler, NULL};
    int code = is_flat ? compiler->check(compiler->context, options, err) : 0;
    if (!code)
        code = compiler->open(compiler->context, ir, options, &m->opened, description, err);
    if (code)
        free(m);
    else
        *module = m;
    return code;
}

static int compile(void *module, const struct tn_part_request *request, struct tn_buffer *object, struct tn_error *err)
{
    const struct module *m = module;
    return m->compiler->compile(m->opened, request, object, err);
}

static void close_module(void *module)
{
    struct module *m = module;
    m->compiler->close(m->opened);
    free(m);
}

static int check(void *context, const struct tn_compile_options *options, struct tn_error *err)
{
    (void)context;
    return tn_codegen_compiler()->check(tn_codegen_compiler()->context, options, err);
}

const struct tn_compiler *tool_compiler(void)
{
    static const struct tn_compiler compiler = {.size = sizeof compiler,
                                                .identify = identify,
                                                .open = open_module,
                                                .compile = compile,
                                                .close = close_module,
                                                .check = check};
    return &compiler;
}

int tool_compile_flat(const struct file *file, const struct tn_compile_options *options, struct tn_buffer *out,
                      struct tn_compile_stats *stats, struct tn_error *err)
{
    static const unsigned char no_digest[32];
    const struct tn_compile_observer nothing = {.size = sizeof nothing};
    const struct tn_ir ir = {.size = sizeof ir,
                             .name = file->name,
                             .bytes = file->bytes,
                             .length = file->size,
                             .whole = 1,
                             .digest = no_digest,
                             .stays = 1};
    const struct tn_part_request request = {.size = sizeof request,
                                            .name = file->name,
                                            .observer = options->observer ? options->observer : &nothing,
                                            .stats = stats,
                                            .opt_level = options->opt_level};
    const struct tn_module_description *description;
    void *module;
    *out = (struct tn_buffer){0};
    const struct tn_compiler *compiler = tool_isolated() ? tool_isolated() : tool_compiler();
    int code = tool_isolated() ? compiler->check(compiler->context, options, err) : 0;
    if (!code)
        code = compiler->open(compiler->context, &ir, options, &module, &description, err);
    if (code)
        return code;
    code = compiler->compile(module, &request, out, err);
    compiler->close(module);
    return code;
}

bool tool_show_flat(const struct file *file)
{
    struct tn__flat_file flat;
    struct tn_buffer text = {0};
    struct tn_error error;
    int code = tn__flat_read(file->bytes, file->size, &flat, &error);
    if (!code)
        code = tn__flat_text(&flat, &text, &error);
    if (code)
        tool_fail(STATUS_FAILURE, "%s: %s", file->name, error.text);
    else
        fwrite(text.data, 1, text.size, stdout);
    tn_buffer_free(&text);
    tn__flat_file_free(&flat);
    return !code;
}
