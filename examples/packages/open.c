/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* open IMAGE...: opens packages, each with those before it as its dependencies, and calls the function `rule` of the
 * last one. Stale functions are compiled again when they are called (doc/PACKAGES.md, "Stale functions").
 *
 *     cc -O2 open.c $(pkg-config --cflags --libs tenon-codegen) -lm -o open */

#include <stdio.h>
#include "tenon_codegen.h"
#include "tenon_image.h"

enum { MOST = 64 };

/* Says which functions are compiled, and leaves the rest to LLVM. */
static int open_ir(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                   const struct tn_module_description **description, struct tn_error *err)
{
    printf("compiling %s\n", ir->name);
    return tn_codegen_compiler()->open(context, ir, options, module, description, err);
}

static void tell(void *context, const struct tn_error *why)
{
    (void)context;
    fprintf(stderr, "%s\n", why->text);
}

/* What a call returns if its function cannot be compiled. */
static int not_compiled(void)
{
    return -1;
}

int main(int argc, char **argv)
{
    struct tn_image *images[MOST];
    struct tn_compiler compiler = *tn_codegen_compiler();
    struct tn_image_load_options options = {.size = sizeof options,
                                            .images = images,
                                            .resolver = tn_resolve_dlsym,
                                            .compiler = &compiler,
                                            .recompiler = tn_image_recompiler(),
                                            .on_error = tell,
                                            .on_failure = (void (*)(void))not_compiled};
    struct tn_error err;
    int (*rule)(int) = NULL;
    compiler.open = open_ir;
    for (int i = 1; i < argc && i <= MOST; i++) {
        if (tn_image_open(argv[i], &options, &images[options.image_count], &err)) {
            fprintf(stderr, "%s: %s\n", tn_error_name(err.code), err.text);
            break;
        }
        rule = (int (*)(int))tn_image_lookup(images[options.image_count++], "rule");
    }
    if (rule && options.image_count == (size_t)argc - 1)
        printf("%d\n%d\n", rule(20), rule(21));
    else
        rule = NULL;
    while (options.image_count) /* those that use others first */
        tn_image_close(images[--options.image_count]);
    return !rule;
}
