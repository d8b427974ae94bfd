/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "link/arch/reloc.h"
#include "link/model/object.h"
#include "link/model/open_file.h"

const char *tn_format_name(const struct tn_format *format)
{
    return format->name;
}

const struct tn_format *tn__format_of(const struct tn_format *const *formats, const uint8_t *bytes, size_t size)
{
    while (*formats && !(*formats)->reader->claims(bytes, size, (*formats)->machine))
        formats++;
    return *formats;
}

int tn__object_file(const struct tn__object_data *data)
{
    const struct tn_input *input = &data->input;
    const struct tn__open_file *file = input->context;
    bool is_open = input->release == tn__release_open_file && data->bytes == input->bytes;
    return is_open && tn__os_is(file->fd, file->identity) ? file->fd : -1;
}

int tn__object_read(struct tn__object_data *object, const struct tn_format *const *formats, struct tn_error *err)
{
    object->format = tn__format_of(formats, object->bytes, object->size);
    if (!object->format)
        return tn__object_fail_format(object, formats, err);
    object->arch = object->format->arch;
    return object->format->reader->read(object, err);
}

/* Not inlined: compilers make a loop over words of it. */
void tn__relocs_copy(const struct tn__input_section *section, uint64_t first, struct tn__reloc *out, size_t count)
{
    memcpy(out, section->relocs + first * sizeof *out, count * sizeof *out);
}

int tn__object_fail_names(const struct tn__object_data *data, const char *of, struct tn_error *err)
{
    return tn__fail(err, TN_EFORMAT,
                    "%s: the names of its %s are too long in sum, for a file of %zu bytes: they share bytes",
                    data->name, of, data->size);
}
