/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images behind dlopen: files of `tenon build --kind=image` or `--kind=shared`. An image is opened once and stays open
 * until the program ends, as with RTLD_NODELETE, because others may depend on it. It is never closed: finalizers run at
 * exit without that, and threads may still run its code then. dlsym finds its public functions. It may use what the
 * program has linked, images that were opened before, and what the command offers. */

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "image/load/image.h"
#include "lib/tool.h"
#include "link/demand/promise.h"
#include "tenon_image.h"

/* In the order in which they were opened. Calls of dlopen load one after the other. */
static struct {
    struct tn_image **images;
    char **paths;
    size_t count, image_capacity, path_capacity;
} opened;

bool tool_has_image(const struct file *file)
{
    struct tn__arena arena = {0};
    struct tn__image_view view;
    struct tn_error error;
    const uint8_t *bytes = file->bytes;
    bool is_library = file->size > sizeof(Elf64_Ehdr) && !memcmp(bytes, ELFMAG, SELFMAG) &&
                      tn__get16(bytes + offsetof(Elf64_Ehdr, e_type)) == ET_DYN;
    bool found = is_library && tool_find_image(file, &arena, &view, &error);
    tn__arena_free(&arena);
    return found;
}

/* Without waiting: the thread that calls dlopen may be running initializers. */
static void *find_in_program(void *context, const char *name)
{
    struct tn_wanted wanted = {.name = name};
    tn__session_lock(tool_program.session);
    bool found = tn__query_answer_at_once(tool_program.library, &wanted);
    tn__session_unlock(tool_program.session);
    return found ? wanted.address : tool_resolve_host(context, name);
}

static void *find_in_image(void *image, const char *name)
{
    return tn_image_lookup(image, name);
}

/* NULL after an error. */
static struct tn_image *open_image(const char *path, struct tn_error *err)
{
    const struct tn_image_load_options options = {
        .size = sizeof options, .resolver = find_in_program, .images = opened.images, .image_count = opened.count};
    struct tn_image *image;
    char *copy = strdup(path);
    if (!copy || !tn__grow(NULL, &opened.images, &opened.image_capacity, opened.count + 1, sizeof *opened.images) ||
        !tn__grow(NULL, &opened.paths, &opened.path_capacity, opened.count + 1, sizeof *opened.paths))
        return free(copy), tn__no_memory(err, path), NULL;
    if (tn_image_open(path, &options, &image, err))
        return free(copy), NULL;
    opened.paths[opened.count] = copy;
    opened.images[opened.count++] = image;
    return image;
}

int tool_add_image(struct tn_library *library, const char *path, struct tn_error *err)
{
    struct tn_image *image = NULL;
    for (size_t i = 0; i < opened.count && !image; i++)
        if (!strcmp(opened.paths[i], path))
            image = opened.images[i];
    if (!image)
        image = open_image(path, err);
    return image ? tn_add_resolver(library, find_in_image, image, err) : err->code;
}
