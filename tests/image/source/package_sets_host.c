/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* package_sets_host IMAGE... -- FUNCTION...: opens images one on the other, and prints which functions are stale; again
 * with LLVM, and prints what functions answer, and then what was compiled. */

#include <stdio.h>
#include <string.h>

#include "tenon_codegen.h"
#include "tenon_image.h"

enum { MOST_IMAGES = 8, MOST_COMPILED = 512, NAME = 128 };

static struct tn_image *images[MOST_IMAGES];
static char compiled[MOST_COMPILED][NAME];
static int compiled_count;

static unsigned not_compiled(unsigned x)
{
    return x - x;
}

static int open_noted(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                      const struct tn_module_description **description, struct tn_error *error)
{
    const char *function = strchr(ir->name, '(') + 1;
    if (compiled_count < MOST_COMPILED)
        snprintf(compiled[compiled_count++], NAME, "%.*s", (int)strcspn(function, ".)"), function);
    return tn_codegen_compiler()->open(context, ir, options, module, description, error);
}

static void tell(void *context, const struct tn_error *why)
{
    (void)context;
    printf("error %s\n", why->text);
}

static void print_stale(const struct tn_image *image)
{
    struct tn_error err;
    for (size_t i = 0; i < tn_image_function_count(image); i++) {
        struct tn_image_function f = {.size = sizeof f};
        if (!tn_image_function(image, i, &f, &err) && f.version == (void *)not_compiled)
            printf("stale %.*s\n", (int)strcspn(f.name, "."), f.name);
    }
}

static int open_all(char **paths, int count, struct tn_image_load_options *options)
{
    struct tn_error err;
    for (int i = 0; i < count && i < MOST_IMAGES; i++, options->image_count++)
        if (tn_image_open(paths[i], options, &images[i], &err))
            return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
    return 0;
}

static void close_all(struct tn_image_load_options *options)
{
    while (options->image_count)
        tn_image_close(images[--options->image_count]);
}

static void call(const struct tn_image_load_options *options, const char *name, unsigned x)
{
    unsigned (*function)(unsigned) = NULL;
    for (size_t i = 0; i < options->image_count && !function; i++)
        function = (unsigned (*)(unsigned))tn_image_lookup(images[i], name);
    if (function)
        printf("%s=%u\n", name, function(x));
    else
        printf("error no %s\n", name);
}

int main(int argc, char **argv)
{
    static struct tn_compiler compiler;
    int count = 0;
    struct tn_image_load_options options = {.size = sizeof options,
                                            .images = images,
                                            .resolver = tn_resolve_dlsym,
                                            .on_stale = (void (*)(void))not_compiled};
    while (1 + count < argc && strcmp(argv[1 + count], "--") != 0)
        count++;
    if (open_all(argv + 1, count, &options))
        return 1;
    for (int i = 0; i < count; i++)
        print_stale(images[i]);
    close_all(&options);
    compiler = *tn_codegen_compiler();
    compiler.open = open_noted;
    options.on_stale = NULL;
    options.compiler = &compiler;
    options.recompiler = tn_image_recompiler();
    options.on_error = tell;
    options.on_failure = (void (*)(void))not_compiled;
    if (open_all(argv + 1, count, &options))
        return 1;
    for (unsigned x = 3; x < 6; x++)
        for (int i = count + 2; i < argc; i++)
            call(&options, argv[i], x);
    for (int i = 0; i < compiled_count; i++)
        printf("compiled %s\n", compiled[i]);
    close_all(&options);
    return 0;
}
