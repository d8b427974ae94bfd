/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A product: one static file with code for every CPU that it may meet.
 *     make run      linked by the system's linker, from this file and an image
 *     make alone    the same without any linker: all of it is an image then */

#include <stdio.h>
#include <string.h>

#include "heat.h"

#ifndef ALONE
#include <tenon_image.h>

extern const char tn_image[];

static int open_image(void)
{
    struct tn_image *image;
    struct tn_error err;
    if (tn_image_open_linked(tn_image, NULL, &image, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    fprintf(stderr, "running for %s\n", tn_image_target(image, tn_image_chosen(image))->name);
    return 0;
}
#else
#define open_image() 0 /* it was opened before main */
#endif

static float plate[HEAT_WIDTH * HEAT_HEIGHT], other[HEAT_WIDTH * HEAT_HEIGHT];

int main(void)
{
    static const char shades[] = " .:-=+*#%@";
    if (open_image())
        return 1;
    for (int x = 0; x < HEAT_WIDTH; x++)
        plate[x] = 9.9f; /* the upper edge is hot */
    memcpy(other, plate, sizeof plate);
    heat_spread(plate, other, 200);
    for (int y = 0; y < HEAT_HEIGHT; y++) {
        for (int x = 0; x < HEAT_WIDTH; x++)
            putchar(shades[(int)plate[y * HEAT_WIDTH + x]]);
        putchar('\n');
    }
    return 0;
}
