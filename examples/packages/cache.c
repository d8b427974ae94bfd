/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* cache FILE [FOLDER]: runs the function `rule` of a file with LLVM IR, and compiles it only once: a cache of packages
 * keeps its image in FOLDER (doc/PACKAGES.md, "A cache").
 *
 *     cc -O2 -static -s cache.c $(pkg-config --cflags --libs tenon-codegen) -lm \
 *         $(pkg-config --variable=small_ldflags tenon-codegen) -o cache */

#include <stdio.h>
#include "tenon_codegen.h"
#include "tenon_package.h"

static const char targets[] = "generic;native";

struct source {
    char text[1 << 16];
    size_t length;
};

/* Called if no folder has an image of this source. */
static int build(void *context, struct tn_buffer *file, struct tn_error *err)
{
    const struct source *source = context;
    struct tn_image_input input = {.name = "rules", .ir = source->text, .length = source->length};
    struct tn_image_options options = {.size = sizeof options, .name = "rules", .targets = targets, .opt_level = 2};
    struct tn_image_link_options link = {.size = sizeof link, .kind = TN_IMAGE_LOADABLE};
    struct tn_input archive = {.size = sizeof archive, .name = "rules"};
    struct tn_buffer made[TN_IMAGE_OUTPUTS];
    int code = tn_image_build(&input, 1, &options, made, NULL, err);
    if (code)
        return code;
    puts("compiled");
    archive.bytes = made[TN_IMAGE_OBJECTS].data;
    archive.length = made[TN_IMAGE_OBJECTS].size;
    code = tn_image_link(&archive, 1, &link, file, err);
    tn_buffer_free(&made[TN_IMAGE_OBJECTS]);
    return code;
}

static void rejected(void *context, const char *path, const struct tn_error *why)
{
    (void)context;
    printf("%s is not used: %s\n", path, tn_error_name(why->code));
}

int main(int argc, char **argv)
{
    static struct source source;
    const char *folders[] = {argc > 2 ? argv[2] : "kept"};
    struct tn_package_cache_options options = {.size = sizeof options,
                                               .folders = folders,
                                               .folder_count = 1,
                                               .limit = 100 << 20,
                                               .compiler = tn_codegen_compiler(),
                                               .rejected = rejected};
    struct tn_image_load_options load = {.size = sizeof load, .flags = TN_IMAGE_VERIFY};
    struct tn_package_cache *cache;
    struct tn_image *image;
    struct tn_error err;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file)
        return fprintf(stderr, "usage: %s FILE [FOLDER]\n", argv[0]), 2;
    source.length = fread(source.text, 1, sizeof source.text, file);
    fclose(file);
    struct tn_package_key key = {.size = sizeof key,
                                 .name = "rules",
                                 .targets = targets,
                                 .flags = "-O2",
                                 .bytes = source.text,
                                 .length = source.length};
    if (tn_package_cache_open(&options, &cache, &err) ||
        tn_package_build(cache, &key, build, &source, &load, &image, &err))
        return fprintf(stderr, "%s\n", err.text), 1;
    int (*rule)(int) = (int (*)(int))tn_image_lookup(image, "rule");
    if (rule)
        printf("%d\n", rule(20));
    tn_image_close(image);
    tn_package_cache_close(cache);
    return !rule;
}
