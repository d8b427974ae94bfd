/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as objects of a file: one that may lie anywhere, a part of a program, and one at a fixed address. */

#include "bounds.h"
#include "fuzz.h"
#include "link/file/output.h"

static void *anything(void *unused, const char *name)
{
    (void)unused;
    return (void *)(uintptr_t)(0x40000000U + strlen(name) * 16);
}

static uint64_t head(void *unused, const struct tn__output *output)
{
    (void)unused;
    return 0x100 + 8 * tn__output_relr(output, NULL, 0);
}

static void link_output(const struct tn__output_options *options, const uint8_t *bytes, size_t size)
{
    const struct tn_input input = {.size = sizeof input, .name = "fuzz.o", .bytes = bytes, .length = size};
    struct tn__output *output;
    struct tn_error err;
    if (tn__output_link(options, &input, 1, &output, &err) == 0)
        tn__output_free(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const struct tn__output_options anywhere = {.name = "out", .head = head, .indirect = true};
    const struct tn__output_options program = {.name = "out",
                                               .program = true,
                                               .address = 0x20000,
                                               .tls_space = {.size = 64, .alignment = 64, .has_values = true}};
    const struct tn__output_options fixed = {.name = "out", .fixed = true, .address = 0x10000000, .resolver = anything};
    bounds_begin();
    link_output(&anywhere, bytes, size);
    link_output(&program, bytes, size);
    link_output(&fixed, bytes, size);
    bounds_end(size);
    return 0;
}
