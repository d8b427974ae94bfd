/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opens the image that a program is linked with before its `main`, which is in there. The CPU is TENON_CPU. */

#include <stdio.h>
#include <stdlib.h>

#include "tenon_image.h"

extern const char tn_image[];

__attribute__((constructor)) static void open_image(void)
{
    struct tn_error err;
    struct tn_image *image;
    struct tn_cpu cpu = {.size = sizeof cpu};
    struct tn_image_load_options options = {.size = sizeof options, .cpu = &cpu};
    if (tn_cpu_host(&cpu, &err) == 0 && tn_cpu_limit(&cpu, getenv("TENON_CPU"), &err) == 0 &&
        tn_image_open_linked(tn_image, &options, &image, &err) == 0)
        return;
    fprintf(stderr, "%s\n", err.text);
    exit(1);
}
