/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Many one-function objects, made from one (small_function.s) by giving each another name and number. */

#ifndef BENCH_TEMPLATE_H
#define BENCH_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>

enum { NAME_SIZE = 9 }; /* "f0000000" */

struct template
{
    unsigned char *bytes; /* of the object that was made last; released with free() */
    size_t size, name_at, number_at;
};

/* False after a message on stderr. */
bool load_template(struct template *t, const char *path);

/* Makes object number `number`: its function has this name and adds the number to its argument. */
void make_object(const struct template *t, unsigned number, char name[NAME_SIZE]);

#endif
