/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compact unwind entries: what is made of each encoding, and which entries are refused. That unwinders understand what
 * is made is tested by macho.c, for x86-64, and by tests/link/qemu/macho.sh. */

#include <stdlib.h>

#include "base/base.h"
#include "link/model/object.h"
#include "macho_builder.h"

enum { TEXT = 1, FRAMES, COMPACT };
enum { ENTRY = 32, PERSONALITY = 16, DATA = 24 };
enum { EXTERNAL = TN__MACHO_IN_SECTION | TN__MACHO_EXTERNAL };

static uint8_t text[64] = {[4] = 0x28, 0x10, [12] = 28}; /* 0x1028, 28: sizes of frames */
static uint8_t entries[4 * ENTRY];
static struct macho macho;
static unsigned function, other, host;

/* An object for the machine with two functions, and one entry for the first. */
static void begin(const struct tn_format *format, uint32_t encoding)
{
    memset(&macho, 0, sizeof macho);
    memset(entries, 0, sizeof entries);
    macho.machine = format == &tn_format_macho_aarch64 ? TN__MACHO_ARM64 : TN__MACHO_X86_64;
    macho_code(&macho, text, sizeof text);
    macho_section(&macho, "__TEXT", "__eh_frame", TN__MACHO_COALESCED, NULL, 0);
    macho_section(&macho, "__LD", "__compact_unwind", TN__MACHO_DEBUG, entries, ENTRY);
    function = macho_function(&macho, "_function", TEXT, 0);
    other = macho_function(&macho, "_other", TEXT, 32);
    host = macho_undefined(&macho, "_host");
    tn__put32(entries + 8, 32);
    tn__put32(entries + 12, encoding);
    macho_reloc(&macho, COMPACT, 0, function, 0, 3, false, true);
}

/* Reads what has been built; *err has a text if that fails. `data` is released with free_read. */
static int read_built(const struct tn_format *format, struct tn__object_data *data, struct bytes *file,
                      struct tn_error *err)
{
    *file = macho_finish(&macho);
    *data = (struct tn__object_data){.name = "compact.o", .bytes = file->at, .size = file->size};
    return tn__object_read(data, (const struct tn_format *const[]){format, NULL}, err);
}

static void free_read(struct tn__object_data *data, struct bytes *file)
{
    tn__arena_free(&data->arena);
    free(file->at);
}

/* The table that was made; NULL: none. */
static const struct tn__input_section *table_of(const struct tn__object_data *data)
{
    const struct tn__input_section *found = NULL;
    for (uint32_t i = 1; i < data->section_count; i++)
        if (data->sections[i].role == TN__ROLE_UNWIND && data->sections[i].size) {
            assert_null(found);
            found = &data->sections[i];
        }
    return found;
}

/* ---- encodings ---- */

#define X86   &tn_format_macho_x86_64
#define ARM64 &tn_format_macho_aarch64

static const struct row {
    const char *name;
    const struct tn_format *format;
    uint32_t encoding;
    const char *made; /* the instructions of the entry; NULL: there is none */
    bool refused;
} rows[] = {
    {"x86-64: nothing", X86, 0, NULL, false},
    {"x86-64: see __eh_frame", X86, 0x04000010, NULL, false},
    {"x86-64: %rbp", X86, 0x01000000, "\x0c\x06\x10\x86\x02", false},
    {"x86-64: %rbp, the first and the last of five", X86, 0x01055001, "\x0c\x06\x10\x86\x02\x83\x07\x8f\x03", false},
    {"x86-64: the deepest", X86, 0x01ff0001, "\x0c\x06\x10\x86\x02\x83\x81\x02", false},
    {"x86-64: above %rbp", X86, 0x01040000 | 1 << 12, NULL, true},
    {"x86-64: %rbp twice", X86, 0x01010006, NULL, true},
    {"x86-64: no register has number 7", X86, 0x01010007, NULL, true},
    {"x86-64: only a return address", X86, 0x02010000, "\x0c\x07\x08", false},
    {"x86-64: one register", X86, 0x02020400 | 5, "\x0c\x07\x10\x86\x02", false},
    {"x86-64: the largest frame", X86, 0x02ff0000, "\x0c\x07\xf8\x0f", false},
    {"x86-64: no room for a return address", X86, 0x02000000, NULL, true},
    {"x86-64: no room for a register", X86, 0x02010400, NULL, true},
    {"x86-64: the last register", X86, 0x02020400 | 6, NULL, true},
    {"x86-64: the last order of six", X86, 0x02071800 | 719,
     "\x0c\x07\x38\x86\x07\x8f\x06\x8e\x05\x8d\x04\x8c\x03\x83\x02", false},
    {"x86-64: behind the last order", X86, 0x02071800 | 720, NULL, true},
    {"x86-64: seven registers", X86, 0x02081c00, NULL, true},
    {"x86-64: size in the code", X86, 0x03042400, "\x0c\x07\xb0\x20\x83\x02", false},
    {"x86-64: size that is no multiple of 8", X86, 0x030c2400, NULL, true},
    {"x86-64: size at the end", X86, 0x031c2400, NULL, true}, /* which is 0 there, plus 8 */
    {"x86-64: size at the end, room", X86, 0x031c4400, "\x0c\x07\x10\x83\x02", false},
    {"x86-64: size beyond the end", X86, 0x031d4400, NULL, true},
    {"x86-64: mode 5", X86, 0x05000000, NULL, true},
    {"x86-64: mode 15", X86, 0x0f000000, NULL, true},
    {"AArch64: nothing", ARM64, 0, NULL, false},
    {"AArch64: see __eh_frame", ARM64, 0x03000000, NULL, false},
    {"AArch64: no frame", ARM64, 0x02000000, "\x0c\x1f\x00", false},
    {"AArch64: largest frame", ARM64, 0x02fff000, "\x0c\x1f\xf0\xff\x03", false},
    {"AArch64: a pair", ARM64, 0x02001001, "\x0c\x1f\x10\x93\x01\x94\x02", false},
    {"AArch64: no room for two", ARM64, 0x02001003, NULL, true},
    {"AArch64: frame pointer", ARM64, 0x04000000, "\x0c\x1d\x10\x9e\x01\x9d\x02", false},
    {"AArch64: all pairs", ARM64, 0x04000f1f,
     "\x0c\x1d\x10\x9e\x01\x9d\x02\x93\x03\x94\x04\x95\x05\x96\x06\x97\x07\x98\x08\x99\x09\x9a\x0a\x9b\x0b\x9c\x0c"
     "\x05\x48\x0d\x05\x49\x0e\x05\x4a\x0f\x05\x4b\x10\x05\x4c\x11\x05\x4d\x12\x05\x4e\x13\x05\x4f\x14",
     false},
    {"AArch64: no such pair", ARM64, 0x04000020, NULL, true},
    {"AArch64: mode 1", ARM64, 0x01000000, NULL, true},
    {"AArch64: mode 5", ARM64, 0x05000000, NULL, true},
};

/* The length of the instructions in a row: zeros in it are the operand of the stack pointer's distance. */
static size_t length_of(const struct row *row)
{
    size_t length = strlen(row->made);
    return length < 3 ? 3 : length;
}

static void check_row(void **state)
{
    const struct row *row = *state;
    struct tn__object_data data;
    struct bytes file;
    struct tn_error err;
    begin(row->format, row->encoding);
    int code = read_built(row->format, &data, &file, &err);
    if (row->refused) {
        assert_error(code, TN_ENOTSUP, &err, "__LD,__compact_unwind", "entry at 0 has an encoding");
        free_read(&data, &file);
        return;
    }
    assert_ok(code, &err);
    const struct tn__input_section *table = table_of(&data);
    assert_int_equal(table != NULL, row->made != NULL);
    if (table) {
        const uint8_t *entry = table->bytes + 4 + tn__get32(table->bytes);
        uint32_t length = tn__get32(entry);
        assert_int_equal(entry + 4 + length - table->bytes, table->size);
        assert_int_equal(tn__get32(entry + 4), entry + 4 - table->bytes);
        assert_int_equal(tn__get32(entry + 12), 32); /* the function's length, then no further data */
        assert_int_equal(entry[16], 0);
        assert_memory_equal(entry + 17, row->made, length_of(row));
        for (const uint8_t *rest = entry + 17 + length_of(row); rest < entry + 4 + length; rest++)
            assert_int_equal(*rest, 0);
        assert_int_equal(table->size % 8, 0);
    }
    free_read(&data, &file);
}

/* ---- what entries refer to ---- */

enum { RBP_FRAME = 0x01000000 };

static void test_common_entries(void **state)
{
    (void)state;
    struct tn__object_data data;
    struct bytes file;
    struct tn_error err;
    begin(X86, RBP_FRAME);
    macho.sections[COMPACT].size = 4 * ENTRY;
    for (unsigned i = 1; i < 4; i++) {
        tn__put32(entries + i * ENTRY + 12, RBP_FRAME);
        macho_reloc(&macho, COMPACT, i * ENTRY, i % 2 ? other : function, 0, 3, false, true);
    }
    macho_reloc(&macho, COMPACT, ENTRY + PERSONALITY, host, 0, 3, false, true);
    macho_reloc(&macho, COMPACT, ENTRY + DATA, function, 0, 3, false, true);
    macho_reloc(&macho, COMPACT, 3 * ENTRY + PERSONALITY, host, 0, 3, false, true);
    assert_ok(read_built(X86, &data, &file, &err), &err);
    const struct tn__input_section *table = table_of(&data);
    assert_non_null(table);
    unsigned common = 0, functions = 0;
    for (uint64_t at = 0; at < table->size; at += 4 + tn__get32(table->bytes + at))
        *(tn__get32(table->bytes + at + 4) ? &functions : &common) += 1;
    assert_int_equal(common, 2); /* with a personality, and without: in turn */
    assert_int_equal(functions, 4);
    assert_int_equal(table->reloc_count, 1 + 4 + 1);
    free_read(&data, &file);
}

/* No entry is made for a function that __eh_frame describes, whether its entry names a symbol or an address. */
static void check_described(bool described, bool local)
{
    static uint8_t frames[48] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x10, 12, 7, 8};
    struct tn__object_data data;
    struct bytes file;
    struct tn_error err;
    begin(X86, RBP_FRAME);
    macho.sections[FRAMES].bytes = frames;
    macho.sections[FRAMES].size = sizeof frames;
    macho.sections[FRAMES].address = 0x1000;
    macho.sections[COMPACT].address = 0x2000;
    tn__put32(frames + 24, 20);
    tn__put32(frames + 28, 28);
    tn__put64(frames + 32, (described ? 32ULL : 0) - (0x1000 + 32));
    macho.reloc_count = 0;
    tn__put64(entries, local ? 32 : 0);
    macho_reloc(&macho, COMPACT, 0, local ? TEXT : other, 0, 3, false, !local);
    assert_ok(read_built(X86, &data, &file, &err), &err);
    assert_int_equal(data.sections[data.section_count - 1].role == TN__ROLE_UNWIND, !described);
    free_read(&data, &file);
}

static void test_described(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++)
        check_described(i & 1, i & 2);
}

/* ---- malformed ---- */

static void assert_refused(const char *why)
{
    struct tn__object_data data;
    struct bytes file;
    struct tn_error err;
    assert_error(read_built(X86, &data, &file, &err), TN_EFORMAT, &err, "__LD,__compact_unwind", why);
    free_read(&data, &file);
}

static void test_malformed(void **state)
{
    (void)state;
    begin(X86, RBP_FRAME);
    macho.sections[COMPACT].size = ENTRY + 8;
    assert_refused("40 bytes are no whole number of entries");
    begin(X86, RBP_FRAME);
    macho.sections[COMPACT].size = 2 * ENTRY;
    assert_refused("the entry at 0x20 belongs to no function");
    begin(X86, RBP_FRAME);
    macho.relocs[0].bits = (macho.relocs[0].bits & 0xff000000) | host;
    assert_refused("the entry at 0 belongs to no function");
    begin(X86, RBP_FRAME);
    macho_reloc(&macho, COMPACT, 8, function, 0, 3, false, true);
    assert_refused("a relocation that does not belong there");
    begin(X86, RBP_FRAME);
    macho_reloc(&macho, COMPACT, 0, function, 0, 3, false, true);
    assert_refused("a relocation that does not belong there");
    begin(X86, RBP_FRAME);
    macho_reloc(&macho, COMPACT, PERSONALITY, host, 0, 2, false, true);
    assert_refused("a relocation that does not belong there");
    begin(X86, RBP_FRAME);
    macho_section(&macho, "__LD", "__compact_unwind", TN__MACHO_DEBUG, entries, ENTRY);
    assert_refused("a second section");
    begin(X86, RBP_FRAME);
    macho.sections[COMPACT].flags = TN__MACHO_ZEROFILL;
    macho.sections[COMPACT].bytes = NULL;
    macho.reloc_count = 0;
    assert_refused("no whole number of entries");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_common_entries),
        cmocka_unit_test(test_described),
        cmocka_unit_test(test_malformed),
    };
    return RUN_ROWS("link/macho_compact", rows, check_row) +
           cmocka_run_group_tests_name("link/macho_compact", tests, NULL, NULL);
}
