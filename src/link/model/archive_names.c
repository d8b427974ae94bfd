/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The index of an archive has the names that files have. Those of some formats are not the ones that a session knows
 * (struct tn__reader, c_prefix); which format it is, the first member tells. */

#include "link/model/archive.h"
#include "link/model/object.h"

const char *tn__session_name(char c_prefix, const char *name, const struct tn_allocator *from, char **copy)
{
    *copy = NULL;
    if (!c_prefix || !*name)
        return name;
    if (*name == c_prefix && name[1])
        return name + 1;
    size_t size = strlen(name) + 1;
    *copy = tn__alloc(from, size + 1);
    if (*copy) {
        **copy = '\1';
        memcpy(*copy + 1, name, size);
    }
    return *copy;
}

/* Of the first member that is an object. */
static int read_prefix(void *context, const struct tn_input *member, uint64_t offset, bool *enough,
                       struct tn_error *err)
{
    struct tn__archive_renaming *renaming = context;
    const struct tn_format *format = tn__format_of(renaming->formats, member->bytes, member->length);
    (void)offset, (void)err;
    *enough = format;
    if (format)
        renaming->c_prefix = format->reader->c_prefix;
    return 0;
}

static int define(void *context, const char *symbol, uint64_t member, struct tn_error *err)
{
    const struct tn__archive_renaming *renaming = context;
    char *copy;
    const char *name = tn__session_name(renaming->c_prefix, symbol, renaming->from, &copy);
    int code = name ? renaming->next_define(renaming->next_context, name, member, err) : tn__no_memory(err, NULL);
    tn__free(renaming->from, copy);
    return code;
}

int tn__archive_rename(const struct tn__archive *archive, struct tn__archive_renaming *renaming, struct tn_error *err)
{
    renaming->from = archive->from;
    renaming->formats = archive->formats;
    int code = tn__archive_each(archive, read_prefix, renaming, err);
    if (!code && renaming->c_prefix) {
        renaming->next_define = renaming->define;
        renaming->next_context = renaming->context;
        renaming->define = define;
        renaming->context = renaming;
    }
    return code;
}
