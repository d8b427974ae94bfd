/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* packages open BASE PACKAGE COUNT: opens the package so many times on an open base, all at a time, and says what one
 * takes and has.
 * packages first BASE PACKAGE FUNCTION: opens it on a base that has changed, with LLVM, and calls the stale function.
 * Prints lines `WORD NUMBER`; bench/spawn makes medians of them. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "tenon_codegen.h"

static struct tn_error err;
static struct tn_image *base;
static uint64_t compiling_ns;

static int fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, err.text);
    return 1;
}

static int failed(int x)
{
    return -x;
}

/* ---- what the compiler takes ---- */

static int open_timed(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                      const struct tn_module_description **description, struct tn_error *error)
{
    uint64_t begin = now_ns();
    int code = tn_codegen_compiler()->open(context, ir, options, module, description, error);
    compiling_ns += now_ns() - begin;
    return code;
}

static int compile_timed(void *module, const struct tn_part_request *request, struct tn_buffer *object,
                         struct tn_error *error)
{
    uint64_t begin = now_ns();
    int code = tn_codegen_compiler()->compile(module, request, object, error);
    compiling_ns += now_ns() - begin;
    return code;
}

static void close_timed(void *module)
{
    uint64_t begin = now_ns();
    tn_codegen_compiler()->close(module);
    compiling_ns += now_ns() - begin;
}

static struct tn_image_load_options load_options(struct tn_compiler *timed)
{
    *timed = *tn_codegen_compiler();
    timed->open = open_timed;
    timed->compile = compile_timed;
    timed->close = close_timed;
    return (struct tn_image_load_options){.size = sizeof(struct tn_image_load_options),
                                          .images = &base,
                                          .image_count = 1,
                                          .compiler = timed,
                                          .recompiler = tn_image_recompiler(),
                                          .on_failure = (void (*)(void))failed};
}

/* ---- the modes ---- */

static int open_all(const char *path, size_t count)
{
    struct tn_compiler timed;
    struct tn_image_load_options options = load_options(&timed);
    struct tn_image **images = calloc(count + 1, sizeof *images);
    struct tn_image_function f = {.size = sizeof f};
    struct tn_cpu cpu = {.size = sizeof cpu};
    if (!images || tn_cpu_host(&cpu, &err))
        return fail("the CPU");
    options.cpu = &cpu;
    if (tn_image_open(path, &options, &images[count], &err)) /* the first one brings the file into memory */
        return fail(path);
    uint64_t begin = now_ns();
    for (size_t i = 0; i < count; i++)
        if (tn_image_open(path, &options, &images[i], &err))
            return fail(path);
    printf("open_us %.3f\n", (double)(now_ns() - begin) / 1e3 / (double)count);
    printf("functions %zu\ncompiled_us %.3f\n", tn_image_function_count(images[0]), (double)compiling_ns / 1e3);
    for (size_t i = count + 1; i-- > 0;)
        tn_image_close(images[i]);
    free(images);
    return 0;
}

static double call_ns(int (*function)(int))
{
    uint64_t begin = now_ns();
    function(1);
    return (double)(now_ns() - begin);
}

static int call_first(const char *path, const char *name)
{
    struct tn_compiler timed;
    struct tn_image_load_options options = load_options(&timed);
    struct tn_image *image;
    uint64_t begin = now_ns();
    if (tn_image_open(path, &options, &image, &err))
        return fail(path);
    printf("open_us %.3f\n", (double)(now_ns() - begin) / 1e3);
    int (*function)(int) = (int (*)(int))tn_image_lookup(image, name);
    double first = call_ns(function), second = call_ns(function);
    printf("first_us %.3f\ncompile_us %.3f\nbeyond_us %.3f\nsecond_us %.3f\n", first / 1e3, (double)compiling_ns / 1e3,
           (first - (double)compiling_ns) / 1e3, second / 1e3);
    tn_image_close(image);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return fprintf(stderr, "packages open BASE PACKAGE COUNT | packages first BASE PACKAGE FUNCTION\n"), 2;
    if (tn_image_open(argv[2], NULL, &base, &err))
        return fail(argv[2]);
    int status = strcmp(argv[1], "open") == 0 ? open_all(argv[3], (size_t)atol(argv[4])) : call_first(argv[3], argv[4]);
    tn_image_close(base);
    return status;
}
