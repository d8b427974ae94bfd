/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images in files of their own. Headers and tables are checked in a view of the file before anything is mapped for good; what
 * is written comes last, and after any error all of it is taken back. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "image/image.h"

static void call_all(const struct tn__image_calls *calls, bool backwards)
{
    for (uint64_t i = 0; i < calls->count; i++) {
        uint64_t index = backwards ? calls->count - 1 - i : i;
        void (*function)(void);
        memcpy(&function, (const void *)(uintptr_t)(calls->address + 8 * index), sizeof function);
        function();
    }
}

static void unload(struct tn_image *image)
{
    call_all(&image->finalizers, true);
    tn__image_unmap(&image->mapping);
}

/* ---- places ---- */

/* Slots have to be writable memory, versions code; `at` are the bytes of the file. */
static int check_places(const struct tn_image *image, const uint8_t *places, uint64_t available, struct tn_error *err)
{
    const struct tn__image_view *view = &image->view;
    const struct tn__image_mapping *m = &image->mapping;
    if (view->places > available / 4)
        return tn__fail(err, TN_EFORMAT, "%s: %u places, where %llu bytes are", m->name, view->places,
                        (unsigned long long)available);
    for (uint32_t i = 0; i < view->places; i++) {
        uint64_t address = m->header + (uint64_t)(int64_t)(int32_t)tn__get32(places + 4 * (size_t)i);
        bool is_slots = i == TN__IMAGE_SLOT_PLACE;
        if (is_slots && (address % 8 || !tn__image_at(m, address, 8 * (uint64_t)view->slots, TN__PROT_RW)))
            return tn__fail(err, TN_EFORMAT, "%s: its %u slots lie outside of its writable memory", m->name,
                            view->slots);
        if (!is_slots && !tn__image_at(m, address, 1, TN__PROT_RX))
            return tn__fail(err, TN_EFORMAT, "%s: place %u is no code of the file", m->name, i);
    }
    return TN_OK;
}

/* ---- the steps ---- */

/* Checks all that can be checked in the file's bytes. */
static int check(struct tn_image *image, const char *name, const struct tn__os_file *file,
                 const struct tn_image_load_options *options, struct tn_error *err)
{
    uint64_t available;
    int code = tn__image_parse(name, file->bytes, file->size, &image->mapping, err);
    if (code != TN_OK)
        return code;
    const uint8_t *header = tn__image_file_at(&image->mapping, file->bytes, image->mapping.header, &available);
    code = tn__image_read(name, header, available, &image->arena, &image->view, err);
    if (code == TN_OK && image->view.machine != image->mapping.machine)
        code = tn__fail(err, TN_EFORMAT, "%s: an image for ELF machine %u in a file for %u", name, image->view.machine,
                        image->mapping.machine);
    if (code == TN_OK)
        code = tn__image_choose(image, name, options, err);
    return code == TN_OK ? check_places(image, header + image->view.size, available - image->view.size, err) : code;
}

/* From the bytes that were checked to those in memory, which are of the same file. */
static int rebase(struct tn_image *image, struct tn_error *err)
{
    struct tn__arena checked = image->arena;
    image->arena = (struct tn__arena){.from = checked.from};
    const struct tn__image_mapping *m = &image->mapping;
    uint64_t size = image->view.size + 4 * (uint64_t)image->view.places;
    const uint8_t *header = tn__image_at(m, m->header, size, TN__PROT_R);
    int code = header ? tn__image_read(m->name, header, size, &image->arena, &image->view, err)
                      : tn__fail(err, TN_EFORMAT, "%s: the image lies outside of its segments", m->name);
    if (code == TN_OK && tn__image_at(m, m->header, size, TN__PROT_RW)) /* relocations could change what was checked */
        code = tn__fail(err, TN_EFORMAT, "%s: the image lies in writable memory", m->name);
    tn__arena_free(&checked);
    return code;
}

static int load(struct tn_image *image, int fd, const struct tn__os_file *file, const char *name,
                const struct tn_image_load_options *options, struct tn_error *err)
{
    struct tn__image_calls initializers = {0};
    int code = check(image, name, file, options, err);
    if (code == TN_OK)
        code = tn__image_map(&image->mapping, fd, err);
    if (code != TN_OK)
        return code;
    code = rebase(image, err);
    if (code == TN_OK)
        code = tn__image_relocate(&image->mapping, options->resolver, options->context, &initializers,
                                  &image->finalizers, err);
    if (code != TN_OK) {
        tn__image_unmap(&image->mapping);
        return code;
    }
    tn__image_fill_slots(image);
    call_all(&initializers, false);
    return TN_OK;
}

static int open_descriptor(int fd, const char *name, const struct tn_image_load_options *given, struct tn_image **out,
                           struct tn_error *err)
{
    struct tn_image_load_options options;
    struct tn__os_file file;
    *out = NULL;
    int code = tn__take_options(&options, sizeof options, given, "struct tn_image_load_options", err);
    if (code != TN_OK)
        return code;
    struct tn_image *image = tn__alloc_zeroed(NULL, sizeof *image, 1);
    if (!image)
        return tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    int error = tn__os_map_open_file(fd, &file);
    code = error ? tn__fail(err, TN_EIO, "%s: cannot be read: %s", name, strerror(error))
                 : load(image, fd, &file, name, &options, err);
    tn__os_unmap_file(&file);
    if (code != TN_OK) {
        tn__arena_free(&image->arena);
        tn__free(NULL, image);
        return code;
    }
    image->mapping.name = NULL; /* the caller's */
    image->unload = unload;
    *out = image;
    return TN_OK;
}

int tn_image_open(const char *path, const struct tn_image_load_options *options, struct tn_image **out,
                  struct tn_error *err)
{
    int fd, error = tn__os_open(path, &fd);
    *out = NULL;
    if (error)
        return tn__fail(err, TN_EIO, "%s: cannot be opened: %s", path, strerror(error));
    int code = open_descriptor(fd, path, options, out, err);
    tn__os_close(fd);
    return code;
}

int tn_image_open_memory(const char *name, const void *bytes, size_t size, const struct tn_image_load_options *options,
                         struct tn_image **out, struct tn_error *err)
{
    int fd;
    *out = NULL;
    if (!bytes || !size)
        return tn__fail(err, TN_EINVAL, "tn_image_open_memory: no bytes");
    name = name ? name : "<memory>";
    int error = tn__os_memfd(size, &fd);
    if (error)
        return tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EPERM, "%s: the system refuses a file in memory: %s",
                        name, strerror(error));
    error = tn__os_write(fd, 0, &(struct tn__piece){bytes, size}, 1);
    int code = error ? tn__fail(err, TN_EIO, "%s: cannot be copied: %s", name, strerror(error))
                     : open_descriptor(fd, name, options, out, err);
    tn__os_close(fd);
    return code;
}
