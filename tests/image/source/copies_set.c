/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* copies_set IMAGE...: opens them one on the other. Prints which functions are stale, and what the others answer; of
 * those that call a stale one, `?`. AGAIN: stale functions are compiled again, and are printed when they are. */

#include <stdio.h>
#include <string.h>

#ifdef AGAIN
#include "tenon_codegen.h"
#endif
#include "tenon_image.h"

static int was_called;

static int stale(int x)
{
    was_called = 1;
    return x;
}

#ifdef AGAIN
static int open_printed(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                        const struct tn_module_description **description, struct tn_error *error)
{
    const char *function = strchr(ir->name, '(') + 1;
    printf("stale %.*s\n", (int)strcspn(function, ".)"), function);
    return tn_codegen_compiler()->open(context, ir, options, module, description, error);
}

static void add_compiler(struct tn_image_load_options *options)
{
    static struct tn_compiler compiler;
    compiler = *tn_codegen_compiler();
    compiler.open = open_printed;
    options->compiler = &compiler;
    options->recompiler = tn_image_recompiler();
    options->on_failure = (void (*)(void))stale;
}
#else
static void add_compiler(struct tn_image_load_options *options)
{
    (void)options;
}
#endif

static void print(const struct tn_image *image, size_t index)
{
    struct tn_error err;
    struct tn_image_function f = {.size = sizeof f};
    if (tn_image_function(image, index, &f, &err))
        return;
    if (f.version == (void *)stale)
        printf("stale %.*s\n", (int)strcspn(f.name, "."), f.name);
    if (!f.is_public)
        return;
    was_called = 0;
    int result = ((int (*)(int))f.address)(3);
    if (was_called)
        printf("%s=?\n", f.name);
    else
        printf("%s=%d\n", f.name, result);
}

int main(int argc, char **argv)
{
    struct tn_image *images[8];
    struct tn_error err;
    struct tn_image_load_options options = {
        .size = sizeof options, .images = images, .on_stale = (void (*)(void))stale};
    add_compiler(&options);
    for (int i = 1; i < argc && i <= 8; i++, options.image_count++)
        if (tn_image_open(argv[i], &options, &images[i - 1], &err))
            return printf("%s: %s\n", tn_error_name(err.code), err.text), 1;
    for (size_t i = 0; i < options.image_count; i++)
        for (size_t k = 0; k < tn_image_function_count(images[i]); k++)
            print(images[i], k);
    while (options.image_count)
        tn_image_close(images[--options.image_count]);
    return 0;
}
