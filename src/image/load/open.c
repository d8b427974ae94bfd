/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Images in files of their own are mapped, checked and relocated, and their slots filled, before anything in them is
 * called. After an error nothing of them is left. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "image/load/image.h"

static void initialize(const struct tn__image_calls *calls)
{
    for (uint64_t i = 0; i < calls->count; i++) {
        void (*function)(int count, char **values, char **environment);
        memcpy(&function, (const void *)(uintptr_t)(calls->address + 8 * i), sizeof function);
        function(0, NULL, environ);
    }
}

void tn__image_release(struct tn__image_file *file)
{
    tn__image_leave_managed(file);
    tn__image_forget_frames(file);
    if (file->tls)
        tn__tls_give(file->tls);
    tn__image_unmap(&file->mapping);
}

static void unload(struct tn_image *image)
{
    tn__image_run_thread_exits(image);
    tn__image_finalize(image);
    tn__image_leave(image);
}

/* ---- places ---- */

/* As a file's address. */
static uint64_t address_at(const struct tn__image_mapping *m, const uint8_t *places, uint32_t index)
{
    return m->header + (uint64_t)(int64_t)(int32_t)tn__get32(places + 4 * (size_t)index);
}

/* Whether `count` places lie in one segment of code. There may be many: no branch for each. */
static bool all_code(const struct tn__image_mapping *m, const uint8_t *places, uint32_t first, uint32_t count)
{
    const struct tn__image_segment *code =
        count ? tn__image_segment_at(m, address_at(m, places, first), 1, TN__PROT_RX) : NULL;
    if (!code)
        return !count;
    uint64_t start = code->address, size = code->size;
    bool outside = false;
    for (uint32_t i = 0; i < count; i++)
        outside |= address_at(m, places, first + i) - start >= size;
    return !outside;
}

/* Slots have to be writable memory, and versions code; versions for other targets are not checked. */
static int check_places(const struct tn_image *image, const uint8_t *places, uint64_t available, struct tn_error *err)
{
    const struct tn__image_view *view = &image->view;
    struct tn__image_file *file = image->file;
    const struct tn__image_mapping *m = &file->mapping;
    uint32_t functions = view->tables[TN__IMAGE_FUNCTION_TABLE].count;
    uint32_t chosen = tn__image_version(view, 0, image->chosen), single = tn__image_version(view, view->slots, 0);
    if (view->places > available / 4)
        return tn__fail(err, TN_EFORMAT, "%s: %u places, where %llu bytes are", m->name, view->places,
                        (unsigned long long)available);
    file->slots = address_at(m, places, TN__IMAGE_SLOT_PLACE);
    file->slots_size = 8 * (uint64_t)view->slots;
    if (view->slots && (file->slots % 8 || !tn__image_at(m, file->slots, file->slots_size, TN__PROT_RW)))
        return tn__fail(err, TN_EFORMAT, "%s: its %u slots lie outside of its writable memory", m->name, view->slots);
    if (!all_code(m, places, chosen, view->slots) || !all_code(m, places, single, functions - view->slots))
        return tn__fail(err, TN_EFORMAT, "%s: its functions do not all lie in one segment of code", m->name);
    uint64_t values = view->values_at ? address_at(m, places, view->values_at) : 0,
             size = 8 * ((uint64_t)view->tables[TN__IMAGE_VALUE_TABLE].count + (view->zones_at != 0));
    if (size && (values % 8 || !tn__image_at(m, values, size, TN__PROT_RW)))
        return tn__fail(err, TN_EFORMAT, "%s: its values lie outside of its writable memory", m->name);
    return TN_OK;
}

/* Pages that contain nothing but slots are replaced by fresh ones, all at once: those of the file would be copied one
 * by one, only to be overwritten. */
static int fill_slots(const struct tn_image *image, struct tn_error *err)
{
    const struct tn__image_file *file = image->file;
    uint64_t page = tn__os_page_size(), first = file->mapping.bias + file->slots;
    uint64_t start = tn__align_up(first, page), end = (first + file->slots_size) / page * page;
    int error = end > start ? tn__os_commit(start, end - start, TN__PROT_RW) : 0;
    if (error)
        return tn__fail(err, TN_ENOMEM, "%s: no memory for its slots: %s", file->mapping.name, strerror(error));
    if (end > start)
        tn__os_prefault(start, end - start);
    tn__image_fill_slots(image);
    return TN_OK;
}

/* ---- the steps ---- */

/* Checks the image in the mapped file. It is in memory that is never written, so it stays as it was checked. */
static int check_image(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    const struct tn__image_mapping *m = &image->file->mapping;
    uint64_t available;
    const uint8_t *header = tn__image_file_bytes(m, m->header, &available);
    if (!header)
        return tn__fail(err, TN_EFORMAT, "%s: the image lies outside of its segments, or in writable memory", m->name);
    int code = tn__image_read(m->name, header, available, &image->arena, &image->view, err);
    if (code == TN_OK && image->view.machine != m->machine)
        code = tn__fail(err, TN_EFORMAT, "%s: an image for ELF machine %u in a file for %u", m->name,
                        image->view.machine, m->machine);
    if (code == TN_OK)
        code = tn__image_choose(image, m->name, options, err);
    if (code == TN_OK)
        code = tn__image_check_dependencies(image, m->name, options, err);
    return code == TN_OK ? check_places(image, header + image->view.size, available - image->view.size, err) : code;
}

static int verify(const char *name, int fd, struct tn_error *err)
{
    struct tn__os_file file;
    int error = tn__os_map_open_file(fd, &file);
    if (error)
        return tn__fail(err, TN_EIO, "%s: cannot be read: %s", name, strerror(error));
    int code = tn__image_verify(name, file.bytes, file.size, err);
    tn__os_unmap_file(&file);
    return code;
}

/* A file of this process alone with these contents. */
static int make_file(const char *name, const struct tn__image_source *from, int *fd, struct tn_error *err)
{
    int error = tn__os_memfd(from->size, fd);
    if (error)
        return tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EPERM, "%s: the system refuses a file in memory: %s",
                        name, strerror(error));
    error = tn__os_write(*fd, 0, &(struct tn__piece){from->bytes, from->size}, 1);
    if (!error)
        error = tn__os_seal(*fd);
    if (!error)
        return TN_OK;
    tn__os_close(*fd);
    return tn__fail(err, TN_EIO, "%s: cannot be copied: %s", name, strerror(error));
}

/* Policies that refuse a file in memory often permit private memory, and the other way round. *copy: that file, or
 * -1. */
static int map_copy(const char *name, const struct tn__image_source *from, struct tn__image_mapping *mapping, int *copy,
                    struct tn_error *err)
{
    struct tn__image_source file = {.size = from->size, .at_address = from->at_address};
    int code = make_file(name, from, &file.fd, err);
    if (code == TN_OK) {
        *copy = file.fd;
        code = tn__image_map(name, &file, mapping, err);
    }
    return code == TN_EPERM ? tn__image_map(name, from, mapping, err) : code;
}

static int bring_in(const char *name, const struct tn__image_source *given, const struct tn_image_load_options *options,
                    struct tn__image_mapping *mapping, int *copy, struct tn_error *err)
{
    struct tn__image_source source = *given, *from = &source;
    int code = TN_OK;
    source.at_address = options->heaps && !(options->flags & TN_IMAGE_RELOCATE);
    if (options->flags & TN_IMAGE_VERIFY)
        code = from->bytes ? tn__image_verify(name, from->bytes, from->size, err) : verify(name, from->fd, err);
    if (code != TN_OK)
        return code;
    return from->bytes ? map_copy(name, from, mapping, copy, err) : tn__image_map(name, from, mapping, err);
}

static int load(struct tn_image *image, const struct tn__image_source *from, const char *name,
                const struct tn_image_load_options *options, struct tn_error *err)
{
    static const struct tn__image_files files = {tn__image_segment_at, tn__image_file_bytes};
    struct tn__image_file *file = image->file;
    image->files = &files;
    image->leave = tn__image_leave;
    int copy = -1, code = bring_in(name, from, options, &file->mapping, &copy, err);
    if (code == TN_OK)
        code = check_image(image, options, err);
    if (code == TN_OK)
        code = tn__image_relocate(file, options, err);
    if (code == TN_OK)
        code = tn__image_register_frames(file, err);
    if (code == TN_OK)
        code = tn__image_enter_managed(file, options, err);
    if (code == TN_OK)
        code = fill_slots(image, err);
    if (code == TN_OK)
        code = tn__image_open_heap(image, options, err);
    if (code == TN_OK)
        code = tn__image_fill_values(image, file->mapping.name, options, err);
    if (code == TN_OK)
        code = tn__image_seal(&file->mapping, err);
    if (code == TN_OK)
        code = tn__image_enter(image, options, err);
    if (copy >= 0)
        tn__os_close(copy);
    if (code != TN_OK) {
        if (image->heap)
            options->heaps->close(image);
        tn__image_release(file);
        return code;
    }
    return TN_OK;
}

/* Contents that others may change are copied first. */
static int load_file(struct tn_image *image, int fd, const char *name, const struct tn_image_load_options *options,
                     struct tn_error *err)
{
    struct tn__image_source from = {.fd = fd};
    struct tn__os_file copy;
    bool is_ours;
    int error = tn__os_file_status(fd, &from.size, &is_ours);
    if (!error && is_ours && !(options->flags & TN_IMAGE_COPY))
        return load(image, &from, name, options, err);
    if (!error)
        error = tn__os_copy_open_file(fd, &copy);
    if (error)
        return tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EIO, "%s: cannot be read: %s", name, strerror(error));
    from.bytes = copy.bytes;
    from.size = copy.size;
    int code = copy.size ? load(image, &from, name, options, err)
                         : tn__fail(err, TN_EFORMAT, "%s: not an ELF file: it is empty", name);
    tn__os_unmap_file(&copy);
    return code;
}

/* The last steps, from where on other images may use its types. The program's functions run last; when one fails, the
 * heap has not used the image. */
static int finish(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err)
{
    int code = image->heap ? options->heaps->settle(image, options, err) : TN_OK;
    if (code == TN_OK) {
        image->unload = unload;
        code = tn__image_finalize_at_exit(image, err);
    }
    if (code == TN_OK) {
        initialize(&image->file->initializers);
        code = image->heap ? options->heaps->restore(image, options, err) : TN_OK;
    }
    if (code == TN_OK)
        return TN_OK;
    if (options->heaps->close(image))
        tn__image_leave(image);
    if (image->unload)
        tn_image_close(image);
    else
        tn__image_leave(image);
    return code;
}

/* `from` has bytes, or an open file. */
static int open_source(const struct tn__image_source *from, const char *name, const struct tn_image_load_options *given,
                       struct tn_image **out, struct tn_error *err)
{
    struct tn_image_load_options options;
    struct tn_image *image;
    *out = NULL;
    int code = tn__image_new(name, given, &options, &image, err);
    if (code != TN_OK)
        return code;
    image->file = tn__arena_array(&image->arena, 1, sizeof *image->file);
    if (!image->file)
        code = tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    else
        code = from->bytes ? load(image, from, name, &options, err) : load_file(image, from->fd, name, &options, err);
    if (code != TN_OK) {
        tn_image_close(image);
        return code;
    }
    image->file->mapping.name = NULL; /* the caller's */
    code = finish(image, &options, err);
    *out = code == TN_OK ? image : NULL;
    return code;
}

int tn_image_open(const char *path, const struct tn_image_load_options *options, struct tn_image **out,
                  struct tn_error *err)
{
    struct tn__image_source from = {.size = 0};
    if (!path || !out)
        return tn__no_argument(err);
    *out = NULL;
    int error = tn__os_open(path, &from.fd);
    if (error)
        return tn__fail(err, TN_EIO, "%s: cannot be opened: %s", path, strerror(error));
    int code = open_source(&from, path, options, out, err);
    tn__os_close(from.fd);
    return code;
}

int tn_image_open_memory(const char *name, const void *bytes, size_t size, const struct tn_image_load_options *options,
                         struct tn_image **out, struct tn_error *err)
{
    if (!bytes || !out)
        return tn__no_argument(err);
    *out = NULL;
    if (!size)
        return tn__fail(err, TN_EINVAL, "tn_image_open_memory: no bytes");
    const struct tn__image_source from = {.bytes = bytes, .size = size};
    return open_source(&from, name ? name : "<memory>", options, out, err);
}
