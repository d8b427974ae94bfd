/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects to an archive, as ar(5) describes it with GNU's table of symbols. No dates and no owners: equal contents are
 * equal archives. */

#include <stdio.h>
#include <stdlib.h>

#include "codegen/image/image.h"
#include "link/model/object.h"

enum { MAGIC = 8, HEADER = 60 };

static int out_of_memory(struct tn_error *err)
{
    return tn__fail(err, TN_ENOMEM, "out of memory while writing an archive");
}

/* ---- the members' symbols ---- */

typedef int visit_symbol(void *context, size_t member, const struct tn__symbol *symbol);

/* Visits what members that are objects define or need beyond themselves. */
static int each_symbol(const struct tn__image_member *members, size_t count, visit_symbol *visit, void *context,
                       struct tn_error *err)
{
    int code = 0;
    for (size_t i = 0; i < count && !code; i++) {
        struct tn__object_data object = {.name = members[i].name,
                                         .bytes = members[i].content.data,
                                         .size = members[i].content.size,
                                         .any_machine = true};
        if (!tn__object_is_known(object.bytes, object.size))
            continue;
        code = tn__object_read(&object, (const struct tn_format *const[]){&tn__format_elf, NULL}, err);
        for (uint32_t s = 0; !code && s < object.symbol_count; s++)
            if (object.symbols[s].binding != TN__BIND_LOCAL && object.symbols[s].name)
                code = visit(context, i, &object.symbols[s]);
        tn__arena_free(&object.arena);
    }
    return code;
}

/* ---- the archive ---- */

struct index {
    char *names; /* each with its NUL */
    size_t size, capacity;
    uint32_t *members; /* which member defines each */
    size_t count, space;
};

static int add_definition(void *context, size_t member, const struct tn__symbol *symbol)
{
    struct index *index = context;
    if (symbol->place == TN__PLACE_UNDEFINED)
        return 0;
    size_t length = strlen(symbol->name) + 1;
    if (!tn__grow(NULL, &index->names, &index->capacity, index->size + length, 1) ||
        !tn__grow(NULL, &index->members, &index->space, index->count + 1, sizeof *index->members))
        return TN_ENOMEM;
    memcpy(index->names + index->size, symbol->name, length);
    index->size += length;
    index->members[index->count++] = (uint32_t)member;
    return 0;
}

static void put_big_endian(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* The size has 10 digits at most: the archive has less than 4 GiB. */
static uint8_t *put_header(uint8_t *to, const char *name, size_t size)
{
    char header[HEADER + 32];
    snprintf(header, sizeof header, "%-16s%-12s%-6s%-6s%-8s%-10zu`\n", name, "0", "0", "0", "644", size);
    memcpy(to, header, HEADER);
    return to + HEADER;
}

static size_t even(size_t size)
{
    return size + size % 2;
}

static int put_all(const struct tn__image_member *members, size_t count, const struct index *index,
                   struct tn_buffer *out, struct tn_error *err)
{
    size_t index_size = even(4 + 4 * index->count + index->size);
    size_t size = MAGIC + (index->count ? HEADER + index_size : 0);
    uint32_t *places = tn__alloc(NULL, (count + 1) * sizeof *places);
    for (size_t i = 0; places && i < count; i++) {
        places[i] = (uint32_t)size;
        size += HEADER + even(members[i].content.size);
    }
    uint8_t *at = places && size <= UINT32_MAX ? tn__alloc_zeroed(NULL, size, 1) : NULL;
    *out = (struct tn_buffer){at, at ? size : 0};
    if (at) {
        memcpy(at, "!<arch>\n", MAGIC);
        at += MAGIC;
    }
    if (at && index->count) { /* big-endian: how many symbols, where the member of each begins, the names */
        at = put_header(at, "/", index_size);
        put_big_endian(at, (uint32_t)index->count);
        for (size_t i = 0; i < index->count; i++)
            put_big_endian(at + 4 + 4 * i, places[index->members[i]]);
        memcpy(at + 4 + 4 * index->count, index->names, index->size);
        at += index_size;
    }
    for (size_t i = 0; at && i < count; i++) {
        char name[sizeof members[i].name + 1];
        const struct tn_buffer *content = &members[i].content;
        snprintf(name, sizeof name, "%s/", members[i].name);
        at = put_header(at, name, content->size);
        memcpy(at, content->data, content->size);
        if (content->size % 2)
            at[content->size] = '\n';
        at += even(content->size);
    }
    tn__free(NULL, places);
    return at                  ? 0
           : size > UINT32_MAX ? tn__fail(err, TN_ENOTSUP, "the archive would be larger than 4 GiB")
                               : out_of_memory(err);
}

int tn__image_archive(const struct tn__image_member *members, size_t count, struct tn_buffer *out, struct tn_error *err)
{
    struct index index = {.names = NULL};
    int code = each_symbol(members, count, add_definition, &index, err);
    if (!code)
        code = put_all(members, count, &index, out, err);
    else if (code == TN_ENOMEM)
        code = out_of_memory(err);
    tn__free(NULL, index.names);
    tn__free(NULL, index.members);
    return code;
}

/* ---- what is needed from elsewhere ---- */

struct name {
    const char *text;
    bool defined;
};

struct names {
    struct name *items;
    size_t count, capacity;
};

static int add_name(void *context, size_t member, const struct tn__symbol *symbol)
{
    struct names *names = context;
    (void)member;
    if (!*symbol->name)
        return 0;
    if (!tn__grow(NULL, &names->items, &names->capacity, names->count + 1, sizeof *names->items))
        return TN_ENOMEM;
    names->items[names->count++] = (struct name){symbol->name, symbol->place != TN__PLACE_UNDEFINED};
    return 0;
}

/* Definitions come first among equal names. */
static int by_text(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : y->defined - x->defined;
}

int tn__image_needs(const struct tn__image_member *members, size_t count, struct tn__arena *arena, const char ***out,
                    size_t *out_count, struct tn_error *err)
{
    struct names names = {.items = NULL};
    int code = each_symbol(members, count, add_name, &names, err);
    const char **needs = !code ? tn__arena_array(arena, names.count + 1, sizeof *needs) : NULL;
    *out = needs;
    *out_count = 0;
    if (names.count)
        qsort(names.items, names.count, sizeof *names.items, by_text);
    for (size_t i = 0; needs && i < names.count; i++)
        if (!names.items[i].defined && (i == 0 || strcmp(names.items[i - 1].text, names.items[i].text) != 0))
            needs[(*out_count)++] = names.items[i].text;
    tn__free(NULL, names.items);
    if (code == TN_ENOMEM || (!code && !needs))
        return tn__fail(err, TN_ENOMEM, "out of memory while listing symbols");
    return code;
}
