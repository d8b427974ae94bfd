/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Two processes load one file. Prints whether all pages of constants and of code are shared, and how many of all
 * were written to. With a second argument it gives up memory that is written and then executed first; the exit
 * status is 77 if the system cannot. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tenon_image.h"

enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1, CANNOT = 77 };

static struct tn_image *open_image(const char *path)
{
    struct tn_image *image;
    struct tn_error err;
    if (tn_image_open(path, NULL, &image, &err)) {
        printf("%s: %s\n", tn_error_name(err.code), err.text);
        exit(1);
    }
    int (*through)(int, int) = (int (*)(int, int))tn_image_lookup(image, "through");
    if (!through || through(1, 21) != 42)
        exit(1);
    return image;
}

/* Reads the sizes, in kB, of the mappings of the file that have these permissions; which one: the first, or all. */
static void measure(const char *path, const char *permissions, int first, unsigned long *shared, unsigned long *written)
{
    char line[512], found[8] = "";
    unsigned long start, end, kb;
    int inside = 0, done = 0;
    FILE *maps = fopen("/proc/self/smaps", "r");
    *shared = *written = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, found) == 3) {
            done |= inside && first;
            inside = !done && strstr(line, path) && strcmp(found, permissions) == 0;
        } else if (inside && sscanf(line, "Shared_Clean: %lu", &kb) == 1) {
            *shared += kb;
        } else if (inside && sscanf(line, "Private_Dirty: %lu", &kb) == 1) {
            *written += kb;
        }
    }
    if (maps)
        fclose(maps);
}

int main(int argc, char **argv)
{
    int ready[2], wait[2];
    char byte = 0;
    if (argc > 2 && prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0))
        return CANNOT;
    if (pipe(ready) || pipe(wait))
        return 1;
    pid_t other = fork();
    struct tn_image *image = open_image(argv[1]);
    if (other == 0)
        return write(ready[1], &byte, 1) != 1 || read(wait[0], &byte, 1) != 1;
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    unsigned long constants, code, sealed, written[3];
    measure(argv[1], "r--p", 1, &constants, &written[0]);
    measure(argv[1], "r-xp", 0, &code, &written[1]);
    measure(argv[1], "r--p", 0, &sealed, &written[2]);
    printf("constants %s, code %s, %lu kB written in sealed pages\n",
           constants && !written[0] ? "shared" : "not shared", code && !written[1] ? "shared" : "not shared",
           written[2]);
    tn_image_close(image);
    if (write(wait[1], &byte, 1) != 1)
        return 1;
    waitpid(other, NULL, 0);
    return 0;
}
