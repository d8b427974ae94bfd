/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Reads ELF shared libraries into the neutral object. Everything is found by program headers and the dynamic
 * section, as a dynamic linker finds it; section headers are not looked at. Every header, offset, count and index is
 * checked before it is used. */

#include "link/shared/shared.h"
#include "link/tls/tls.h"

#define FAIL TN__SHARED_FAIL

/* Addresses of a file are below this, so that sums of them do not wrap, and code reaches all of it. */
static const uint64_t highest = UINT64_C(1) << 31;

bool tn__shared_claims(const uint8_t *bytes, size_t size, uint32_t machine)
{
    return size >= sizeof(Elf64_Ehdr) && !memcmp(bytes, ELFMAG, SELFMAG) && bytes[EI_CLASS] == ELFCLASS64 &&
           bytes[EI_DATA] == ELFDATA2LSB && tn__get16(bytes + offsetof(Elf64_Ehdr, e_type)) == ET_DYN &&
           (!machine || tn__get16(bytes + offsetof(Elf64_Ehdr, e_machine)) == machine);
}

/* ---- addresses ---- */

const struct tn__shared_segment *tn__shared_segment_at(const struct tn__shared *shared, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < shared->segment_count; i++) {
        const struct tn__shared_segment *s = &shared->segments[i];
        if (address >= s->address && tn__inside(address - s->address, size, s->size))
            return s;
    }
    return NULL;
}

uint64_t tn__shared_left(const struct tn__shared *shared, uint64_t address)
{
    for (size_t i = 0; i < shared->segment_count; i++) {
        const struct tn__shared_segment *s = &shared->segments[i];
        if (address >= s->address && address - s->address < s->file_size)
            return s->file_size - (address - s->address);
    }
    return 0;
}

const uint8_t *tn__shared_at(const struct tn__shared *shared, const struct tn__object_data *object, uint64_t address,
                             uint64_t size)
{
    for (size_t i = 0; i < shared->segment_count; i++) {
        const struct tn__shared_segment *s = &shared->segments[i];
        if (address >= s->address && tn__inside(address - s->address, size, s->file_size))
            return object->bytes + s->offset + (address - s->address);
    }
    return NULL;
}

const char *tn__shared_string(const struct tn__shared_reader *r, uint64_t offset)
{
    return offset < r->strings_size ? r->strings + offset : NULL;
}

/* ---- program headers ---- */

static int add_segment(struct tn__shared_reader *r, const Elf64_Phdr *h)
{
    struct tn__shared *shared = r->shared;
    const char *name = r->object->name;
    size_t number = shared->segment_count;
    uint64_t page = tn__os_page_size(), end = shared->start + shared->size;
    if (number == TN__SHARED_SEGMENTS)
        return tn__fail(r->err, TN_ENOTSUP, "%s: more than %d segments", name, TN__SHARED_SEGMENTS);
    if (h->p_vaddr > highest || h->p_memsz > highest - h->p_vaddr || h->p_filesz > h->p_memsz)
        return FAIL(r, "%s: segment %zu: %llu bytes in memory at 0x%llx, %llu of them in the file", name, number,
                    (unsigned long long)h->p_memsz, (unsigned long long)h->p_vaddr, (unsigned long long)h->p_filesz);
    if (h->p_filesz && !tn__inside(h->p_offset, h->p_filesz, r->object->size))
        return FAIL(r, "%s: segment %zu lies outside of the file's %zu bytes", name, number, r->object->size);
    if (number && (h->p_vaddr & -page) < end)
        return tn__fail(r->err, TN_ENOTSUP, "%s: segment %zu shares a page with the one before, or lies before it",
                        name, number);
    if (h->p_align > highest || h->p_align & (h->p_align - 1))
        return FAIL(r, "%s: segment %zu: alignment %llu", name, number, (unsigned long long)h->p_align);
    if ((h->p_flags & (PF_W | PF_X)) == (PF_W | PF_X))
        return tn__fail(r->err, TN_ENOTSUP, "%s: segment %zu is writable and executable", name, number);
    if (!number)
        shared->start = h->p_vaddr & -page;
    shared->size = tn__align_up(h->p_vaddr + h->p_memsz, page) - shared->start;
    shared->alignment = tn__max64(shared->alignment, h->p_align);
    shared->segments[shared->segment_count++] = (struct tn__shared_segment){h->p_vaddr,
                                                                            h->p_filesz,
                                                                            h->p_memsz,
                                                                            h->p_filesz ? h->p_offset : 0,
                                                                            h->p_flags & PF_X   ? TN__PROT_RX
                                                                            : h->p_flags & PF_W ? TN__PROT_RW
                                                                                                : TN__PROT_R,
                                                                            0,
                                                                            0};
    return 0;
}

static int take_header(struct tn__shared_reader *r, const Elf64_Phdr *h)
{
    switch (h->p_type) {
    case PT_LOAD:
        return h->p_memsz ? add_segment(r, h) : 0;
    case PT_DYNAMIC:
        r->shared->dynamic = h->p_vaddr;
        r->dynamic_size = h->p_filesz;
        return 0;
    case PT_GNU_RELRO:
        r->shared->relro = h->p_vaddr;
        r->shared->relro_size = h->p_memsz;
        return 0;
    case PT_GNU_EH_FRAME:
        r->shared->frames = h->p_vaddr;
        return 0;
    case PT_TLS:
        r->tls = *h;
        return 0;
    case PT_GNU_STACK:
        return h->p_flags & PF_X ? tn__fail(r->err, TN_ENOTSUP, "%s: needs an executable stack", r->object->name) : 0;
    default:
        return 0;
    }
}

static int read_headers(struct tn__shared_reader *r)
{
    struct tn__object_data *object = r->object;
    Elf64_Ehdr file;
    memcpy(&file, object->bytes, sizeof file); /* tn__shared_claims has seen that it is there */
    object->variant = file.e_flags;
    if (file.e_phentsize != sizeof(Elf64_Phdr) ||
        !tn__inside(file.e_phoff, (uint64_t)file.e_phnum * sizeof(Elf64_Phdr), object->size))
        return FAIL(r, "%s: %u program headers of %u bytes at %llu lie outside of the file", object->name, file.e_phnum,
                    file.e_phentsize, (unsigned long long)file.e_phoff);
    Elf64_Phdr *headers = tn__arena_array(&object->arena, file.e_phnum, sizeof *headers);
    if (!headers)
        return tn__no_memory(r->err, object->name);
    memcpy(headers, object->bytes + file.e_phoff, file.e_phnum * sizeof *headers);
    r->shared->headers = headers;
    r->shared->header_count = file.e_phnum;
    int code = 0;
    for (size_t i = 0; i < file.e_phnum && !code; i++)
        code = take_header(r, &headers[i]);
    if (!code && (!r->shared->segment_count || !r->dynamic_size))
        return FAIL(r, "%s: a shared library has segments, and one of them is the dynamic section", object->name);
    return code;
}

/* What is made read-only is writable before, and in whole pages. */
static int check_relro(struct tn__shared_reader *r)
{
    struct tn__shared *shared = r->shared;
    const struct tn__shared_segment *s = tn__shared_segment_at(shared, shared->relro, 1);
    uint64_t page = tn__os_page_size();
    if (!shared->relro_size)
        return 0;
    /* Linkers round its end up to a page, which may be beyond the segment's last byte. */
    if (!s || s->prot != TN__PROT_RW || shared->relro_size > highest ||
        shared->relro + shared->relro_size > tn__align_up(s->address + s->size, page))
        return FAIL(r, "%s: what is read-only after relocation lies in no writable segment", r->object->name);
    uint64_t start = shared->relro & -page, end = (shared->relro + shared->relro_size) & -page;
    shared->relro = start;
    shared->relro_size = end > start ? end - start : 0;
    return 0;
}

static int check_tls(struct tn__shared_reader *r)
{
    const Elf64_Phdr *h = &r->tls;
    uint64_t alignment = h->p_align ? h->p_align : 1;
    if (!h->p_memsz)
        return 0;
    if (alignment & (alignment - 1) || alignment > highest || h->p_memsz > highest || h->p_filesz > h->p_memsz ||
        (h->p_filesz && !tn__shared_at(r->shared, r->object, h->p_vaddr, h->p_filesz)))
        return FAIL(r,
                    "%s: thread-local data of %llu bytes, aligned to %llu: its initial values lie outside of the file",
                    r->object->name, (unsigned long long)h->p_memsz, (unsigned long long)h->p_align);
    r->shared->tls_size = h->p_memsz;
    r->shared->tls_alignment = alignment;
    return 0;
}

/* ---- the dynamic section ---- */

static const struct {
    int64_t tag;
    enum tn__shared_tag which;
} tags[] = {
    {DT_STRTAB, TN__DT_STRTAB},
    {DT_STRSZ, TN__DT_STRSZ},
    {DT_SYMTAB, TN__DT_SYMTAB},
    {DT_SYMENT, TN__DT_SYMENT},
    {DT_HASH, TN__DT_HASH},
    {DT_GNU_HASH, TN__DT_GNU_HASH},
    {DT_VERSYM, TN__DT_VERSYM},
    {DT_VERDEF, TN__DT_VERDEF},
    {DT_VERDEFNUM, TN__DT_VERDEFNUM},
    {DT_VERNEED, TN__DT_VERNEED},
    {DT_VERNEEDNUM, TN__DT_VERNEEDNUM},
    {DT_RELA, TN__DT_RELA},
    {DT_RELASZ, TN__DT_RELASZ},
    {DT_RELAENT, TN__DT_RELAENT},
    {DT_JMPREL, TN__DT_JMPREL},
    {DT_PLTRELSZ, TN__DT_PLTRELSZ},
    {DT_PLTREL, TN__DT_PLTREL},
    {36 /* DT_RELR */, TN__DT_RELR},
    {35 /* DT_RELRSZ */, TN__DT_RELRSZ},
    {37 /* DT_RELRENT */, TN__DT_RELRENT},
    {DT_INIT, TN__DT_INIT},
    {DT_FINI, TN__DT_FINI},
    {DT_INIT_ARRAY, TN__DT_INIT_ARRAY},
    {DT_INIT_ARRAYSZ, TN__DT_INIT_ARRAYSZ},
    {DT_FINI_ARRAY, TN__DT_FINI_ARRAY},
    {DT_FINI_ARRAYSZ, TN__DT_FINI_ARRAYSZ},
    {DT_SONAME, TN__DT_SONAME},
    {DT_FLAGS, TN__DT_FLAGS},
    {DT_FLAGS_1, TN__DT_FLAGS_1},
};

static const struct {
    int64_t tag;
    const char *what;
} refused[] = {
    {DT_TEXTREL, "relocations of its code (DT_TEXTREL); compile it with -fPIC"},
    {DT_REL, "relocations without addends (DT_REL)"},
    {DT_AUXILIARY, "a filter (DT_AUXILIARY)"},
    {DT_FILTER, "a filter (DT_FILTER)"},
};

static int take_entry(struct tn__shared_reader *r, int64_t tag, uint64_t value)
{
    for (size_t i = 0; i < TN_COUNT(refused); i++)
        if (tag == refused[i].tag)
            return tn__fail(r->err, TN_ENOTSUP, "%s: has %s", r->object->name, refused[i].what);
    for (size_t i = 0; i < TN_COUNT(tags); i++)
        if (tag == tags[i].tag)
            r->tags[tags[i].which] = value;
    r->shared->needed_count += tag == DT_NEEDED;
    return 0;
}

/* The entry with this number; DT_NULL behind the last one. */
static Elf64_Dyn entry_of(const struct tn__shared_reader *r, size_t number)
{
    Elf64_Dyn entry = {.d_tag = DT_NULL};
    const uint8_t *bytes = tn__shared_at(r->shared, r->object, r->shared->dynamic, r->dynamic_size);
    if (number < r->dynamic_size / sizeof entry)
        memcpy(&entry, bytes + number * sizeof entry, sizeof entry);
    return entry;
}

static int check_flags(const struct tn__shared_reader *r)
{
    const char *name = r->object->name;
    uint64_t flags = r->tags[TN__DT_FLAGS], more = r->tags[TN__DT_FLAGS_1];
    if (flags & DF_TEXTREL)
        return tn__fail(r->err, TN_ENOTSUP, "%s: has %s", name, refused[0].what);
    if (more & 0x08000000 /* DF_1_PIE */)
        return tn__fail(r->err, TN_ENOTSUP, "%s: is a program, not a shared library", name);
    if (more & DF_1_NOOPEN)
        return tn__fail(r->err, TN_ENOTSUP, "%s: says that it cannot be opened (DF_1_NOOPEN)", name);
    r->shared->stays = more & DF_1_NODELETE;
    return 0;
}

static int read_strings(struct tn__shared_reader *r)
{
    r->strings_size = r->tags[TN__DT_STRSZ];
    r->strings = (const char *)tn__shared_at(r->shared, r->object, r->tags[TN__DT_STRTAB], r->strings_size);
    if (!r->strings || !r->strings_size || r->strings[r->strings_size - 1])
        return FAIL(r, "%s: its table of names lies outside of the file, or does not end", r->object->name);
    return 0;
}

static int read_needed(struct tn__shared_reader *r)
{
    struct tn__shared *shared = r->shared;
    size_t count = 0;
    shared->needed = tn__arena_array(&r->object->arena, shared->needed_count, sizeof *shared->needed);
    if (!shared->needed)
        return tn__no_memory(r->err, r->object->name);
    Elf64_Dyn entry;
    for (size_t i = 0; (entry = entry_of(r, i)).d_tag != DT_NULL; i++) {
        if (entry.d_tag != DT_NEEDED || count == shared->needed_count)
            continue;
        const char *name = tn__shared_string(r, entry.d_un.d_val);
        if (!name || !*name)
            return FAIL(r, "%s: the name of a library that it needs lies outside of its names", r->object->name);
        shared->needed[count++] = name;
    }
    shared->needed_count = count;
    if (r->tags[TN__DT_SONAME] && !(shared->soname = tn__shared_string(r, r->tags[TN__DT_SONAME])))
        return FAIL(r, "%s: its own name lies outside of its names", r->object->name);
    return 0;
}

static int read_dynamic(struct tn__shared_reader *r)
{
    int code = 0;
    Elf64_Dyn entry;
    if (!tn__shared_at(r->shared, r->object, r->shared->dynamic, r->dynamic_size))
        return FAIL(r, "%s: its dynamic section lies in no segment", r->object->name);
    for (size_t i = 0; !code && (entry = entry_of(r, i)).d_tag != DT_NULL; i++)
        code = take_entry(r, entry.d_tag, entry.d_un.d_val);
    if (!code)
        code = check_flags(r);
    if (!code)
        code = read_strings(r);
    return code ? code : read_needed(r);
}

/* ---- sections ---- */

static uint32_t add_section(struct tn__object_data *object, const struct tn__input_section *section)
{
    object->sections[object->section_count] = *section;
    return object->section_count++;
}

/* A segment is what the file has of it, and zeros. While it is not mapped, `offset` is its address in the file. */
static void add_segment_sections(struct tn__shared_reader *r, struct tn__shared_segment *s)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } kinds[] = {[TN__PROT_R] = {"constants", TN__SECTION_RODATA},
                 [TN__PROT_RW] = {"data", TN__SECTION_DATA},
                 [TN__PROT_RX] = {"code", TN__SECTION_CODE}};
    struct tn__input_section section = {.name = kinds[s->prot].name,
                                        .kind = kinds[s->prot].kind,
                                        .alignment = 1,
                                        .pinned = true,
                                        .retained = true,
                                        .offset = s->address,
                                        .size = s->file_size,
                                        .bytes = r->object->bytes + s->offset};
    if (s->file_size)
        s->section = add_section(r->object, &section);
    if (s->size == s->file_size)
        return;
    section.name = "zeros";
    section.kind = section.kind == TN__SECTION_DATA ? TN__SECTION_ZERO : section.kind;
    section.bytes = NULL;
    section.offset += s->file_size;
    section.size = s->size - s->file_size;
    s->zeros = add_section(r->object, &section);
}

static void add_tls_sections(struct tn__shared_reader *r)
{
    const Elf64_Phdr *h = &r->tls;
    struct tn__input_section section = {
        .name = "thread-local data",
        .kind = TN__SECTION_TLS,
        .alignment = r->shared->tls_alignment,
        .retained = true,
        .size = h->p_filesz,
        .bytes = h->p_filesz ? tn__shared_at(r->shared, r->object, h->p_vaddr, h->p_filesz) : NULL};
    if (h->p_filesz)
        r->tls_section = add_section(r->object, &section);
    if (h->p_memsz == h->p_filesz)
        return;
    section.kind = TN__SECTION_TLS_ZERO;
    section.alignment = h->p_filesz ? 1 : section.alignment; /* it follows at once */
    section.size = h->p_memsz - h->p_filesz;
    section.bytes = NULL;
    r->tls_zeros = add_section(r->object, &section);
}

/* An array of functions in the file. */
static int add_array(struct tn__shared_reader *r, enum tn__shared_tag at, enum tn__section_role role)
{
    uint64_t address = r->tags[at], size = r->tags[at + 1];
    if (!address || !size)
        return 0;
    if (size % sizeof(uint64_t) || !tn__shared_at(r->shared, r->object, address, size))
        return FAIL(r, "%s: its array of %s lies outside of the file", r->object->name,
                    role == TN__ROLE_INIT ? "initializers" : "finalizers");
    add_section(r->object, &(struct tn__input_section){.name = role == TN__ROLE_INIT ? ".init_array" : ".fini_array",
                                                       .kind = TN__SECTION_RODATA,
                                                       .role = (uint8_t)role,
                                                       .reversed = role == TN__ROLE_FINI,
                                                       .priority = TN__PRIORITY_LAST,
                                                       .alignment = 1,
                                                       .pinned = true,
                                                       .retained = true,
                                                       .offset = address,
                                                       .size = size});
    return 0;
}

/* An array is made for DT_INIT, which is called before the file's array, and for DT_FINI, called after it. */
static int add_function(struct tn__shared_reader *r, enum tn__shared_tag tag, enum tn__section_role role)
{
    static const uint8_t zeros[sizeof(uint64_t)];
    uint64_t address = r->tags[tag];
    const struct tn__shared_segment *s = tn__shared_segment_at(r->shared, address, 1);
    if (!address)
        return 0;
    if (!s || s->prot != TN__PROT_RX)
        return FAIL(r, "%s: its %s at 0x%llx is no code", r->object->name,
                    role == TN__ROLE_INIT ? "initializer" : "finalizer", (unsigned long long)address);
    struct tn__reloc *reloc = tn__arena_alloc(&r->object->arena, sizeof *reloc);
    if (!reloc)
        return tn__no_memory(r->err, r->object->name);
    *reloc = (struct tn__reloc){
        .type = TN__SHARED_FUNCTION, .symbol = tn__shared_symbol(r, TN__SHARED_BASE), .addend = (int64_t)address};
    add_section(r->object, &(struct tn__input_section){.name = role == TN__ROLE_INIT ? ".init" : ".fini",
                                                       .kind = TN__SECTION_RODATA,
                                                       .role = (uint8_t)role,
                                                       .reversed = role == TN__ROLE_FINI,
                                                       .priority = TN__PRIORITY_FIRST,
                                                       .alignment = sizeof(uint64_t),
                                                       .retained = true,
                                                       .bytes = zeros,
                                                       .size = sizeof zeros,
                                                       .relocs = (const uint8_t *)reloc,
                                                       .reloc_count = 1,
                                                       .relocs_made = true});
    return 0;
}

/* The size of an unwind table, with the length of zero that ends it; 0: it has none, or unwinders would leave it. */
static uint64_t size_of_frames(const uint8_t *table, uint64_t size)
{
    if (!table || !tn__unwind_data_is_sound(table, size))
        return 0;
    uint64_t at = 0;
    for (uint32_t length; size - at >= 4; at += 4 + (uint64_t)length)
        if (!(length = tn__get32(table + at)))
            return at + 4;
    return 0;
}

/* .eh_frame, which the header of PT_GNU_EH_FRAME leads to (LSB Core, "The .eh_frame_hdr section"). Without a table that
 * can be registered, exceptions do not pass the library's functions. */
static void add_frames(struct tn__shared_reader *r)
{
    enum { HEADER = 8, VERSION = 1, PCREL_SDATA4 = 0x1b };
    uint64_t at = r->shared->frames;
    const uint8_t *header = at ? tn__shared_at(r->shared, r->object, at, HEADER) : NULL;
    if (!header || header[0] != VERSION || header[1] != PCREL_SDATA4) {
        r->shared->frames = 0;
        return;
    }
    uint64_t table = at + 4 + (uint64_t)(int64_t)(int32_t)tn__get32(header + 4),
             left = tn__shared_left(r->shared, table);
    uint64_t size = size_of_frames(left ? tn__shared_at(r->shared, r->object, table, left) : NULL, left);
    const struct tn__shared_segment *s = tn__shared_segment_at(r->shared, table, size);
    if (size && s && s->prot != TN__PROT_RW)
        add_section(r->object, &(struct tn__input_section){.name = ".eh_frame",
                                                           .kind = TN__SECTION_RODATA,
                                                           .role = TN__ROLE_UNWIND,
                                                           .alignment = 1,
                                                           .pinned = true,
                                                           .retained = true,
                                                           .offset = table,
                                                           .size = size});
}

static int make_sections(struct tn__shared_reader *r)
{
    enum { OTHERS = 8 }; /* the first one, thread-local data, arrays, functions, frames */
    struct tn__object_data *object = r->object;
    object->sections = tn__arena_array(&object->arena, 2 * r->shared->segment_count + OTHERS, sizeof *object->sections);
    if (!object->sections)
        return tn__no_memory(r->err, object->name);
    object->sections[0].name = "";
    object->section_count = 1;
    for (size_t i = 0; i < r->shared->segment_count; i++)
        add_segment_sections(r, &r->shared->segments[i]);
    add_tls_sections(r);
    add_frames(r);
    int code = add_function(r, TN__DT_INIT, TN__ROLE_INIT);
    if (!code)
        code = add_array(r, TN__DT_INIT_ARRAY, TN__ROLE_INIT);
    if (!code)
        code = add_array(r, TN__DT_FINI_ARRAY, TN__ROLE_FINI);
    return code ? code : add_function(r, TN__DT_FINI, TN__ROLE_FINI);
}

/* ---- the whole ---- */

int tn__shared_read(struct tn__object_data *object, struct tn_error *err)
{
    static int (*const steps[])(struct tn__shared_reader * r) = {
        read_headers,
        read_dynamic,
        check_relro,
        check_tls,
        tn__shared_count_symbols,
        make_sections,
        tn__shared_read_relocs,
        tn__shared_read_symbols,
    };
    struct tn__shared *shared = tn__arena_array(&object->arena, 1, sizeof *shared);
    if (!shared)
        return tn__no_memory(err, object->name);
    struct tn__shared_reader r = {.object = object, .shared = shared, .err = err};
    object->may_change = false; /* what links read of it is in the arena, or is checked again */
    shared->steps = (struct tn__image_steps){tn__shared_add, tn__shared_map, tn__shared_protect};
    object->image = &shared->steps;
    int code = 0;
    for (size_t i = 0; i < TN_COUNT(steps) && !code; i++)
        code = steps[i](&r);
    return code;
}
