/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Stripping costs what the size of the file says, in whichever order its sections need each other. Each section of
 * these files is kept because of another one, which stands on the wrong side of it. */

#include "big_file.h"

#include <stdlib.h>

#include "bounds.h"

enum { CHAIN = 12000, CODE_SIZE = 16, FRAME_SIZE = 24 };

/* What one of the files below is made of: ordinary sections, and `more`, numbered from `first` on. */
struct chain {
    struct file file;
    Elf64_Sym *symbols; /* without the last two, which are global */
    Elf64_Rela *relocs;
    Elf64_Shdr *more;
    size_t symbol_count, reloc_count, more_count;
    unsigned code, symtab, first;
};

/* At most so many of each; of symbols, besides the last two. */
static void begin_chain(struct chain *chain, size_t symbols, size_t relocs, size_t more)
{
    *chain = (struct chain){.symbols = calloc(symbols + 3, sizeof(Elf64_Sym)),
                            .relocs = calloc(relocs + 1, sizeof(Elf64_Rela)),
                            .more = calloc(more + 1, sizeof(Elf64_Shdr)),
                            .symtab = 2,
                            .first = 7};
    static const uint8_t code[CODE_SIZE] = {0xc3};
    file_begin(&chain->file);
    chain->code = file_section(&chain->file,
                               (Elf64_Shdr){.sh_name = TEXT_NAME,
                                            .sh_type = SHT_PROGBITS,
                                            .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                            .sh_size = sizeof code,
                                            .sh_addralign = 16},
                               code);
}

static uint32_t chain_symbol(struct chain *chain, uint32_t section)
{
    chain->symbols[++chain->symbol_count] =
        (Elf64_Sym){.st_info = ELF64_ST_INFO(STB_LOCAL, STT_NOTYPE), .st_shndx = (Elf64_Half)section};
    return (uint32_t)chain->symbol_count;
}

static unsigned chain_section(struct chain *chain, Elf64_Shdr header)
{
    chain->more[chain->more_count] = header;
    return chain->first + (unsigned)chain->more_count++;
}

/* Sections 2 to 6: symbols, their names, relocations, a relocated section, names of sections. The last symbols are
 * __start_gathered and the root. */
static struct bytes finish_chain(struct chain *chain, Elf64_Shdr relocated, const void *contents)
{
    enum { NAME = 8, GATHERED_AT = 1, ROOT_AT = 18, LOCALS_AT = 24 };
    size_t locals = chain->symbol_count + 1, strings_size = LOCALS_AT + NAME * locals;
    char *strings = calloc(1, strings_size);
    strcpy(strings + GATHERED_AT, "__start_gathered");
    strcpy(strings + ROOT_AT, "root");
    for (size_t i = 1; i < locals; i++) {
        chain->symbols[i].st_name = (uint32_t)(LOCALS_AT + NAME * i);
        snprintf(strings + chain->symbols[i].st_name, NAME, "%u", (unsigned)i % 1000000);
    }
    chain->symbols[locals] = (Elf64_Sym){.st_name = GATHERED_AT, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)};
    chain->symbols[locals + 1] = (Elf64_Sym){.st_name = ROOT_AT,
                                             .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                             .st_shndx = (Elf64_Half)chain->code,
                                             .st_size = CODE_SIZE};
    file_section(&chain->file,
                 (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                              .sh_size = (locals + 2) * sizeof(Elf64_Sym),
                              .sh_link = chain->symtab + 1,
                              .sh_info = (uint32_t)locals},
                 chain->symbols);
    file_section(&chain->file, (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = strings_size}, strings);
    free(strings);
    file_section(&chain->file,
                 (Elf64_Shdr){.sh_type = SHT_RELA,
                              .sh_size = chain->reloc_count * sizeof(Elf64_Rela),
                              .sh_entsize = sizeof(Elf64_Rela),
                              .sh_link = chain->symtab,
                              .sh_info = chain->symtab + 3},
                 chain->relocs);
    file_section(&chain->file, relocated, contents);
    struct bytes object = file_finish(&chain->file, chain->more, chain->more_count);
    free(chain->symbols);
    free(chain->relocs);
    free(chain->more);
    return object;
}

static const Elf64_Shdr zeros_header = {
    .sh_name = DATA_NAME, .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_WRITE, .sh_size = 8, .sh_addralign = 8};

/* Each section follows the next one (SHF_LINK_ORDER), and the last one the root. */
static struct bytes followers(void)
{
    struct chain chain;
    begin_chain(&chain, 0, 0, CHAIN);
    for (unsigned i = 0; i < CHAIN; i++) {
        Elf64_Shdr header = zeros_header;
        header.sh_flags |= SHF_LINK_ORDER;
        header.sh_link = i + 1 < CHAIN ? chain.first + i + 1 : chain.code;
        chain_section(&chain, header);
    }
    return finish_chain(&chain, zeros_header, NULL);
}

/* The unwind entry of each function refers to the function whose entry stands before. */
static struct bytes unwind_chain(void)
{
    struct chain chain;
    static const uint8_t common[FRAME_SIZE] = {FRAME_SIZE - 4, 0,  0, 0,    0,   0, 0, 0, 1, 'z', 'L', 'R', 0, 1,
                                               0x78,           16, 2, 0x1b, 0x1b};
    uint8_t *frames = calloc(CHAIN + 1, FRAME_SIZE);
    begin_chain(&chain, CHAIN, 2 * CHAIN, CHAIN);
    size_t at = file_append(&chain.file, frames, (size_t)CHAIN * CODE_SIZE);
    uint32_t before = 0;
    memcpy(frames, common, sizeof common);
    for (uint32_t i = 0; i < CHAIN; i++) {
        uint32_t words[] = {FRAME_SIZE - 4, (i + 1) * FRAME_SIZE + 4, 0, CODE_SIZE, 4}, offset = (i + 1) * FRAME_SIZE;
        unsigned code = chain_section(&chain, (Elf64_Shdr){.sh_name = TEXT_NAME,
                                                           .sh_type = SHT_PROGBITS,
                                                           .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                                           .sh_offset = at + (size_t)i * CODE_SIZE,
                                                           .sh_size = CODE_SIZE,
                                                           .sh_addralign = 16});
        uint32_t symbol = chain_symbol(&chain, i + 1 < CHAIN ? code : chain.code);
        memcpy(frames + offset, words, sizeof words);
        chain.relocs[chain.reloc_count++] =
            (Elf64_Rela){.r_offset = offset + 8, .r_info = ELF64_R_INFO(symbol, R_X86_64_PC32)};
        if (before)
            chain.relocs[chain.reloc_count++] =
                (Elf64_Rela){.r_offset = offset + 17, .r_info = ELF64_R_INFO(before, R_X86_64_PC32)};
        before = symbol;
    }
    struct bytes object = finish_chain(&chain,
                                       (Elf64_Shdr){.sh_name = FRAME_NAME,
                                                    .sh_type = SHT_PROGBITS,
                                                    .sh_flags = SHF_ALLOC,
                                                    .sh_size = (size_t)(CHAIN + 1) * FRAME_SIZE,
                                                    .sh_addralign = 8},
                                       frames);
    free(frames);
    return object;
}

/* References to the start of sections that are many. */
static struct bytes gathered(void)
{
    struct chain chain;
    void *words = calloc(CHAIN, 8);
    begin_chain(&chain, 0, CHAIN, CHAIN);
    for (uint32_t i = 0; i < CHAIN; i++) {
        Elf64_Shdr header = zeros_header;
        header.sh_name = GATHERED_NAME;
        chain_section(&chain, header);
        chain.relocs[chain.reloc_count++] =
            (Elf64_Rela){.r_offset = 8 * (uint64_t)i, .r_info = ELF64_R_INFO((uint64_t)1, R_X86_64_64)};
    }
    struct bytes object = finish_chain(&chain,
                                       (Elf64_Shdr){.sh_name = FINI_NAME,
                                                    .sh_type = SHT_FINI_ARRAY, /* which is kept in any case */
                                                    .sh_flags = SHF_ALLOC | SHF_WRITE,
                                                    .sh_size = (size_t)CHAIN * 8,
                                                    .sh_addralign = 8},
                                       words);
    free(words);
    return object;
}

/* Of two sections in each group one refers to the other of the next group. The root is in the first group. */
static struct bytes group_chain(void)
{
    enum { GROUPS = CHAIN / 2 };
    struct chain chain;
    struct {
        Elf64_Rela rela;
        uint64_t word;
        uint32_t group[4];
    } *contents = calloc(GROUPS, sizeof *contents);
    begin_chain(&chain, GROUPS, 0, 4 * GROUPS);
    for (uint32_t i = 0; i < GROUPS; i++) {
        unsigned first = chain.first + 4 * i;
        contents[i].rela = (Elf64_Rela){.r_info = ELF64_R_INFO((uint64_t)(i + 1) % GROUPS + 1, R_X86_64_64)};
        contents[i].group[0] = GRP_COMDAT;
        contents[i].group[1] = i ? first : chain.code;
        contents[i].group[2] = first + 1;
    }
    size_t at = file_append(&chain.file, contents, GROUPS * sizeof *contents);
    for (uint32_t i = 0; i < GROUPS; i++, at += sizeof *contents) {
        unsigned first = chain_section(&chain, zeros_header);
        chain_symbol(&chain, i ? first : chain.code);
        chain_section(&chain, (Elf64_Shdr){.sh_name = DATA_NAME,
                                           .sh_type = SHT_PROGBITS,
                                           .sh_flags = SHF_ALLOC | SHF_WRITE,
                                           .sh_offset = at + sizeof(Elf64_Rela),
                                           .sh_size = 8,
                                           .sh_addralign = 8});
        chain_section(&chain, (Elf64_Shdr){.sh_type = SHT_RELA,
                                           .sh_offset = at,
                                           .sh_size = sizeof(Elf64_Rela),
                                           .sh_entsize = sizeof(Elf64_Rela),
                                           .sh_link = chain.symtab,
                                           .sh_info = first + 1});
        chain_section(&chain, (Elf64_Shdr){.sh_name = GROUP_NAME,
                                           .sh_type = SHT_GROUP,
                                           .sh_offset = at + sizeof(Elf64_Rela) + 8,
                                           .sh_size = 12,
                                           .sh_entsize = 4,
                                           .sh_link = chain.symtab,
                                           .sh_info = i + 1});
    }
    free(contents);
    return finish_chain(&chain, zeros_header, NULL);
}

/* ---- rows ---- */

static const struct row {
    const char *name;
    struct bytes (*make)(void);
} rows[] = {
    {"sections that follow each other", followers},
    {"unwind entries that need each other's functions", unwind_chain},
    {"groups that need each other", group_chain},
    {"many references to many gathered sections", gathered},
};

static void it_costs_what_its_size_says(void **state)
{
    const struct row *row = *state;
    static const char *const roots[] = {"root"};
    const struct tn_session_options options = {.size = sizeof options, .allocator = &bounds_allocator};
    struct bytes object = row->make();
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    struct tn_stats stats = {.size = sizeof stats};
    bounds_begin();
    assert_ok(tn_session_create(&options, &session, &err), &err);
    assert_ok(tn_library_create(session, "bounds", &library, &err), &err);
    assert_ok(tn_add_object(
                  library,
                  &(struct tn_input){
                      .size = sizeof(struct tn_input), .name = "bounds.o", .bytes = object.at, .length = object.size},
                  &err),
              &err);
    assert_ok(tn_link_roots(library, roots, COUNT(roots), &err), &err);
    tn_session_stats(session, &stats);
    assert_true(stats.code_bytes + stats.data_bytes >= 8 * CHAIN); /* nothing is stripped */
    tn_session_destroy(session);
    double ms = bounds_now() - bounds.start;
    print_message("%s: %zu bytes, %.1f ms, %zu KB\n", row->name, object.size, ms, bounds.peak >> 10);
    assert_true(ms < BOUNDS_SLOWER * (50 + (double)object.size / 1e4));
    assert_true(bounds.peak < (2 << 20) + 64 * object.size);
    assert_int_equal(bounds.in_use, 0);
    free(object.at);
}

int main(void)
{
    return RUN_ROWS("stripping", rows, it_costs_what_its_size_says);
}
