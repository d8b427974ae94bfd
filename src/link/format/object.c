/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The list of readers. */

#include "link/format/object.h"

static const struct tn__format *const formats[] = {&tn__format_elf};

static const struct {
    const char *magic, *what;
    size_t length;
} foreign[] = {
    {"BC\xC0\xDE", "LLVM bitcode; compile it first", 4},
    {"\xDE\xC0\x17\x0B", "LLVM bitcode; compile it first", 4},
    {"!<arch>\n", "an archive, not an object", 8},
    {"!<thin>\n", "a thin archive, not an object", 8},
    {"\xCF\xFA\xED\xFE", "a Mach-O file, which is not supported yet", 4},
};

static const char *describe_foreign(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < TN_COUNT(foreign); i++)
        if (size >= foreign[i].length && !memcmp(bytes, foreign[i].magic, foreign[i].length))
            return foreign[i].what;
    return size ? "not an object file" : "an empty file";
}

static const struct tn__format *format_of(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < TN_COUNT(formats); i++)
        if (formats[i]->claims(bytes, size))
            return formats[i];
    return NULL;
}

bool tn__object_claims(const uint8_t *bytes, size_t size)
{
    return format_of(bytes, size) != NULL;
}

int tn__object_read(struct tn__object_data *object, struct tn_error *err)
{
    object->format = format_of(object->bytes, object->size);
    if (!object->format)
        return tn__fail(err, TN_EFORMAT, "%s: %s", object->name, describe_foreign(object->bytes, object->size));
    return object->format->read(object, err);
}

int tn__object_fail_names(const struct tn__object_data *data, const char *of, struct tn_error *err)
{
    return tn__fail(err, TN_EFORMAT,
                    "%s: the names of its %s are too long in sum, for a file of %zu bytes: they share bytes",
                    data->name, of, data->size);
}
