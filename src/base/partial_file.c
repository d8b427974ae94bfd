/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "partial_file.h"

#include <errno.h>

/* Files up to this size are copied as a whole. */
enum { WHOLE = 1 << 20 };

struct tn__partial_file {
    const struct tn_allocator *from;
    int fd;
    struct tn__os_identity identity;
    uint64_t address; /* of the copy */
    size_t size, page_size;
    uint8_t read[]; /* a bit for each page */
};

static bool is_read(const struct tn__partial_file *file, size_t page)
{
    return file->read[page / 8] >> page % 8 & 1;
}

int tn__partial_file_open(int fd, const struct tn_allocator *from, struct tn__partial_file **out, const uint8_t **bytes,
                          size_t *size)
{
    uint64_t length;
    bool is_ours;
    int error = tn__os_file_status(fd, &length, &is_ours);
    *out = NULL;
    if (error || is_ours || length <= WHOLE)
        return error;
    size_t page_size = tn__os_page_size(), pages = (size_t)(tn__align_up(length, page_size) / page_size);
    struct tn__partial_file *file = tn__alloc_zeroed(from, 1, sizeof *file + pages / 8 + 1);
    if (!file)
        return ENOMEM;
    *file = (struct tn__partial_file){
        .from = from, .fd = fd, .identity = tn__os_identify(fd), .size = (size_t)length, .page_size = page_size};
    error = tn__os_reserve(0, pages * page_size, false, &file->address);
    if (error) {
        tn__free(from, file);
        return error;
    }
    *out = file;
    *bytes = (const uint8_t *)(uintptr_t)file->address;
    *size = file->size;
    return 0;
}

/* Reads pages of which none was read before. */
static int read_pages(struct tn__partial_file *file, size_t first, size_t end)
{
    uint64_t offset = (uint64_t)first * file->page_size;
    size_t length = (end - first) * file->page_size, wanted = (size_t)tn__min64(length, file->size - offset), got = 0;
    int error = tn__os_is(file->fd, file->identity) ? 0 : EBADF;
    if (!error)
        error = tn__os_commit(file->address + offset, length, TN__PROT_RW);
    if (!error)
        error = tn__os_read_open(file->fd, offset, (void *)(uintptr_t)(file->address + offset), wanted, &got);
    if (!error && got < wanted)
        error = ENODATA;
    for (size_t page = first; !error && page < end; page++)
        file->read[page / 8] |= (uint8_t)(1 << page % 8);
    return error;
}

int tn__partial_file_need(struct tn__partial_file *file, uint64_t offset, uint64_t size)
{
    if (!size)
        return 0;
    size_t page = (size_t)(offset / file->page_size), last = (size_t)((offset + size - 1) / file->page_size);
    int error = 0;
    while (!error && page <= last) {
        size_t end = page;
        while (end <= last && !is_read(file, end))
            end++;
        if (end > page)
            error = read_pages(file, page, end);
        page = end + 1;
    }
    return error;
}

void tn__partial_file_close(struct tn__partial_file *file)
{
    if (!file)
        return;
    if (tn__os_is(file->fd, file->identity))
        tn__os_close(file->fd);
    tn__os_release(file->address, (size_t)tn__align_up(file->size, file->page_size));
    tn__free(file->from, file);
}
