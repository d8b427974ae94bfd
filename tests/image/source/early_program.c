/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Prints what an image's constructor computed, and what it computes now. The image is linked in, or is the file that
 * the second argument names, loaded by what the first one says: dlopen or tn_image_open. Where something else than
 * that brought it in, it is called before it is opened, too. */

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tenon_image.h"

#ifdef LINKED
extern const char tn_image[];
long early_value(void), add(const long *, long);
#endif

typedef long sum_of(const long *values, long count);
static const long values[] = {5, 6};

static int open_image(char **argv, struct tn_image **image, struct tn_error *err)
{
#ifdef LINKED
    (void)argv;
    const void *header = tn_image;
    sum_of *sum = add;
#else
    if (strcmp(argv[1], "tn_image_open") == 0)
        return tn_image_open(argv[2], NULL, image, err);
    void *library = dlopen(argv[2], RTLD_NOW), *header = library ? dlsym(library, "tn_image") : NULL;
    sum_of *sum = library ? (sum_of *)dlsym(library, "add") : NULL;
#endif
    if (!header || !sum || sum(values, 2) != 11)
        return TN_EIO;
    return tn_image_open_linked(header, NULL, image, err);
}

int main(int argc, char **argv)
{
    struct tn_image *image;
    struct tn_error err = {.text = "it cannot be loaded, or not called before it is opened"};
    if (argc != 1 && argc != 3)
        return 2;
    if (open_image(argv, &image, &err))
        return puts(err.text), 1;
    long (*early)(void) = (long (*)(void))tn_image_lookup(image, "early_value");
    sum_of *sum = (sum_of *)tn_image_lookup(image, "add");
    printf("%ld %ld\n", early(), sum(values, 2));
    tn_image_close(image);
    return 0;
}
