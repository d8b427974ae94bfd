/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The types of code as bytes: sections "tenon_types" of objects, and a part of descriptions of modules. Bytes may come
 * from a file, so reading checks all of them. */

#include "base/types.h"

enum { OFFSETS = 48, ALIGNMENT = 8 };

/* ---- writing ---- */

static uint64_t size_of(const struct tn_type *type)
{
    uint64_t list = type->offsets ? type->offset_count : 0;
    return list >= UINT32_MAX / 8 ? UINT64_MAX / 2
                                  : tn__align_up(OFFSETS + 4 * list + strlen(type->name) + 1, ALIGNMENT);
}

static void write_type(const struct tn_type *type, uint64_t size, char *at)
{
    uint32_t list = type->offsets ? (uint32_t)type->offset_count : 0;
    tn__put32(at, (uint32_t)size);
    tn__put32(at + 4, type->kind);
    tn__put32(at + 8, type->alignment);
    tn__put32(at + 12, type->offsets ? list + 1 : 0);
    tn__put64(at + 16, type->size);
    tn__put64(at + 24, type->element);
    tn__put64(at + 32, type->length);
    tn__put64(at + 40, type->references);
    for (uint32_t i = 0; i < list; i++)
        tn__put32(at + OFFSETS + 4 * (size_t)i, type->offsets[i]);
    memcpy(at + OFFSETS + 4 * (size_t)list, type->name, strlen(type->name));
}

bool tn__types_write(const struct tn_type *types, size_t count, struct tn_buffer *out)
{
    uint64_t size = 0, used = 0;
    for (size_t i = 0; i < count && size <= UINT32_MAX; i++)
        size += size_of(&types[i]);
    if (!size)
        return true;
    char *bytes = size <= UINT32_MAX ? tn__alloc_zeroed(NULL, (size_t)size, 1) : NULL;
    if (!bytes)
        return false;
    for (size_t i = 0; i < count; used += size_of(&types[i]), i++)
        write_type(&types[i], size_of(&types[i]), bytes + used);
    bool good = tn__buffer_fill(out, bytes, (size_t)size);
    tn__free(NULL, bytes);
    return good;
}

/* ---- reading ---- */

/* Rows of the bytes, one after the other. */
struct row {
    const char *at, *name;
    uint32_t size, list; /* `list`: number of offsets */
};

/* False: at the end, or where a row is damaged. */
static bool next_row(const char **at, const char *end, struct row *row)
{
    const uint64_t rest = (uint64_t)(end - *at);
    *row = (struct row){.at = *at, .size = rest >= OFFSETS ? tn__get32(*at) : 0};
    if (row->size <= OFFSETS || row->size % ALIGNMENT || row->size > rest)
        return false;
    uint32_t list = tn__get32(*at + 12);
    row->list = list ? list - 1 : 0;
    if (!tn__inside(OFFSETS, 4 * (uint64_t)row->list, row->size))
        return false;
    row->name = *at + OFFSETS + 4 * (size_t)row->list;
    if (!memchr(row->name, 0, row->size - (size_t)(row->name - row->at)))
        return false;
    *at += row->size;
    return true;
}

static bool count_rows(const char *bytes, size_t size, size_t *count, size_t *offsets)
{
    struct row row;
    const char *at = bytes;
    *count = *offsets = 0;
    while (next_row(&at, bytes + size, &row)) {
        ++*count;
        *offsets += row.list;
    }
    return at == bytes + size;
}

bool tn__types_are_sound(const void *bytes, size_t size)
{
    size_t count, offsets;
    return count_rows(bytes, size, &count, &offsets);
}

static struct tn_type read_row(const struct row *row, const char *name, uint32_t *offsets)
{
    struct tn_type type = {.name = name,
                           .kind = tn__get32(row->at + 4),
                           .alignment = tn__get32(row->at + 8),
                           .size = tn__get64(row->at + 16),
                           .element = tn__get64(row->at + 24),
                           .length = tn__get64(row->at + 32),
                           .references = tn__get64(row->at + 40)};
    if (tn__get32(row->at + 12)) {
        type.offsets = offsets;
        type.offset_count = row->list;
    }
    for (uint32_t i = 0; i < row->list; i++)
        offsets[i] = tn__get32(row->at + OFFSETS + 4 * (size_t)i);
    return type;
}

int tn__types_read(const char *name, const void *bytes, size_t size, struct tn__code_types **types,
                   struct tn_error *err)
{
    size_t count, list, used = 0;
    *types = NULL;
    if (!count_rows(bytes, size, &count, &list))
        return tn__fail(err, TN_EFORMAT, "%s: the layouts of its types are damaged", name);
    /* The structs, lists of offsets, names; those of the types are no longer than their rows. */
    size_t at = sizeof **types + count * sizeof(struct tn_type), name_size = strlen(name) + 1;
    struct tn__code_types *read = tn__alloc_zeroed(NULL, at + 4 * list + name_size + size, 1);
    if (!read)
        return tn__no_memory(err, name);
    uint32_t *offsets = (uint32_t *)(void *)((char *)read + at);
    char *names = (char *)(offsets + list);
    read->name = memcpy(names, name, name_size);
    names += name_size;
    struct row row;
    for (const char *next = bytes; next_row(&next, (const char *)bytes + size, &row); used += row.list) {
        read->types[read->count++] = read_row(&row, names, offsets + used);
        names = stpcpy(names, row.name) + 1;
    }
    *types = read;
    return 0;
}
