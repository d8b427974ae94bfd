/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* packages open BASE DIRECT OTHER COUNT: opens two packages so many times on an open base, in turn, all at a time, and
 * says what one of each takes, and how much more the other one takes.
 * packages first BASE PACKAGE FUNCTION SECOND: opens it on a base that has changed, with LLVM, and calls the stale
 * functions.
 * packages run IMAGE...: opens them in this order, each on those before it, and calls `main` of the last one.
 * The others print lines `WORD NUMBER`; bench/spawn makes medians of them. */

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

static double open_us(const char *path, const struct tn_image_load_options *options, struct tn_image **image)
{
    uint64_t begin = now_ns();
    int code = tn_image_open(path, options, image, &err);
    double us = (double)(now_ns() - begin) / 1e3;
    if (code)
        exit(fail(path));
    return us;
}

static int open_all(const char *direct, const char *other, size_t count)
{
    struct tn_compiler timed;
    struct tn_image_load_options options = load_options(&timed);
    struct tn_image **images = calloc(2 * count + 2, sizeof *images);
    double *us = calloc(2 * count + 2, sizeof *us), *more_us = us + count + 1;
    struct tn_cpu cpu = {.size = sizeof cpu};
    if (!images || !us || tn_cpu_host(&cpu, &err))
        return fail("the CPU");
    options.cpu = &cpu;
    for (size_t i = 0; i <= count; i++) { /* the first ones bring the files into memory */
        us[i] = open_us(direct, &options, &images[2 * i]);
        more_us[i] = open_us(other, &options, &images[2 * i + 1]);
    }
    double direct_us = median(us + 1, count), other_us = median(more_us + 1, count);
    printf("direct_us %.3f\nother_us %.3f\nbeyond_us %.3f\n", direct_us, other_us, other_us - direct_us);
    printf("functions %zu\ncompiled_us %.3f\n", tn_image_function_count(images[1]), (double)compiling_ns / 1e3);
    for (size_t i = 2 * count + 2; i-- > 0;)
        tn_image_close(images[i]);
    free(images);
    free(us);
    return 0;
}

/* Without what the compiler takes. */
static double call_us(struct tn_image *image, const char *name)
{
    int (*function)(int) = (int (*)(int))tn_image_lookup(image, name);
    uint64_t compiled = compiling_ns, begin = now_ns();
    function(1);
    return (double)(now_ns() - begin - (compiling_ns - compiled)) / 1e3;
}

static int call_first(const char *path, const char *name, const char *second)
{
    struct tn_compiler timed;
    struct tn_image_load_options options = load_options(&timed);
    struct tn_image *image;
    printf("open_us %.3f\n", open_us(path, &options, &image));
    double first_us = call_us(image, name);
    printf("compile_us %.3f\nfirst_us %.3f\n", (double)compiling_ns / 1e3, first_us);
    compiling_ns = 0;
    double second_us = call_us(image, second);
    printf("second_compile_us %.3f\nsecond_us %.3f\n", (double)compiling_ns / 1e3, second_us);
    printf("again_us %.3f\n", call_us(image, name));
    tn_image_close(image);
    return 0;
}

enum { MOST_IMAGES = 16 };

static int run(char **paths, int count)
{
    struct tn_image *images[MOST_IMAGES];
    struct tn_image_load_options options = {.size = sizeof options, .images = images, .resolver = tn_resolve_dlsym};
    for (int i = 0; i < count && i < MOST_IMAGES; i++, options.image_count++)
        if (tn_image_open(paths[i], &options, &images[i], &err))
            return fail(paths[i]);
    char *arguments[] = {paths[count - 1], NULL};
    int (*program)(int, char **) = (int (*)(int, char **))tn_image_lookup(images[count - 1], "main");
    return program ? program(1, arguments) : fail("main");
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "run") == 0)
        return run(argv + 2, argc - 2);
    if (argc != 6)
        return fprintf(stderr, "packages open BASE DIRECT OTHER COUNT | packages first BASE PACKAGE FUNCTION SECOND "
                               "| packages run IMAGE...\n"),
               2;
    if (tn_image_open(argv[2], NULL, &base, &err))
        return fail(argv[2]);
    int status = strcmp(argv[1], "open") == 0 ? open_all(argv[3], argv[4], (size_t)atol(argv[5]))
                                              : call_first(argv[3], argv[4], argv[5]);
    tn_image_close(base);
    return status;
}
