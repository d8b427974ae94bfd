/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Inputs whose file stays open until they are linked (tn__object_file). */

#ifndef TENON_OPEN_FILE_H
#define TENON_OPEN_FILE_H

#include "base/base.h"
#include "base/os.h"

#pragma GCC visibility push(hidden)

/* A file whose bytes are mapped, and of which more will be. Programs may close descriptors that are not theirs, and
 * open other files: so it is only used, and closed, as long as it is this file. */
struct tn__open_file {
    const struct tn_allocator *from;
    int fd;
    struct tn__os_identity identity;
};

/* As tn__release_file, and closes the file and frees the struct. */
void tn__release_open_file(void *file, const void *bytes, size_t length);

#pragma GCC visibility pop
#endif
