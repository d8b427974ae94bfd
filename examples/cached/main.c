/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A product that is compiled where it is made, and ships what was compiled. The Makefile builds this program twice:
 *     maker FOLDER     with the code generator: fills the folder, and writes identity.h to its standard output
 *     product FOLDER   with the runtime alone, without LLVM: runs from the folder */

#include <stdio.h>
#include <string.h>

#ifdef MAKER
#include <tenon_codegen.h>
#define OUT stderr
#else
#include "identity.h"
#define OUT stdout
#endif
#include <tenon_cache.h>
#include <tenon_jit.h>

/* What the product computes. A larger one would only have its IR in the maker: the key stands for it. */
static const char ir[] = "define i32 @count_bits(i32 %x) {\n"
                         "  %n = call i32 @llvm.ctpop.i32(i32 %x)\n"
                         "  ret i32 %n\n"
                         "}\n"
                         "declare i32 @llvm.ctpop.i32(i32)\n";
static const char key[] = "bits 1";

/* For every machine of the architecture. The CPU is a part of what names compiled code in the folder. */
static const struct tn_compile_options compile = {.size = sizeof compile, .cpu = "generic", .opt_level = 2};

static int run(struct tn_compiler *cache, FILE *out, struct tn_error *err)
{
    const struct tn_jit_options options = {.size = sizeof options, .compile = &compile, .compiler = cache};
    const struct tn_jit_module module = {.size = sizeof module,
                                         .name = "bits",
                                         .ir = ir,
                                         .length = sizeof ir - 1,
                                         .key = key,
                                         .key_length = sizeof key - 1};
    struct tn_jit *jit;
    void *address;
    int code = tn_jit_create(&options, &jit, err);
    if (!code)
        code = tn_jit_add_module(jit, NULL, &module, err);
    if (!code)
        code = tn_jit_lookup(jit, "count_bits", &address, err);
    if (code)
        return code;
    fprintf(out, "%d bits\n", ((int (*)(int))address)(0x1234567));
    fflush(out);
    tn_jit_destroy(jit);
    return 0;
}

#ifdef MAKER
/* The product's cache has no compiler to ask who it is, so it is told. */
static int set_up(struct tn_folder_options *folder, struct tn_cache_options *options, struct tn_error *err)
{
    struct tn_buffer text = {0};
    folder->read_only = 0;
    options->compiler = tn_codegen_compiler();
    int code = options->compiler->identify(NULL, &text, err);
    if (!code)
        printf("static const char identity[] = \"%.*s\";\n", (int)text.size, (const char *)text.data);
    tn_buffer_free(&text);
    return code;
}
#else
static int set_up(struct tn_folder_options *folder, struct tn_cache_options *options, struct tn_error *err)
{
    folder->read_only = 1;
    options->identity = identity;
    return err->code = 0;
}
#endif

int main(int argc, char **argv)
{
    struct tn_store *store;
    struct tn_folder_options folder = {.size = sizeof folder, .path = argc > 1 ? argv[1] : "cache"};
    struct tn_cache_options options = {.size = sizeof options, .stores = &store, .store_count = 1};
    struct tn_compiler *cache;
    struct tn_error err;
    if (set_up(&folder, &options, &err) || tn_store_open_folder(&folder, &store, &err) ||
        tn_cache_create(&options, &cache, &err) || run(cache, OUT, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    tn_cache_destroy(cache);
    tn_store_close_folder(store);
    return 0;
}
