/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tables of lines for debuggers and traces: DWARF 4, of modules whose debug information is about lines only. All
 * functions of an object are of one unit, which has a range for each. */

#include <elf.h>

#include "llvm/ADT/StringRef.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"

#include "codegen/flatten/flattener.h"

using namespace llvm;

enum { VERSION = 4, ADDRESS_SIZE = 8, LINE_BASE = -5, LINE_RANGE = 14, OPCODE_BASE = 13 };

/* Bytes of a section, which the object gets at the end. */
struct tn__section_writer {
    tn__baseline_object &object;
    uint32_t number;
    SmallVector<uint8_t, 0> bytes;
    bool failed = false;

    tn__section_writer(tn__baseline_object &object, const char *name)
        : object(object), number(uint32_t(object.section_count))
    {
        tn__baseline_section section = {};
        section.name = name;
        section.type = SHT_PROGBITS;
        failed = !tn__baseline_add_section(&object, &section);
    }
    void put(uint64_t value, unsigned size)
    {
        for (unsigned i = 0; i < size; i++)
            bytes.push_back(uint8_t(value >> 8 * i));
    }
    void put_unsigned(uint64_t value)
    {
        for (; value > 0x7f; value >>= 7)
            bytes.push_back(uint8_t(value | 0x80));
        bytes.push_back(uint8_t(value));
    }
    void put_signed(int64_t value)
    {
        for (; value < -64 || value > 63; value >>= 7)
            bytes.push_back(uint8_t(value | 0x80));
        bytes.push_back(uint8_t(value & 0x7f));
    }
    /* Up to its end, or a NUL in it. */
    void put_text(StringRef text)
    {
        text = text.split('\0').first;
        bytes.append(text.begin(), text.end());
        bytes.push_back(0);
    }
    /* The address of a part of the object. */
    void put_address(uint32_t of, int64_t addend, unsigned size)
    {
        uint32_t type = size == ADDRESS_SIZE ? R_X86_64_64 : R_X86_64_32;
        failed =
            failed || !tn__baseline_add_reloc(&object.sections[number], {uint32_t(bytes.size()), type, of, addend});
        put(0, size);
    }
    /* The size of what follows the 4 bytes at `at`. */
    void end_length(size_t at)
    {
        tn__put32(bytes.data() + at, uint32_t(bytes.size() - at - 4));
    }
    bool end()
    {
        uint64_t at;
        if (failed || !tn__baseline_extend(&object.sections[number], bytes.size(), 1, &at))
            return false;
        std::copy(bytes.begin(), bytes.end(), object.sections[number].bytes);
        return true;
    }
};

/* ---- what was compiled ---- */

uint32_t tn__lines::file_of(const DIFile *file)
{
    auto [found, is_new] = numbers.try_emplace(file, uint32_t(files.size()) + 1);
    if (is_new)
        files.push_back(file);
    return found->second;
}

void tn__lines::add(const Function &function, const tn__code &code, ArrayRef<tn__located> located)
{
    const DISubprogram *subprogram = function.getSubprogram();
    uint32_t number = uint32_t(code.function_count - 1);
    if (!subprogram)
        return;
    const DIFile *own = subprogram->getFile() ? subprogram->getFile() : subprogram->getUnit()->getFile();
    functions.push_back({number, code.functions[number].size, subprogram, rows.size()});
    rows.push_back({0, file_of(own), subprogram->getScopeLine(), 0});
    for (size_t i = 0; i < code.place_count; i++) {
        auto *after =
            partition_point(located, [&](const tn__located &each) { return each.first <= code.places[i].inst; });
        const DILocation *at = after == located.begin() ? nullptr : after[-1].location;
        if (!at || !at->getLine())
            continue;
        row next = {code.places[i].offset, file_of(at->getFile() ? at->getFile() : own), at->getLine(),
                    at->getColumn()};
        row &last = rows.back();
        bool is_same = last.file == next.file && last.line == next.line && last.column == next.column;
        if (!is_same && last.offset == next.offset && rows.size() > functions.back().first_row + 1)
            last = next;
        else if (!is_same)
            rows.push_back(next);
    }
}

/* ---- the line number program ---- */

/* The lists of folders and of files end with an empty name. */
static StringRef folder_of(const DIFile *file)
{
    return file->getDirectory().split('\0').first;
}

static StringRef name_of(const DIFile *file)
{
    StringRef name = file->getFilename().split('\0').first;
    return name.empty() ? "<stdin>" : name;
}

static void put_header(tn__section_writer &w, ArrayRef<const DIFile *> files)
{
    static const uint8_t counts[OPCODE_BASE - 1] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    StringMap<uint32_t> folders; /* number 0 is the unit's, which readers of lines alone do not know */
    w.put(0, 4);
    w.put(VERSION, 2);
    size_t length = w.bytes.size();
    w.put(0, 4);
    for (int value : {1, 1, 1, int(LINE_BASE), int(LINE_RANGE), int(OPCODE_BASE)})
        w.put(uint64_t(value), 1);
    for (uint8_t count : counts)
        w.put(count, 1);
    for (const DIFile *file : files) {
        StringRef each = folder_of(file);
        if (!each.empty() && folders.try_emplace(each, folders.size() + 1).second)
            w.put_text(each);
    }
    w.put(0, 1);
    for (const DIFile *file : files) {
        w.put_text(name_of(file));
        w.put_unsigned(folders.lookup(folder_of(file)));
        w.put(0, 2); /* no time, no size */
    }
    w.put(0, 1);
    w.end_length(length);
}

static void put_row(tn__section_writer &w, int64_t lines, uint64_t bytes)
{
    int64_t opcode = lines - LINE_BASE + int64_t(LINE_RANGE * bytes) + OPCODE_BASE;
    bool fits = lines >= LINE_BASE && lines < LINE_BASE + LINE_RANGE && bytes < 256 && opcode < 256;
    if (fits) {
        w.put(uint64_t(opcode), 1);
        return;
    }
    if (lines) {
        w.put(dwarf::DW_LNS_advance_line, 1);
        w.put_signed(lines);
    }
    w.put(dwarf::DW_LNS_advance_pc, 1);
    w.put_unsigned(bytes);
    w.put(dwarf::DW_LNS_copy, 1);
}

void tn__lines::put_function(tn__section_writer &w, const function &f, size_t end) const
{
    row state = {0, 1, 1, 0};
    bool is_statement = true; /* a line begins: a debugger stops there */
    w.put(0, 1);
    w.put_unsigned(1 + ADDRESS_SIZE);
    w.put(dwarf::DW_LNE_set_address, 1);
    w.put_address(TN__BASELINE_FUNCTION | f.number, 0, ADDRESS_SIZE);
    for (size_t i = f.first_row; i < end; i++) {
        const row &next = rows[i];
        bool begins = next.line != state.line || next.file != state.file || i == f.first_row;
        if (begins != is_statement)
            w.put(dwarf::DW_LNS_negate_stmt, 1);
        is_statement = begins;
        if (next.file != state.file) {
            w.put(dwarf::DW_LNS_set_file, 1);
            w.put_unsigned(next.file);
        }
        if (next.column != state.column) {
            w.put(dwarf::DW_LNS_set_column, 1);
            w.put_unsigned(next.column);
        }
        if (i == f.first_row + 1)
            w.put(dwarf::DW_LNS_set_prologue_end, 1);
        put_row(w, int64_t(next.line) - int64_t(state.line), next.offset - state.offset);
        state = next;
    }
    w.put(dwarf::DW_LNS_advance_pc, 1);
    w.put_unsigned(f.size - state.offset);
    w.put(0, 1);
    w.put_unsigned(1);
    w.put(dwarf::DW_LNE_end_sequence, 1);
}

/* ---- the unit ---- */

enum { UNIT = 1, SUBPROGRAM, NAMED_SUBPROGRAM };

static void put_abbreviation(tn__section_writer &w, unsigned number, unsigned tag, bool has_children,
                             ArrayRef<std::pair<unsigned, unsigned>> attributes)
{
    w.put_unsigned(number);
    w.put_unsigned(tag);
    w.put(has_children, 1);
    for (auto [name, form] : attributes) {
        w.put_unsigned(name);
        w.put_unsigned(form);
    }
    w.put(0, 2);
}

static void put_abbreviations(tn__section_writer &w)
{
    using namespace dwarf;
    put_abbreviation(w, UNIT, DW_TAG_compile_unit, true,
                     {{DW_AT_language, DW_FORM_data2},
                      {DW_AT_name, DW_FORM_string},
                      {DW_AT_comp_dir, DW_FORM_string},
                      {DW_AT_stmt_list, DW_FORM_sec_offset},
                      {DW_AT_low_pc, DW_FORM_addr},
                      {DW_AT_ranges, DW_FORM_sec_offset}});
    for (unsigned number : {SUBPROGRAM, NAMED_SUBPROGRAM}) {
        SmallVector<std::pair<unsigned, unsigned>, 4> attributes = {{DW_AT_name, DW_FORM_string}};
        if (number == NAMED_SUBPROGRAM)
            attributes.push_back({DW_AT_linkage_name, DW_FORM_string});
        attributes.push_back({DW_AT_low_pc, DW_FORM_addr});
        attributes.push_back({DW_AT_high_pc, DW_FORM_data8});
        put_abbreviation(w, number, DW_TAG_subprogram, false, attributes);
    }
    w.put(0, 1);
}

/* A number, or in newer releases of LLVM an object that has one. */
template <typename Language> static uint64_t language_of(const Language &language)
{
    if constexpr (std::is_integral_v<Language>)
        return language;
    else
        return language.getName();
}

bool tn__lines::write(const Module &module, tn__baseline_object &object) const
{
    if (functions.empty())
        return true;
    const DICompileUnit *unit = *module.debug_compile_units_begin();
    tn__section_writer line(object, ".debug_line");
    put_header(line, files);
    for (size_t i = 0; i < functions.size(); i++)
        put_function(line, functions[i], i + 1 < functions.size() ? functions[i + 1].first_row : rows.size());
    line.end_length(0);
    tn__section_writer abbreviations(object, ".debug_abbrev"), ranges(object, ".debug_ranges");
    put_abbreviations(abbreviations);
    for (const function &f : functions) {
        ranges.put_address(TN__BASELINE_FUNCTION | f.number, 0, ADDRESS_SIZE);
        ranges.put_address(TN__BASELINE_FUNCTION | f.number, int64_t(f.size), ADDRESS_SIZE);
    }
    ranges.put(0, ADDRESS_SIZE);
    ranges.put(0, ADDRESS_SIZE);
    tn__section_writer info(object, ".debug_info");
    info.put(0, 4);
    info.put(VERSION, 2);
    info.put_address(TN__BASELINE_SECTION | abbreviations.number, 0, 4);
    info.put(ADDRESS_SIZE, 1);
    info.put_unsigned(UNIT);
    info.put(language_of(unit->getSourceLanguage()), 2);
    info.put_text(unit->getFilename());
    info.put_text(unit->getDirectory());
    info.put_address(TN__BASELINE_SECTION | line.number, 0, 4);
    info.put(0, ADDRESS_SIZE);
    info.put_address(TN__BASELINE_SECTION | ranges.number, 0, 4);
    for (const function &f : functions) {
        StringRef linkage = f.subprogram->getLinkageName();
        info.put_unsigned(linkage.empty() ? SUBPROGRAM : NAMED_SUBPROGRAM);
        info.put_text(f.subprogram->getName());
        if (!linkage.empty())
            info.put_text(linkage);
        info.put_address(TN__BASELINE_FUNCTION | f.number, 0, ADDRESS_SIZE);
        info.put(f.size, 8);
    }
    info.put(0, 1);
    info.end_length(0);
    return line.end() && abbreviations.end() && ranges.end() && info.end();
}
