/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Runs the program whose image the first argument names, with the other arguments. */

#include <stdio.h>

#include "tenon_image.h"

int main(int argc, char **argv)
{
    struct tn_image_load_options options = {.size = sizeof options, .resolver = tn_resolve_dlsym};
    struct tn_image *image;
    struct tn_error err;
    if (argc < 2 || tn_image_open(argv[1], &options, &image, &err)) {
        fprintf(stderr, "%s\n", argc < 2 ? "usage: run_image IMAGE [ARG...]" : err.text);
        return 3;
    }
    int (*program)(int, char **) = (int (*)(int, char **))tn_image_lookup(image, "main");
    return program ? program(argc - 1, argv + 1) : 4;
}
