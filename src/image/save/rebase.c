/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A file of saved objects for another address. All words of it that hold an address of its own are in the list of
 * these, as when it is opened elsewhere; besides, the tables and the headers of segments and sections name some. */

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "image/format/format.h"
#include "image/save/save.h"

struct rebasing {
    const char *path;
    uint8_t *bytes;
    size_t size;
    uint64_t header;         /* where it is in the file */
    uint64_t base, distance; /* the old address; what is added to it */
    struct tn__arena arena;
    struct tn__image_view view;
    struct tn_error *err;
};

#define FAIL(r, code, ...) tn__fail((r)->err, code, __VA_ARGS__)

static const struct tn__image_rows *table(const struct rebasing *r, enum tn__image_table kind)
{
    return &r->view.tables[kind];
}

/* The row, to be written. */
static uint8_t *row_of(const struct rebasing *r, enum tn__image_table kind, uint32_t index)
{
    return r->bytes + (tn__image_row(table(r, kind), index) - r->bytes);
}

/* ---- the file ---- */

static int read_file(struct rebasing *r)
{
    struct tn__os_file file;
    int error = tn__os_map_file(r->path, &file);
    if (error)
        return FAIL(r, error == ENOMEM ? TN_ENOMEM : TN_EIO, "%s: cannot be read: %s", r->path, strerror(error));
    r->size = file.size;
    r->bytes = tn__alloc(NULL, file.size + 1);
    if (r->bytes && file.size)
        memcpy(r->bytes, file.bytes, file.size);
    tn__os_unmap_file(&file);
    return r->bytes ? tn__image_verify(r->path, r->bytes, r->size, r->err) : tn__no_memory(r->err, r->path);
}

static Elf64_Phdr *segments(const struct rebasing *r, size_t *count)
{
    Elf64_Ehdr *file = (Elf64_Ehdr *)(void *)r->bytes;
    *count = file->e_phnum;
    bool good = r->size >= sizeof *file && file->e_phoff % 8 == 0 &&
                tn__inside(file->e_phoff, *count * sizeof(Elf64_Phdr), r->size);
    return good ? (Elf64_Phdr *)(void *)(r->bytes + file->e_phoff) : NULL;
}

/* In such a file, everything has one distance between its address and its place in the file. */
static bool find_header(struct rebasing *r)
{
    size_t count;
    const Elf64_Phdr *all = segments(r, &count);
    bool found = false, good = all;
    for (size_t i = 0; i < count && good; i++) {
        uint64_t note;
        if (all[i].p_type == PT_GNU_STACK)
            continue;
        r->base = i ? r->base : all[i].p_vaddr;
        good = all[i].p_vaddr - all[i].p_offset == r->base && tn__inside(all[i].p_offset, all[i].p_filesz, r->size);
        if (good && all[i].p_type == PT_NOTE &&
            tn__image_find_note(r->bytes + all[i].p_offset, all[i].p_filesz, &note)) {
            uint64_t at = all[i].p_offset + note;
            r->header = at + (uint64_t)(int64_t)(int32_t)tn__get32(r->bytes + at + TN__IMAGE_NOTE_AT);
            found = true;
        }
    }
    return good && found && r->base && r->header % 8 == 0 && r->header < r->size;
}

static int read_image(struct rebasing *r)
{
    int code = read_file(r);
    if (!code && !find_header(r))
        code = FAIL(r, TN_ENOTSUP, "%s: not a file that has saved objects alone", r->path);
    if (!code)
        code = tn__image_read(r->path, r->bytes + r->header, r->size - r->header, &r->arena, &r->view, r->err);
    if (!code && (!table(r, TN__IMAGE_ZONE_TABLE)->count || r->view.zones_at))
        code = FAIL(r, TN_ENOTSUP, "%s: not a file that has saved objects alone", r->path);
    return code;
}

/* ---- the address ---- */

/* Apart from where the images that it depends on begin. */
static bool is_free(const void *context, uint64_t base, uint64_t size)
{
    const struct rebasing *r = context;
    bool good = true;
    for (uint32_t i = 0; i < table(r, TN__IMAGE_LIST_TABLE)->count; i++) {
        const uint8_t *row = tn__image_row(table(r, TN__IMAGE_LIST_TABLE), i);
        if (tn__get32(row + TN__IMAGE_LIST_OF) == TN__LIST_DEPENDENCY)
            good &= tn__get64(row + TN__IMAGE_LIST_BASE) - base >= size;
    }
    return good;
}

static int choose(struct rebasing *r, const char *salt, uint64_t *base)
{
    const struct tn__save_place place = {r->view.machine, r->view.header + TN__IMAGE_AT_BUILD_ID, salt};
    const struct tn__image_rows *zones = table(r, TN__IMAGE_ZONE_TABLE);
    uint64_t page = tn__get32(tn__image_row(zones, 0) + TN__IMAGE_ZONE_PAGE), size = 0;
    for (uint32_t i = 0; i < zones->count; i++)
        size += tn__get64(tn__image_row(zones, i) + TN__IMAGE_ZONE_SIZE);
    if (!*base && tn__save_page_size(r->view.machine) && size <= r->size)
        *base = tn__save_choose_base(&place, size, is_free, r);
    if (!*base)
        return FAIL(r, TN_ERANGE, "%s: no address for %zu bytes apart from other images", r->path, r->size);
    if (!page || *base % page || !tn__inside(*base, r->size, UINT64_C(1) << 47) || !is_free(r, *base, r->size))
        return FAIL(r, TN_EINVAL,
                    "%s: 0x%llx: no address of a page of %llu bytes, or one of an image that it depends on", r->path,
                    (unsigned long long)*base, (unsigned long long)page);
    r->distance = *base - r->base;
    return 0;
}

/* ---- what changes ---- */

static void add(uint8_t *at, uint64_t distance)
{
    tn__put64(at, tn__get64(at) + distance);
}

static bool move_list(struct rebasing *r, uint8_t *row, uint64_t start, uint64_t size)
{
    uint64_t at = r->header + tn__get64(row + TN__IMAGE_LIST_PLACE), length = tn__get64(row + TN__IMAGE_LIST_SIZE),
             written = 0;
    const struct tn__list_words words = {(char *)r->bytes + start, 0, size};
    if (tn__get32(row + TN__IMAGE_LIST_OF) != TN__LIST_OWN)
        return true;
    if (!tn__inside(at, length, r->size) ||
        tn__image_checksum(r->bytes + at, length, 0) != tn__get64(row + TN__IMAGE_LIST_SUM))
        return false;
    add(row + TN__IMAGE_LIST_BASE, r->distance);
    return tn__list_add(r->bytes + at, length, &words, r->distance, &written);
}

static int move_objects(struct rebasing *r)
{
    uint32_t zones = table(r, TN__IMAGE_ZONE_TABLE)->count;
    uint64_t start = r->header + tn__get64(row_of(r, TN__IMAGE_ZONE_TABLE, 0) + TN__IMAGE_ZONE_PLACE), size = 0;
    bool good = true;
    for (uint32_t i = 0; i < zones && good; i++) {
        uint8_t *row = row_of(r, TN__IMAGE_ZONE_TABLE, i);
        good = start + size == r->header + tn__get64(row + TN__IMAGE_ZONE_PLACE) &&
               tn__inside(start + size, tn__get64(row + TN__IMAGE_ZONE_SIZE), r->size);
        size += tn__get64(row + TN__IMAGE_ZONE_SIZE);
        add(row + TN__IMAGE_ZONE_ADDRESS, r->distance);
    }
    for (uint32_t i = 0; i < table(r, TN__IMAGE_LIST_TABLE)->count && good; i++)
        good = move_list(r, row_of(r, TN__IMAGE_LIST_TABLE, i), start, size);
    return good ? 0 : FAIL(r, TN_EFORMAT, "%s: a zone or a list lies outside of the file", r->path);
}

static void move_headers(struct rebasing *r)
{
    const Elf64_Ehdr *file = (const Elf64_Ehdr *)(const void *)r->bytes;
    size_t count;
    Elf64_Phdr *all = segments(r, &count);
    for (size_t i = 0; i < count; i++)
        if (all[i].p_type != PT_GNU_STACK) {
            all[i].p_vaddr += r->distance;
            all[i].p_paddr += r->distance;
        }
    bool has_sections = file->e_shoff && file->e_shoff % 8 == 0 &&
                        tn__inside(file->e_shoff, file->e_shnum * sizeof(Elf64_Shdr), r->size);
    Elf64_Shdr *sections = has_sections ? (Elf64_Shdr *)(void *)(r->bytes + file->e_shoff) : NULL;
    for (size_t i = 0; sections && i < file->e_shnum; i++)
        if (sections[i].sh_flags & SHF_ALLOC)
            sections[i].sh_addr += r->distance;
}

static int sign(struct rebasing *r)
{
    uint8_t *header = r->bytes + r->header;
    uint64_t sum, at;
    tn__put64(header + TN__IMAGE_AT_CHECKSUM, tn__image_header_checksum(header, r->view.size));
    if (!tn__image_file_sum(r->bytes, r->size, &sum, &at))
        return FAIL(r, TN_EFORMAT, "%s: no file with an image, or a truncated one", r->path);
    tn__put64(r->bytes + at, sum);
    return 0;
}

int tn_save_rebase(const char *path, const char *to, const char *salt, uint64_t *base, struct tn_error *err)
{
    if (!path || !to || !base)
        return tn__no_argument(err);
    struct tn_error own = {.code = 0};
    struct rebasing r = {.path = path, .err = err ? err : &own};
    int code = read_image(&r);
    if (!code)
        code = choose(&r, salt, base);
    if (!code)
        code = move_objects(&r);
    if (!code) {
        move_headers(&r);
        code = sign(&r);
    }
    if (!code) {
        const struct tn__piece whole = {r.bytes, r.size};
        code = tn__save_replace(to, &whole, 0, NULL, 0, r.err);
    }
    tn__arena_free(&r.arena);
    tn__free(NULL, r.bytes);
    return code;
}
