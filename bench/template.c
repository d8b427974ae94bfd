/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "template.h"

static const char name_pattern[NAME_SIZE] = "f0000000";
static const unsigned char number_pattern[] = {0x78, 0x56, 0x34, 0x12};

static size_t position(const struct template *t, const void *pattern, size_t size)
{
    const unsigned char *found = memmem(t->bytes, t->size, pattern, size);
    return found ? (size_t)(found - t->bytes) : 0;
}

bool load_template(struct template *t, const char *path)
{
    const void *bytes = read_touched(path, &t->size);
    t->bytes = bytes ? malloc(t->size) : NULL;
    if (!t->bytes)
        return false;
    memcpy(t->bytes, bytes, t->size);
    t->name_at = position(t, name_pattern, sizeof name_pattern);
    t->number_at = position(t, number_pattern, sizeof number_pattern);
    if (t->name_at && t->number_at)
        return true;
    fprintf(stderr, "%s: not the object that bench/small_function.s makes\n", path);
    return false;
}

void make_object(const struct template *t, unsigned number, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "f%07u", number % 10000000U);
    memcpy(t->bytes + t->name_at, name, NAME_SIZE - 1);
    memcpy(t->bytes + t->number_at, &number, sizeof number);
}
