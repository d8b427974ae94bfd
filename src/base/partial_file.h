/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A file of which only parts are needed: a large archive. A file that only root and this user can write is mapped. Of
 * any other, the pages that are needed are copied, each once, so what was checked does not change. */

#ifndef TENON_PARTIAL_FILE_H
#define TENON_PARTIAL_FILE_H

#include "os.h"

#pragma GCC visibility push(hidden)

struct tn__partial_file;

/* Takes the descriptor over if the file is to be copied part by part; *out stays NULL, without an error, if it is small
 * or may be mapped. The file's bytes are those at *bytes, once they were read. errno values. */
int tn__partial_file_open(int fd, const struct tn_allocator *from, struct tn__partial_file **out, const uint8_t **bytes,
                          size_t *size);
/* Reads what is missing of a range, which lies within the file. Not thread-safe. ENOMEM, EIO, EBADF (the program has
 * closed the file), ENODATA (it has become shorter). */
int tn__partial_file_need(struct tn__partial_file *file, uint64_t offset, uint64_t size);
void tn__partial_file_close(struct tn__partial_file *file);

#pragma GCC visibility pop
#endif
