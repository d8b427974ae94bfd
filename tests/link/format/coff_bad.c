/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Malformed COFF objects, one per row: the error code, what the text names, and that nothing remains. */

#include "coff_builder.h"

#include <stdlib.h>

/* The object that every row spoils: sections 1 .text, 2 .rdata, 3 .xdata that is associated with 2. */
enum { TEXT, RDATA, XDATA };
enum { RDATA_SYMBOL, RDATA_RECORD, G, XDATA_SYMBOL, XDATA_RECORD, FUNCTION, WEAK, WEAK_RECORD, LONG, STATIC };

static struct bytes good(struct coff_places *places)
{
    static const uint8_t code[16] = {0xe8, 0, 0, 0, 0, 0xc3}, word[8];
    static const struct coff_reloc relocs[] = {{1, LONG, 4}, {8, G, 1}}, in_xdata[] = {{0, G, 1}};
    const struct coff coff = {
        .machine = COFF_X86_64,
        .sections = {{".text", COFF_CODE | COFF_ALIGN_8, code, sizeof code, relocs, COUNT(relocs)},
                     {".rdata", COFF_CONSTANTS | COFF_COMDAT, word, sizeof word},
                     {".xdata", COFF_CONSTANTS | COFF_COMDAT, word, sizeof word, in_xdata, COUNT(in_xdata)}},
        .section_count = 3,
        .symbols = {{".rdata", 0, 2, .class = 3, .more = 1},
                    {.record = {8, [14] = 2}},
                    {"g", 0, 2, .class = 2},
                    {".xdata", 0, 3, .class = 3, .more = 1},
                    {.record = {8, [12] = 2, [14] = 5}},
                    {"function", 0, 1, 0x20, .class = 2},
                    {"weak_name", .class = 105, .more = 1},
                    {.record = {FUNCTION, [4] = 3}},
                    {"undefined_name", .class = 2},
                    {"static", 4, 1, .class = 3}},
        .symbol_count = STATIC + 1,
    };
    return coff_build(&coff, places);
}

enum what { HEADER, SECTION, SYMBOL, RELOC, STRINGS };

static const struct row {
    const char *name;
    enum what what;
    unsigned index;
    size_t offset;
    unsigned bytes;
    uint64_t value;
    int code;
    const char *words[2];
} rows[] = {
    {"good", HEADER, 0, 4, 4, 77, 0},
    {"machine", HEADER, 0, 0, 2, 0x8665, TN_EFORMAT, {"not an object file"}},
    {"AArch64", HEADER, 0, 0, 2, COFF_AARCH64, TN_ENOTSUP, {"AArch64 and Windows"}},
    {"32-bit x86", HEADER, 0, 0, 2, 0x14c, TN_ENOTSUP, {"32-bit x86"}},
    {"optional header", HEADER, 0, 16, 2, 240, TN_EFORMAT, {"not an object file"}},
    {"program", HEADER, 0, 18, 2, 2, TN_EFORMAT, {"not an object file"}},
    {"no sections", HEADER, 0, 2, 2, 0, TN_EFORMAT, {"symbol 0 (.rdata)", "section 2"}},
    {"a section too many", HEADER, 0, 2, 2, 4, TN_EFORMAT, {"section"}},
    {"sections outside the file", HEADER, 0, 2, 2, 0xfeff, TN_EFORMAT, {"65279 section headers"}},
    {"special number of sections", HEADER, 0, 2, 2, 0xff00, TN_EFORMAT, {"not an object file"}},
    {"symbols behind the end", HEADER, 0, 8, 4, 1 << 20, TN_EFORMAT, {"10 symbols at offset 1048576"}},
    {"symbols at the end of numbers", HEADER, 0, 8, 4, UINT32_MAX, TN_EFORMAT, {"10 symbols"}},
    {"symbols in the header", HEADER, 0, 8, 4, 4, TN_EFORMAT, {"overlap at offset 4"}},
    {"no place of symbols", HEADER, 0, 8, 4, 0, TN_EFORMAT, {"overlap at offset 0"}},
    {"a symbol too many", HEADER, 0, 12, 4, STATIC + 2, TN_EFORMAT, {"string table"}},
    {"a symbol too few", HEADER, 0, 12, 4, STATIC, TN_EFORMAT, {"string table"}},
    {"most symbols", HEADER, 0, 12, 4, UINT32_MAX, TN_EFORMAT, {"4294967295 symbols"}},

    {"name outside the strings",
     SECTION,
     TEXT,
     0,
     8,
     0x3939392f,
     TN_EFORMAT,
     {"section 1", "outside the string table"}},
    {"name at the strings' size", SECTION, TEXT, 0, 4, 0x332f, TN_EFORMAT, {"section 1", "outside the string table"}},
    {"name in base 64", SECTION, TEXT, 0, 8, 0x2f2f2f2f2f2f2f2f, TN_EFORMAT, {"outside the string table"}},
    {"name that is no number", SECTION, RDATA, 0, 4, 0x612f, 0},
    {"bytes behind the end", SECTION, TEXT, 20, 4, 1 << 20, TN_EFORMAT, {"section 1 (.text)", "offset 1048576"}},
    {"bytes at the end of numbers", SECTION, TEXT, 20, 4, UINT32_MAX, TN_EFORMAT, {"section 1", "outside"}},
    {"bytes in the header", SECTION, TEXT, 20, 4, 0, TN_EFORMAT, {"section 1", "offset 0"}},
    {"more bytes than the file", SECTION, TEXT, 16, 4, 4096, TN_EFORMAT, {"4096 bytes"}},
    {"most bytes", SECTION, TEXT, 16, 4, UINT32_MAX, TN_EFORMAT, {"4294967295 bytes"}},
    {"a byte of the relocations", SECTION, TEXT, 16, 4, 17, TN_EFORMAT, {"overlap at offset"}},
    {"bytes of another section", SECTION, RDATA, 20, 4, 144, TN_EFORMAT, {"overlap at offset"}},
    {"relocations behind the end", SECTION, TEXT, 24, 4, 1 << 20, TN_EFORMAT, {"2 relocations at offset 1048576"}},
    {"relocations at the end of numbers", SECTION, TEXT, 24, 4, UINT32_MAX, TN_EFORMAT, {"2 relocations"}},
    {"relocations in the header", SECTION, TEXT, 24, 4, 8, TN_EFORMAT, {"2 relocations at offset 8"}},
    {"relocations that are code", SECTION, TEXT, 24, 4, 145, TN_EFORMAT, {"overlap"}},
    {"a relocation too many", SECTION, TEXT, 32, 2, 3, TN_EFORMAT, {"overlap"}},
    {"most relocations", SECTION, TEXT, 32, 2, 0xffff, TN_EFORMAT, {"65535 relocations"}},
    {"number of relocations in the first", SECTION, TEXT, 32, 8, 0x610000200000ffff, 0},
    {"relocations without bytes", SECTION, XDATA, 36, 4, 0xc0000080, TN_EFORMAT, {".xdata", "no bytes"}},
    {"alignment", SECTION, TEXT, 36, 4, COFF_CODE | 15 << 20, TN_EFORMAT, {"section 1 (.text)", "alignment"}},
    {"code without bytes", SECTION, RDATA, 36, 4, 0x600000a0, TN_EFORMAT, {"code without bytes"}},
    {"address", SECTION, TEXT, 12, 4, 1, 0},
    {"address after the first", SECTION, TEXT, 12, 4, 2, TN_EFORMAT, {"(.text+0x1)"}},
    {"thread-local data", SECTION, XDATA, 0, 8, 0x736c742e, TN_ENOTSUP, {"(.tls)", "-femulated-tls"}, /* not that */},

    {"name behind the strings", SYMBOL, LONG, 4, 4, 4096, TN_EFORMAT, {"symbol 8", "outside the string table"}},
    {"name in the strings' size", SYMBOL, LONG, 4, 4, 3, TN_EFORMAT, {"symbol 8", "outside the string table"}},
    {"no name", SYMBOL, LONG, 4, 4, 0, TN_EFORMAT, {"symbol 8", "no name"}},
    {"section of a symbol", SYMBOL, FUNCTION, 12, 2, 4, TN_EFORMAT, {"symbol 5 (function)", "section 4"}},
    {"most sections", SYMBOL, FUNCTION, 12, 2, 0xfeff, TN_EFORMAT, {"symbol 5 (function)", "section 65279"}},
    {"debugger's section", SYMBOL, FUNCTION, 12, 2, 0xfffe, TN_EFORMAT, {"weak symbol 6", "no symbol of code"}},
    {"behind its section", SYMBOL, STATIC, 8, 4, 17, TN_EFORMAT, {"symbol 9 (static)", "0x11"}},
    {"at its section's end", SYMBOL, STATIC, 8, 4, 16, 0},
    {"records behind the table", SYMBOL, STATIC, 17, 1, 1, TN_EFORMAT, {"symbol 9", "1 auxiliary"}},
    {"most records", SYMBOL, LONG, 17, 1, 255, TN_EFORMAT, {"symbol 8", "255 auxiliary"}},
    {"no record of a section", SYMBOL, RDATA_SYMBOL, 17, 1, 0, 0},
    {"selection 0", SYMBOL, RDATA_RECORD, 14, 1, 0, TN_EFORMAT, {"section 2 (.rdata)", "selection 0"}},
    {"selection 7", SYMBOL, RDATA_RECORD, 14, 1, 7, TN_EFORMAT, {"section 2 (.rdata)", "selection 7"}},
    {"associated with nothing", SYMBOL, XDATA_RECORD, 12, 2, 0, TN_EFORMAT, {"section 3 (.xdata)", "section 0"}},
    {"associated with itself", SYMBOL, XDATA_RECORD, 12, 2, 3, TN_EFORMAT, {"section 3 (.xdata)", "section 3"}},
    {"associated beyond the end", SYMBOL, XDATA_RECORD, 12, 2, 4, TN_EFORMAT, {"section 3 (.xdata)", "section 4"}},
    {"in a circle", SYMBOL, RDATA_RECORD, 12, 4, 0x050003, TN_EFORMAT, {"associated with itself"}},
    {"weak for itself", SYMBOL, WEAK_RECORD, 0, 4, WEAK, TN_EFORMAT, {"weak symbol 6", "symbol 6"}},
    {"weak for a record", SYMBOL, WEAK_RECORD, 0, 4, WEAK_RECORD, TN_EFORMAT, {"weak symbol 6", "symbol 7"}},
    {"weak beyond the end", SYMBOL, WEAK_RECORD, 0, 4, STATIC + 1, TN_EFORMAT, {"weak symbol 6", "symbol 10"}},
    {"weak at the end of numbers", SYMBOL, WEAK_RECORD, 0, 4, UINT32_MAX, TN_EFORMAT, {"weak symbol 6"}},
    {"weak for an undefined one", SYMBOL, WEAK_RECORD, 0, 4, LONG, 0},
    {"weak without record", SYMBOL, WEAK, 17, 1, 0, 0},

    {"relocation against nothing", RELOC, 0, 4, 4, STATIC + 1, TN_EFORMAT, {"(.text+0x1)", "symbol 10"}},
    {"against the end of numbers", RELOC, 0, 4, 4, UINT32_MAX, TN_EFORMAT, {"symbol 4294967295"}},
    {"against a record", RELOC, 0, 4, 4, RDATA_RECORD, TN_EFORMAT, {"(.text+0x1)", "not loaded"}},
    {"relocation at the end", RELOC, 0, 0, 4, 13, TN_EFORMAT, {"REL32", "outside the section's 16 bytes"}},
    {"relocation before the end", RELOC, 0, 0, 4, 12, 0},
    {"type of a relocation", RELOC, 0, 8, 2, 17, TN_EFORMAT, {"relocation type 17 does not exist"}},

    {"strings longer than the file", STRINGS, 0, 0, 4, 4096, TN_EFORMAT, {"4096 bytes"}},
    {"strings without end", STRINGS, 0, 0, 4, 20, TN_EFORMAT, {"does not end with a NUL"}},
    {"no strings", STRINGS, 0, 0, 4, 4, TN_EFORMAT, {"outside the string table"}},
};

static size_t offset_of(const struct row *row, const struct coff_places *places)
{
    const size_t starts[] = {0, COFF_HEADER + (size_t)row->index * COFF_SECTION,
                             places->symbols + (size_t)row->index * COFF_SYMBOL,
                             places->relocs[TEXT] + (size_t)row->index * COFF_RELOC, places->strings};
    return starts[row->what] + row->offset;
}

static void refused_or_linked(void **state)
{
    const struct row *row = *state;
    const struct tn_session_options options = {
        .size = sizeof options,
        .formats = (const struct tn_format *const[]){&tn_format_coff_x86_64, &tn_format_elf_x86_64, NULL}};
    struct coff_places places;
    struct bytes object = good(&places);
    memcpy(object.at + offset_of(row, &places), &row->value, row->bytes);
    object.at = realloc(object.at, object.size); /* its exact size */
    struct fixture f = open_fixture(&options);
    define(&f, "undefined_name", NULL);
    struct tn_stats before = stats_of(&f);
    struct tn_error err;
    int code = try_add_bytes(&f, "bad.obj", object.at, object.size, &err);
    if (!code)
        code = tn_link(f.library, &err);
    if (!row->code)
        assert_true(!code || code == TN_ERANGE); /* the address 0 may be out of reach */
    else {
        assert_error(code, row->code, &err, "bad.obj", row->words[0], row->words[1] ? row->words[1] : "bad.obj");
        struct tn_stats after = stats_of(&f);
        assert_same_memory(&before, &after);
        check_still_works(&f);
    }
    close_fixture(&f);
    free(object.at);
}

int main(void)
{
    return RUN_ROWS("spoiled", rows, refused_or_linked);
}
