/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Any bytes as an archive: its index, all its members, and the members that the index names. */

#include <stdlib.h>

#include "bounds.h"
#include "fuzz.h"
#include "link/passes/link.h"

/* Reads all of a name and, where they are in the archive, of a member's bytes. */
static void touch(const char *name, size_t name_length, const uint8_t *bytes, size_t size)
{
    static volatile unsigned sum;
    for (size_t i = 0; i < name_length; i++)
        sum += (unsigned char)name[i];
    for (size_t i = 0; bytes && i < size; i++)
        sum += bytes[i];
}

static int look_at(void *context, const char *symbol, uint64_t offset, struct tn_error *err)
{
    struct tn__member member;
    bool end;
    touch(symbol, strlen(symbol), NULL, 0);
    if (tn__archive_member(context, offset, &member, &end, err) == 0 && !end)
        touch(member.name, member.name_length, member.bytes, member.size);
    return 0;
}

static void read_archive(const uint8_t *bytes, size_t size)
{
    static const struct tn_format *const formats[] = {&tn_format_elf_x86_64, &tn_format_macho_x86_64,
                                                      &tn_format_macho_aarch64, &tn_format_coff_x86_64, NULL};
    struct tn__archive archive = {
        .formats = formats, .from = &bounds_allocator, .name = "fuzz.a", .input = {.bytes = bytes, .length = size}};
    struct tn__member member;
    struct tn_error err;
    bool end = false;
    if (tn__archive_open(&archive, &err))
        return;
    for (uint64_t offset = 0; !tn__archive_member(&archive, offset, &member, &end, &err) && !end; offset = member.next)
        touch(member.name, member.name_length, member.bytes, member.size);
    if (!archive.thin) /* whose members would be files that happen to be there */
        tn__archive_symbols(&archive, look_at, &archive, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    bounds_begin();
    read_archive(bytes, size);
    bounds_end(size);
    return 0;
}
