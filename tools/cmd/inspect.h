/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The files of `tenon inspect`: inspect.c the command, objects and archives, inspect_linked.c libraries and programs,
 * inspect_image.c the image in any of them. */

#ifndef TENON_TOOL_INSPECT_H
#define TENON_TOOL_INSPECT_H

#include "base/base.h"
#include "lib/show.h"
#include "lib/tool.h"

/* How large functions are, by name; names lie in the file. */
struct inspect_sizes {
    struct inspect_size {
        const char *name;
        uint64_t size;
    } * items;
    size_t count, capacity;
    bool is_sorted;
};

/* False: reported. */
bool inspect_note_size(struct inspect_sizes *sizes, const char *name, uint64_t size);
/* NULL: it has no symbol, or there are none in the file. */
const struct inspect_size *inspect_find_size(struct inspect_sizes *sizes, const char *name);

/* Shows what a file is. `format` may be empty, `machine` NULL. */
void inspect_begin(struct show *show, const struct file *file, const char *format, const char *kind,
                   const char *machine);

/* Shows what a linked file consists of, and takes note of its functions. False: reported. */
bool inspect_linked(struct show *show, const struct file *file, struct inspect_sizes *sizes);

/* Shows what the image consists of. */
void inspect_image(struct show *show, const struct tn__image_view *view, struct inspect_sizes *sizes);

#endif
