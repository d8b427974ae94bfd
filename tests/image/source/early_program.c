/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Prints what an image's constructor computed, and what it computes now. The image is linked in, or is the file that the second
 * argument names, loaded by what the first one says: dlopen or tn_image_open. */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tenon_image.h"

#ifdef LINKED
extern const char tn_image[];
long early_value(void), add(const long *, long);
#endif

static int open_image(char **argv, struct tn_image **image, struct tn_error *err)
{
#ifdef LINKED
    (void)argv;
    return tn_image_open_linked(tn_image, NULL, image, err);
#else
    if (strcmp(argv[1], "tn_image_open") == 0)
        return tn_image_open(argv[2], NULL, image, err);
    void *library = dlopen(argv[2], RTLD_NOW), *header = library ? dlsym(library, "tn_image") : NULL;
    return header ? tn_image_open_linked(header, NULL, image, err) : TN_EIO;
#endif
}

int main(int argc, char **argv)
{
    static const long values[] = {5, 6};
    struct tn_image *image;
    struct tn_error err = {.text = "it cannot be loaded"};
    if (argc != 1 && argc != 3)
        return 2;
    if (open_image(argv, &image, &err))
        return puts(err.text), 1;
    long (*early)(void) = (long (*)(void))tn_image_lookup(image, "early_value");
    long (*sum)(const long *, long) = (long (*)(const long *, long))tn_image_lookup(image, "add");
    printf("%ld %ld\n", early(), sum(values, 2));
    tn_image_close(image);
    return 0;
}
