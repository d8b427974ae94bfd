/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Objects of which a heap is to have only one for each key. The image says which words refer to each of them, so that
 * these can refer to another one when it is opened. */

#include <stdlib.h>

#include "image/save/save.h"

static int no_memory(const struct tn_save *save)
{
    return tn__no_memory(save->err, save->options.name);
}

int tn__save_unique(struct tn_save *save, const void *object, uint32_t item)
{
    enum { LARGEST = 1 << 20 };
    const struct tn__save_item *saved = tn__save_item(save, item);
    const struct tn_save_type *row = tn__save_kinds(save)[saved->kind].row;
    char first[256];
    size_t size = tn__save_key(save, row, object, first, sizeof first);
    if (size > LARGEST)
        return tn__save_fail(save, TN_ERANGE, object, saved->parent, "its key is larger than 1 MiB");
    void *key = tn__arena_alloc(&save->arena, size + 1);
    if (!key || !tn__grow(NULL, &save->unique, &save->unique_capacity, save->unique_count + 1, sizeof *save->unique))
        return no_memory(save);
    if (size <= sizeof first)
        memcpy(key, first, size);
    else if (tn__save_key(save, row, object, key, size) != size)
        return tn__save_fail(save, TN_EINVAL, object, saved->parent, "its key has another size each time");
    save->unique[save->unique_count++] = (struct tn__save_unique){.item = item, .key_size = (uint32_t)size, .key = key};
    return 0;
}

struct search {
    struct tn_save *save;
    bool found;
};

static void look(void *context, void **slot)
{
    struct search *search = context;
    int code = 0;
    if (!*slot || search->found || tn__save_image_of(search->save, *slot))
        return;
    uint32_t kind = tn__save_kind_of(search->save, tn__type_of(*slot), 0, &code);
    const struct tn_save_type *row = code ? NULL : tn__save_kinds(search->save)[kind].row;
    search->found = row && (row->flags & TN_SAVE_UNIQUE);
}

bool tn__save_refers_to_unique(struct tn_save *save, void *object)
{
    struct search search = {save, false};
    if (save->has_unique)
        tn__visit_all_references(object, look, &search);
    return search.found;
}

static int by_place(const void *a, const void *b)
{
    uint64_t x = ((const struct tn__save_unique *)a)->place, y = ((const struct tn__save_unique *)b)->place;
    return (x > y) - (x < y);
}

void tn__save_place_unique(struct tn_save *save)
{
    for (size_t i = 0; i < save->unique_count; i++)
        save->unique[i].place = tn__save_item(save, save->unique[i].item)->place;
    if (save->unique_count)
        qsort(save->unique, save->unique_count, sizeof *save->unique, by_place);
}

uint32_t tn__save_unique_of(const struct tn_save *save, uint64_t place)
{
    size_t unique = TN_BISECT(0, save->unique_count, i, save->unique[i].place < place);
    bool found = unique < save->unique_count && save->unique[unique].place == place;
    return found ? (uint32_t)unique : TN__NOT_FOUND;
}

bool tn__save_note_use(struct tn_save *save, uint64_t to, uint64_t object, uint64_t place)
{
    uint32_t unique = tn__save_unique_of(save, to);
    if (unique == TN__NOT_FOUND)
        return true;
    if (!tn__grow(NULL, &save->uses, &save->use_capacity, save->use_count + 1, sizeof *save->uses))
        return false;
    save->uses[save->use_count++] = (struct tn__save_use){unique, object, place};
    return true;
}

static int in_order(const void *a, const void *b)
{
    const struct tn__save_use *x = a, *y = b;
    if (x->unique != y->unique)
        return x->unique < y->unique ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

void tn__save_sort_uses(struct tn_save *save)
{
    if (save->use_count)
        qsort(save->uses, save->use_count, sizeof *save->uses, in_order);
}
