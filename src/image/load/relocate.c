/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Relocating a shared library as its dynamic section says (gABI 4.1, chapter 5, "Dynamic Section", and RELR): addresses
 * in its data are adjusted, and symbols are bound. Only writable memory is written, so code stays shared. */

#include <elf.h>
#include <string.h>

#include "base/os.h"
#include "base/thread.h"
#include "image/load/image.h"

/* Not in the elf.h of every system. */
enum { DT_RELRSZ_ = 35, DT_RELR_ = 36, DT_FLAGS_TEXTREL_ = 4 };

enum { SPAN = 63 * 8 }; /* bytes that a bitmap of RELR covers */

enum table { RELA, JMPREL, RELR, SYMTAB, STRTAB, INIT, FINI, MAPS, ROOTS, ABI, TABLES };

/* A table of the dynamic section: where, and how many bytes. */
struct dynamic {
    uint64_t address, size;
};

/* What a relocation stores. For thread-local variables: the distance of the variable from the thread pointer; or two
 * words that __tls_get_addr adds, the distance of the file's block and the variable's place in it; or a descriptor. */
enum value {
    VALUE_NONE,
    VALUE_RELATIVE,
    VALUE_SYMBOL,
    VALUE_SYMBOL_ADDEND,
    VALUE_TLS,
    VALUE_TLS_BLOCK,
    VALUE_TLS_PLACE,
    VALUE_TLS_DESCRIPTOR
};

static const struct row {
    uint16_t machine;
    uint32_t type;
    enum value value;
} rows[] = {
    {EM_X86_64, R_X86_64_NONE, VALUE_NONE},
    {EM_X86_64, R_X86_64_RELATIVE, VALUE_RELATIVE},
    {EM_X86_64, R_X86_64_GLOB_DAT, VALUE_SYMBOL},
    {EM_X86_64, R_X86_64_JUMP_SLOT, VALUE_SYMBOL},
    {EM_X86_64, R_X86_64_64, VALUE_SYMBOL_ADDEND},
    {EM_X86_64, R_X86_64_TPOFF64, VALUE_TLS},
    {EM_X86_64, R_X86_64_DTPMOD64, VALUE_TLS_BLOCK},
    {EM_X86_64, R_X86_64_DTPOFF64, VALUE_TLS_PLACE},
    {EM_X86_64, R_X86_64_TLSDESC, VALUE_TLS_DESCRIPTOR},
    {EM_AARCH64, R_AARCH64_NONE, VALUE_NONE},
    {EM_AARCH64, R_AARCH64_RELATIVE, VALUE_RELATIVE},
    {EM_AARCH64, R_AARCH64_GLOB_DAT, VALUE_SYMBOL_ADDEND},
    {EM_AARCH64, R_AARCH64_JUMP_SLOT, VALUE_SYMBOL_ADDEND},
    {EM_AARCH64, R_AARCH64_ABS64, VALUE_SYMBOL_ADDEND},
    {EM_RISCV, R_RISCV_NONE, VALUE_NONE},
    {EM_RISCV, R_RISCV_RELATIVE, VALUE_RELATIVE},
    {EM_RISCV, R_RISCV_JUMP_SLOT, VALUE_SYMBOL},
    {EM_RISCV, R_RISCV_64, VALUE_SYMBOL_ADDEND},
};

struct relocator {
    const struct tn_image *image;
    const struct tn__opened_file *file;
    const struct tn__image_mapping *mapping; /* the file's */
    uint64_t tls; /* how far the file's block of thread-local variables is from the thread pointer */
    struct dynamic tables[TABLES];
    const struct tn_image_load_options *options; /* images and resolver, which have the symbols */
    bool undefined;                              /* some symbol is */
    struct tn_error *err;
};

#define FAIL(r, ...) tn__fail((r)->err, TN_EFORMAT, __VA_ARGS__)

/* ---- the dynamic section ---- */

static const struct field {
    int64_t tag;
    enum table table;
    bool is_size;
} fields[] = {
    {DT_RELA, RELA, false},
    {DT_RELASZ, RELA, true},
    {DT_JMPREL, JMPREL, false},
    {DT_PLTRELSZ, JMPREL, true},
    {DT_RELR_, RELR, false},
    {DT_RELRSZ_, RELR, true},
    {DT_SYMTAB, SYMTAB, false},
    {DT_STRTAB, STRTAB, false},
    {DT_STRSZ, STRTAB, true},
    {DT_INIT_ARRAY, INIT, false},
    {DT_INIT_ARRAYSZ, INIT, true},
    {DT_FINI_ARRAY, FINI, false},
    {DT_FINI_ARRAYSZ, FINI, true},
    {TN__IMAGE_DT_MAPS, MAPS, false},
    {TN__IMAGE_DT_MAPS_SIZE, MAPS, true},
    {TN__IMAGE_DT_ROOTS, ROOTS, false},
    {TN__IMAGE_DT_ROOTS_SIZE, ROOTS, true},
    {TN__IMAGE_DT_ABI, ABI, false},
    {TN__IMAGE_DT_ABI_SIZE, ABI, true},
};

static int take_entry(struct relocator *r, const Elf64_Dyn *entry)
{
    for (size_t i = 0; i < TN_COUNT(fields); i++)
        if (fields[i].tag == entry->d_tag) {
            struct dynamic *table = &r->tables[fields[i].table];
            *(fields[i].is_size ? &table->size : &table->address) = entry->d_un.d_val;
        }
    if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DT_FLAGS_TEXTREL_)))
        return tn__fail(r->err, TN_ENOTSUP, "%s: it wants to change its code (DT_TEXTREL): compile it with -fPIC",
                        r->mapping->name);
    if (entry->d_tag == DT_REL)
        return tn__fail(r->err, TN_ENOTSUP, "%s: relocations without addends (DT_REL)", r->mapping->name);
    return 0;
}

static int read_dynamic(struct relocator *r)
{
    const struct tn__image_mapping *m = r->mapping;
    const uint8_t *at = tn__image_at(m, m->dynamic.address, m->dynamic.file_size, TN__PROT_R);
    if (!m->dynamic.size)
        return 0;
    if (!at)
        return FAIL(r, "%s: the dynamic section lies outside of its segments", m->name);
    int code = 0;
    for (uint64_t i = 0; i < m->dynamic.file_size / sizeof(Elf64_Dyn) && !code; i++) {
        Elf64_Dyn entry;
        memcpy(&entry, at + i * sizeof entry, sizeof entry);
        if (entry.d_tag == DT_NULL)
            break;
        code = take_entry(r, &entry);
    }
    for (size_t i = 0; i < TABLES && !code; i++)
        if (r->tables[i].size && !tn__image_at(m, r->tables[i].address, r->tables[i].size, TN__PROT_R))
            code = FAIL(r, "%s: dynamic section: a table of %llu bytes at 0x%llx lies outside of its segments", m->name,
                        (unsigned long long)r->tables[i].size, (unsigned long long)r->tables[i].address);
    return code;
}

/* The table in memory; NULL if there is none. */
static const uint8_t *table_at(const struct relocator *r, enum table table, uint64_t *size)
{
    *size = r->tables[table].size;
    return *size ? tn__image_at(r->mapping, r->tables[table].address, *size, TN__PROT_R) : NULL;
}

static int find_managed(const struct relocator *r, struct tn__managed_file *managed)
{
    managed->maps = table_at(r, MAPS, &managed->maps_size);
    managed->roots = table_at(r, ROOTS, &managed->roots_size);
    managed->abi = table_at(r, ABI, &managed->abi_size);
    managed->name = r->mapping->name;
    if (!managed->maps && !managed->roots && !managed->abi)
        return 0;
    if (r->options->managed)
        return tn__managed_check_abi(managed->name, managed->abi, managed->abi_size, r->err);
    return tn__fail(r->err, TN_ENOTSUP,
                    "%s: it has managed code, and the options name no collector (tn_managed_runtime)",
                    r->mapping->name);
}

/* ---- symbols ---- */

static int read_symbol(const struct relocator *r, uint32_t index, Elf64_Sym *symbol, const char **name)
{
    const struct tn__image_mapping *m = r->mapping;
    const uint8_t *at =
        tn__image_at(m, r->tables[SYMTAB].address + (uint64_t)index * sizeof *symbol, sizeof *symbol, TN__PROT_R);
    if (!at || !r->tables[SYMTAB].address)
        return FAIL(r, "%s: symbol %u lies outside of its segments", m->name, index);
    memcpy(symbol, at, sizeof *symbol);
    const struct dynamic *strings = &r->tables[STRTAB];
    *name = tn__image_at(m, strings->address, strings->size, TN__PROT_R);
    if (!*name || symbol->st_name >= strings->size || (*name)[strings->size - 1])
        return FAIL(r, "%s: the name of symbol %u lies outside of its table", m->name, index);
    *name += symbol->st_name;
    return 0;
}

/* What the two words of a VALUE_TLS_BLOCK and a VALUE_TLS_PLACE are for: the file's code calls it. */
static void *tls_get_addr(const uint64_t index[2])
{
    tn__tls_refresh();
    return tn__thread_pointer() + index[0] + index[1];
}

/* Asks the collector for an address or, of a variable, a distance from the thread pointer; 0 if it has none. */
static uint64_t ask_collector(const struct relocator *r, const char *name, bool want_variable)
{
    uint64_t value;
    bool is_variable;
    if (!r->options->managed || !r->options->managed->find(name, &value, &is_variable) || is_variable != want_variable)
        return 0;
    return value;
}

/* What the startup part of files calls (write/startup.c). Programs need not export these. */
void __cxa_finalize(void *handle);
int __cxa_at_quick_exit(void (*function)(void *argument), void *handle) __attribute__((weak));
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *handle)
    __attribute__((weak));

/* Names that are bound to functions of ours and of our C library, whatever others have. */
static const struct {
    const char *name;
    const void *address;
} own_names[] = {
    {"__tls_get_addr", (const void *)tls_get_addr},
    {"__cxa_thread_atexit", (const void *)tn__image_thread_atexit},
    {"__cxa_thread_atexit_impl", (const void *)tn__image_thread_atexit},
    {"__cxa_atexit", (const void *)tn__image_atexit},
    {"__cxa_finalize", (const void *)__cxa_finalize},
    {"__cxa_at_quick_exit", (const void *)__cxa_at_quick_exit},
    {"__register_atfork", (const void *)__register_atfork},
};

static uint64_t ask(const struct relocator *r, const char *name)
{
    for (size_t i = 0; i < TN_COUNT(own_names); i++)
        if (own_names[i].address && strcmp(name, own_names[i].name) == 0)
            return (uintptr_t)own_names[i].address;
    const void *address = tn__image_resolve(r->image, r->options, name);
    return address ? (uintptr_t)address : ask_collector(r, name, false);
}

static bool is_listed(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = strstr(list, name); at && size; at = strstr(at + 1, name))
        if (at > list && at[-1] == ' ' && (!at[size] || at[size] == ','))
            return true;
    return false;
}

/* Lists it once, though several relocations may refer to it. */
static void list_undefined(struct relocator *r, const char *name)
{
    if (!r->undefined)
        tn__fail(r->err, TN_EUNDEF, "%s: the program does not have: %s", r->mapping->name, name);
    else if (r->err && !is_listed(r->err->text, name))
        tn__append(r->err, ", %s", name);
    r->undefined = true;
}

/* All undefined symbols are listed. */
static int find_symbol(struct relocator *r, uint32_t index, uint64_t *value)
{
    Elf64_Sym symbol;
    const char *name;
    *value = 0;
    int code = index ? read_symbol(r, index, &symbol, &name) : 0;
    if (code || !index)
        return code;
    unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (type == STT_GNU_IFUNC || type == STT_TLS)
        return tn__fail(r->err, TN_ENOTSUP, "%s: symbol '%s' is %s", r->mapping->name, name,
                        type == STT_TLS ? "thread-local" : "an indirect function");
    if (symbol.st_shndx != SHN_UNDEF) {
        *value = symbol.st_value + (symbol.st_shndx == SHN_ABS ? 0 : r->mapping->bias);
        return 0;
    }
    *value = ask(r, name);
    if (!*value && ELF64_ST_BIND(symbol.st_info) != STB_WEAK)
        list_undefined(r, name);
    return 0;
}

/* The place of a thread-local variable relative to the file's block. Of the program's variables only the collector's is
 * known. */
static int find_variable(const struct relocator *r, uint32_t index, uint64_t *place)
{
    Elf64_Sym symbol = {.st_shndx = SHN_ABS};
    const char *name = "";
    int code = index ? read_symbol(r, index, &symbol, &name) : 0;
    *place = symbol.st_value;
    if (code || symbol.st_shndx != SHN_UNDEF)
        return code;
    uint64_t distance = ask_collector(r, name, true);
    if (!distance)
        return tn__fail(r->err, TN_ENOTSUP, "%s: '%s' is a thread-local variable of the program's", r->mapping->name,
                        name);
    *place = distance - r->tls;
    return 0;
}

/* ---- relocations ---- */

static const struct row *find_row(uint16_t machine, uint32_t type)
{
    for (size_t i = 0; i < TN_COUNT(rows); i++)
        if (rows[i].machine == machine && rows[i].type == type)
            return &rows[i];
    return NULL;
}

static uint8_t *target_of(struct relocator *r, uint64_t address)
{
    uint8_t *target = tn__image_at(r->mapping, address, 8, TN__PROT_RW);
    if (!target)
        FAIL(r, "%s: a relocation of 0x%llx, which is no writable memory of the file", r->mapping->name,
             (unsigned long long)address);
    return target;
}

static int apply_tls(struct relocator *r, enum value value, const Elf64_Rela *rela)
{
    uint64_t place;
    uint8_t *target = target_of(r, rela->r_offset);
    int code = find_variable(r, (uint32_t)ELF64_R_SYM(rela->r_info), &place);
    if (!target || code)
        return target ? code : TN_EFORMAT;
    place += (uint64_t)rela->r_addend;
    switch (value) {
    case VALUE_TLS:
        tn__put64(target, r->tls + place);
        return 0;
    case VALUE_TLS_BLOCK:
        tn__put64(target, r->tls);
        return 0;
    case VALUE_TLS_PLACE:
        tn__put64(target, place);
        return 0;
    default:
        if (!target_of(r, rela->r_offset + 8))
            return TN_EFORMAT;
        tn__put64(target, (uintptr_t)tn__tls_descriptor);
        tn__put64(target + 8, r->tls + place);
        return 0;
    }
}

static int apply(struct relocator *r, const Elf64_Rela *rela)
{
    const struct row *row = find_row(r->mapping->machine, (uint32_t)ELF64_R_TYPE(rela->r_info));
    uint64_t value = r->mapping->bias;
    if (!row)
        return tn__fail(r->err, TN_ENOTSUP, "%s: relocation type %u is not supported", r->mapping->name,
                        (unsigned)ELF64_R_TYPE(rela->r_info));
    if (row->value == VALUE_NONE)
        return 0;
    if (row->value >= VALUE_TLS)
        return apply_tls(r, row->value, rela);
    uint8_t *target = target_of(r, rela->r_offset);
    if (!target)
        return TN_EFORMAT;
    int code = 0;
    if (row->value != VALUE_RELATIVE)
        code = find_symbol(r, (uint32_t)ELF64_R_SYM(rela->r_info), &value);
    if (!code)
        tn__put64(target, value + (row->value == VALUE_SYMBOL ? 0 : (uint64_t)rela->r_addend));
    return code;
}

static int apply_table(struct relocator *r, enum table table)
{
    int code = 0;
    const uint8_t *at = (const uint8_t *)(uintptr_t)(r->mapping->bias + r->tables[table].address);
    for (uint64_t i = 0; i < r->tables[table].size / sizeof(Elf64_Rela) && !code; i++) {
        Elf64_Rela rela;
        memcpy(&rela, at + i * sizeof rela, sizeof rela);
        code = apply(r, &rela);
    }
    return code;
}

/* Slots are filled anyway. */
static bool is_slot(const struct relocator *r, uint64_t address)
{
    return address - r->file->slots < r->file->slots_size;
}

static int move_word(struct relocator *r, uint64_t address)
{
    if (is_slot(r, address))
        return 0;
    uint8_t *target = target_of(r, address);
    if (target)
        tn__put64(target, tn__get64(target) + r->mapping->bias);
    return target ? 0 : TN_EFORMAT;
}

/* Bit n is the word at start + 8 * n. Where slots or another segment begin among them, each is looked at by itself. */
static int move_some(struct relocator *r, uint64_t start, uint64_t bits)
{
    bool first = is_slot(r, start), last = is_slot(r, start + SPAN - 8);
    if (first && last)
        return 0;
    uint8_t *memory = first || last ? NULL : tn__image_at(r->mapping, start, SPAN, TN__PROT_RW);
    int code = 0;
    for (; bits && !code; bits &= bits - 1) {
        uint64_t at = 8 * (uint64_t)__builtin_ctzll(bits);
        if (memory)
            tn__put64(memory + at, tn__get64(memory + at) + r->mapping->bias);
        else
            code = move_word(r, start + at);
    }
    return code;
}

/* An even word is an address; an odd one is a bitmap for the 63 words that follow. */
static int apply_relr(struct relocator *r)
{
    const uint8_t *at = (const uint8_t *)(uintptr_t)(r->mapping->bias + r->tables[RELR].address);
    uint64_t next = 0;
    int code = 0;
    for (uint64_t i = 0; i < r->tables[RELR].size / 8 && !code; i++) {
        uint64_t word = tn__get64(at + 8 * i);
        code = word & 1 ? move_some(r, next, word >> 1) : move_word(r, word);
        next = word & 1 ? next + SPAN : word + 8;
    }
    return code;
}

/* ---- the whole ---- */

static int list_calls(const struct relocator *r, enum table table, struct tn__image_calls *calls)
{
    *calls = (struct tn__image_calls){r->mapping->bias + r->tables[table].address, r->tables[table].size / 8};
    for (uint64_t i = 0; i < calls->count; i++) {
        uint64_t function = tn__get64((const void *)(uintptr_t)(calls->address + 8 * i));
        if (!tn__image_at(r->mapping, function - r->mapping->bias, 1, TN__PROT_RX))
            return FAIL(r, "%s: an initializer or finalizer is no code of the file", r->mapping->name);
    }
    return 0;
}

/* Their place in the program's reserve. */
static int place_variables(struct relocator *r, struct tn__opened_file *file)
{
    const struct tn__image_segment *tls = &r->mapping->tls;
    if (!tls->size)
        return 0;
    if (tls->file_size > tls->size || !tn__image_at(r->mapping, tls->address, tls->file_size, TN__PROT_R))
        return FAIL(r, "%s: PT_TLS lies outside of its segments", r->mapping->name);
    uint64_t alignment = tn__max64(r->mapping->tls_alignment, 1);
    if (alignment & (alignment - 1))
        return FAIL(r, "%s: thread-local variables aligned to %llu bytes", r->mapping->name,
                    (unsigned long long)alignment);
    return tn__tls_take(tls->size, alignment, false, &file->tls, &r->tls, r->err);
}

/* Their values, which may be addresses that were relocated. */
static int publish_variables(const struct relocator *r, const struct tn__opened_file *file)
{
    const struct tn__image_segment *tls = &r->mapping->tls;
    const void *values = (const void *)(uintptr_t)(r->mapping->bias + tls->address);
    return file->tls ? tn__tls_publish(file->tls, values, tls->file_size, r->err) : 0;
}

static int apply_all(struct relocator *r)
{
    int code = apply_relr(r);
    if (!code)
        code = apply_table(r, RELA);
    if (!code)
        code = apply_table(r, JMPREL);
    return !code && r->undefined ? TN_EUNDEF : code;
}

int tn__image_relocate(const struct tn__image_opening *o)
{
    struct tn__opened_file *file = o->image->file;
    struct relocator r = {
        .image = o->image, .file = file, .mapping = &file->mapping, .options = o->options, .err = o->err};
    int code = read_dynamic(&r);
    if (!code)
        code = find_managed(&r, &file->managed);
    if (!code)
        code = place_variables(&r, file);
    if (!code)
        code = apply_all(&r);
    if (!code)
        code = list_calls(&r, INIT, &file->initializers);
    if (!code)
        code = list_calls(&r, FINI, &file->finalizers);
    return code ? code : publish_variables(&r, file);
}

void tn__image_give_variables(struct tn__opened_file *file)
{
    if (file->tls)
        tn__tls_give(file->tls);
    file->tls = NULL;
}

int tn__image_seal(const struct tn__image_opening *o)
{
    const struct tn__image_mapping *m = &o->image->file->mapping;
    uint64_t page = tn__os_page_size(), start = m->relro.address / page * page;
    uint64_t end = (m->relro.address + m->relro.size) / page * page;
    if (end <= start)
        return 0;
    if (!tn__image_at(m, m->relro.address, m->relro.size, TN__PROT_RW))
        return tn__fail(o->err, TN_EFORMAT, "%s: PT_GNU_RELRO lies outside of its segments", m->name);
    int error = tn__os_protect(m->bias + start, end - start, TN__PROT_R);
    return error ? tn__fail(o->err, TN_ENOMEM, "%s: cannot protect its data: %s", m->name, strerror(error)) : 0;
}
