/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Damaged shared libraries are either linked, or refused without leaving anything behind: whatever a header, the
 * dynamic section or a table says. Nothing of them is called but a function that returns at once. */

#include "spoil.h"

#include <elf.h>
#include <stdlib.h>

static struct tn_error err;

static const struct tn_format *const formats[] = {&tn_format_elf_shared_x86_64, &tn_format_elf_x86_64, NULL};

/* Up to the end of its last segment: section headers and what only they lead to are not read. */
static struct bytes library(void)
{
    struct bytes bytes = read_bytes(data_file("shared.so"));
    const Elf64_Ehdr *file = (const void *)bytes.at;
    const Elf64_Phdr *headers = (const void *)(bytes.at + file->e_phoff);
    size_t end = 0;
    for (size_t i = 0; i < file->e_phnum; i++)
        if (headers[i].p_type == PT_LOAD && headers[i].p_filesz && headers[i].p_offset + headers[i].p_filesz > end)
            end = headers[i].p_offset + headers[i].p_filesz;
    bytes.size = end;
    return bytes;
}

static void prefixes(void **state)
{
    (void)state;
    spoil_prefixes(library(), SPOIL_HERE);
}

static void bytes_of_it(void **state)
{
    (void)state;
    spoil_bytes(library(), SPOIL_HERE);
}

/* ---- entries of the dynamic section ---- */

static Elf64_Dyn *entry_of(struct bytes bytes, int64_t tag)
{
    const Elf64_Ehdr *file = (const void *)bytes.at;
    const Elf64_Phdr *header = (const void *)(bytes.at + file->e_phoff);
    while (header->p_type != PT_DYNAMIC)
        header++;
    Elf64_Dyn *entry = (void *)(bytes.at + header->p_offset);
    while (entry->d_tag != tag && entry->d_tag != DT_NULL)
        entry++;
    assert_int_equal(entry->d_tag, tag);
    return entry;
}

static int add(struct bytes bytes)
{
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct fixture f = open_fixture(&options);
    int code = try_add_bytes(&f, "it.so", bytes.at, bytes.size, &err);
    if (!code)
        code = tn_link(f.library, &err);
    close_fixture(&f);
    return code;
}

/* Whatever an address or a size is, the library is refused or linked. */
static void values_of_entries(void **state)
{
    static const uint64_t values[] = {
        0,          1,          7,          8,          0xfff,      0x1000,     0x10000,        0x7fffffff,
        1ULL << 31, 1ULL << 32, 1ULL << 40, 1ULL << 47, 1ULL << 63, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 0xfff};
    (void)state;
    struct bytes whole = library();
    for (Elf64_Dyn *entry = entry_of(whole, DT_STRTAB); entry->d_tag != DT_NULL; entry++) {
        const Elf64_Dyn kept = *entry;
        for (size_t i = 0; i < COUNT(values); i++) {
            entry->d_un.d_val = values[i];
            add(whole);
            entry->d_un.d_val = kept.d_un.d_val + values[i];
            add(whole);
        }
        *entry = kept;
    }
    assert_ok(add(whole), &err);
    free(whole.at);
}

/* Whatever symbol a relocation refers to, and wherever it stands. */
static void relocations(void **state)
{
    static const uint64_t values[] = {0,       1,          2,          100,        1 << 20,        0x0fffffff,
                                      1 << 28, 0x3fffffff, 0x7fffffff, 0x80000000, UINT32_MAX - 1, UINT32_MAX};
    (void)state;
    struct bytes whole = library();
    Elf64_Rela *table = (void *)(whole.at + entry_of(whole, DT_RELA)->d_un.d_val); /* in the first segment */
    for (size_t i = 0; i < entry_of(whole, DT_RELASZ)->d_un.d_val / sizeof *table; i++) {
        const Elf64_Rela kept = table[i];
        for (size_t k = 0; k < COUNT(values); k++) {
            table[i].r_info = values[k] << 32 | ELF64_R_TYPE(kept.r_info);
            add(whole);
            table[i].r_info = kept.r_info;
            table[i].r_offset = values[k];
            add(whole);
            table[i] = kept;
        }
    }
    assert_ok(add(whole), &err);
    free(whole.at);
}

/* Each entry in turn becomes another one. */
static void other_entries(void **state)
{
    static const struct {
        int64_t tag;
        uint64_t value;
        int code;
        const char *word;
    } rows[] = {
        {DT_TEXTREL, 0, TN_ENOTSUP, "DT_TEXTREL"},
        {DT_REL, 0, TN_ENOTSUP, "DT_REL"},
        {DT_FILTER, 1, TN_ENOTSUP, "filter"},
        {DT_AUXILIARY, 1, TN_ENOTSUP, "filter"},
        {DT_FLAGS, DF_TEXTREL, TN_ENOTSUP, "DT_TEXTREL"},
        {DT_FLAGS_1, DF_1_NOOPEN, TN_ENOTSUP, "DF_1_NOOPEN"},
        {DT_FLAGS_1, 0x08000000, TN_ENOTSUP, "a program"},
        {DT_NEEDED, UINT64_MAX, TN_EFORMAT, "needs"},
        {DT_SONAME, 1 << 20, TN_EFORMAT, "own name"},
        {DT_INIT, 1 << 29, TN_EFORMAT, "initializer"},
        {DT_FINI, 1 << 30, TN_EFORMAT, "finalizer"},
    };
    (void)state;
    struct bytes whole = library();
    Elf64_Dyn *entry = entry_of(whole, DT_SONAME);
    const Elf64_Dyn kept = *entry;
    for (size_t i = 0; i < COUNT(rows); i++) {
        *entry = (Elf64_Dyn){.d_tag = rows[i].tag, .d_un.d_val = rows[i].value};
        assert_error(add(whole), rows[i].code, &err, "it.so", rows[i].word);
    }
    *entry = kept;
    assert_ok(add(whole), &err);
    free(whole.at);
}

/* ---- program headers ---- */

static void headers(void **state)
{
    static const struct {
        uint32_t type, flags;
        int code;
        const char *word;
    } rows[] = {
        {PT_GNU_STACK, PF_R | PF_W | PF_X, TN_ENOTSUP, "executable stack"},
        {PT_LOAD, PF_R | PF_W | PF_X, TN_ENOTSUP, "writable and executable"},
    };
    (void)state;
    struct bytes whole = library();
    const Elf64_Ehdr *file = (const void *)whole.at;
    for (size_t i = 0; i < COUNT(rows); i++) {
        Elf64_Phdr *header = (void *)(whole.at + file->e_phoff);
        while (header->p_type != rows[i].type)
            header++;
        const Elf64_Phdr kept = *header;
        header->p_flags = rows[i].flags;
        assert_error(add(whole), rows[i].code, &err, "it.so", rows[i].word);
        *header = kept;
    }
    assert_ok(add(whole), &err);
    free(whole.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes),    cmocka_unit_test(bytes_of_it),   cmocka_unit_test(values_of_entries),
        cmocka_unit_test(relocations), cmocka_unit_test(other_entries), cmocka_unit_test(headers),
    };
    spoil_formats = formats;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
