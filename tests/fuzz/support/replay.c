/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Runs an entry without libFuzzer: over its corpus (tests/fuzz/corpus/NAME) and the objects and archives that the
 * linker's tests use, each once, or over the files that are named. Says which file it is at, for the one that ends
 * it. */

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

enum { LARGEST = 65536 }; /* as make fuzz has it */

/* The bytes are in a block of exactly their size, for AddressSanitizer. */
static int run_file(const char *path)
{
    struct stat status;
    FILE *file = fopen(path, "rbe");
    if (!file || fstat(fileno(file), &status) != 0 || !S_ISREG(status.st_mode)) {
        if (file)
            fclose(file);
        return 0;
    }
    size_t size = (size_t)status.st_size;
    uint8_t *bytes = malloc(size ? size : 1);
    size_t got = bytes ? fread(bytes, 1, size, file) : 0;
    fclose(file);
    if (got == size && size <= LARGEST) {
        printf("# %s\n", path);
        LLVMFuzzerTestOneInput(bytes, size);
    }
    free(bytes);
    return got == size;
}

static bool is_object(const char *name)
{
    const char *end = strrchr(name, '.');
    return end && (!strcmp(end, ".o") || !strcmp(end, ".a") || !strcmp(end, ".so"));
}

/* Runs the folder's files, of which there are so many. */
static int run_folder(const char *folder, bool objects_only)
{
    char path[PATH_MAX];
    struct dirent *entry;
    int count = 0;
    DIR *stream = opendir(folder);
    if (!stream)
        return 0;
    while ((entry = readdir(stream)))
        if ((!objects_only || is_object(entry->d_name)) &&
            snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path)
            count += run_file(path);
    closedir(stream);
    return count;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 1; i < argc; i++)
        if (!run_file(argv[i]))
            return fprintf(stderr, "%s: cannot be read\n", argv[i]), 1;
    if (argc > 1)
        return 0;
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    char corpus[PATH_MAX], objects[PATH_MAX];
    snprintf(corpus, sizeof corpus, "tests/fuzz/corpus/%s", name);
    snprintf(objects, sizeof objects, "%.*s../link/data", (int)(name - argv[0]), argv[0]);
    int count = run_folder(corpus, false), more = run_folder(objects, true);
    printf("%s %s: %d inputs of its corpus, %d objects\n", count ? "ok" : "not ok", name, count, more);
    return !count;
}
