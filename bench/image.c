/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* image MODE FILE: from a file to code that can be called, once in this process, and what that took:
 *     open      tn_image_open
 *     package   tn_package_build, of an archive, in a cache beside it; the first run links it
 *     dlopen    dlopen(RTLD_NOW) alone, which leaves the slots as they are for target 0
 *     ready     dlopen and tn_image_open_linked
 * Looking at the CPU is measured apart: it takes as long for one image as for all of a process. Both heaps, the C
 * library's and the runtime's, have been used before: how they begin is not what is asked. Prints lines `WORD NUMBER`;
 * bench/spawn makes medians of them. */

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"
#include "resident.h"
#include "tenon_package.h"

/* KiB of memory that was written: of files, what differs from them now. */
static long dirty_kb(void)
{
    static char text[4096]; /* not from a heap that would grow */
    int fd = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *line = strstr(text, "Anonymous:");
    return line ? strtol(line + strlen("Anonymous:"), NULL, 10) : -1;
}

static int open_library(const char *file, void **header, struct tn_error *err)
{
    void *library = dlopen(file, RTLD_NOW);
    *header = library ? dlsym(library, "tn_image") : NULL;
    if (*header)
        return 0;
    *err = (struct tn_error){.code = TN_EIO};
    snprintf(err->text, sizeof err->text, "%s", dlerror());
    return TN_EIO;
}

static struct tn_package_cache *cache;

static int open_cache(const char *file, const struct tn_cpu *cpu, struct tn_error *err)
{
    static char folder[1000];
    const char *folders[] = {folder};
    const struct tn_package_cache_options options = {
        .size = sizeof options, .folders = folders, .folder_count = 1, .identity = "a compiler", .native = cpu};
    snprintf(folder, sizeof folder, "%s.cache", file);
    return tn_package_cache_open(&options, &cache, err);
}

/* Links the archive. */
static int build(void *context, struct tn_buffer *made, struct tn_error *err)
{
    static char bytes[64 << 20];
    FILE *file = fopen(context, "rb");
    struct tn_input archive = {.size = sizeof archive, .name = "many", .bytes = bytes};
    const struct tn_image_link_options options = {.size = sizeof options, .kind = TN_IMAGE_LOADABLE};
    archive.length = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    return tn_image_link(&archive, 1, &options, made, err);
}

static int load(const char *mode, const char *file, const struct tn_image_load_options *options,
                struct tn_image **image, struct tn_error *err)
{
    void *header;
    const struct tn_package_key key = {.size = sizeof key, .name = "many", .bytes = file, .length = strlen(file)};
    if (strcmp(mode, "open") == 0)
        return tn_image_open(file, options, image, err);
    if (strcmp(mode, "package") == 0)
        return tn_package_build(cache, &key, build, (void *)(uintptr_t)file, options, image, err);
    int code = open_library(file, &header, err);
    return !code && strcmp(mode, "ready") == 0 ? tn_image_open_linked(header, options, image, err) : code;
}

static int use_heaps(struct tn_error *err)
{
    struct tn_cpu_targets *targets = NULL;
    int code = tn_cpu_parse_targets("generic", NULL, &targets, err);
    tn_cpu_targets_destroy(targets);
    free(malloc(1));
    return code;
}

int main(int argc, char **argv)
{
    struct tn_cpu cpu = {.size = sizeof cpu};
    struct tn_image_load_options options = {.size = sizeof options, .cpu = &cpu};
    struct tn_image *image = NULL;
    struct tn_error err;
    if (argc != 3)
        return fprintf(stderr, "usage: image open|package|dlopen|ready FILE\n"), 2;
    uint64_t start = now_ns();
    int code = tn_cpu_host(&cpu, &err);
    uint64_t looked = now_ns();
    if (!code)
        code = use_heaps(&err);
    if (!code && strcmp(argv[1], "package") == 0)
        code = open_cache(argv[2], &cpu, &err);
    long before = dirty_kb();
    uint64_t begin = now_ns();
    if (!code)
        code = load(argv[1], argv[2], &options, &image, &err);
    uint64_t end = now_ns();
    long after = dirty_kb();
    if (code)
        return fprintf(stderr, "image: %s\n", err.text), 1;
    if (image && ((int (*)(unsigned))tn_image_lookup(image, "function_7"))(1) != 7)
        return fprintf(stderr, "image: a wrong answer\n"), 1;
    printf("cpu_us %.1f\nready_us %.1f\ndirty_pages %.1f\nresident_kb %ld\n", (double)(looked - start) / 1e3,
           (double)(end - begin) / 1e3, (double)(after - before) * 1024 / (double)sysconf(_SC_PAGESIZE), resident_kb());
    return 0;
}
