/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The line tables of the objects that the program consists of, kept until a report asks for a line. */

#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "link/observe/lines.h"
#include "lib/tool.h"

struct kept {
    struct tn__tree node; /* its key is where the object's code begins */
    uint64_t end;
    struct tn__debug_image image;
};

static struct tn__tree *objects_kept; /* under the lock of the session */

static void free_kept(struct kept *kept)
{
    tn__debug_image_free(&kept->image);
    free(kept);
}

static void removed(void *context, const struct tn_linked_object *const *objects, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        struct tn__tree *node = tn__tree_find(objects_kept, objects[i]->zones[TN_ZONE_CODE].address);
        if (!node)
            continue;
        tn__tree_remove(&objects_kept, node);
        free_kept(tn__container_of(node, struct kept, node));
    }
}

static int keep(const struct tn_linked_object *object, struct tn_error *err)
{
    const struct tn_range *code = &object->zones[TN_ZONE_CODE];
    struct kept *kept = calloc(1, sizeof *kept);
    if (!kept)
        return tn__no_memory(err, object->name);
    *kept = (struct kept){.node.key = code->address, .end = code->address + code->size};
    int failed = tn__debug_image_make(&kept->image, NULL, tn_codegen_decompress, &object, 1, err);
    if (failed || !kept->image.line.size)
        free_kept(kept);
    else
        tn__tree_insert(&objects_kept, &kept->node);
    return failed;
}

static int linked(void *context, const struct tn_linked_object *const *objects, size_t count, struct tn_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int code = objects[i]->bytes && objects[i]->zones[TN_ZONE_CODE].size ? keep(objects[i], err) : 0;
        if (code) {
            removed(context, objects, i);
            return code;
        }
    }
    return 0;
}

int tool_keep_lines(struct tn_session *session, struct tn_error *err)
{
    const struct tn_observer observer = {.size = sizeof observer, .linked = linked, .removed = removed};
    return tn_add_observer(session, &observer, err);
}

bool tool_find_line(uint64_t address, char *path, size_t size, uint32_t *number)
{
    struct tn__lines lines = {.most = UINT64_MAX};
    struct tn_error error;
    struct tn__tree *node = tn__tree_below(objects_kept, address);
    struct kept *kept = node ? tn__container_of(node, struct kept, node) : NULL;
    if (!kept || address >= kept->end || tn__lines_add(&lines, &kept->image, &error))
        return false;
    const struct tn__line *line = tn__lines_find(&lines, address);
    bool found = line && line->file && line->line;
    if (found) {
        tn__source_path(line->file, path, size);
        tn__quote(path, strlen(path));
        *number = line->line;
    }
    tn__lines_free(&lines);
    return found;
}
