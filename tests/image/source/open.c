/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opens the image of a program that does not know of it, before its main. */

#include <stdio.h>
#include <stdlib.h>

#include "tenon_image.h"

extern const char tn_image[];

__attribute__((constructor)) static void open_image(void)
{
    struct tn_image *image;
    struct tn_error err;
    if (tn_image_open_linked(tn_image, NULL, &image, &err) == 0)
        return;
    fprintf(stderr, "%s\n", err.text);
    exit(3);
}
