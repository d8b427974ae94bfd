/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon build --depends, --objects, --value: other images, and what code uses of saved objects. */

#include <stdlib.h>
#include <string.h>

#include "cmd/build_image.h"
#include "image/load/image.h"

static bool is_known(const struct job *job, const struct tn__image_view *view)
{
    for (size_t i = 0; i < job->dependency_count; i++) {
        const struct tn_image_dependency *row = &job->dependencies[i];
        if (strcmp(row->name, tn__image_name(view)) == 0 &&
            memcmp(row->build_id, view->header + TN__IMAGE_AT_BUILD_ID, sizeof row->build_id) == 0)
            return true;
    }
    return false;
}

static bool take(struct job *job, const struct tn__image_view *view)
{
    if (is_known(job, view))
        return true;
    struct tn_image_dependency *row = &job->dependencies[job->dependency_count];
    void *header = malloc(view->size);
    row->name = header ? strdup(tn__image_name(view)) : NULL;
    if (!row->name)
        return free(header), tool_fail(STATUS_FAILURE, "out of memory"), false;
    memcpy(header, view->header, view->size);
    memcpy(row->build_id, view->header + TN__IMAGE_AT_BUILD_ID, sizeof row->build_id);
    row->header = header;
    row->header_size = view->size;
    job->dependency_count++;
    if (!job->image_targets)
        job->image_targets = tool_image_targets(view);
    return true;
}

static bool read_one(struct job *job, const char *name)
{
    struct file file;
    struct tn__image_view view;
    struct tn__arena arena = {.from = NULL};
    struct tn_error err;
    if (!tool_read(name, &file))
        return false;
    bool found = tool_find_image(&file, &arena, &view, &err);
    if (!found)
        tool_fail(STATUS_FAILURE, *err.text ? "--depends: %s" : "--depends: there is no image in '%s'",
                  *err.text ? err.text : name);
    found = found && take(job, &view);
    tn__arena_free(&arena);
    tool_release(&file);
    return found;
}

/* SYMBOL=type:NAME or SYMBOL=root:NAME */
static bool read_value(struct job *job, const char *text)
{
    static const char *const kinds[] = {[TN_IMAGE_VALUE_TYPE] = "type:", [TN_IMAGE_VALUE_ROOT] = "root:"};
    const char *is = strchr(text, '=');
    for (uint32_t of = 0; is && is != text && of < TN_COUNT(kinds); of++) {
        size_t length = strlen(kinds[of]);
        if (strncmp(is + 1, kinds[of], length) != 0 || !is[1 + length])
            continue;
        char *symbol = strndup(text, (size_t)(is - text));
        if (!symbol)
            return tool_fail(STATUS_FAILURE, "out of memory"), false;
        job->values[job->value_count++] = (struct tn_image_value){symbol, is + 1 + length, of};
        return true;
    }
    return tool_fail(STATUS_USAGE, "--value: '%s' is neither SYMBOL=type:NAME nor SYMBOL=root:NAME", text), false;
}

bool tool_read_dependencies(struct job *job)
{
    const struct settings *settings = job->settings;
    job->values = calloc((size_t)settings->item_count + 1, sizeof *job->values);
    job->dependencies = calloc((size_t)settings->item_count + 1, sizeof *job->dependencies);
    if (!job->dependencies || !job->values)
        return tool_fail(STATUS_FAILURE, "out of memory"), false;
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--depends") && !read_one(job, settings->items[i].value))
            return false;
    for (int i = 0; i < settings->item_count; i++)
        if (tool_is_item(&settings->items[i], "--value") && !read_value(job, settings->items[i].value))
            return false;
    return !settings->objects || tool_read(settings->objects, &job->saved);
}

void tool_free_dependencies(struct job *job)
{
    for (size_t i = 0; i < job->dependency_count; i++) {
        free((void *)(uintptr_t)job->dependencies[i].name);
        free((void *)(uintptr_t)job->dependencies[i].header);
    }
    for (size_t i = 0; i < job->value_count; i++)
        free((void *)(uintptr_t)job->values[i].symbol);
    free(job->values);
    free(job->dependencies);
    free(job->image_targets);
    if (job->saved.bytes)
        tool_release(&job->saved);
}
