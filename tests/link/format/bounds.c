/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Files made to cost more time or memory than they are worth: each is refused, or costs what others of its size do. The
 * limits are far above what is needed and far below what each of these once took. */

#include "big_file.h"
#include "elf_builder.h"

#include <stdlib.h>

#include "bounds.h"

/* ---- measuring ---- */

struct cost {
    double ms;
    size_t bytes;
    int code;
    struct tn_error err;
};

/* Adds, links and removes it; with the observers that keep or write what they are shown. */
static struct cost cost_of(struct bytes object, bool observed)
{
    const struct tn_session_options options = {.size = sizeof options, .allocator = &bounds_allocator};
    struct tn_session *session;
    struct tn_library *library;
    struct cost cost = {.code = 0};
    bounds_begin();
    assert_ok(tn_session_create(&options, &session, &cost.err), &cost.err);
    assert_ok(tn_library_create(session, "bounds", &library, &cost.err), &cost.err);
    if (observed) {
        assert_ok(tn_observe_gdb(session, &cost.err), &cost.err);
        assert_ok(tn_observe_functions(session, &cost.err), &cost.err);
        const char *folder = scratch_file("x");
        *strrchr((char *)(uintptr_t)folder, '/') = 0;
        assert_ok(tn_observe_perf(session, TN_PERF_JITDUMP, folder, &cost.err), &cost.err);
    }
    const struct tn_input input = {.size = sizeof input, .name = "bounds.o", .bytes = object.at, .length = object.size};
    cost.code = tn_add_object(library, &input, &cost.err);
    if (!cost.code)
        cost.code = tn_link(library, &cost.err);
    tn_session_destroy(session);
    cost.ms = bounds_now() - bounds.start;
    cost.bytes = bounds.peak;
    assert_int_equal(bounds.in_use, 0);
    return cost;
}

/* ---- names with one hash ---- */

enum { NAMES = 40000, NAME_LENGTH = 24 };

/* The multiplications of a hash without a secret can be undone: all these names had one hash in an earlier version. */
static void colliding_name(uint64_t number, uint64_t words[3])
{
    const uint64_t k = 0xff51afd7ed558ccdULL;
    uint64_t seed = NAME_LENGTH * 0x9e3779b97f4a7c15ULL, x = 0x0101010101010101ULL;
    words[0] = x + number * 0x10001000101ULL;
    uint64_t hash = (seed ^ words[0]) * k;
    hash ^= hash >> 32;
    words[1] = 0x4141414141414141ULL ^ hash; /* the next step begins with 0x41... whatever the name */
    words[2] = x;
}

static bool has_nul(const uint64_t *words)
{
    return memchr(words, 0, NAME_LENGTH) != NULL;
}

static struct bytes names_with_one_hash(void)
{
    struct file file;
    Elf64_Sym *symbols = calloc(NAMES + 1, sizeof *symbols);
    char *strings = calloc(NAMES + 1, NAME_LENGTH + 1);
    size_t count = 0;
    for (uint64_t i = 0; count < NAMES; i++) {
        uint64_t words[3];
        colliding_name(i, words);
        if (has_nul(words))
            continue;
        memcpy(strings + 1 + count * (NAME_LENGTH + 1), words, NAME_LENGTH);
        symbols[++count] = (Elf64_Sym){.st_name = (uint32_t)(1 + (count - 1) * (NAME_LENGTH + 1)),
                                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE),
                                       .st_shndx = SHN_ABS};
    }
    file_begin(&file);
    file_section(&file, (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_size = (NAMES + 1) * sizeof *symbols, .sh_link = 2},
                 symbols);
    file_section(&file, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = 1 + NAMES * (NAME_LENGTH + 1)}, strings);
    free(symbols);
    free(strings);
    return file_finish(&file, NULL, 0);
}

/* ---- names that share bytes ---- */

enum { LONG = 300000, SHARERS = 12000 };

/* Every name is the end of one long one. */
static struct bytes names_that_end_alike(unsigned bind, unsigned type)
{
    struct file file;
    Elf64_Sym *symbols = calloc(SHARERS + 1, sizeof *symbols);
    char *strings = calloc(1, LONG + 1);
    memset(strings + 1, 'a', LONG - 1);
    for (uint32_t i = 1; i <= SHARERS; i++)
        symbols[i] = (Elf64_Sym){
            .st_name = i, .st_info = ELF64_ST_INFO(bind, type), .st_shndx = 1, .st_value = i % 4096, .st_size = 4096};
    file_begin(&file);
    uint8_t *code = calloc(1, 8192);
    file_section(
        &file,
        (Elf64_Shdr){
            .sh_name = TEXT_NAME, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = 8192},
        code);
    file_section(&file, (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_size = (SHARERS + 1) * sizeof *symbols, .sh_link = 3},
                 symbols);
    file_section(&file, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = LONG + 1}, strings);
    free(code);
    free(symbols);
    free(strings);
    return file_finish(&file, NULL, 0);
}

/* ---- functions that overlap ---- */

static struct bytes functions_that_overlap(void)
{
    enum { FUNCTIONS = 10000, CODE = 200000 };
    struct file file;
    Elf64_Sym *symbols = calloc(FUNCTIONS + 1, sizeof *symbols);
    uint8_t *code = calloc(1, CODE);
    for (uint32_t i = 1; i <= FUNCTIONS; i++)
        symbols[i] = (Elf64_Sym){.st_name = 1,
                                 .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
                                 .st_shndx = 1,
                                 .st_value = i,
                                 .st_size = CODE - i};
    file_begin(&file);
    file_section(
        &file,
        (Elf64_Shdr){
            .sh_name = TEXT_NAME, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = CODE},
        code);
    file_section(&file, (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_size = (FUNCTIONS + 1) * sizeof *symbols, .sh_link = 3},
                 symbols);
    file_section(&file, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = 3}, "\0f");
    free(code);
    free(symbols);
    return file_finish(&file, NULL, 0);
}

/* ---- sections that share bytes ---- */

static struct bytes sections_of_one_table(uint32_t type)
{
    enum { SECTIONS = 6000, TABLE = 240000 };
    struct file file;
    uint8_t *table = calloc(1, TABLE);
    Elf64_Shdr *more = calloc(SECTIONS, sizeof *more);
    file_begin(&file);
    file_section(&file, (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_size = 24, .sh_link = 2}, table);
    file_section(&file, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = 1}, "");
    unsigned first =
        file_section(&file, (Elf64_Shdr){.sh_name = DATA_NAME, .sh_type = SHT_PROGBITS, .sh_size = TABLE}, table);
    for (unsigned i = 0; i < SECTIONS; i++)
        more[i] = (Elf64_Shdr){.sh_name = DATA_NAME,
                               .sh_type = type,
                               .sh_flags = type == SHT_PROGBITS ? SHF_ALLOC : 0,
                               .sh_offset = file.headers[first].sh_offset,
                               .sh_size = TABLE,
                               .sh_link = 1};
    struct bytes object = file_finish(&file, more, SECTIONS);
    free(table);
    free(more);
    return object;
}

/* ---- gaps ---- */

static struct bytes sections_far_apart(uint64_t flags, const char *name, uint64_t alignment)
{
    static struct elf elf;
    static const uint8_t byte[1] = {0xc3};
    memset(&elf, 0, sizeof elf);
    for (int i = 0; i < 3; i++)
        elf.sections[elf_section(&elf, name, SHT_PROGBITS, flags, byte, 1)].header.sh_addralign = alignment;
    elf_code(&elf, byte, 1);
    elf_function(&elf, "f", 4, 0);
    return elf_finish(&elf);
}

/* ---- names of sections that share bytes, where sections are sorted by name ---- */

static struct bytes section_names_that_end_alike(void)
{
    enum { SECTIONS = 6000 };
    static const Elf64_Sym symbols[] = {
        {0}, {.st_name = 1, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)}, {.st_name = 10, .st_shndx = SHN_ABS}};
    struct file file;
    Elf64_Shdr *more = calloc(SECTIONS, sizeof *more);
    char *names = calloc(1, LONG + 1);
    memset(names + 1, 'a', LONG - 1);
    for (uint32_t i = 0; i < SECTIONS; i++)
        more[i] = (Elf64_Shdr){.sh_name = i ? 1 + i * 7919 % SECTIONS : LONG - 1,
                               .sh_type = SHT_NOBITS,
                               .sh_flags = SHF_ALLOC | SHF_WRITE,
                               .sh_size = 8};
    file_begin(&file);
    file.names = (struct bytes){(uint8_t *)names, LONG + 1};
    file_section(
        &file,
        (Elf64_Shdr){.sh_name = LONG, .sh_type = SHT_SYMTAB, .sh_size = sizeof symbols - sizeof *symbols, .sh_link = 2},
        symbols);
    file_section(&file, (Elf64_Shdr){.sh_name = LONG, .sh_type = SHT_STRTAB, .sh_size = 11}, "\0__start_a");
    struct bytes object = file_finish(&file, more, SECTIONS);
    free(names);
    free(more);
    return object;
}

/* ---- unwind entries whose common entries take long to read, by turns ---- */

static struct bytes long_common_entries(void)
{
    enum { LETTERS = 200000, ENTRIES = 20000, ENTRY = 24 };
    struct file file;
    static uint8_t table[2 * LETTERS + ENTRIES * ENTRY + 128];
    uint32_t starts[2], at = 0;
    for (int i = 0; i < 2; i++) {
        uint32_t length = LETTERS + 16 - 4, zero = 0;
        starts[i] = at;
        memcpy(table + at, &length, 4);
        memcpy(table + at + 4, &zero, 4);
        table[at + 8] = 1;
        table[at + 9] = 'z';
        memset(table + at + 10, 'S', LETTERS);
        memcpy(table + at + 10 + LETTERS, "\0\1\170\20\0", 5);
        at += 4 + length;
    }
    for (uint32_t i = 0; i < ENTRIES; i++, at += ENTRY) {
        uint32_t words[ENTRY / 4] = {ENTRY - 4, at + 4 - starts[i % 2]};
        memcpy(table + at, words, sizeof words);
    }
    file_begin(&file);
    file_section(
        &file,
        (Elf64_Shdr){
            .sh_name = TEXT_NAME, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = 1},
        "\xc3");
    file_section(
        &file,
        (Elf64_Shdr){
            .sh_name = FRAME_NAME, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_size = at, .sh_addralign = 8},
        table);
    return file_finish(&file, NULL, 0);
}

/* ---- lines ---- */

enum { LINES = 40000, PATH = 100000 };

/* A function of LINES bytes, each of which has a line of a file with a long path. */
static struct bytes lines_with_long_paths(void)
{
    static const uint8_t head[] = {4, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0}, start[] = {0, 9, 2, 0, 0, 0, 0, 0, 0, 0, 0},
                         end[] = {0, 1, 1};
    static uint8_t table[4 + sizeof head + PATH + 8 + sizeof start + LINES + sizeof end], code[LINES];
    static const Elf64_Sym symbols[] = {{0},
                                        {.st_name = 1,
                                         .st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC),
                                         .st_shndx = 1,
                                         .st_value = 1,
                                         .st_size = LINES - 1}};
    uint32_t header_length = sizeof head - 6 + PATH + 5, at = 4;
    memcpy(table + at, head, sizeof head);
    memcpy(table + at + 2, &header_length, 4);
    at += sizeof head;
    memset(table + at, 'p', PATH);
    at += PATH + 5; /* the path's NUL, three numbers, the end of the table */
    uint64_t address_at = at + 3;
    memcpy(table + at, start, sizeof start);
    at += sizeof start;
    memset(table + at, 2, LINES); /* one byte and one line further each */
    at += LINES;
    memcpy(table + at, end, sizeof end);
    at += sizeof end;
    uint32_t length = at - 4;
    memcpy(table, &length, 4);
    const Elf64_Rela rela = {.r_offset = address_at, .r_info = ELF64_R_INFO((uint64_t)1, R_X86_64_64), .r_addend = -1};
    struct file file;
    file_begin(&file);
    file_section(
        &file,
        (Elf64_Shdr){
            .sh_name = TEXT_NAME, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = LINES},
        code);
    file_section(
        &file, (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_size = sizeof symbols, .sh_link = 3, .sh_info = COUNT(symbols)},
        symbols);
    file_section(&file, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = 3}, "\0f");
    file_section(&file, (Elf64_Shdr){.sh_name = LINE_NAME, .sh_type = SHT_PROGBITS, .sh_size = at}, table);
    file_section(
        &file,
        (Elf64_Shdr){
            .sh_type = SHT_RELA, .sh_size = sizeof rela, .sh_entsize = sizeof rela, .sh_link = 2, .sh_info = 4},
        &rela);
    return file_finish(&file, NULL, 0);
}

/* A table of files whose names are ends of one long one. */
static struct bytes files_that_end_alike(void)
{
    static const uint8_t head[] = {5, 0, 8, 0, 0, 0, 0, 0,    1,    1,    1,
                                   1, 1, 1, 0, 0, 1, 1, 0x1f, 0xc0, 0xb8, 2 /* LINES */};
    static uint8_t table[4 + sizeof head + 4 * LINES];
    uint32_t length = sizeof table - 4, header_length = sizeof table - 12;
    char *strings = malloc(LONG);
    memcpy(table, &length, 4);
    memcpy(table + 4, head, sizeof head);
    memcpy(table + 8, &header_length, 4);
    memset(strings, 'n', LONG - 1);
    strings[LONG - 1] = 0;
    struct file file;
    file_begin(&file);
    file_section(
        &file,
        (Elf64_Shdr){
            .sh_name = TEXT_NAME, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_size = 1},
        "\xc3");
    file_section(&file, (Elf64_Shdr){.sh_name = LINE_NAME, .sh_type = SHT_PROGBITS, .sh_size = sizeof table}, table);
    file_section(&file, (Elf64_Shdr){.sh_name = LINE_STR_NAME, .sh_type = SHT_PROGBITS, .sh_size = LONG}, strings);
    free(strings);
    return file_finish(&file, NULL, 0);
}

/* ---- rows ---- */

enum what {
    HASHES,
    SHARED_NAMES,
    SHARED_LOCALS,
    OVERLAP,
    RELOCS,
    GROUPS,
    CONTENTS,
    CODE_GAPS,
    DATA_GAPS,
    LINE_GAPS,
    SECTION_NAMES,
    COMMON_ENTRIES,
    LINE_PATHS,
    LINE_FILES
};

static const struct row {
    const char *name;
    enum what what;
    bool observed;
    int code;
    const char *word;
} rows[] = {
    {"40,000 names with one hash", HASHES, false, 0, NULL},
    {"names that are ends of one", SHARED_NAMES, false, TN_EFORMAT, "too long in sum"},
    {"local names that are ends of one", SHARED_LOCALS, false, 0, NULL},
    {"local names that are ends of one, observed", SHARED_LOCALS, true, TN_EFORMAT, "too long in sum"},
    {"functions that overlap, observed", OVERLAP, true, 0, NULL},
    {"sections that are one table of relocations", RELOCS, false, TN_EFORMAT, "overlap in the file"},
    {"sections that are one group", GROUPS, false, TN_EFORMAT, "overlap in the file"},
    {"sections with the same contents", CONTENTS, false, TN_EFORMAT, "overlap in the file"},
    {"alignments that make gaps in code", CODE_GAPS, false, TN_ENOTSUP, "leave gaps of"},
    {"alignments that make gaps in data", DATA_GAPS, false, TN_ENOTSUP, "leave gaps of"},
    {"alignments that make gaps in .debug_line", LINE_GAPS, true, 0, NULL},
    {"names of sections that are ends of one", SECTION_NAMES, false, TN_EFORMAT, "too long in sum"},
    {"unwind entries with long common ones", COMMON_ENTRIES, false, TN_EFORMAT, "malformed unwind data"},
    {"lines with long paths, observed", LINE_PATHS, true, TN_EFORMAT, "too long in sum"},
    {"names of files that are ends of one, observed", LINE_FILES, true, 0, NULL},
};

static struct bytes make(enum what what)
{
    switch (what) {
    case HASHES:
        return names_with_one_hash();
    case SHARED_NAMES:
        return names_that_end_alike(STB_GLOBAL, STT_NOTYPE);
    case SHARED_LOCALS:
        return names_that_end_alike(STB_LOCAL, STT_FUNC);
    case OVERLAP:
        return functions_that_overlap();
    case RELOCS:
        return sections_of_one_table(SHT_RELA);
    case GROUPS:
        return sections_of_one_table(SHT_GROUP);
    case CONTENTS:
        return sections_of_one_table(SHT_PROGBITS);
    case CODE_GAPS:
        return sections_far_apart(SHF_ALLOC | SHF_EXECINSTR, ".text.far", 1 << 28);
    case DATA_GAPS:
        return sections_far_apart(SHF_ALLOC | SHF_WRITE, ".data.far", 1 << 28);
    case SECTION_NAMES:
        return section_names_that_end_alike();
    case COMMON_ENTRIES:
        return long_common_entries();
    case LINE_PATHS:
        return lines_with_long_paths();
    case LINE_FILES:
        return files_that_end_alike();
    default:
        return sections_far_apart(0, ".debug_line", UINT64_C(1) << 30);
    }
}

static void it_costs_what_its_size_says(void **state)
{
    const struct row *row = *state;
    struct bytes object = make(row->what);
    struct cost cost = cost_of(object, row->observed);
    if (row->code)
        assert_error(cost.code, row->code, &cost.err, "bounds.o", row->word);
    else
        assert_ok(cost.code, &cost.err);
    print_message("%s: %zu bytes, %.1f ms, %zu KB\n", row->name, object.size, cost.ms, cost.bytes >> 10);
    assert_true(cost.ms < BOUNDS_SLOWER * (50 + (double)object.size / 1e4));
    assert_true(cost.bytes < (2 << 20) + 64 * object.size);
    free(object.at);
}

int main(void)
{
    return RUN_ROWS("bounds", rows, it_costs_what_its_size_says);
}
