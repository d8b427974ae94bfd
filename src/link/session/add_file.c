/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Adding a file by its name. Large archives that others may write are read part by part; everything else is there at
 * once. */

#include <errno.h>

#include "base/partial_file.h"
#include "link/model/open_file.h"
#include "link/session/contents.h"

static void close_partial(void *partial, const void *bytes, size_t length)
{
    (void)bytes, (void)length;
    tn__partial_file_close(partial);
}

static int add_input(struct tn_library *library, const struct tn_input *input, struct tn__input_bytes source,
                     struct tn_error *err)
{
    int code = tn__archive_claims(library->session->formats, input->bytes, input->length)
                   ? tn__library_add_archive(library, input, source, err)
                   : tn__library_add_object(library, input, source, err);
    if (code)
        input->release(input->context, input->bytes, input->length);
    return code;
}

static int fail_file(int error, const char *path, struct tn_error *err)
{
    return tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EIO, "%s: %s", path, strerror(error));
}

/* Of an object and of a universal file all parts are needed. */
static int add_partial(struct tn_library *library, struct tn_input *input, struct tn__partial_file *partial,
                       struct tn_error *err)
{
    enum { MAGIC = 8 }; /* the file is larger */
    int error = tn__partial_file_need(partial, 0, MAGIC);
    if (!error && !tn__archive_claims(NULL, input->bytes, input->length))
        error = tn__partial_file_need(partial, 0, input->length);
    if (error) {
        tn__partial_file_close(partial);
        return fail_file(error, input->name, err);
    }
    input->release = close_partial;
    input->context = partial;
    return add_input(library, input, (struct tn__input_bytes){.partial = partial}, err);
}

/* True for a file of a format that keeps parts of files mapped. Its descriptor is not one of the program's own. */
static bool stays_mapped(const struct tn_format *const *formats, int fd)
{
    enum { STANDARD = 2, HEAD = 64 };
    uint8_t head[HEAD];
    size_t got;
    bool any = false;
    for (size_t i = 0; formats[i]; i++)
        any |= formats[i]->reader->maps_files;
    if (!any || fd <= STANDARD || tn__os_read_open(fd, 0, head, sizeof head, &got))
        return false;
    const struct tn_format *format = tn__format_of(formats, head, got);
    return format && format->reader->maps_files;
}

/* Of a file that is copied, because another user can write it, or for want of memory, nothing is mapped later. */
static int add_mapped(struct tn_library *library, struct tn_input *input, int fd, struct tn_error *err)
{
    const struct tn_allocator *from = library->session->allocator;
    struct tn__os_file file;
    int error = tn__os_map_any_open_file(fd, &file);
    struct tn__open_file *open = error || !file.is_mapped ? NULL : tn__alloc(from, sizeof *open);
    if (open) {
        *open = (struct tn__open_file){from, fd, tn__os_identify(fd)};
        input->release = tn__release_open_file;
        input->context = open;
    } else {
        tn__os_close(fd);
    }
    if (error)
        return fail_file(error, input->name, err);
    input->bytes = file.bytes;
    input->length = file.size;
    return add_input(library, input, (struct tn__input_bytes){.may_change = file.is_mapped}, err);
}

static int add_open(struct tn_library *library, const char *path, int fd, struct tn_error *err)
{
    struct tn_input input = {.size = sizeof input, .name = path, .release = tn__release_file};
    if (stays_mapped(library->session->formats, fd))
        return add_mapped(library, &input, fd, err);
    struct tn__partial_file *partial;
    const uint8_t *bytes;
    int error = tn__partial_file_open(fd, library->session->allocator, &partial, &bytes, &input.length);
    if (!error && partial) {
        input.bytes = bytes;
        return add_partial(library, &input, partial, err);
    }
    struct tn__os_file file = {0};
    if (!error)
        error = tn__os_map_open_file(fd, &file);
    tn__os_close(fd);
    if (error)
        return fail_file(error, path, err);
    input.bytes = file.bytes;
    input.length = file.size;
    return add_input(library, &input, (struct tn__input_bytes){.may_change = file.is_mapped}, err);
}

int tn_add_file(struct tn_library *library, const char *path, struct tn_error *err)
{
    if (!library || !path)
        return tn__fail(err, TN_EINVAL, "no library or no path given");
    int fd, error = tn__os_open(path, &fd);
    return error ? fail_file(error, path, err) : add_open(library, path, fd, err);
}
