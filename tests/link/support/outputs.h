/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Links laid out as files, for tests. */

#ifndef TENON_TEST_OUTPUTS_H
#define TENON_TEST_OUTPUTS_H

#include "elf_builder.h"
#include "link/file/output.h"

/* Links one object, and frees it. */
int link_output(const struct tn__output_options *options, struct bytes object, struct tn__output **out,
                struct tn_error *err);
struct tn__output *link_good_output(const struct tn__output_options *options, struct bytes object);

/* The test fails if there is none. */
const struct tn__output_section *find_section(const struct tn__output *output, const char *name);
const struct tn__output_symbol *find_symbol(const struct tn__output *output, const char *name);

#endif
