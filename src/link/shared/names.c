/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Finds definitions of a shared library by its own hash table (DT_GNU_HASH), as dynamic linkers do: in the file until
 * it is linked, and then in its memory. Only common kinds of definitions are found so; the others, which need more than
 * an address, have entries in the library's table from the beginning. */

#include "link/format/elf/gnu_hash.h"
#include "link/passes/link.h"
#include "link/shared/shared.h"

enum { WORD = 4 };

static const struct tn__shared_names *names_of(const struct tn__late *late)
{
    return tn__container_of((struct tn__late *)(uintptr_t)late, struct tn__shared_names, late);
}

static Elf64_Sym symbol_of(const struct tn__shared_names *names, uint32_t number)
{
    Elf64_Sym symbol;
    memcpy(&symbol, names->symtab + (size_t)number * sizeof symbol, sizeof symbol);
    return symbol;
}

static const char *name_of(const struct tn__shared_names *names, const Elf64_Sym *symbol)
{
    return symbol->st_name < names->strings_size ? names->strings + symbol->st_name : "";
}

static uint32_t find(const struct tn__late *late, const char *name)
{
    const struct tn__shared_names *names = names_of(late);
    uint32_t hash = tn__gnu_hash(name);
    for (uint32_t i = tn__get32(names->buckets + (size_t)(hash % names->bucket_count) * WORD);
         i >= names->first && i < names->end; i++) {
        uint32_t word = tn__get32(names->chains + (size_t)(i - names->first) * WORD);
        if ((word ^ hash) >> 1 == 0) {
            Elf64_Sym symbol = symbol_of(names, i);
            if (!strcmp(name_of(names, &symbol), name) && tn__shared_is_late(names, i, &symbol))
                return i;
        }
        if (word & 1) /* the end of the chain */
            break;
    }
    return 0;
}

static bool is_code(const struct tn__shared_image *image, uint64_t address)
{
    for (uint16_t i = 0; i < image->header_count; i++) {
        const Elf64_Phdr *h = &image->headers[i];
        if (h->p_type == PT_LOAD && h->p_flags & PF_X && address - h->p_vaddr < h->p_memsz)
            return true;
    }
    return false;
}

/* What it is, and where, as a link publishes it. */
static void publish(const struct tn__shared_names *names, const Elf64_Sym *symbol, struct tn__entry *entry)
{
    const struct tn__shared_image *image =
        tn__container_of((struct tn__shared_names *)(uintptr_t)names, struct tn__shared_image, names);
    entry->kind = TN__ENTRY_LINKED;
    entry->callable = is_code(image, symbol->st_value);
    entry->address = symbol->st_value + (symbol->st_shndx == SHN_ABS ? 0 : names->bias);
    entry->size = (uint32_t)tn__min64(symbol->st_size, UINT32_MAX);
}

static void define(struct tn__late *late, uint32_t number, struct tn__entry *entry)
{
    const struct tn__shared_names *names = names_of(late);
    struct tn__object *object = late->object;
    Elf64_Sym symbol = symbol_of(names, number);
    bool weak = ELF64_ST_BIND(symbol.st_info) == STB_WEAK || names->input_flags & TN_INPUT_WEAK;
    entry->strength = weak ? TN__STRENGTH_WEAK : TN__STRENGTH_STRONG;
    entry->hidden = names->input_flags & TN_INPUT_HIDDEN;
    entry->object = object;
    object->entries[object->entry_count++] = entry;
    if (!object->data) {
        publish(names, &symbol, entry);
        return;
    }
    entry->kind = TN__ENTRY_OBJECT;
    entry->symbol = number;
    if (!object->link || !object->link->building) /* else that reads the symbols without the lock */
        tn__symbol_take_entry(object->data, entry);
}

/* Names may share bytes of the file, so their sum is bounded. */
static bool enter_all(struct tn__late *late)
{
    const struct tn__shared_names *names = names_of(late);
    uint64_t sum = 0;
    for (uint32_t i = names->first; i < names->end; i++) {
        Elf64_Sym symbol = symbol_of(names, i);
        if (!tn__shared_is_late(names, i, &symbol))
            continue;
        const char *name = name_of(names, &symbol);
        sum += strlen(name) + 1;
        if (sum > names->most || !tn__symtab_intern(late->table, name))
            return false;
    }
    return true;
}

void tn__shared_begin_names(struct tn__shared_names *names, const struct tn__shared_reader *r)
{
    names->late = (struct tn__late){.find = find, .define = define, .enter_all = enter_all};
    names->symtab = r->symtab;
    names->versym = r->versym;
    names->strings = r->strings;
    names->strings_size = r->strings_size;
    names->at.symtab = r->tags[TN__DT_SYMTAB];
    names->at.versym = r->tags[TN__DT_VERSYM];
    names->at.strings = r->tags[TN__DT_STRTAB];
    names->most = tn__names_limit(r->object);
    names->input_flags = r->object->input.flags;
}

void tn__shared_move_names(struct tn__shared_names *names, const struct tn__shared_names *file, uint64_t bias)
{
    *names = *file;
    names->bias = bias;
    names->buckets = (const uint8_t *)(uintptr_t)(bias + file->at.buckets);
    names->chains = (const uint8_t *)(uintptr_t)(bias + file->at.chains);
    names->symtab = (const uint8_t *)(uintptr_t)(bias + file->at.symtab);
    names->versym = file->versym ? (const uint8_t *)(uintptr_t)(bias + file->at.versym) : NULL;
    names->strings = (const char *)(uintptr_t)(bias + file->at.strings);
}
