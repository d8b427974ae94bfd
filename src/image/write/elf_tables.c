/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a dynamic linker reads (gABI 4.1, chapter 5, "Dynamic Linking"; GNU's hash table; RELR). None of it is ever
 * written: dynamic linkers that know RELR do not write to a dynamic section in read-only memory. A file that only
 * tn_image_open loads has no names of what it defines; they are in the image's own tables. */

#include <stdlib.h>

#include "image/write/elf.h"
#include "image/format/format.h"
#include "link/arch/reloc.h"
#include "link/format/elf/gnu_hash.h"

/* Not in the elf.h of every system. */
enum { SHT_RELR_ = 19, DT_RELRSZ_ = 35, DT_RELR_ = 36, DT_RELRENT_ = 37 };

static const struct {
    const char *name;
    uint32_t type, link;
    uint64_t alignment, entry_size;
} tables[TN__ELF_TABLES] = {
    [TN__ELF_HASH] = {".gnu.hash", SHT_GNU_HASH, TN__ELF_SYMBOLS, 8, 0},
    [TN__ELF_SYMBOLS] = {".dynsym", SHT_DYNSYM, TN__ELF_STRINGS, 8, sizeof(Elf64_Sym)},
    [TN__ELF_STRINGS] = {".dynstr", SHT_STRTAB, TN__ELF_TABLES, 1, 0},
    [TN__ELF_RELA] = {".rela.dyn", SHT_RELA, TN__ELF_SYMBOLS, 8, sizeof(Elf64_Rela)},
    [TN__ELF_RELR] = {".relr.dyn", SHT_RELR_, TN__ELF_TABLES, 8, 8},
    [TN__ELF_DYNAMIC] = {".dynamic", SHT_DYNAMIC, TN__ELF_STRINGS, 8, sizeof(Elf64_Dyn)},
    [TN__ELF_BUILD_ID] = {".note.gnu.build-id", SHT_NOTE, TN__ELF_TABLES, 4, 0},
};

static bool is_library(const struct tn__elf_file *f)
{
    return f->options->kind == TN_IMAGE_SHARED;
}

/* ---- sizes ---- */

static bool in_relr(const struct tn__output_reloc *reloc)
{
    return reloc->fixup == TN__DYNAMIC_RELATIVE && reloc->address % 8 == 0;
}

static bool is_exported(const struct tn__elf_file *f, const struct tn__output_symbol *symbol)
{
    return symbol->exported && is_library(f);
}

static uint64_t strings_size(const struct tn__elf_file *f)
{
    const struct tn__output *output = f->output;
    uint64_t size = 1 + (f->options->name && is_library(f) ? strlen(f->options->name) + 1 : 0);
    for (size_t i = 0; i < output->import_count; i++)
        size += strlen(output->imports[i].name) + 1;
    for (size_t i = 0; i < output->symbol_count; i++)
        size += is_exported(f, &output->symbols[i]) ? strlen(output->symbols[i].name) + 1 : 0;
    return size;
}

static uint64_t table_size(const struct tn__elf_file *f, enum tn__elf_table table)
{
    const struct tn__output *output = f->output;
    if (f->stub && table != TN__ELF_RELR)
        return 0;
    switch (table) {
    case TN__ELF_HASH:
        return is_library(f) ? 16 + 8 * (uint64_t)f->bloom_words + 4 * (f->buckets + f->export_count) : 0;
    case TN__ELF_SYMBOLS:
        return (1 + output->import_count + f->export_count) * sizeof(Elf64_Sym);
    case TN__ELF_STRINGS:
        return strings_size(f);
    case TN__ELF_RELA:
        return f->rela_count * sizeof(Elf64_Rela);
    case TN__ELF_RELR:
        return 8 * tn__output_relr(output, NULL, 0);
    case TN__ELF_DYNAMIC:
        return TN__ELF_DYNAMIC_SIZE;
    default:
        return 0; /* at the end */
    }
}

enum { BUILD_ID_SIZE = 16 + TN__ELF_ID };

uint64_t tn__elf_head(void *context, const struct tn__output *output)
{
    struct tn__elf_file *f = context;
    f->output = output;
    f->rela_count = f->export_count = 0;
    for (size_t i = 0; i < output->reloc_count; i++)
        f->rela_count += !in_relr(&output->relocs[i]);
    for (size_t i = 0; i < output->symbol_count; i++)
        f->export_count += is_exported(f, &output->symbols[i]);
    /* The Bloom filter has 12 bits per symbol, of which two are set, as in ld.lld. */
    f->buckets = (uint32_t)f->export_count / 4 + 1;
    f->bloom_words = 1;
    while (f->bloom_words * UINT64_C(64) < f->export_count * 12)
        f->bloom_words *= 2;
    tn__elf_list_segments(f);
    uint64_t at = f->stub ? 0 : sizeof(Elf64_Ehdr) + f->segment_count * sizeof(Elf64_Phdr);
    for (enum tn__elf_table t = 0; t < TN__ELF_TABLES; t++) {
        struct tn__elf_section *section = &f->tables[t];
        at = tn__align_up(at, tables[t].alignment);
        *section = (struct tn__elf_section){.name = tables[t].name,
                                            .type = tables[t].type,
                                            .flags = SHF_ALLOC,
                                            .offset = at,
                                            .size = table_size(f, t),
                                            .alignment = tables[t].alignment,
                                            .entry_size = tables[t].entry_size,
                                            .link = tables[t].link};
        at += section->size;
    }
    return f->stub ? at : at + BUILD_ID_SIZE; /* at the very end, so that other notes follow it */
}

/* ---- symbols ---- */

struct export
{
    const struct tn__output_symbol *symbol;
    uint32_t bucket;
};

static int by_bucket(const void *a, const void *b)
{
    const struct export *p = a, *q = b;
    if (p->bucket != q->bucket)
        return p->bucket < q->bucket ? -1 : 1;
    return p->symbol < q->symbol ? -1 : p->symbol > q->symbol;
}

static bool list_exports(struct tn__elf_file *f)
{
    struct export *sorted = tn__arena_array(&f->arena, f->export_count + 1, sizeof *sorted);
    f->exports = tn__arena_array(&f->arena, f->export_count + 1, sizeof *f->exports);
    size_t count = 0;
    if (!sorted || !f->exports)
        return false;
    for (size_t i = 0; i < f->output->symbol_count; i++) {
        const struct tn__output_symbol *symbol = &f->output->symbols[i];
        if (is_exported(f, symbol))
            sorted[count++] = (struct export){symbol, tn__gnu_hash(symbol->name) % f->buckets};
    }
    qsort(sorted, count, sizeof *sorted, by_bucket);
    for (size_t i = 0; i < count; i++)
        f->exports[i] = sorted[i].symbol;
    return true;
}

static void fill_hash_table(const struct tn__elf_file *f)
{
    uint8_t *bytes = f->tables[TN__ELF_HASH].bytes, *bloom = bytes + 16, *buckets = bloom + 8 * (size_t)f->bloom_words;
    uint8_t *chains = buckets + 4 * (size_t)f->buckets;
    enum { SHIFT = 26 };
    uint32_t first = (uint32_t)(1 + f->output->import_count);
    const uint32_t header[4] = {f->buckets, first, f->bloom_words, SHIFT};
    memcpy(bytes, header, sizeof header);
    for (uint32_t i = 0; i < f->export_count; i++) {
        uint32_t hash = tn__gnu_hash(f->exports[i]->name), bucket = hash % f->buckets;
        uint8_t *word = bloom + 8 * (size_t)(hash / 64 % f->bloom_words);
        tn__put64(word, tn__get64(word) | UINT64_C(1) << hash % 64 | UINT64_C(1) << (hash >> SHIFT) % 64);
        if (!tn__get32(buckets + 4 * (size_t)bucket))
            tn__put32(buckets + 4 * (size_t)bucket, first + i);
        bool last = i + 1 == f->export_count || tn__gnu_hash(f->exports[i + 1]->name) % f->buckets != bucket;
        tn__put32(chains + 4 * (size_t)i, (hash & ~UINT32_C(1)) | last);
    }
}

/* A library's own references are bound when it is written, so its exports must not be preempted. Being protected, they
 * make linkers refuse copy relocations and canonical PLT entries in programs that are not position-independent. */
static unsigned char visibility_of(const struct tn__elf_file *f, const struct tn__output_symbol *symbol)
{
    unsigned char exported = is_library(f) ? STV_PROTECTED : STV_DEFAULT;
    return symbol->local ? STV_DEFAULT : symbol->exported ? exported : STV_HIDDEN;
}

Elf64_Sym tn__elf_symbol(const struct tn__elf_file *f, const struct tn__output_symbol *symbol)
{
    unsigned type = symbol->tls ? STT_TLS : symbol->function ? STT_FUNC : symbol->data ? STT_OBJECT : STT_NOTYPE;
    unsigned binding = symbol->local ? STB_LOCAL : symbol->weak ? STB_WEAK : STB_GLOBAL;
    bool is_absolute = symbol->section == UINT32_MAX;
    uint32_t section = is_absolute ? SHN_ABS : f->section_numbers[symbol->section];
    return (Elf64_Sym){.st_info = (unsigned char)ELF64_ST_INFO(binding, type),
                       .st_other = visibility_of(f, symbol),
                       .st_shndx = (Elf64_Section)section,
                       .st_value = symbol->value,
                       .st_size = symbol->size};
}

/* Returns the offset of the file's own name among the strings; 0: it has none. */
static uint32_t fill_symbols(const struct tn__elf_file *f)
{
    uint8_t *at = f->tables[TN__ELF_SYMBOLS].bytes + sizeof(Elf64_Sym), *strings = f->tables[TN__ELF_STRINGS].bytes;
    uint64_t end = 1;
    for (size_t i = 0; i < f->output->import_count; i++, at += sizeof(Elf64_Sym)) {
        const struct tn__output_import *import = &f->output->imports[i];
        const Elf64_Sym symbol = {
            .st_info = ELF64_ST_INFO(import->weak ? STB_WEAK : STB_GLOBAL, import->tls ? STT_TLS : STT_NOTYPE)};
        tn__elf_put_symbol(at, symbol, strings, &end, import->name);
    }
    for (size_t i = 0; i < f->export_count; i++, at += sizeof(Elf64_Sym))
        tn__elf_put_symbol(at, tn__elf_symbol(f, f->exports[i]), strings, &end, f->exports[i]->name);
    return f->options->name && is_library(f) ? tn__elf_put_name(strings, &end, f->options->name) : 0;
}

/* ---- relocations ---- */

static void fill_rela(const struct tn__elf_file *f)
{
    const uint32_t *types = f->output->arch->dynamic_types;
    uint8_t *at = f->tables[TN__ELF_RELA].bytes;
    for (size_t i = 0; i < f->output->reloc_count; i++) {
        const struct tn__output_reloc *reloc = &f->output->relocs[i];
        bool imports = tn__output_names_import(reloc);
        if (in_relr(reloc))
            continue;
        const Elf64_Rela rela = {.r_offset = reloc->address,
                                 .r_info = ELF64_R_INFO(imports ? 1 + (uint64_t)reloc->import : 0, types[reloc->fixup]),
                                 .r_addend = (Elf64_Sxword)reloc->addend};
        memcpy(at, &rela, sizeof rela);
        at += sizeof rela;
    }
}

/* The table may have become too large, because distances have changed since it was sized; it is padded with empty
 * bitmaps. */
static int fill_relr(const struct tn__elf_file *f)
{
    size_t space = f->tables[TN__ELF_RELR].size / 8;
    uint64_t *words = (uint64_t *)(void *)f->tables[TN__ELF_RELR].bytes;
    size_t count = space ? tn__output_relr(f->output, words, space) : 0;
    for (size_t i = count; i < space; i++)
        words[i] = 1;
    return count <= space ? 0 : tn__fail(f->err, TN_ENOTSUP, "relocations do not fit their table");
}

/* ---- the dynamic section ---- */

static void add_entry(uint8_t **at, int64_t tag, uint64_t value)
{
    const Elf64_Dyn entry = {.d_tag = tag, .d_un.d_val = value};
    memcpy(*at, &entry, sizeof entry);
    *at += sizeof entry;
}

static void add_table(const struct tn__elf_file *f, uint8_t **at, enum tn__elf_table table, int64_t tag,
                      int64_t size_tag, int64_t entry_tag)
{
    const struct tn__elf_section *section = &f->tables[table];
    if (!section->size)
        return;
    add_entry(at, tag, section->address);
    if (size_tag)
        add_entry(at, size_tag, section->size);
    if (entry_tag)
        add_entry(at, entry_tag, section->entry_size);
}

static void add_calls(const struct tn__elf_file *f, uint8_t **at, enum tn__output_kind kind, int64_t tag,
                      int64_t size_tag)
{
    for (size_t i = 0; i < f->output->section_count; i++)
        if (f->output->sections[i].kind == kind && f->output->sections[i].size) {
            add_entry(at, tag, f->output->sections[i].address);
            add_entry(at, size_tag, f->output->sections[i].size);
        }
}

/* Stack maps, root ranges: if there are any. */
static void add_section(const struct tn__elf_file *f, uint8_t **at, const char *name, int64_t tag, int64_t size_tag)
{
    const struct tn__output_section *section = tn__output_find(f->output, name);
    if (!section)
        return;
    add_entry(at, tag, section->address);
    add_entry(at, size_tag, section->size);
}

static bool has_fixup(const struct tn__elf_file *f, enum tn__dynamic fixup)
{
    for (size_t i = 0; i < f->output->reloc_count; i++)
        if (f->output->relocs[i].fixup == fixup)
            return true;
    return false;
}

static void fill_dynamic(const struct tn__elf_file *f, uint32_t name)
{
    uint8_t *at = f->tables[TN__ELF_DYNAMIC].bytes;
    if (name)
        add_entry(&at, DT_SONAME, name);
    add_calls(f, &at, TN__OUTPUT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ);
    add_calls(f, &at, TN__OUTPUT_FINI, DT_FINI_ARRAY, DT_FINI_ARRAYSZ);
    add_table(f, &at, TN__ELF_HASH, DT_GNU_HASH, 0, 0);
    add_table(f, &at, TN__ELF_STRINGS, DT_STRTAB, DT_STRSZ, 0);
    add_table(f, &at, TN__ELF_SYMBOLS, DT_SYMTAB, 0, DT_SYMENT);
    add_table(f, &at, TN__ELF_RELA, DT_RELA, DT_RELASZ, DT_RELAENT);
    add_table(f, &at, TN__ELF_RELR, DT_RELR_, DT_RELRSZ_, DT_RELRENT_);
    if (has_fixup(f, TN__DYNAMIC_TLS_OFFSET) || has_fixup(f, TN__DYNAMIC_TLS_IMPORT))
        add_entry(&at, DT_FLAGS, DF_STATIC_TLS);
    add_section(f, &at, "tenon_maps", TN__IMAGE_DT_MAPS, TN__IMAGE_DT_MAPS_SIZE);
    add_section(f, &at, "tenon_roots", TN__IMAGE_DT_ROOTS, TN__IMAGE_DT_ROOTS_SIZE);
    add_section(f, &at, "tenon_abi", TN__IMAGE_DT_ABI, TN__IMAGE_DT_ABI_SIZE);
}

/* ---- all of them ---- */

/* Sets the final addresses, and allocates the contents. */
static bool place_tables(struct tn__elf_file *f)
{
    const struct tn__output *output = f->output;
    for (enum tn__elf_table t = 0; t < TN__ELF_TABLES; t++) {
        f->tables[t].address = output->head_address + f->tables[t].offset;
        f->tables[t].offset += output->segments[TN__OUTPUT_RODATA].offset;
    }
    struct tn__elf_section *id = &f->tables[TN__ELF_BUILD_ID];
    if (!f->stub) {
        id->size = BUILD_ID_SIZE;
        id->offset = output->head_size - BUILD_ID_SIZE;
        id->address = output->head_address + id->offset;
    }
    for (enum tn__elf_table t = 0; t < TN__ELF_TABLES; t++)
        if (f->tables[t].size && !(f->tables[t].bytes = tn__arena_array(&f->arena, f->tables[t].size, 1)))
            return false;
    return true;
}

static void number_sections(struct tn__elf_file *f)
{
    uint32_t next = f->stub ? (uint32_t)f->stub->section_count + 1 : 1;
    for (enum tn__elf_table t = 0; t < TN__ELF_TABLES; t++)
        if (f->tables[t].size)
            f->table_numbers[t] = next++;
    for (size_t i = 0; i < f->output->section_count; i++)
        f->section_numbers[i] = next++;
    for (enum tn__elf_table t = 0; t < TN__ELF_TABLES; t++)
        f->tables[t].link = tables[t].link < TN__ELF_TABLES ? f->table_numbers[tables[t].link] : 0;
    f->tables[TN__ELF_SYMBOLS].info = 1; /* the first symbol that is not local */
}

int tn__elf_fill_tables(struct tn__elf_file *f)
{
    f->section_numbers = tn__arena_array(&f->arena, f->output->section_count + 1, sizeof *f->section_numbers);
    if (!f->section_numbers || !list_exports(f) || !place_tables(f))
        return tn__fail(f->err, TN_ENOMEM, "out of memory while writing a file");
    number_sections(f);
    int code = fill_relr(f);
    if (code || f->stub)
        return code;
    if (is_library(f))
        fill_hash_table(f);
    fill_dynamic(f, fill_symbols(f));
    fill_rela(f);
    return 0;
}
