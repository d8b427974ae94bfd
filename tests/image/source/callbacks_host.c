/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* callbacks_host FILE MODE: opens a file that registers functions with the C library (callbacks.c), and forks; closes
 * it first where MODE begins with `closed`; and ends by quick_exit where it ends in `quick`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon.h"
#include "tenon_image.h"

TN_EXPORT(puts);

int main(int argc, char **argv)
{
    struct tn_image *image;
    struct tn_error err;
    const struct tn_image_load_options options = {.size = sizeof options, .resolver = tn_resolve_exports};
    if (argc != 3 || setvbuf(stdout, NULL, _IONBF, 0) || tn_image_open(argv[1], &options, &image, &err))
        return printf("%s\n", argc == 3 ? err.text : "a file and a mode"), 1;
    int (*enter)(void) = (int (*)(void))tn_image_lookup(image, "enter");
    if (!enter || enter())
        return puts("it is not registered"), 1;
    if (!strncmp(argv[2], "closed", strlen("closed"))) {
        tn_image_close(image);
        puts("closed");
    }
    if (!fork())
        _exit(0);
    wait(NULL);
    if (strstr(argv[2], "quick"))
        quick_exit(0);
    return 0;
}
