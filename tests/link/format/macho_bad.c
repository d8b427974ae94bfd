/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Mach-O objects that are malformed in one field, truncated, or spoiled in one bit or byte: each is refused with a text
 * that names the fault, or is linked; nothing is left behind. */

#include <stdlib.h>

#include "failing.h"
#include "base/base.h"
#include "link/model/object.h"
#include "macho_builder.h"
#include "spoil.h"

static const struct tn_format *const formats[] = {&tn_format_elf_x86_64, &tn_format_macho_x86_64, NULL};

/* ---- a small object with everything ---- */

enum { UNSIGNED, SIGNED, BRANCH, GOT_LOAD, GOT, SUBTRACTOR, SIGNED_1, SIGNED_2, SIGNED_4, TLV };
enum { TEXT = 1, DATA, STRINGS, VARIABLES, TLS, ZEROS, INIT, FRAMES, COMPACT, DEBUG };
enum { EXTERNAL = TN__MACHO_IN_SECTION | TN__MACHO_EXTERNAL };

/* Functions return immediately. */
static const uint8_t functions[48] = {[0] = 0xc3, [8] = 0xe8, [16] = 0x48, 0x8b, 0x05, [32] = 0xc3};
static const uint8_t words[64] = {[0] = 8};
static const uint8_t texts[8] = "abc\0def";
static const uint8_t variable[24];
/* Of the second function, with a frame pointer. */
static const uint8_t compact[32] = {[8] = 16, [15] = 1};
/* A common entry "zR" and one for the first function, at the distances that the builder gives these sections. */
static uint8_t frames[56];

static void fill_frames(const struct macho *macho)
{
    static const uint8_t common[24] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x10, 12, 7, 8};
    memset(frames, 0, sizeof frames);
    memcpy(frames, common, sizeof common);
    tn__put32(frames + 24, 28);
    tn__put32(frames + 28, 28);
    tn__put64(frames + 32, macho->sections[TEXT].address - (macho->sections[FRAMES].address + 32));
    tn__put64(frames + 40, 32);
}

static struct bytes built(void)
{
    static struct macho macho;
    memset(&macho, 0, sizeof macho);
    macho_code(&macho, functions, sizeof functions);
    macho_section(&macho, "__DATA", "__data", 0, words, sizeof words);
    macho_section(&macho, "__TEXT", "__cstring", TN__MACHO_CSTRINGS, texts, sizeof texts);
    macho_section(&macho, "__DATA", "__thread_vars", TN__MACHO_TLS_VARIABLES, variable, sizeof variable);
    macho_section(&macho, "__DATA", "__thread_data", TN__MACHO_TLS, words, 8);
    macho_section(&macho, "__DATA", "__bss", TN__MACHO_ZEROFILL, NULL, 16);
    macho_section(&macho, "__DATA", "__mod_init_func", TN__MACHO_INITIALIZERS, words + 8, 8);
    macho_section(&macho, "__TEXT", "__eh_frame", TN__MACHO_COALESCED, frames, sizeof frames);
    macho_section(&macho, "__LD", "__compact_unwind", TN__MACHO_DEBUG, compact, sizeof compact);
    macho_section(&macho, "__DWARF", "__debug_info", TN__MACHO_DEBUG, words, 16);
    fill_frames(&macho);
    unsigned first = macho_function(&macho, "_first", TEXT, 0); /* also `first` of the rows below */
    unsigned second = macho_symbol(&macho, "_second", EXTERNAL, TEXT, TN__MACHO_WEAK_DEFINITION, 32);
    unsigned local = macho_symbol(&macho, "local", TN__MACHO_IN_SECTION, DATA, 0, 16);
    unsigned tls = macho_symbol(&macho, "_tls", TN__MACHO_IN_SECTION, TLS, 0, 0);
    macho_symbol(&macho, "_tlv", EXTERNAL, VARIABLES, 0, 0);
    unsigned host = macho_undefined(&macho, "_strlen");
    unsigned bootstrap = macho_undefined(&macho, "__tlv_bootstrap");
    macho_symbol(&macho, "_common", TN__MACHO_EXTERNAL, 0, 4 << 8, 24);
    macho_symbol(&macho, "_absolute", TN__MACHO_ABSOLUTE | TN__MACHO_EXTERNAL, 0, 0, 0x1234);
    macho_reloc(&macho, TEXT, 19, host, GOT_LOAD, 2, true, true);
    macho_reloc(&macho, TEXT, 9, host, BRANCH, 2, true, true);
    macho_reloc(&macho, TEXT, 36, STRINGS, SIGNED, 2, true, false);
    macho_reloc(&macho, DATA, 0, local, UNSIGNED, 3, false, true);
    macho_reloc(&macho, DATA, 24, local, SUBTRACTOR, 3, false, true);
    macho_reloc(&macho, DATA, 24, first, UNSIGNED, 3, false, true);
    macho_reloc(&macho, DATA, 32, first, SUBTRACTOR, 2, false, true);
    macho_reloc(&macho, DATA, 32, second, UNSIGNED, 2, false, true);
    macho_reloc(&macho, VARIABLES, 0, bootstrap, UNSIGNED, 3, false, true);
    macho_reloc(&macho, VARIABLES, 16, tls, UNSIGNED, 3, false, true);
    macho_reloc(&macho, INIT, 0, first, UNSIGNED, 3, false, true);
    macho_reloc(&macho, COMPACT, 0, second, UNSIGNED, 3, false, true);
    macho_reloc(&macho, COMPACT, 16, host, UNSIGNED, 3, false, true);
    macho_reloc(&macho, COMPACT, 24, first, UNSIGNED, 3, false, true);
    struct bytes file = macho_finish(&macho);
    /* What the field of a local relocation holds: the distance in the file. */
    uint8_t *text = file.at + tn__get32(macho_section_header(file, TEXT) + TN__MACHO_SECTION_OFFSET);
    tn__put32(text + 36, (uint32_t)(macho.sections[STRINGS].address + 4 - (macho.sections[TEXT].address + 40)));
    return file;
}

static void test_is_good(void **state)
{
    (void)state;
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct fixture f = open_fixture(&options);
    struct bytes file = built();
    add_bytes(&f, "good.o", file.at, file.size);
    link_all(&f);
    const uint8_t *first = lookup(&f, "first"), *data = NULL;
    int32_t distance;
    memcpy(&distance, first + 36, 4);
    assert_string_equal(first + 40 + distance, "def");
    lookup(&f, "common");
    assert_ptr_equal(lookup(&f, "absolute"), (void *)0x1234);
    (void)data;
    close_fixture(&f);
    free(file.at);
}

/* ---- one bad field ---- */

enum place { HEADER, SEGMENT, SYMTAB, SECTION, SYMBOL, RELOC };

/* Bits of relocation records. */
#define BITS(symbol, relative, length, external, type)                                                                 \
    ((uint32_t)(symbol) | (uint32_t)(relative) << 24 | (uint32_t)(length) << 25 | (uint32_t)(external) << 27 |         \
     (uint32_t)(type) << 28)

static const struct row {
    const char *name;
    enum place place;
    unsigned number, of; /* of the record; for relocations, `of` is their section */
    unsigned offset, size;
    uint64_t value;
    int code;
    const char *text;
} rows[] = {
    {"magic", HEADER, 0, 0, 0, 4, 0xfeedface, TN_EFORMAT, "a 32-bit Mach-O file"},
    {"machine", HEADER, 0, 0, TN__MACHO_CPU, 4, 18, TN_EFORMAT, "unknown machine (CPU type 0x12)"},
    {"another machine", HEADER, 0, 0, TN__MACHO_CPU, 4, TN__MACHO_ARM64, TN_ENOTSUP, "made for AArch64"},
    {"a program", HEADER, 0, 0, TN__MACHO_FILE_TYPE, 4, 2, TN_EFORMAT, "but a program"},
    {"a library", HEADER, 0, 0, TN__MACHO_FILE_TYPE, 4, 6, TN_EFORMAT, "but a shared library"},
    {"too many commands", HEADER, 0, 0, TN__MACHO_COMMANDS, 4, 3, TN_EFORMAT, "load command 2"},
    {"most commands", HEADER, 0, 0, TN__MACHO_COMMANDS, 4, UINT32_MAX, TN_EFORMAT, "load command 2"},
    {"commands beyond the file", HEADER, 0, 0, TN__MACHO_COMMANDS_SIZE, 4, 1 << 20, TN_EFORMAT, "load commands end at"},
    {"commands without end", HEADER, 0, 0, TN__MACHO_COMMANDS_SIZE, 4, UINT32_MAX, TN_EFORMAT, "load commands end"},
    {"an empty command", SEGMENT, 0, 0, 4, 4, 0, TN_EFORMAT, "load command 0"},
    {"a short command", SEGMENT, 0, 0, 4, 4, 7, TN_EFORMAT, "load command 0"},
    {"a long command", SEGMENT, 0, 0, 4, 4, 1 << 20, TN_EFORMAT, "load command 0"},
    {"a short segment", SEGMENT, 0, 0, 4, 4, 71, TN_EFORMAT, "sections do not lie inside its command of 71"},
    {"too many sections", SEGMENT, 0, 0, TN__MACHO_SEGMENT_SECTIONS, 4, DEBUG + 1, TN_EFORMAT, "do not lie inside"},
    {"most sections", SEGMENT, 0, 0, TN__MACHO_SEGMENT_SECTIONS, 4, UINT32_MAX, TN_EFORMAT, "do not lie inside"},
    {"too few sections", SEGMENT, 0, 0, TN__MACHO_SEGMENT_SECTIONS, 4, 1, TN_EFORMAT, "which does not exist"},
    {"no segment", SEGMENT, 0, 0, 0, 4, 0x99, TN_EFORMAT, "section 1, which does not exist"},
    {"two symbol tables", SEGMENT, 0, 0, 0, 4, TN__MACHO_LC_SYMTAB, TN_EFORMAT, "symbol"},
    {"two segments", SYMTAB, 0, 0, 0, 4, TN__MACHO_LC_SEGMENT64, TN_EFORMAT, "second segment"},
    {"section before the commands", SECTION, TEXT, 0, TN__MACHO_SECTION_OFFSET, 4, 8, TN_EFORMAT, "overlap"},
    {"section beyond the file", SECTION, TEXT, 0, TN__MACHO_SECTION_OFFSET, 4, UINT32_MAX, TN_EFORMAT, "lie outside"},
    {"large section", SECTION, TEXT, 0, TN__MACHO_SECTION_SIZE, 8, 1 << 20, TN_EFORMAT, "lie outside"},
    {"largest section", SECTION, TEXT, 0, TN__MACHO_SECTION_SIZE, 8, UINT64_MAX, TN_EFORMAT, "lie outside"},
    {"largest zeros", SECTION, ZEROS, 0, TN__MACHO_SECTION_SIZE, 8, UINT64_MAX / 2, TN_ENOMEM, "fits no window"},
    {"zeros for the sort", SECTION, ZEROS, 0, TN__MACHO_SECTION_SIZE, 8, UINT64_C(1) << 56, TN_ENOMEM,
     "fits no window"},
    {"zeros beyond addresses", SECTION, ZEROS, 0, TN__MACHO_SECTION_SIZE, 8, UINT64_MAX, TN_EFORMAT, "out of range"},
    {"alignment 2^63", SECTION, ZEROS, 0, TN__MACHO_SECTION_ALIGN, 4, 63, TN_ENOMEM, "window"},
    {"alignment 2^64", SECTION, ZEROS, 0, TN__MACHO_SECTION_ALIGN, 4, 64, TN_EFORMAT, "2^64"},
    {"relocations beyond the file", SECTION, DATA, 0, TN__MACHO_SECTION_RELOCS, 4, UINT32_MAX, TN_EFORMAT, "outside"},
    {"too many relocations", SECTION, DATA, 0, TN__MACHO_SECTION_RELOC_COUNT, 4, UINT32_MAX, TN_EFORMAT, "outside"},
    {"relocations of others", SECTION, DATA, 0, TN__MACHO_SECTION_RELOC_COUNT, 4, 6, TN_EFORMAT, "overlap"},
    {"relocations of zeros", SECTION, DATA, 0, TN__MACHO_SECTION_FLAGS, 4, TN__MACHO_ZEROFILL, TN_EFORMAT,
     "outside of the section's bytes"},
    {"stubs", SECTION, DATA, 0, TN__MACHO_SECTION_FLAGS, 4, TN__MACHO_STUBS, TN_ENOTSUP, "symbol stubs"},
    {"symbol pointers", SECTION, DATA, 0, TN__MACHO_SECTION_FLAGS, 4, 6, TN_ENOTSUP, "non-lazy"},
    {"the last type", SECTION, DATA, 0, TN__MACHO_SECTION_FLAGS, 4, 22, TN_ENOTSUP, "0x16"},
    {"unknown type", SECTION, DATA, 0, TN__MACHO_SECTION_FLAGS, 4, 23, TN_ENOTSUP, "0x17"},
    {"another unknown type", SECTION, DATA, 0, TN__MACHO_SECTION_FLAGS, 4, 255, TN_ENOTSUP, "0xff"},
    {"unwind table without bytes", SECTION, FRAMES, 0, TN__MACHO_SECTION_FLAGS, 4, TN__MACHO_ZEROFILL, TN_EFORMAT,
     "without bytes"},
    {"symbols beyond the file", SYMTAB, 0, 0, TN__MACHO_SYMTAB_OFFSET, 4, UINT32_MAX, TN_EFORMAT, "symbols at offset"},
    {"too many symbols", SYMTAB, 0, 0, TN__MACHO_SYMTAB_COUNT, 4, UINT32_MAX, TN_EFORMAT, "symbols at offset"},
    {"symbols over names", SYMTAB, 0, 0, TN__MACHO_SYMTAB_COUNT, 4, 10, TN_EFORMAT, "overlap"},
    {"names beyond the file", SYMTAB, 0, 0, TN__MACHO_STRINGS_OFFSET, 4, UINT32_MAX, TN_EFORMAT, "symbol names"},
    {"names without end", SYMTAB, 0, 0, TN__MACHO_STRINGS_SIZE, 4, UINT32_MAX, TN_EFORMAT, "symbol names"},
    {"unterminated names", SYMTAB, 0, 0, TN__MACHO_STRINGS_SIZE, 4, 3, TN_EFORMAT, "symbol names"},
    {"no names", SYMTAB, 0, 0, TN__MACHO_STRINGS_SIZE, 4, 0, TN_EFORMAT, "outside the string table"},
    {"name beyond the table", SYMBOL, 0, 0, TN__MACHO_SYMBOL_NAME, 4, 1 << 20, TN_EFORMAT, "outside the string table"},
    {"no name", SYMBOL, 0, 0, TN__MACHO_SYMBOL_NAME, 4, 0, TN_EFORMAT, "global and has no name"},
    {"section 0", SYMBOL, 0, 0, TN__MACHO_SYMBOL_SECTION, 1, 0, TN_EFORMAT, "section 0"},
    {"section behind the last", SYMBOL, 0, 0, TN__MACHO_SYMBOL_SECTION, 1, DEBUG + 1, TN_EFORMAT, "section 11"},
    {"before its section", SYMBOL, 2, 0, TN__MACHO_SYMBOL_VALUE, 8, 47, TN_EFORMAT, "outside section __DATA,__data"},
    {"at its section's beginning", SYMBOL, 2, 0, TN__MACHO_SYMBOL_VALUE, 8, 48, 0, NULL},
    {"at its section's end", SYMBOL, 2, 0, TN__MACHO_SYMBOL_VALUE, 8, 48 + 64, 0, NULL},
    {"behind its section", SYMBOL, 2, 0, TN__MACHO_SYMBOL_VALUE, 8, 48 + 65, TN_EFORMAT, "outside section"},
    {"indirect symbol", SYMBOL, 0, 0, TN__MACHO_SYMBOL_TYPE, 1, 11, TN_ENOTSUP, "another name"},
    {"prebound symbol", SYMBOL, 0, 0, TN__MACHO_SYMBOL_TYPE, 1, 13, TN_ENOTSUP, "0xc"},
    {"symbol for debuggers", SYMBOL, 4, 0, TN__MACHO_SYMBOL_TYPE, 1, 0x24, 0, NULL},
    {"common without size", SYMBOL, 7, 0, TN__MACHO_SYMBOL_VALUE, 8, 0, 0, NULL},
    {"large common", SYMBOL, 7, 0, TN__MACHO_SYMBOL_VALUE, 8, UINT64_MAX / 2, TN_ENOMEM, "fits no window"},
    {"relocation at the end", RELOC, 0, DATA, 0, 4, 56, 0, NULL},
    {"relocation beyond the end", RELOC, 0, DATA, 0, 4, 57, TN_EFORMAT, "outside of the section's bytes"},
    {"scattered relocation", RELOC, 0, DATA, 0, 4, 0x80000000, TN_EFORMAT, "outside of the section's bytes"},
    {"relocation across atoms", RELOC, 0, DATA, 0, 4, 12, TN_EFORMAT, "outside the section's"},
    {"unknown relocation", RELOC, 0, DATA, 4, 4, BITS(2, 0, 3, 1, 10), TN_EFORMAT, "no such type"},
    {"relocation of one byte", RELOC, 0, DATA, 4, 4, BITS(2, 0, 0, 1, UNSIGNED), TN_EFORMAT,
     "does not exist on x86-64"},
    {"relative of 8 bytes", RELOC, 0, DATA, 4, 4, BITS(2, 1, 3, 1, SIGNED), TN_EFORMAT, "does not exist on x86-64"},
    {"symbol beyond the table", RELOC, 0, DATA, 4, 4, BITS(9, 0, 3, 1, UNSIGNED), TN_EFORMAT, "its symbol does not"},
    {"the last symbol", RELOC, 0, DATA, 4, 4, BITS(8, 0, 3, 1, UNSIGNED), 0, NULL},
    {"target in no section", RELOC, 0, DATA, 4, 4, BITS(0, 0, 3, 0, UNSIGNED), TN_EFORMAT, "a section that does not"},
    {"target behind sections", RELOC, 0, DATA, 4, 4, BITS(DEBUG + 1, 0, 3, 0, UNSIGNED), TN_EFORMAT, "does not exist"},
    {"target a little behind", RELOC, 0, DATA, 4, 4, BITS(STRINGS, 0, 3, 0, UNSIGNED), 0, NULL},
    {"target far behind", SECTION, STRINGS, 0, TN__MACHO_SECTION_ADDRESS, 8, 1 << 20, TN_EFORMAT,
     "lies outside of the section that"},
    {"target in another section", RELOC, 0, DATA, 4, 4, BITS(ZEROS, 0, 3, 0, UNSIGNED), 0, NULL},
    {"target in code", RELOC, 0, DATA, 4, 4, BITS(TEXT, 0, 3, 0, UNSIGNED), 0, NULL},
    {"subtraction at the end", RELOC, 4, DATA, 4, 4, BITS(0, 0, 2, 1, SUBTRACTOR), TN_EFORMAT, "follows"},
    {"subtraction elsewhere", RELOC, 2, DATA, 0, 4, 40, TN_EFORMAT, "follows"},
    {"subtraction of another size", RELOC, 2, DATA, 4, 4, BITS(0, 0, 2, 1, UNSIGNED), TN_EFORMAT, "follows"},
    {"relative subtraction", RELOC, 1, DATA, 4, 4, BITS(2, 1, 3, 1, SUBTRACTOR), TN_EFORMAT, "follows"},
    {"subtraction of a section", RELOC, 1, DATA, 4, 4, BITS(2, 0, 3, 0, SUBTRACTOR), 0, NULL},
    {"subtraction of no section", RELOC, 1, DATA, 4, 4, BITS(0, 0, 3, 0, SUBTRACTOR), TN_EFORMAT, "does not exist"},
    {"subtraction behind sections", RELOC, 1, DATA, 4, 4, BITS(DEBUG + 1, 0, 3, 0, SUBTRACTOR), TN_EFORMAT,
     "not exist"},
    {"subtraction of no symbol", RELOC, 1, DATA, 4, 4, BITS(9, 0, 3, 1, SUBTRACTOR), TN_EFORMAT, "symbol does not"},
    {"subtraction from no symbol", RELOC, 2, DATA, 4, 4, BITS(9, 0, 3, 1, UNSIGNED), TN_EFORMAT, "symbol does not"},
    {"32 bits from another object", RELOC, 4, DATA, 4, 4, BITS(5, 0, 2, 1, UNSIGNED), TN_EFORMAT, "another object"},
    {"plain use of a thread's variable", RELOC, 0, DATA, 4, 4, BITS(3, 0, 3, 1, UNSIGNED), TN_EFORMAT, "thread-local"},
    {"variable without storage", RELOC, 1, VARIABLES, 4, 4, BITS(2, 0, 3, 1, UNSIGNED), TN_EFORMAT, "no thread-local"},
};

static uint8_t *place_of(struct bytes file, const struct row *row)
{
    switch (row->place) {
    case HEADER:
        return file.at;
    case SEGMENT:
        return file.at + TN__MACHO_HEADER;
    case SYMTAB:
        return macho_symtab_command(file);
    case SECTION:
        return macho_section_header(file, row->number);
    case SYMBOL:
        return macho_symbol_entry(file, row->number);
    default:
        return macho_reloc_entry(file, row->of, row->number);
    }
}

static void check_row(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = {.size = sizeof options, .formats = formats};
    struct fixture f = open_fixture(&options);
    struct tn_stats before = stats_of(&f);
    struct bytes file = built();
    memcpy(place_of(file, row) + row->offset, &row->value, row->size);
    uint8_t *exact = memcpy(malloc(file.size), file.at, file.size); /* for AddressSanitizer */
    struct tn_error err;
    int code = try_add_bytes(&f, "bad.o", exact, file.size, &err);
    if (!code)
        code = tn_link(f.library, &err);
    if (row->code) {
        assert_error(code, row->code, &err, row->text);
        struct tn_stats after = stats_of(&f);
        assert_same_memory(&before, &after);
        check_still_works(&f);
    } else {
        assert_ok(code, &err);
    }
    close_fixture(&f);
    free(exact);
    free(file.at);
}

/* ---- truncated and spoiled ---- */

static void test_prefixes(void **state)
{
    (void)state;
    spoil_prefixes(built(), SPOIL_HERE);
}

static void test_bytes(void **state)
{
    (void)state;
    spoil_bytes(built(), SPOIL_HERE);
}

/* ---- out of memory ---- */

static int link_built(const void *context)
{
    const struct bytes *file = context;
    const struct tn_session_options options = {
        .size = sizeof options, .formats = formats, .allocator = &failing_allocator};
    struct fixture f = open_fixture(&options);
    struct tn_error err;
    failing_begin();
    int code = try_add_bytes(&f, "small.o", file->at, file->size, &err);
    if (!code)
        code = tn_link(f.library, &err);
    close_fixture(&f);
    return code;
}

static void test_no_memory(void **state)
{
    (void)state;
    struct bytes file = built();
    fail_each_request(link_built, &file, 4);
    free(file.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_good),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_no_memory),
    };
    spoil_formats = formats;
    return RUN_ROWS("link/macho_bad", rows, check_row) +
           cmocka_run_group_tests_name("link/macho_bad", tests, NULL, NULL);
}
