/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Universal files of objects and of archives, with offsets of 32 and of 64 bits: which part is taken, and headers that
 * are malformed, truncated or spoiled. */

#include <stdlib.h>
#include <unistd.h>

#include "failing.h"
#include "base/base.h"
#include "link/file/detached.h"
#include "macho_builder.h"

static const struct tn_format *const only_x86_64[] = {&tn_format_elf_x86_64, &tn_format_macho_x86_64, NULL};
static const struct tn_format *const only_aarch64[] = {&tn_format_macho_aarch64, NULL};

/* ---- files ---- */

static const uint8_t returns[] = {0xc3};

static struct bytes object_of(const char *name, uint32_t machine, uint32_t subtype)
{
    static struct macho macho;
    memset(&macho, 0, sizeof macho);
    macho.machine = machine;
    macho_code(&macho, returns, sizeof returns);
    macho_function(&macho, name, 1, 0);
    struct bytes file = macho_finish(&macho);
    tn__put32(file.at + TN__MACHO_SUBTYPE, subtype);
    return file;
}

/* What an archive of one object is made of. */
enum kind { GNU, GNU_64, BSD, BSD_64, NO_INDEX, THIN, KINDS };

static void append(struct bytes *file, const void *bytes, size_t size)
{
    file->at = realloc(file->at, file->size + size);
    memcpy(file->at + file->size, bytes, size);
    file->size += size;
}

static void append_header(struct bytes *file, const char *name, size_t size)
{
    char header[80];
    snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644, size);
    append(file, header, 60);
}

enum { MAGIC = 8, HEADER = 60 };

/* The index of one name, padded to an even size; the member follows. */
static void append_index(struct bytes *file, enum kind kind, const char *name)
{
    char names[32] = {0};
    size_t length = (strlen(name) + 2) & ~(size_t)1, word = kind == GNU_64 || kind == BSD_64 ? 8 : 4;
    bool gnu = kind != BSD && kind != BSD_64;
    size_t size = (gnu ? 2 : 4) * word + length;
    uint64_t member = MAGIC + HEADER + size;
    uint64_t gnu_words[] = {1, member}, bsd_words[] = {2 * word, 0, member, length};
    strcpy(names, name);
    append_header(file, gnu ? word == 8 ? "/SYM64/" : "/" : word == 8 ? "__.SYMDEF_64" : "__.SYMDEF", size);
    for (unsigned i = 0; i < (gnu ? 2 : 3); i++) {
        uint64_t value = gnu ? __builtin_bswap64(gnu_words[i]) >> (word == 8 ? 0 : 32) : bsd_words[i];
        append(file, &value, word);
    }
    if (!gnu)
        append(file, &bsd_words[3], word);
    append(file, names, length);
}

static struct bytes archive_of(struct bytes object, enum kind kind, const char *symbol)
{
    struct bytes file = {NULL, 0};
    append(&file, kind == THIN ? "!<thin>\n" : "!<arch>\n", MAGIC);
    if (kind != NO_INDEX)
        append_index(&file, kind, symbol);
    append_header(&file, "member.o/", object.size);
    if (kind != THIN)
        append(&file, object.at, object.size);
    free(object.at);
    return file;
}

struct part {
    uint32_t machine, subtype;
    struct bytes bytes;
};

static void put_big(uint8_t *at, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++)
        at[i] = (uint8_t)(value >> 8 * (width - 1 - i));
}

static uint64_t get_big(const uint8_t *at, size_t width)
{
    uint64_t value = 0;
    for (size_t i = 0; i < width; i++)
        value = value << 8 | at[i];
    return value;
}

static struct bytes join(struct part *parts, unsigned count, bool wide)
{
    size_t entry = wide ? TN__MACHO_SLICE64 : TN__MACHO_SLICE, at = TN__MACHO_SLICES + count * entry;
    struct bytes file = {calloc(1, at), at};
    put_big(file.at, wide ? TN__MACHO_UNIVERSAL64 : TN__MACHO_UNIVERSAL, 4);
    put_big(file.at + 4, count, 4);
    for (unsigned i = 0; i < count; i++) {
        uint8_t *slice = file.at + TN__MACHO_SLICES + i * entry;
        put_big(slice, parts[i].machine, 4);
        put_big(slice + 4, parts[i].subtype, 4);
        put_big(slice + 8, file.size, wide ? 8 : 4);
        put_big(slice + (wide ? 16 : 12), parts[i].bytes.size, wide ? 8 : 4);
        append(&file, parts[i].bytes.at, parts[i].bytes.size);
        free(parts[i].bytes.at);
    }
    return file;
}

/* _arm for AArch64, _intel for x86-64, in this order. */
static struct bytes file_of(bool archives, enum kind kind, bool wide)
{
    struct part parts[] = {{TN__MACHO_ARM64, 0, object_of("_arm", TN__MACHO_ARM64, 0)},
                           {TN__MACHO_X86_64, 3, object_of("_intel", TN__MACHO_X86_64, 3)}};
    if (archives) {
        parts[0].bytes = archive_of(parts[0].bytes, kind, "_arm");
        parts[1].bytes = archive_of(parts[1].bytes, kind, "_intel");
    }
    return join(parts, COUNT(parts), wide);
}

/* For AArch64: linked for another address space. */
static struct fixture open_with(const struct tn_format *const *formats)
{
    const struct tn_session_options options = {
        .size = sizeof options, .formats = formats, .allocator = &failing_allocator};
    static struct tn__detached elsewhere; /* lasts as long as the session */
    struct fixture f;
    struct tn_error err;
    failing.fails_at = 0;
    if (formats != only_aarch64)
        return open_fixture(&options);
    elsewhere = (struct tn__detached){.address = 0x10000000, .size = 1 << 20, .page_size = 4096};
    assert_ok(tn__session_create_detached(&options, &elsewhere, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, "universal", &f.library, &err), &err);
    return f;
}

static void assert_has(const struct fixture *f, const char *name, bool there)
{
    void *address;
    assert_int_equal(tn_lookup(f->library, name, &address, NULL), there ? 0 : TN_EUNDEF);
}

static int try_archive(const struct fixture *f, const char *name, struct bytes file, struct tn_error *err)
{
    const struct tn_input input = {.size = sizeof input, .name = name, .bytes = file.at, .length = file.size};
    return tn_add_archive(f->library, &input, err);
}

/* ---- which part ---- */

static void test_objects(void **state)
{
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct bytes file = file_of(false, GNU, wide);
        struct fixture f = open_with(only_x86_64);
        add_bytes(&f, "universal.o", file.at, file.size);
        assert_has(&f, "intel", true);
        assert_has(&f, "arm", false);
        close_fixture(&f);
        f = open_with(only_aarch64);
        add_bytes(&f, "universal.o", file.at, file.size);
        assert_has(&f, "arm", true);
        assert_has(&f, "intel", false);
        close_fixture(&f);
        free(file.at);
    }
}

/* By its bytes and by its name; members of a thin archive are in the folder of the universal file. */
static void test_archives(void **state)
{
    (void)state;
    struct tn_error err;
    struct bytes member = object_of("_intel", TN__MACHO_X86_64, 3);
    write_bytes(scratch_file("member.o"), member.at, member.size);
    free(member.at);
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (int wide = 0; wide < 2; wide++) {
            struct bytes file = file_of(true, kind, wide);
            const char *path = scratch_file("universal.a");
            write_bytes(path, file.at, file.size);
            for (int by_name = 0; by_name < 2; by_name++) {
                struct fixture f = open_with(only_x86_64);
                assert_ok(by_name ? tn_add_file(f.library, path, &err) : try_archive(&f, path, file, &err), &err);
                assert_has(&f, "intel", true);
                assert_has(&f, "arm", false);
                close_fixture(&f);
            }
            free(file.at);
        }
}

/* A session that does not read Mach-O says what would. */
static void test_not_named(void **state)
{
    (void)state;
    struct tn_error err;
    for (int archives = 0; archives < 2; archives++)
        for (int wide = 0; wide < 2; wide++) {
            struct bytes file = file_of(archives, GNU, wide);
            struct fixture f = open_with(NULL);
            const char *path = scratch_file("universal");
            write_bytes(path, file.at, file.size);
            assert_error(tn_add_file(f.library, path, &err), TN_ENOTSUP, &err, "universal: made for AArch64 (Mach-O)",
                         "links code for");
            put_big(file.at + TN__MACHO_SLICES, 18, 4); /* PowerPC */
            write_bytes(path, file.at, file.size);
            assert_error(tn_add_file(f.library, path, &err), TN_ENOTSUP, &err, "tn_format_macho_x86_64");
            put_big(file.at + TN__MACHO_SLICES + (wide ? TN__MACHO_SLICE64 : TN__MACHO_SLICE), 18, 4);
            write_bytes(path, file.at, file.size);
            assert_error(tn_add_file(f.library, path, &err), TN_EFORMAT, &err, "without a part for a known machine");
            close_fixture(&f);
            free(file.at);
        }
}

static void test_other_kind(void **state)
{
    (void)state;
    struct tn_error err;
    struct fixture f = open_with(only_x86_64);
    struct bytes objects = file_of(false, GNU, false), archives = file_of(true, GNU, false);
    assert_error(try_archive(&f, "objects", objects, &err), TN_EFORMAT, &err, "objects: not an archive");
    assert_error(try_add_bytes(&f, "archives", archives.at, archives.size, &err), TN_EFORMAT, &err,
                 "archives: the part for x86-64 is an archive");
    close_fixture(&f);
    free(objects.at);
    free(archives.at);
}

/* Universal files in universal files are not made, and not read. */
static void test_nested(void **state)
{
    (void)state;
    struct tn_error err;
    for (int archives = 0; archives < 2; archives++) {
        struct part part = {TN__MACHO_X86_64, 3, file_of(archives, GNU, false)};
        struct bytes file = join(&part, 1, false);
        struct fixture f = open_with(only_x86_64);
        assert_int_equal(archives ? try_archive(&f, "nested", file, &err)
                                  : try_add_bytes(&f, "nested", file.at, file.size, &err),
                         TN_EFORMAT);
        close_fixture(&f);
        free(file.at);
    }
}

/* Parts for some processors only are taken if there is no other one; arm64e cannot be linked. */
static void test_subtypes(void **state)
{
    (void)state;
    static const struct {
        uint32_t machine, subtypes[2];
        const char *found; /* NULL: refused */
    } rows[] = {
        {TN__MACHO_ARM64, {TN__MACHO_ARM64E, 0}, "second"},
        {TN__MACHO_ARM64, {TN__MACHO_ARM64E | 0x80000000, 0}, "second"},
        {TN__MACHO_ARM64, {0, TN__MACHO_ARM64E}, "first"},
        {TN__MACHO_ARM64, {0, 1}, "first"},
        {TN__MACHO_ARM64, {TN__MACHO_ARM64E, TN__MACHO_ARM64E}, NULL},
        {TN__MACHO_X86_64, {TN__MACHO_HASWELL, 3}, "second"},
        {TN__MACHO_X86_64, {3, TN__MACHO_HASWELL}, "first"},
        {TN__MACHO_X86_64, {TN__MACHO_HASWELL, TN__MACHO_HASWELL}, "first"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int archives = 0; archives < 2; archives++) {
            struct part parts[2];
            struct tn_error err;
            void *address;
            for (unsigned k = 0; k < 2; k++) {
                const char *name = k ? "_second" : "_first";
                struct bytes object = object_of(name, rows[i].machine, rows[i].subtypes[k]);
                parts[k] = (struct part){rows[i].machine, rows[i].subtypes[k],
                                         archives ? archive_of(object, GNU, name) : object};
            }
            struct bytes file = join(parts, 2, false);
            struct fixture f = open_with(rows[i].machine == TN__MACHO_ARM64 ? only_aarch64 : only_x86_64);
            int code =
                archives ? try_archive(&f, "file", file, &err) : try_add_bytes(&f, "file", file.at, file.size, &err);
            if (!code)
                code = tn_lookup(f.library, rows[i].found ? rows[i].found : "first", &address, &err);
            if (rows[i].found)
                assert_ok(code, &err);
            else
                assert_error(code, TN_ENOTSUP, &err, "made for arm64e");
            close_fixture(&f);
            free(file.at);
        }
}

/* ---- headers that are malformed ---- */

static const struct row {
    const char *name;
    enum { PARTS, OFFSET, SIZE } field; /* the number of parts; of the part for x86-64 */
    enum { PLAIN, FILE_END, TABLE_END, LENGTH } from;
    int64_t value;             /* counted from there */
    int code;                  /* for objects; for archives, too, if it is 0, else TN_EFORMAT */
    const char *text, *header; /* of the errors for objects and for archives */
} rows[] = {
    {"no parts", PARTS, PLAIN, 0, TN_EFORMAT, "without a part for a known machine", "not an archive"},
    {"one part", PARTS, PLAIN, 1, TN_ENOTSUP, "made for AArch64 (Mach-O)", "not an archive"},
    {"a third part in the contents", PARTS, PLAIN, 3, 0, NULL, NULL},
    {"a table over the contents", PARTS, PLAIN, 32, TN_EFORMAT, "does not lie inside", "not an archive"},
    {"more parts", PARTS, PLAIN, 33, TN_EFORMAT, "not an object file", "not an archive"},
    {"parts without end", PARTS, PLAIN, -1, TN_EFORMAT, "not an object file", "not an archive"},
    {"at the end", OFFSET, FILE_END, 0, TN_EFORMAT, "does not lie inside", "not an archive"},
    {"behind the end", OFFSET, FILE_END, 1, TN_EFORMAT, "does not lie inside", "not an archive"},
    {"at the largest offset", OFFSET, PLAIN, -1, TN_EFORMAT, "does not lie inside", "not an archive"},
    {"over its own header", OFFSET, PLAIN, 0, TN_EFORMAT, "does not lie inside", "not an archive"},
    {"over the end of the table", OFFSET, TABLE_END, -1, TN_EFORMAT, "does not lie inside", "not an archive"},
    {"over the other part", OFFSET, TABLE_END, 0, TN_EFORMAT, "no Mach-O header for x86-64", "truncated: a member"},
    {"too long", SIZE, LENGTH, 1, TN_EFORMAT, "does not lie inside", "not an archive"},
    {"of the largest size", SIZE, PLAIN, -1, TN_EFORMAT, "does not lie inside", "not an archive"},
    {"too short", SIZE, LENGTH, -1, TN_EFORMAT, "symbol names", "truncated: the member"},
    {"without bytes", SIZE, PLAIN, 0, TN_EFORMAT, "no Mach-O header for x86-64", "not an archive"},
};

static void check_row_in(const struct row *row, bool archives, bool wide)
{
    struct bytes file = file_of(archives, GNU, wide);
    size_t entry = wide ? TN__MACHO_SLICE64 : TN__MACHO_SLICE, width = wide && row->field != PARTS ? 8 : 4;
    uint8_t *slice = file.at + TN__MACHO_SLICES + entry;
    uint8_t *const fields[] = {file.at + 4, slice + 8, slice + (wide ? 16 : 12)};
    const int64_t bases[] = {0, (int64_t)file.size, (int64_t)(TN__MACHO_SLICES + 2 * entry),
                             (int64_t)get_big(fields[SIZE], width)};
    put_big(fields[row->field], (uint64_t)(bases[row->from] + row->value), width);
    struct fixture f = open_with(only_x86_64);
    struct tn_stats before = stats_of(&f), after;
    struct tn_error err;
    int code = archives ? try_archive(&f, "file", file, &err) : try_add_bytes(&f, "file", file.at, file.size, &err);
    const char *text = archives ? row->header : row->text;
    if (text)
        assert_error(code, archives ? TN_EFORMAT : row->code, &err, text);
    else
        assert_ok(code, &err);
    after = stats_of(&f);
    if (code)
        assert_same_memory(&before, &after);
    close_fixture(&f);
    free(file.at);
}

static void check_row(void **state)
{
    for (int i = 0; i < 4; i++)
        check_row_in(*state, i & 1, i & 2);
}

/* ---- spoiled ---- */

/* In a block of its exact size, for AddressSanitizer. The session's libraries last as long as it does. */
static bool can_be_linked(const struct fixture *session, struct bytes file, size_t size, bool archives)
{
    struct fixture f = *session;
    struct bytes exact = {memcpy(malloc(size ? size : 1), file.at, size), size};
    struct tn_error err = {.text = ""};
    void *address;
    assert_ok(tn_library_create(f.session, "spoiled", &f.library, &err), &err);
    int code = archives ? try_archive(&f, "file", exact, &err) : try_add_bytes(&f, "file", exact.at, exact.size, &err);
    if (!code)
        code = tn_lookup(f.library, "intel", &address, &err);
    if (code && (code != err.code || !err.text[0]))
        fail_msg("code %d, text %s", code, err.text);
    assert_ok(tn_library_remove(f.library, &err), &err);
    free(exact.at);
    return !code;
}

static void spoil_prefixes(bool archives, bool wide)
{
    struct bytes file = file_of(archives, GNU, wide);
    struct fixture f = open_with(only_x86_64);
    unsigned good = 0;
    for (size_t size = 0; size <= file.size; size++)
        good += can_be_linked(&f, file, size, archives);
    assert_int_equal(good, 1); /* the part for x86-64 is the last one */
    close_fixture(&f);
    free(file.at);
}

static void spoil_header(bool archives, bool wide)
{
    struct bytes file = file_of(archives, GNU, wide);
    size_t table = TN__MACHO_SLICES + 2 * (size_t)(wide ? TN__MACHO_SLICE64 : TN__MACHO_SLICE);
    struct fixture f = open_with(only_x86_64);
    unsigned good = 0;
    for (size_t bit = 0; bit < 8 * table; bit++) {
        file.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
        good += can_be_linked(&f, file, file.size, archives);
        file.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_true(good > 100 && 8 * table - good > 100);
    close_fixture(&f);
    free(file.at);
}

static void test_spoiled(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        spoil_prefixes(i & 1, i & 2);
        spoil_header(i & 1, i & 2);
        assert_int_equal(failing.in_use, 0);
    }
}

struct input {
    struct bytes file;
    bool archive;
};

static int look_up_intel(const void *context)
{
    const struct input *input = context;
    struct fixture f = open_with(only_x86_64);
    struct tn_error err;
    void *address;
    failing_begin();
    int code = input->archive ? try_archive(&f, "file", input->file, &err)
                              : try_add_bytes(&f, "file", input->file.at, input->file.size, &err);
    if (!code)
        code = tn_lookup(f.library, "intel", &address, &err);
    close_fixture(&f);
    return code;
}

static void test_no_memory(void **state)
{
    (void)state;
    for (int archives = 0; archives < 2; archives++) {
        const struct input input = {file_of(archives, NO_INDEX, false), archives};
        fail_each_request(look_up_intel, &input, 4);
        free(input.file.at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects), cmocka_unit_test(test_archives),   cmocka_unit_test(test_not_named),
        cmocka_unit_test(test_nested),  cmocka_unit_test(test_other_kind), cmocka_unit_test(test_subtypes),
        cmocka_unit_test(test_spoiled), cmocka_unit_test(test_no_memory),
    };
    return RUN_ROWS("link/universal", rows, check_row) +
           cmocka_run_group_tests_name("link/universal", tests, NULL, NULL);
}
