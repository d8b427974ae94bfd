/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Publishing functions of an image as the code of code instances. */

#include <stdio.h>

#include "image/load/image.h"
#include "tenon.h"

/* The row's function, or NULL. */
static void *find_function(const struct tn_image *image, const struct tn_image_instance *row)
{
    struct tn_image_function function = {.size = sizeof function};
    if (row->name)
        return tn_image_lookup(image, row->name);
    return tn_image_function(image, row->index, &function, NULL) == 0 ? function.address : NULL;
}

static int name_missing(const struct tn_image_instance *row, bool is_first, struct tn_error *err)
{
    char index[32];
    snprintf(index, sizeof index, "#%zu", row->index);
    const char *name = row->name ? row->name : index;
    if (is_first)
        return tn__fail(err, TN_EUNDEF, "the image does not have: %s", name);
    tn__append(err, ", %s", name);
    return TN_EUNDEF;
}

static int publish_row(const struct tn_image *image, const struct tn_image_instance *row, struct tn_tracker *owner,
                       struct tn_error *err)
{
    void *function = find_function(image, row);
    struct tn_instance_code code = {.invoke = function};
    if (row->invoke)
        code = (struct tn_instance_code){row->invoke, function, row->specsigflags};
    return tn_instance_publish(row->instance, &code, owner, err);
}

int tn_image_publish(const struct tn_image *image, const struct tn_image_instance *rows, size_t count,
                     struct tn_tracker *owner, struct tn_error *err)
{
    struct tn_error other;
    int code = 0;
    if (!image || (!rows && count))
        return tn__no_argument(err);
    for (size_t i = 0; i < count; i++)
        if (!find_function(image, &rows[i]))
            code = name_missing(&rows[i], !code, err);
    for (size_t i = 0; i < count && !code; i++) {
        int result = publish_row(image, &rows[i], owner, &other);
        if (result != 0 && result != TN_EDUP)
            code = tn__fail(err, result, "row %zu: %s", i, other.text);
    }
    return code;
}
