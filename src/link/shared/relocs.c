/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Relocations of shared libraries (psABI for x86-64, table 4.10; SHT_RELR: gABI 4.3): where each stands, and which
 * symbol and addend make it a sum. Variables of the library without a name count from the beginning of its
 * thread-local data, which the first word of their slots stands for; others from the thread pointer (tls.h). */

#include "link/shared/shared.h"

#define FAIL TN__SHARED_FAIL

/* How a relocation is converted. */
enum how {
    REFUSED = 0,
    NOTHING,
    SUM,      /* symbol and addend */
    VALUE,    /* the symbol alone */
    BASE,     /* the addend is an address of the file */
    INDIRECT, /* likewise, of a function that returns the value */
    MODULE,
    OFFSET,   /* in the thread-local data of a module, */
    DISTANCE, /* from the thread pointer */
    DESCRIPTOR,
};

static const struct kind {
    const char *name;
    uint8_t how, row;
} kinds[] = {
    [R_X86_64_NONE] = {"NONE", NOTHING, 0},
    [R_X86_64_64] = {"64", SUM, TN__SHARED_64},
    [R_X86_64_PC32] = {"PC32", REFUSED, 0},
    [R_X86_64_COPY] = {"COPY", REFUSED, 0},
    [R_X86_64_GLOB_DAT] = {"GLOB_DAT", VALUE, TN__SHARED_GLOB_DAT},
    [R_X86_64_JUMP_SLOT] = {"JUMP_SLOT", VALUE, TN__SHARED_JUMP_SLOT},
    [R_X86_64_RELATIVE] = {"RELATIVE", BASE, TN__SHARED_RELATIVE},
    [R_X86_64_32] = {"32", REFUSED, 0},
    [R_X86_64_DTPMOD64] = {"DTPMOD64", MODULE, TN__SHARED_DTPMOD64},
    [R_X86_64_DTPOFF64] = {"DTPOFF64", OFFSET, TN__SHARED_DTPOFF64},
    [R_X86_64_TPOFF64] = {"TPOFF64", DISTANCE, TN__SHARED_TPOFF64},
    [R_X86_64_SIZE64] = {"SIZE64", SUM, TN__SHARED_SIZE64},
    [R_X86_64_TLSDESC] = {"TLSDESC", DESCRIPTOR, TN__SHARED_TLSDESC},
    [R_X86_64_IRELATIVE] = {"IRELATIVE", INDIRECT, TN__SHARED_IRELATIVE},
    [R_X86_64_RELATIVE64] = {"RELATIVE64", BASE, TN__SHARED_RELATIVE},
};

/* Stores relocations, by section. */
struct sink {
    struct tn__shared_reader *r;
    struct tn__reloc **out; /* NULL: the section has none so far */
    uint64_t most;          /* that there can be */
    size_t indirect;
    const struct tn__shared_segment *last; /* where the relocation before stands; NULL: nowhere */
};

/* ---- places ---- */

/* Initial values of thread-local data are relocated where each thread gets them from. 0: the word is in no data of the
 * file. */
static uint32_t section_at(struct sink *sink, uint64_t address, uint64_t *offset)
{
    enum { WORD = 8 };
    const struct tn__shared_reader *r = sink->r;
    const Elf64_Phdr *tls = &r->tls;
    if (r->tls_section && address >= tls->p_vaddr && tn__inside(address - tls->p_vaddr, WORD, tls->p_filesz)) {
        *offset = address - tls->p_vaddr;
        return r->tls_section;
    }
    const struct tn__shared_segment *s = sink->last;
    if (!s || address < s->address || !tn__inside(address - s->address, WORD, s->file_size))
        s = tn__shared_segment_at(r->shared, address, WORD);
    if (!s || s->prot != TN__PROT_RW || !tn__inside(address - s->address, WORD, s->file_size))
        return 0;
    sink->last = s;
    *offset = address - s->address;
    return s->section;
}

/* Its owner may write a mapped file between the passes. */
static int fail_changed(const struct tn__shared_reader *r)
{
    return FAIL(r, "%s: the file has changed while it was read", r->object->name);
}

/* What is not used of this memory is never touched. */
static bool begin_section(struct sink *sink, uint32_t number)
{
    struct tn__object_data *object = sink->r->object;
    struct tn__input_section *section = &object->sections[number];
    sink->out[number] = tn__arena_alloc(&object->arena, sink->most * sizeof *sink->out[number]);
    section->relocs = (const uint8_t *)sink->out[number];
    section->relocs_made = true;
    return section->relocs;
}

static int put(struct sink *sink, uint64_t address, enum tn__shared_row row, uint32_t symbol, uint64_t addend)
{
    uint64_t offset;
    uint32_t section = section_at(sink, address, &offset);
    if (!section)
        return FAIL(sink->r, "%s: a relocation at 0x%llx is outside of its data", sink->r->object->name,
                    (unsigned long long)address);
    struct tn__input_section *into = &sink->r->object->sections[section];
    if (!sink->out[section] && !begin_section(sink, section))
        return tn__no_memory(sink->r->err, sink->r->object->name);
    if (into->reloc_count == sink->most)
        return fail_changed(sink->r);
    sink->out[section][into->reloc_count++] =
        (struct tn__reloc){.offset = offset, .type = row, .symbol = symbol, .addend = (int64_t)addend};
    return 0;
}

/* ---- conversion ---- */

/* True for none, and for a symbol that others do not see: those lie in the library's own data. */
static bool is_local(const struct tn__shared_reader *r, uint32_t symbol)
{
    return !symbol || ELF64_ST_BIND(r->symtab[symbol * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_info)]) == STB_LOCAL;
}

static uint64_t value_of(const struct tn__shared_reader *r, uint32_t symbol)
{
    return symbol ? tn__get64(r->symtab + symbol * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_value)) : 0;
}

static int put_thread_local(struct sink *sink, const struct kind *kind, const Elf64_Rela *rela)
{
    const struct tn__shared_reader *r = sink->r;
    uint32_t symbol = ELF64_R_SYM(rela->r_info), tls = tn__shared_symbol(r, TN__SHARED_TLS);
    uint64_t at = rela->r_offset, addend = (uint64_t)rela->r_addend, offset = value_of(r, symbol) + addend;
    bool local = is_local(r, symbol);
    int code;
    if (local && !r->shared->tls_size)
        return FAIL(r, "%s: R_X86_64_%s at 0x%llx, but there is no thread-local data", r->object->name, kind->name,
                    (unsigned long long)at);
    switch (kind->how) {
    case MODULE:
        return local ? put(sink, at, TN__SHARED_DTPMOD64_OWN, tls, 1)
                     : put(sink, at, TN__SHARED_DTPMOD64, tn__shared_symbol(r, TN__SHARED_ONE), 0);
    case OFFSET:
        return local ? put(sink, at, TN__SHARED_64, 0, offset) : put(sink, at, TN__SHARED_DTPOFF64, symbol, addend);
    case DISTANCE:
        return local ? put(sink, at, TN__SHARED_TPOFF64, tls, offset)
                     : put(sink, at, TN__SHARED_TPOFF64, symbol, addend);
    default:
        code = put(sink, at, TN__SHARED_TLSDESC, tn__shared_symbol(r, TN__SHARED_DESCRIPTOR), 0);
        return code ? code
                    : put(sink, at + 8, TN__SHARED_TLSDESC_OFFSET, local ? tls : symbol, local ? offset : addend);
    }
}

/* The function is called. */
static int put_indirect(struct sink *sink, const Elf64_Rela *rela)
{
    struct tn__shared_reader *r = sink->r;
    uint64_t address = (uint64_t)rela->r_addend;
    const struct tn__shared_segment *s = tn__shared_segment_at(r->shared, address, 1);
    size_t number = sink->indirect++;
    if (number >= r->indirect_count)
        return fail_changed(r);
    if (!s || s->prot != TN__PROT_RX)
        return FAIL(r, "%s: R_X86_64_IRELATIVE at 0x%llx: its function is no code", r->object->name,
                    (unsigned long long)rela->r_offset);
    r->indirect[number] = address;
    return put(sink, rela->r_offset, TN__SHARED_IRELATIVE, tn__shared_symbol(r, TN__SHARED_SYMBOLS) + (uint32_t)number,
               0);
}

static int convert(struct sink *sink, const Elf64_Rela *rela)
{
    static const struct kind unknown = {"", REFUSED, 0};
    const struct tn__shared_reader *r = sink->r;
    uint32_t type = ELF64_R_TYPE(rela->r_info), symbol = ELF64_R_SYM(rela->r_info);
    const struct kind *kind = type < TN_COUNT(kinds) ? &kinds[type] : &unknown;
    if (symbol >= r->file_symbols) /* tn__shared_last_symbol has seen them all */
        return fail_changed(r);
    r->is_used[symbol] = true;
    switch (kind->how) {
    case REFUSED:
        return tn__fail(r->err, TN_ENOTSUP, "%s: relocation %u%s%s at 0x%llx does not belong into a shared library",
                        r->object->name, type, kind->name ? " R_X86_64_" : "", kind->name ? kind->name : "",
                        (unsigned long long)rela->r_offset);
    case NOTHING:
        return 0;
    case SUM:
        return put(sink, rela->r_offset, kind->row, symbol, (uint64_t)rela->r_addend);
    case VALUE:
        return put(sink, rela->r_offset, kind->row, symbol, 0);
    case BASE:
        return put(sink, rela->r_offset, kind->row, tn__shared_symbol(r, TN__SHARED_BASE), (uint64_t)rela->r_addend);
    case INDIRECT:
        return put_indirect(sink, rela);
    default:
        return put_thread_local(sink, kind, rela);
    }
}

/* ---- tables ---- */

typedef int visit_rela(void *context, const Elf64_Rela *rela);

static int each_rela(struct tn__shared_reader *r, visit_rela *visit, void *context)
{
    static const struct {
        enum tn__shared_tag at, size;
    } tables[] = {{TN__DT_RELA, TN__DT_RELASZ}, {TN__DT_JMPREL, TN__DT_PLTRELSZ}};
    int code = 0;
    for (size_t t = 0; t < TN_COUNT(tables) && !code; t++) {
        uint64_t size = r->tags[tables[t].size];
        const uint8_t *bytes = size ? tn__shared_at(r->shared, r->object, r->tags[tables[t].at], size) : NULL;
        if (size && (!bytes || size % sizeof(Elf64_Rela)))
            return FAIL(r, "%s: a table of relocations lies outside of the file", r->object->name);
        for (uint64_t i = 0; i < size && !code; i += sizeof(Elf64_Rela)) {
            Elf64_Rela rela;
            memcpy(&rela, bytes + i, sizeof rela);
            code = visit(context, &rela);
        }
    }
    return code;
}

/* Bits of one word are words that follow each other; each stands for an address in the file, to which the bias is
 * added. */
static int convert_relr(struct sink *sink, uint64_t address)
{
    struct tn__shared_reader *r = sink->r;
    const uint8_t *word = tn__shared_at(r->shared, r->object, address, 8);
    if (!word)
        return FAIL(r, "%s: a relocation at 0x%llx is outside of its data", r->object->name,
                    (unsigned long long)address);
    return put(sink, address, TN__SHARED_RELATIVE, tn__shared_symbol(r, TN__SHARED_BASE), tn__get64(word));
}

static int each_relr(struct sink *sink)
{
    enum { WORD = 8, BITS = 63 };
    struct tn__shared_reader *r = sink->r;
    uint64_t size = r->tags[TN__DT_RELRSZ], next = 0, count = 0;
    const uint8_t *bytes = size ? tn__shared_at(r->shared, r->object, r->tags[TN__DT_RELR], size) : NULL;
    if (size && (!bytes || size % WORD || r->tags[TN__DT_RELRENT] != WORD))
        return FAIL(r, "%s: its table of compact relocations lies outside of the file", r->object->name);
    int code = 0;
    for (uint64_t i = 0; i < size && !code; i += WORD) {
        uint64_t word = tn__get64(bytes + i), at = next;
        bool is_address = !(word & 1);
        next = is_address ? word + WORD : next + BITS * WORD;
        if (is_address)
            code = convert_relr(sink, word);
        for (uint64_t bits = is_address ? 0 : word >> 1; bits && !code; bits >>= 1, at += WORD)
            if (bits & 1)
                code = convert_relr(sink, at);
        count += is_address ? 1 : (uint64_t)__builtin_popcountll(word >> 1);
        if (count > r->object->size / WORD) /* some word has two */
            code = FAIL(r, "%s: has more compact relocations than data", r->object->name);
    }
    return code;
}

static int visit_to_convert(void *sink, const Elf64_Rela *rela)
{
    return convert(sink, rela);
}

/* At most so many, of a sound table. */
static uint64_t count_relr(const struct tn__shared_reader *r)
{
    enum { WORD = 8 };
    uint64_t size = r->tags[TN__DT_RELRSZ], count = 0;
    const uint8_t *bytes = size ? tn__shared_at(r->shared, r->object, r->tags[TN__DT_RELR], size) : NULL;
    for (uint64_t i = 0; bytes && i + WORD <= size; i += WORD)
        count += (uint64_t)__builtin_popcountll(tn__get64(bytes + i)) + 1;
    return tn__min64(count, r->object->size / WORD);
}

/* ---- what the reader calls ---- */

struct tally {
    uint32_t last;
    size_t indirect, words;
};

static int visit_to_tally(void *context, const Elf64_Rela *rela)
{
    struct tally *tally = context;
    uint32_t symbol = ELF64_R_SYM(rela->r_info);
    tally->last = symbol > tally->last ? symbol : tally->last;
    tally->indirect += ELF64_R_TYPE(rela->r_info) == R_X86_64_IRELATIVE;
    tally->words += ELF64_R_TYPE(rela->r_info) == R_X86_64_TLSDESC ? 2 : 1;
    return 0;
}

int tn__shared_last_symbol(struct tn__shared_reader *r, uint32_t *last)
{
    struct tally tally = {0};
    if ((r->tags[TN__DT_RELASZ] && r->tags[TN__DT_RELAENT] != sizeof(Elf64_Rela)) ||
        (r->tags[TN__DT_PLTRELSZ] && r->tags[TN__DT_PLTREL] != DT_RELA))
        return tn__fail(r->err, TN_ENOTSUP, "%s: its relocations are not of the form that x86-64 has", r->object->name);
    int code = each_rela(r, visit_to_tally, &tally);
    *last = tally.last;
    r->indirect = tn__arena_array(&r->object->arena, tally.indirect, sizeof *r->indirect);
    r->indirect_count = tally.indirect;
    r->words = tally.words;
    return code || r->indirect ? code : tn__no_memory(r->err, r->object->name);
}

int tn__shared_read_relocs(struct tn__shared_reader *r)
{
    struct tn__object_data *object = r->object;
    struct sink sink = {.r = r, .out = tn__arena_array(&object->arena, object->section_count, sizeof *sink.out)};
    if (!sink.out)
        return tn__no_memory(r->err, object->name);
    sink.most = r->words + count_relr(r);
    int code = each_rela(r, visit_to_convert, &sink);
    return code ? code : each_relr(&sink);
}
