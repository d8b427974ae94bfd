/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "outputs.h"

#include <stdlib.h>

int link_output(const struct tn__output_options *options, struct bytes object, struct tn__output **out,
                struct tn_error *err)
{
    const struct tn_input input = {.size = sizeof input, .name = "object.o", .bytes = object.at, .length = object.size};
    int rc = tn__output_link(options, &input, 1, out, err);
    free(object.at);
    return rc;
}

struct tn__output *link_good_output(const struct tn__output_options *options, struct bytes object)
{
    struct tn_error err;
    struct tn__output *output;
    assert_ok(link_output(options, object, &output, &err), &err);
    return output;
}

const struct tn__output_section *find_section(const struct tn__output *output, const char *name)
{
    const struct tn__output_section *section = tn__output_find(output, name);
    assert_non_null(section);
    return section;
}

const struct tn__output_symbol *find_symbol(const struct tn__output *output, const char *name)
{
    for (size_t i = 0; i < output->symbol_count; i++)
        if (!strcmp(output->symbols[i].name, name))
            return &output->symbols[i];
    fail_msg("no symbol '%s'", name);
    return NULL;
}
