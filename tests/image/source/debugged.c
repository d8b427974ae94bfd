/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Loads an image, shows it to debuggers as the file of the second argument, and lets a function of it call back,
 * which waits for a line of input; then closes it. */

#include <stdio.h>

#include "tenon_image.h"

__attribute__((noinline)) void called_back(void)
{
    puts("called back");
    fflush(stdout);
    getchar();
}

__attribute__((noinline)) void closed(void)
{
    puts("closed");
}

static void *resolve(void *context, const char *name)
{
    (void)context;
    return name[0] == 'c' ? (void *)called_back : NULL;
}

int main(int argc, char **argv)
{
    struct tn_image_load_options options = {.size = sizeof options, .resolver = resolve};
    struct tn_image *image;
    struct tn_error err;
    if (argc < 3 || tn_image_open(argv[1], &options, &image, &err) || tn_image_observe_gdb(image, argv[2], &err)) {
        puts(argc < 3 ? "which files?" : err.text);
        return 1;
    }
    int (*run)(int) = (int (*)(int))tn_image_lookup(image, "run");
    int status = run ? run(argc) : 1;
    tn_image_close(image);
    closed();
    return status;
}
