/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Questions about one name of an archive: which members define it, and which of them with a value. The index is sorted,
 * and a member is read, when a question first needs it. */

#include <stdlib.h>

#include "link/model/archive.h"
#include "link/model/object.h"

struct list {
    struct tn__archive *archive;
    size_t capacity;
};

static int add_symbol(void *context, const char *name, uint64_t member, struct tn_error *err)
{
    struct list *list = context;
    struct tn__archive *archive = list->archive;
    char *copy = tn__arena_text(&archive->arena, name, strlen(name));
    if (!copy || !tn__grow(archive->from, &archive->by_name, &list->capacity, archive->symbol_count + 1,
                           sizeof *archive->by_name))
        return tn__no_memory(err, archive->name);
    archive->by_name[archive->symbol_count++] = (struct tn__archive_symbol){copy, member, false};
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct tn__archive_symbol *one = a, *other = b;
    int order = strcmp(one->name, other->name);
    return order ? order : (one->member > other->member) - (one->member < other->member);
}

static int sort(struct tn__archive *archive, struct tn_error *err)
{
    archive->arena.from = archive->from;
    int code = tn__archive_symbols(archive, add_symbol, &(struct list){archive, 0}, err);
    if (code) {
        tn__archive_forget_index(archive);
        return code;
    }
    if (archive->symbol_count)
        qsort(archive->by_name, archive->symbol_count, sizeof *archive->by_name, compare);
    archive->is_sorted = true;
    return 0;
}

void tn__archive_forget_index(struct tn__archive *archive)
{
    tn__free(archive->from, archive->by_name);
    tn__arena_free(&archive->arena);
    archive->by_name = NULL;
    archive->symbol_count = 0;
}

/* The first that is not before this name and member. */
static struct tn__archive_symbol *lower_bound(const struct tn__archive *archive, const char *name, uint64_t member)
{
    const struct tn__archive_symbol wanted = {.name = name, .member = member};
    size_t first = 0, end = archive->symbol_count;
    while (first < end) {
        size_t middle = first + (end - first) / 2;
        if (compare(&archive->by_name[middle], &wanted) < 0)
            first = middle + 1;
        else
            end = middle;
    }
    return archive->by_name + first;
}

int tn__archive_find(struct tn__archive *archive, const char *name, struct tn__archive_symbol **found, size_t *count,
                     struct tn_error *err)
{
    *count = 0;
    int code = archive->is_sorted ? 0 : sort(archive, err);
    if (code)
        return code;
    *found = lower_bound(archive, name, 0);
    *count = (size_t)(lower_bound(archive, name, UINT64_MAX) - *found);
    return 0;
}

static bool is_value(const struct tn__symbol *symbol)
{
    return symbol->binding == TN__BIND_GLOBAL && symbol->place != TN__PLACE_UNDEFINED &&
           symbol->place != TN__PLACE_COMMON && symbol->type != TN__TYPE_FUNCTION && symbol->type != TN__TYPE_IFUNC;
}

/* Members do not overlap, so those that were read are together no larger than their archive. */
static int note_read(struct tn__archive *archive, uint64_t offset, size_t size, struct tn_error *err)
{
    struct tn__tree *node = tn__arena_alloc(&archive->arena, sizeof *node);
    if (!node)
        return tn__no_memory(err, archive->name);
    archive->read_size += archive->thin ? 0 : size;
    if (archive->read_size > archive->input.length)
        return tn__fail(err, TN_EFORMAT, "%s: its members overlap", archive->name);
    node->key = offset;
    tn__tree_insert(&archive->read, node);
    return 0;
}

static int read_values(void *context, const struct tn_input *input, uint64_t offset, bool *enough, struct tn_error *err)
{
    struct tn__archive *archive = context;
    struct tn__object_data data = {
        .name = input->name, .bytes = input->bytes, .size = input->length, .arena.from = archive->from};
    bool is_object = tn__object_is_known(data.bytes, data.size); /* what is none defines nothing */
    int code = is_object ? tn__object_read(&data, archive->formats, err) : 0;
    (void)enough;
    for (uint32_t i = 1; !code && i < data.symbol_count; i++) {
        const char *name = data.symbols[i].name;
        struct tn__archive_symbol *at = is_value(&data.symbols[i]) ? lower_bound(archive, name, offset) : NULL;
        if (at && at < archive->by_name + archive->symbol_count && at->member == offset && !strcmp(at->name, name))
            at->is_value = true;
    }
    tn__arena_free(&data.arena);
    return code ? code : note_read(archive, offset, input->length, err);
}

int tn__archive_has_value(struct tn__archive *archive, const char *name, uint64_t member, bool *has,
                          struct tn_error *err)
{
    bool enough;
    int code = tn__tree_find(archive->read, member)
                   ? 0
                   : tn__archive_visit_member(archive, member, read_values, archive, &enough, err);
    *has = !code && lower_bound(archive, name, member)->is_value;
    return code;
}
