/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Symbols of shared libraries. A library does not say how many it has: a hash table knows the last one that is defined
 * (gABI 4.1, chapter 5, "Hash Table"; DT_GNU_HASH as GNU ld and the C libraries have it), and relocations refer to the
 * others. What is defined for others is entered in the library, what a relocation needs is looked up there. */

#include "link/shared/shared.h"
#include "link/tls/tls.h"

#define FAIL TN__SHARED_FAIL

/* ---- how many ---- */

static int fail_hash(const struct tn__shared_reader *r)
{
    return FAIL(r, "%s: its hash table of symbols leaves the file", r->object->name);
}

static int count_by_hash(const struct tn__shared_reader *r, uint32_t *count)
{
    const uint8_t *table = tn__shared_at(r->shared, r->object, r->tags[TN__DT_HASH], 8);
    if (!table)
        return fail_hash(r);
    *count = tn__get32(table + 4); /* as many as it has chains */
    return 0;
}

static int count_by_gnu_hash(struct tn__shared_reader *r, uint32_t *count)
{
    enum { HEADER = 16, WORD = 4, FILTER_WORD = 8 };
    enum { LONGEST = 256 }; /* linkers make short chains; in others no name is looked for */
    uint64_t at = r->tags[TN__DT_GNU_HASH];
    const uint8_t *header = tn__shared_at(r->shared, r->object, at, HEADER);
    if (!header)
        return fail_hash(r);
    uint32_t buckets = tn__get32(header), first = tn__get32(header + 4), last = 0;
    uint64_t filter = (uint64_t)tn__get32(header + 8) * FILTER_WORD, bucket_size = (uint64_t)buckets * WORD;
    const uint8_t *bucket = tn__shared_at(r->shared, r->object, at + HEADER + filter, bucket_size);
    if (!bucket)
        return fail_hash(r);
    for (uint32_t i = 0; i < buckets; i++)
        last = tn__get32(bucket + (size_t)i * WORD) > last ? tn__get32(bucket + (size_t)i * WORD) : last;
    *count = first;
    if (!last)
        return 0;
    if (last < first)
        return fail_hash(r);
    uint64_t chains = at + HEADER + filter + bucket_size, before = last - first,
             left = tn__shared_left(r->shared, chains) / WORD;
    const uint8_t *words = left ? tn__shared_at(r->shared, r->object, chains, left * WORD) : NULL;
    uint64_t length = 0, longest = 0; /* of chains, which end with an odd word */
    for (uint64_t i = 0; i < left; i++) {
        longest = tn__max64(longest, ++length);
        if (!(tn__get32(words + i * WORD) & 1))
            continue;
        length = 0;
        if (i < before)
            continue;
        *count = (uint32_t)tn__min64(first + i + 1, UINT32_MAX);
        if (longest <= LONGEST)
            r->shared->names = (struct tn__shared_names){.buckets = bucket,
                                                         .chains = words,
                                                         .bucket_count = buckets,
                                                         .first = first,
                                                         .end = *count,
                                                         .at = {at + HEADER + filter, chains, 0, 0, 0}};
        return 0;
    }
    return fail_hash(r);
}

int tn__shared_count_symbols(struct tn__shared_reader *r)
{
    enum { MOST = 1 << 28 }; /* those behind the file's have numbers, too */
    const char *name = r->object->name;
    uint32_t count = 0, last = 0;
    int code = r->tags[TN__DT_GNU_HASH] ? count_by_gnu_hash(r, &count)
               : r->tags[TN__DT_HASH]   ? count_by_hash(r, &count)
                                        : FAIL(r, "%s: has no hash table of symbols", name);
    if (!code)
        code = tn__shared_last_symbol(r, &last);
    if (code)
        return code;
    if (count <= last && last < MOST)
        count = last + 1;
    r->symtab = tn__shared_at(r->shared, r->object, r->tags[TN__DT_SYMTAB], (uint64_t)count * sizeof(Elf64_Sym));
    if (!r->symtab || count > MOST || last >= MOST || r->tags[TN__DT_SYMENT] != sizeof(Elf64_Sym))
        return FAIL(r, "%s: its %u symbols lie outside of the file", name, count);
    r->file_symbols = count ? count : 1;
    if (r->tags[TN__DT_VERSYM] &&
        !(r->versym = tn__shared_at(r->shared, r->object, r->tags[TN__DT_VERSYM], (uint64_t)count * 2)))
        return FAIL(r, "%s: the versions of its %u symbols lie outside of the file", name, count);
    r->is_used = tn__arena_array(&r->object->arena, r->file_symbols, sizeof *r->is_used);
    return r->is_used ? 0 : tn__no_memory(r->err, name);
}

/* ---- places ---- */

static const uint8_t types[16] = {
    [STT_FUNC] = TN__TYPE_FUNCTION,
    [STT_TLS] = TN__TYPE_TLS,
    [STT_GNU_IFUNC] = TN__TYPE_IFUNC,
};

static void put_in(const struct tn__shared_segment *s, uint64_t address, struct tn__symbol *symbol)
{
    uint64_t at = address - s->address;
    bool in_zeros = !s->section || (s->zeros && at >= s->file_size);
    symbol->place = TN__PLACE_SECTION;
    symbol->section = in_zeros ? s->zeros : s->section;
    symbol->value = in_zeros ? at - s->file_size : at;
}

static int place_thread_local(const struct tn__shared_reader *r, uint32_t index, struct tn__symbol *symbol)
{
    uint64_t at = symbol->value, file_size = r->tls_section ? r->tls.p_filesz : 0;
    if (at > r->shared->tls_size || !r->shared->tls_size)
        return FAIL(r, "%s: symbol %u (%s) lies outside of its thread-local data", r->object->name, index,
                    symbol->name);
    bool in_zeros = r->tls_zeros && at >= file_size;
    symbol->place = TN__PLACE_SECTION;
    symbol->section = in_zeros ? r->tls_zeros : r->tls_section;
    symbol->value = in_zeros ? at - file_size : at;
    return 0;
}

/* A label may stand at the end of a segment. */
static int place_symbol(const struct tn__shared_reader *r, uint32_t index, struct tn__symbol *symbol)
{
    const struct tn__shared *shared = r->shared;
    if (symbol->type == TN__TYPE_TLS)
        return place_thread_local(r, index, symbol);
    const struct tn__shared_segment *s = tn__shared_segment_at(shared, symbol->value, 1);
    if (symbol->type == TN__TYPE_IFUNC && (!s || s->prot != TN__PROT_RX))
        return FAIL(r, "%s: symbol %u (%s) is an indirect function outside of code", r->object->name, index,
                    symbol->name);
    r->object->has_ifuncs |= symbol->type == TN__TYPE_IFUNC;
    for (size_t i = 0; !s && i < shared->segment_count; i++)
        if (symbol->value == shared->segments[i].address + shared->segments[i].size)
            s = &shared->segments[i];
    if (!s)
        return FAIL(r, "%s: symbol %u (%s) at 0x%llx lies in no segment", r->object->name, index, symbol->name,
                    (unsigned long long)symbol->value);
    put_in(s, symbol->value, symbol);
    return 0;
}

/* ---- what a symbol is ---- */

/* What the process has for shared libraries alone. */
static const struct {
    const char *name;
    const void *address;
} own[] = {
    {"_dl_find_object", (const void *)tn__shared_find_object},
};

static int bind_undefined(const struct tn__shared_reader *r, uint32_t index, uint8_t binding, struct tn__symbol *symbol)
{
    if (!r->is_used[index]) {
        *symbol = (struct tn__symbol){.name = ""};
        return 0;
    }
    if (!*symbol->name)
        return FAIL(r, "%s: symbol %u is needed and has no name", r->object->name, index);
    symbol->binding = binding == STB_WEAK ? TN__BIND_WEAK : TN__BIND_GLOBAL;
    symbol->type = symbol->type == TN__TYPE_IFUNC ? TN__TYPE_FUNCTION : symbol->type;
    symbol->value = 0;
    for (size_t i = 0; i < TN_COUNT(own); i++)
        if (!strcmp(symbol->name, own[i].name)) {
            symbol->binding = TN__BIND_LOCAL;
            symbol->place = TN__PLACE_ABSOLUTE;
            symbol->value = (uintptr_t)own[i].address;
        }
    return 0;
}

/* A definition that is not of the default version has the version in its name. */
static int name_definition(struct tn__shared_reader *r, uint32_t index, struct tn__symbol *symbol)
{
    enum { HIDDEN = 0x8000, LOCAL = 0, GLOBAL = 1 };
    uint16_t version = r->versym ? tn__get16(r->versym + (size_t)index * 2) : GLOBAL, number = version & (HIDDEN - 1);
    if (number == LOCAL)
        symbol->binding = TN__BIND_LOCAL;
    if (number <= GLOBAL || !(version & HIDDEN))
        return 0;
    const char *of = number < r->version_count ? r->versions[number] : NULL;
    if (!of)
        return FAIL(r, "%s: symbol %u (%s) has version %u, which does not exist", r->object->name, index, symbol->name,
                    number);
    size_t length = strlen(symbol->name), size = length + 1 + strlen(of);
    r->copied += size;
    if (r->copied > tn__names_limit(r->object))
        return tn__object_fail_names(r->object, "symbols", r->err);
    char *name = tn__arena_alloc(&r->object->arena, size + 1);
    if (!name)
        return tn__no_memory(r->err, r->object->name);
    memcpy(name, symbol->name, length);
    name[length] = '@';
    memcpy(name + length + 1, of, size - length); /* with the NUL */
    symbol->name = name;
    return 0;
}

static int bind_definition(struct tn__shared_reader *r, uint32_t index, uint8_t binding, uint8_t visibility,
                           struct tn__symbol *symbol)
{
    bool is_local = binding == STB_LOCAL || visibility == STV_HIDDEN || visibility == STV_INTERNAL;
    symbol->binding = is_local ? TN__BIND_LOCAL : binding == STB_WEAK ? TN__BIND_WEAK : TN__BIND_GLOBAL;
    symbol->is_copy = binding == STB_GNU_UNIQUE;
    if (is_local)
        return 0;
    return *symbol->name ? name_definition(r, index, symbol)
                         : FAIL(r, "%s: symbol %u is global and has no name", r->object->name, index);
}

/* guess[0] is the segment that the variable before lay in, guess[1] that of the function. */
static bool read_late(const struct tn__shared_reader *r, uint32_t index, const Elf64_Sym *file,
                      const struct tn__shared_segment **guess, struct tn__symbol *symbol)
{
    guess += ELF64_ST_TYPE(file->st_info) == STT_FUNC;
    const struct tn__shared_segment *s = *guess;
    if (!r->shared->names.bucket_count || !tn__shared_is_late(&r->shared->names, index, file) ||
        file->st_shndx == SHN_ABS || file->st_name >= r->strings_size || !r->strings[file->st_name])
        return false;
    if (!s || file->st_value - s->address >= s->size)
        s = *guess = tn__shared_segment_at(r->shared, file->st_value, 1);
    if (!s)
        return false;
    symbol->name = r->strings + file->st_name; /* everything else is 0 */
    symbol->size = file->st_size;
    symbol->type = types[ELF64_ST_TYPE(file->st_info)];
    symbol->binding = ELF64_ST_BIND(file->st_info) == STB_WEAK ? TN__BIND_WEAK : TN__BIND_GLOBAL;
    symbol->late = true;
    put_in(s, file->st_value, symbol);
    return true;
}

static int read_symbol(struct tn__shared_reader *r, uint32_t index, const struct tn__shared_segment **guess,
                       struct tn__symbol *symbol)
{
    Elf64_Sym file;
    memcpy(&file, r->symtab + (size_t)index * sizeof file, sizeof file);
    if (read_late(r, index, &file, guess, symbol))
        return 0;
    const char *name = tn__shared_string(r, file.st_name);
    uint8_t binding = ELF64_ST_BIND(file.st_info);
    if (!name)
        return FAIL(r, "%s: symbol %u: its name lies outside of its names", r->object->name, index);
    *symbol = (struct tn__symbol){
        .name = name, .value = file.st_value, .size = file.st_size, .type = types[ELF64_ST_TYPE(file.st_info)]};
    if (file.st_shndx == SHN_UNDEF)
        return bind_undefined(r, index, binding, symbol);
    int code = bind_definition(r, index, binding, ELF64_ST_VISIBILITY(file.st_other), symbol);
    if (code)
        return code;
    if (file.st_shndx == SHN_ABS) {
        symbol->place = TN__PLACE_ABSOLUTE;
        symbol->type = TN__TYPE_OTHER;
        return 0;
    }
    if (file.st_shndx == SHN_COMMON)
        return FAIL(r, "%s: symbol %u (%s) has no place", r->object->name, index, symbol->name);
    if (symbol->binding == TN__BIND_LOCAL && !r->is_used[index]) {
        *symbol = (struct tn__symbol){.name = ""};
        return 0;
    }
    return place_symbol(r, index, symbol);
}

/* ---- those of the reader's own ---- */

static void add_own_symbols(const struct tn__shared_reader *r)
{
    const struct tn__shared *shared = r->shared;
    struct tn__symbol *symbols = r->object->symbols;
    symbols[tn__shared_symbol(r, TN__SHARED_BASE)] = (struct tn__symbol){
        .name = "", .place = TN__PLACE_SECTION, .section = 1, .value = -r->object->sections[1].offset};
    symbols[tn__shared_symbol(r, TN__SHARED_ONE)] =
        (struct tn__symbol){.name = "", .place = TN__PLACE_ABSOLUTE, .value = TN__TLS_MODULE};
    symbols[tn__shared_symbol(r, TN__SHARED_DESCRIPTOR)] =
        (struct tn__symbol){.name = "", .place = TN__PLACE_ABSOLUTE, .value = (uintptr_t)tn__tls_descriptor};
    symbols[tn__shared_symbol(r, TN__SHARED_TLS)] = (struct tn__symbol){.name = ""};
    if (shared->tls_size)
        symbols[tn__shared_symbol(r, TN__SHARED_TLS)] =
            (struct tn__symbol){.name = "",
                                .type = TN__TYPE_TLS,
                                .place = TN__PLACE_SECTION,
                                .section = r->tls_section ? r->tls_section : r->tls_zeros};
    for (size_t i = 0; i < r->indirect_count; i++) {
        struct tn__symbol *symbol = &symbols[tn__shared_symbol(r, TN__SHARED_SYMBOLS) + i];
        *symbol = (struct tn__symbol){.name = "", .type = TN__TYPE_IFUNC};
        put_in(tn__shared_segment_at(shared, r->indirect[i], 1), r->indirect[i], symbol);
        r->object->has_ifuncs = true;
    }
}

/* A name that another symbol has too, such as one that is needed of another library by its version (NAME@VERSION), gets
 * an entry at once, and so it has to be the definition's. */
static uint32_t drop_known(const struct tn__shared_reader *r, uint32_t late)
{
    const struct tn__late *names = &r->shared->names.late;
    struct tn__symbol *symbols = r->object->symbols;
    for (uint32_t i = 1; late && i < r->file_symbols; i++) {
        bool has_entry = !symbols[i].late && symbols[i].binding != TN__BIND_LOCAL;
        uint32_t same = has_entry ? names->find(names, symbols[i].name) : 0;
        late -= symbols[same].late;
        symbols[same].late = false;
    }
    return late;
}

int tn__shared_read_symbols(struct tn__shared_reader *r)
{
    struct tn__object_data *object = r->object;
    object->symbol_count = tn__shared_symbol(r, TN__SHARED_SYMBOLS) + (uint32_t)r->indirect_count;
    object->symbols = tn__arena_array(&object->arena, object->symbol_count, sizeof *object->symbols);
    if (!object->symbols)
        return tn__no_memory(r->err, object->name);
    object->symbols[0].name = "";
    int code = tn__shared_read_versions(r);
    const struct tn__shared_segment *guess[2] = {NULL, NULL};
    const struct tn__shared_names *names = &r->shared->names;
    uint32_t late = 0;
    tn__shared_begin_names(&r->shared->names, r);
    for (uint32_t i = 1; i < r->file_symbols && !code; i++) {
        code = read_symbol(r, i, guess, &object->symbols[i]);
        late += object->symbols[i].late;
    }
    late = code ? 0 : drop_known(r, late);
    if (late)
        object->late = &r->shared->names.late;
    if (late == r->file_symbols - names->first)
        object->late_first = names->first;
    if (!code)
        add_own_symbols(r);
    return code ? code : tn__shared_check_needs(r);
}
