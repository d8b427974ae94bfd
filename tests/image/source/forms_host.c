/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opens an image of forms.c, for the CPU that the first argument names: the one that is linked in, or that in the
 * file of the second. */

#include <stdio.h>

#include "tenon_image.h"

#ifdef LINKED
extern const char tn_image[];
#endif

int main(int argc, char **argv)
{
    struct tn_cpu cpu = {.size = sizeof cpu};
    struct tn_image_load_options options = {.size = sizeof options, .cpu = &cpu, .resolver = tn_resolve_dlsym};
    struct tn_image *image;
    struct tn_error err;
    int code = argc < 2 ? TN_EINVAL : tn_cpu_host(&cpu, &err);
    if (!code)
        code = tn_cpu_limit(&cpu, argv[1], &err);
    if (!code)
#ifdef LINKED
        code = tn_image_open_linked(tn_image, &options, &image, &err);
#else
        code = tn_image_open(argv[argc - 1], &options, &image, &err);
#endif
    if (code)
        return printf("%s: %s\n", tn_error_name(code), argc < 2 ? "no CPU" : err.text), 1;
    int (*forms)(void) = (int (*)(void))tn_image_lookup(image, "forms");
    printf("%s: %d\n", tn_image_target(image, tn_image_chosen(image))->name, forms());
    tn_image_close(image);
    return 0;
}
