/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The checksum over everything of a file that is loaded (doc/IMAGE.md, "The whole file"), against damage in transit or
 * on disk. Reading a whole file takes longer than loading it, so it is verified on request only. It is that of the
 * program headers, then of the file's bytes of each PT_LOAD segment in their order, each with the last as its seed. The
 * ELF header and the program headers are left out of the segment that has them. */

#include <elf.h>
#include <string.h>

#include "image/format/format.h"

bool tn__image_find_note(const uint8_t *notes, uint64_t size, uint64_t *found)
{
    for (uint64_t at = 0; tn__inside(at, 12, size);) {
        uint32_t name = tn__get32(notes + at), content = tn__get32(notes + at + 4);
        uint64_t next = 12 + tn__align_up(name, 4) + tn__align_up(content, 4);
        if (!tn__inside(at, next, size))
            return false;
        if (name == sizeof TN__IMAGE_NOTE_NAME && content == TN__IMAGE_NOTE_SIZE &&
            tn__get32(notes + at + 8) == TN__IMAGE_NOTE_TYPE &&
            memcmp(notes + at + 12, TN__IMAGE_NOTE_NAME, name) == 0) {
            *found = at;
            return true;
        }
        at += next;
    }
    return false;
}

/* `size` bytes at an offset of the file; NULL: they are not all there. */
static const uint8_t *bytes_at(const struct tn__image_bytes *parts, size_t count, uint64_t offset, uint64_t size)
{
    for (size_t i = 0; i < count; i++)
        if (offset >= parts[i].offset && tn__inside(offset - parts[i].offset, size, parts[i].size))
            return parts[i].bytes + (offset - parts[i].offset);
    return NULL;
}

/* Finds the checksum itself in the file: in the image's note, after the distance. */
static bool find_sum(const struct tn__image_bytes *parts, size_t part_count, const Elf64_Phdr *headers, size_t count,
                     uint64_t *at)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t offset = headers[i].p_offset, size = headers[i].p_filesz, note;
        const uint8_t *notes = headers[i].p_type == PT_NOTE ? bytes_at(parts, part_count, offset, size) : NULL;
        if (notes && tn__image_find_note(notes, size, &note)) {
            *at = offset + note + TN__IMAGE_NOTE_SUM;
            return true;
        }
    }
    return false;
}

/* Adds `size` bytes at an offset of the file, with zeros in place of the checksum. */
static uint64_t add_range(const uint8_t *bytes, uint64_t offset, uint64_t size, uint64_t at, uint64_t sum)
{
    static const uint8_t zeros[8] = {0};
    if (at < offset || !tn__inside(at - offset, sizeof zeros, size))
        return tn__image_checksum(bytes, size, sum);
    uint64_t before = at - offset, after = before + sizeof zeros;
    sum = tn__image_checksum(bytes, before, sum);
    sum = tn__image_checksum(zeros, sizeof zeros, sum);
    return tn__image_checksum(bytes + after, size - after, sum);
}

bool tn__image_parts_sum(const struct tn__image_bytes *parts, size_t count, uint64_t *sum, uint64_t *at)
{
    enum { MOST = 64 };
    Elf64_Ehdr file;
    Elf64_Phdr headers[MOST];
    const uint8_t *head = bytes_at(parts, count, 0, sizeof file);
    if (!head)
        return false;
    memcpy(&file, head, sizeof file);
    size_t headers_size = file.e_phnum * sizeof headers[0];
    head = bytes_at(parts, count, file.e_phoff, headers_size);
    if (file.e_phnum > MOST || !head)
        return false;
    memcpy(headers, head, headers_size);
    if (!find_sum(parts, count, headers, file.e_phnum, at))
        return false;
    /* Stripping a file changes its ELF header, which locates the sections, and the offsets of segments without
     * bytes. */
    for (size_t i = 0; i < file.e_phnum; i++)
        headers[i].p_offset = headers[i].p_filesz ? headers[i].p_offset : 0;
    *sum = tn__image_checksum(headers, headers_size, 0);
    uint64_t first = file.e_phoff == sizeof file ? sizeof file + headers_size : sizeof file;
    for (size_t i = 0; i < file.e_phnum; i++) {
        const Elf64_Phdr *h = &headers[i];
        uint64_t begin = tn__max64(h->p_offset, first), skipped = begin - h->p_offset;
        if (h->p_type != PT_LOAD)
            continue;
        const uint8_t *bytes = bytes_at(parts, count, h->p_offset, h->p_filesz);
        if (!bytes)
            return false;
        if (h->p_filesz > skipped)
            *sum = add_range(bytes + skipped, begin, h->p_filesz - skipped, *at, *sum);
    }
    *sum += !*sum; /* 0 stands for none */
    return true;
}

bool tn__image_file_sum(const uint8_t *bytes, size_t size, uint64_t *sum, uint64_t *at)
{
    return tn__image_parts_sum(&(struct tn__image_bytes){0, bytes, size}, 1, sum, at);
}

int tn__image_verify(const char *name, const uint8_t *bytes, size_t size, struct tn_error *err)
{
    uint64_t sum, at;
    if (!tn__image_file_sum(bytes, size, &sum, &at))
        return tn__fail(err, TN_EFORMAT, "%s: no file with an image, or a truncated one", name);
    uint64_t noted = tn__get64(bytes + at);
    if (!noted)
        return tn__fail(err, TN_ENOTSUP, "%s: it has no checksum of the whole, as files by other linkers", name);
    if (noted != sum)
        return tn__fail(err, TN_EFORMAT, "%s: checksum of the whole is %016llx, should be %016llx", name,
                        (unsigned long long)sum, (unsigned long long)noted);
    return 0;
}
