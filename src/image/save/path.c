/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Paths from a root, such as "root 'index': +8 of 'table': +0 of 'node'". Each object knows the one that it was reached
 * from; in which word is looked up when there is a message. Of long paths, the end is shown. */

#include <stdio.h>

#include "image/save/save.h"

struct search {
    const void *object;
    const char *owner;
    uint64_t offset;
    bool found;
};

static void compare(void *context, void **slot)
{
    struct search *search = context;
    if (search->found || *slot != search->object)
        return;
    search->offset = (uint64_t)((const char *)slot - search->owner);
    search->found = true;
}

/* Appends to a text of which `used` bytes are there; returns how many are there then. */
static size_t append(char *path, size_t used, const char *text)
{
    int length = used < TN__SAVE_PATH ? snprintf(path + used, TN__SAVE_PATH - used, "%s", text) : 0;
    return (size_t)tn__min64(used + (size_t)length, TN__SAVE_PATH);
}

static const char *name_of(const struct tn_save *save, const struct tn__save_item *item)
{
    return tn__save_kinds(save)[item->kind].name;
}

static size_t append_step(const struct tn_save *save, char *path, size_t used, uint32_t owner, const void *object)
{
    const struct tn__save_item *item = tn__save_item(save, owner);
    struct search search = {.object = object, .owner = item->object};
    char text[160];
    tn__visit_all_references(item->object, compare, &search);
    snprintf(text, sizeof text, ": +%llu of '%.100s'", (unsigned long long)search.offset, name_of(save, item));
    return append(path, used, text);
}

void tn__save_path(const struct tn_save *save, const void *object, uint32_t parent, char path[TN__SAVE_PATH])
{
    enum { STEPS = 6 };
    uint32_t steps[STEPS], depth = 0; /* the last ones, backwards */
    for (; !(parent & TN__FROM_ROOT); parent = tn__save_item(save, parent)->parent)
        if (depth++ < STEPS)
            steps[depth - 1] = parent;
    char text[300];
    const char *gap = depth > STEPS ? ": ..." : "";
    size_t root = parent & ~TN__FROM_ROOT;
    if (root < save->root_count) {
        snprintf(text, sizeof text, "root '%.100s'%s", save->roots[root].name, gap);
    } else {
        const struct tn__save_changed *changed = &save->changed[root - save->root_count];
        snprintf(text, sizeof text, "'%.100s' of the image '%.100s'%s", tn__type_of(changed->object)->name,
                 tn__image_name(&save->options.images[changed->image]->view), gap);
    }
    size_t used = append(path, 0, text);
    for (uint32_t i = depth < STEPS ? depth : STEPS; i-- > 0;)
        used = append_step(save, path, used, steps[i], i ? tn__save_item(save, steps[i - 1])->object : object);
}

int tn__save_fail(const struct tn_save *save, int code, const void *object, uint32_t parent, const char *what)
{
    char path[TN__SAVE_PATH];
    tn__save_path(save, object, parent, path);
    return tn__fail(save->err, code, "%s: %s: %s", save->options.name, path, what);
}
