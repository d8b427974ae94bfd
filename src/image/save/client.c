/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the client says about objects that are saved: rows for types, names of addresses, copies that it prepares, keys.
 */

#include "image/save/save.h"

/* ---- rows ---- */

const char *tn__save_row_name(const struct tn_save_type *row)
{
    return row->name ? row->name : row->type->name;
}

const struct tn_save_type *tn__save_row_of(const struct tn_save *save, const struct tn_type *type)
{
    const struct tn_save_type *found = NULL;
    for (size_t i = 0; i < save->options.type_count; i++) {
        const struct tn_save_type *row = &save->options.types[i];
        const char *name = tn__save_row_name(row);
        if (row->type == type)
            return row;
        if (!found && name && type->name && strcmp(name, type->name) == 0)
            found = row;
    }
    return found;
}

int tn__save_word_kind(const struct tn_save_type *row, const struct tn_type *type, uint64_t offset)
{
    for (size_t i = 0; row && i < row->word_count; i++) {
        uint64_t at = row->words[i].offset;
        bool in_element = at >= type->size && type->element && offset >= at && (offset - at) % type->element == 0;
        if (offset == at || in_element)
            return (int)row->words[i].kind;
    }
    return -1;
}

/* ---- functions of the client ---- */

int tn__save_name(const struct tn_save *save, const void *address, struct tn_save_name *name)
{
    const struct tn_save_options *options = &save->options;
    *name = (struct tn_save_name){.symbol = NULL};
    enum tn__callback outer = tn__callback_begin(TN__UNDER_LOCK);
    int unknown = options->name_of ? options->name_of(options->context, address, name) : 1;
    tn__callback_end(outer);
    return unknown || !name->symbol;
}

uint64_t *tn__save_prepare(const struct tn_save *save, const struct tn_save_type *row, const void *object, int *code)
{
    uint64_t payload = tn__payload(object);
    uint64_t *words = tn__alloc_zeroed(NULL, 1, TN_GC_HEADER_SIZE + tn__align_up(payload, 8));
    if (!words) {
        *code = tn__no_memory(save->err, save->options.name);
        return NULL;
    }
    words[0] = *tn__header(object) & TN_GC_TYPE_MASK;
    memcpy(words + 1, object, payload);
    enum tn__callback outer = tn__callback_begin(TN__UNDER_LOCK);
    *code = row->prepare(save->options.context, object, words + 1, save->err);
    tn__callback_end(outer);
    return words;
}

size_t tn__save_key(const struct tn_save *save, const struct tn_save_type *row, const void *object, void *bytes,
                    size_t space)
{
    enum tn__callback outer = tn__callback_begin(TN__UNDER_LOCK);
    size_t size = row->key(save->options.context, object, bytes, space);
    tn__callback_end(outer);
    return size;
}

bool tn__save_same_key(const struct tn_save *save, const struct tn_save_type *row, const void *a, const void *b)
{
    char first[2][256], *keys[2] = {first[0], first[1]};
    const void *objects[2] = {a, b};
    size_t sizes[2];
    for (int i = 0; i < 2; i++)
        sizes[i] = tn__save_key(save, row, objects[i], keys[i], sizeof first[i]);
    if (sizes[0] != sizes[1])
        return false;
    bool is_long = sizes[0] > sizeof first[0], good = true;
    for (int i = 0; i < 2 && is_long; i++) {
        keys[i] = tn__alloc(NULL, sizes[i]);
        good &= keys[i] && tn__save_key(save, row, objects[i], keys[i], sizes[i]) == sizes[i];
    }
    good = good && memcmp(keys[0], keys[1], sizes[0]) == 0;
    for (int i = 0; i < 2 && is_long; i++)
        tn__free(NULL, keys[i]);
    return good;
}
