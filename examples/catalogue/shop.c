/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* shop OBJECTS FOLDER PORT [REQUESTS]: the server of articles with prices that rules make. A rule is a package: an
 * image in the folder with a function `rule`. Rules are applied in the order in which they can be opened: packages that
 * others use come first, equals follow their files' names. If a package that others use was built again, functions of
 * theirs that are stale are compiled again when they are called. Packages that do not fit any more are not used, and
 * the reason is printed. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue.h"
#include "tenon_codegen.h"
#include "tenon_heap.h"
#include "tenon_image.h"

enum { MOST = 64, PATH = 4096 };

typedef uint64_t price_rule(const struct article *article, uint64_t price);

static struct tn_image *packages[MOST];
static price_rule *rules[MOST];
static size_t package_count, rule_count;
static struct tn_error err;

static void must(int code)
{
    if (code) {
        fprintf(stderr, "shop: %s\n", err.text);
        exit(1);
    }
}

/* ---- articles ---- */

static const void *find_root(struct tn_heap *heap, const struct tn_image *image, const char *name)
{
    struct tn_handle *root;
    must(tn_handle_of(heap, NULL, &root, &err));
    must(tn_image_root(image, name, root, &err));
    return tn_handle_object(root); /* saved objects do not move */
}

static void open_articles(const char *path, const struct articles **by_name, const struct articles **by_number)
{
    struct tn_image_load_options options = {.size = sizeof options, .heaps = tn_image_heaps()};
    struct tn_image *image;
    must(tn_heap_create(NULL, &options.heap, &err));
    must(tn_heap_attach(options.heap, &err));
    must(tn_image_open(path, &options, &image, &err));
    *by_name = find_root(options.heap, image, "names");
    *by_number = find_root(options.heap, image, "numbers");
}

/* ---- rules ---- */

static int open_ir(void *context, const struct tn_ir *ir, const struct tn_compile_options *options, void **module,
                   const struct tn_module_description **description, struct tn_error *error)
{
    fprintf(stderr, "shop: compiling %s\n", ir->name);
    return tn_codegen_compiler()->open(context, ir, options, module, description, error);
}

static void tell(void *context, const struct tn_error *why)
{
    (void)context;
    fprintf(stderr, "shop: %s\n", why->text);
}

/* In place of a rule that cannot be compiled. */
static uint64_t unchanged(const struct article *article, uint64_t price)
{
    (void)article;
    return price;
}

static int try_package(const char *path)
{
    struct tn_compiler compiler = *tn_codegen_compiler();
    const struct tn_image_load_options options = {.size = sizeof options,
                                                  .images = packages,
                                                  .image_count = package_count,
                                                  .resolver = tn_resolve_dlsym,
                                                  .compiler = &compiler,
                                                  .recompiler = tn_image_recompiler(),
                                                  .on_error = tell,
                                                  .on_failure = (void (*)(void))unchanged};
    compiler.open = open_ir;
    return package_count < MOST ? tn_image_open(path, &options, &packages[package_count], &err) : TN_EINVAL;
}

static int is_package(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end && strcmp(end, ".image") == 0;
}

/* Goes on as long as one more package is opened, because others may wait for it. */
static void open_packages(const char *folder)
{
    struct dirent **files;
    int count = scandir(folder, &files, is_package, alphasort);
    char path[PATH];
    if (count < 0) {
        perror(folder);
        exit(1);
    }
    for (size_t before = SIZE_MAX; before != package_count;) {
        before = package_count;
        for (int i = 0; i < count; i++) {
            if (!files[i])
                continue;
            snprintf(path, sizeof path, "%s/%s", folder, files[i]->d_name);
            if (try_package(path))
                continue;
            rules[rule_count] = (price_rule *)tn_image_lookup(packages[package_count++], "rule");
            rule_count += rules[rule_count] != NULL;
            free(files[i]);
            files[i] = NULL;
        }
    }
    for (int i = 0; i < count; i++) {
        if (!files[i])
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, files[i]->d_name);
        int code = try_package(path);
        fprintf(stderr, "shop: not used: %s: %s\n", tn_error_name(code), err.text);
        free(files[i]);
    }
    free(files);
}

static uint64_t price_of(const struct article *article)
{
    uint64_t price = article->price;
    for (size_t i = 0; i < rule_count; i++)
        price = rules[i](article, price);
    return price;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return fprintf(stderr, "shop OBJECTS FOLDER PORT [REQUESTS]\n"), 2;
    const struct articles *by_name, *by_number;
    open_articles(argv[1], &by_name, &by_number);
    open_packages(argv[2]);
    int status = serve(by_name, by_number, price_of, atoi(argv[3]), argc > 4 ? atol(argv[4]) : -1);
    while (package_count) /* those that use others first */
        tn_image_close(packages[--package_count]);
    return status;
}
