/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Of each format and architecture a small object of clang: every prefix, every byte corrupted, and every allocation
 * failing in turn. Linked for another address space, for most of it cannot run here. corrupt.c, macho_bad.c and
 * coff_corrupt.c do the same with larger objects that can. */

#include <stdlib.h>

#include "failing.h"
#include "link/file/detached.h"
#include "spoil.h"

static const struct row {
    const char *name; /* of the object, too */
    const struct tn_format *formats[2];
} rows[] = {
    {"elf-x86-64", {&tn_format_elf_x86_64}},       {"elf-aarch64", {&tn_format_elf_aarch64}},
    {"elf-riscv64", {&tn_format_elf_riscv64}},     {"macho-x86-64", {&tn_format_macho_x86_64}},
    {"macho-aarch64", {&tn_format_macho_aarch64}}, {"coff-x86-64", {&tn_format_coff_x86_64}},
    {"coff-aarch64", {&tn_format_coff_aarch64}},
};

static struct bytes object_of(const struct row *row)
{
    char name[64];
    snprintf(name, sizeof name, "spoiled.%s.o", row->name);
    return read_bytes(data_file(name));
}

static void check_prefixes(void **state)
{
    const struct row *row = *state;
    spoil_formats = row->formats;
    spoil_prefixes(object_of(row), SPOIL_ELSEWHERE);
}

static void check_bytes(void **state)
{
    const struct row *row = *state;
    spoil_formats = row->formats;
    spoil_bytes(object_of(row), SPOIL_ELSEWHERE);
}

/* ---- out of memory ---- */

static void *anything(void *unused, const char *name)
{
    (void)unused;
    return (void *)(uintptr_t)(0x10800000U + strlen(name) * 16);
}

static int link_elsewhere(const void *context)
{
    const struct row *row = context;
    struct bytes object = object_of(row);
    struct tn__detached where = {.address = 0x10000000, .size = 64 << 20, .page_size = 4096};
    const struct tn_session_options options = {
        .size = sizeof options, .formats = row->formats, .allocator = &failing_allocator};
    const struct tn_input input = {.size = sizeof input, .name = "small.o", .bytes = object.at, .length = object.size};
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    assert_ok(tn__session_create_detached(&options, &where, &session, &err), &err);
    assert_ok(tn_library_create(session, "library", &library, &err), &err);
    assert_ok(tn_add_resolver(library, anything, NULL, &err), &err);
    failing_begin();
    int code = tn_add_object(library, &input, &err);
    if (!code)
        code = tn_link(library, &err);
    if (code)
        assert_error(code, TN_ENOMEM, &err, "memory");
    tn_session_destroy(session);
    free(object.at);
    return code;
}

static void check_allocations(void **state)
{
    fail_each_request(link_elsewhere, *state, 10);
}

int main(void)
{
    if (!data_exists("spoiled.elf-x86-64.o")) {
        puts("ok link/corrupt_all # SKIP no clang");
        return 0;
    }
    return RUN_ROWS("link/corrupt_all: prefixes", rows, check_prefixes) +
           RUN_ROWS("link/corrupt_all: bytes", rows, check_bytes) +
           RUN_ROWS("link/corrupt_all: allocations", rows, check_allocations);
}
