/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Makes ELF objects of any size in memory, also with more sections than elf_builder.h has. */

#ifndef TENON_TESTS_LINK_BIG_FILE_H
#define TENON_TESTS_LINK_BIG_FILE_H

#include <elf.h>

#include "support.h"

struct file {
    struct bytes bytes;
    Elf64_Shdr headers[8];
    unsigned sections;
    struct bytes names; /* of sections, instead of those below */
};

/* Names of sections. */
enum {
    TEXT_NAME = 1,
    GROUP_NAME = 7,
    DATA_NAME = 14,
    FRAME_NAME = 20,
    FINI_NAME = 30,
    GATHERED_NAME = 42,
    LINE_NAME = 51,
    LINE_STR_NAME = 63
};

void file_begin(struct file *file);
/* At a multiple of 16; returns the offset. */
size_t file_append(struct file *file, const void *bytes, size_t size);
/* With sh_size bytes that `bytes` points to; returns its number. */
unsigned file_section(struct file *file, Elf64_Shdr header, const void *bytes);
/* With `count` headers behind those of the file's own sections and of one more, of names. Release with free(). */
struct bytes file_finish(struct file *file, const Elf64_Shdr *more, size_t count);

#endif
