/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Showing loaded files to gdb. Its interface for JIT compilers takes an ELF file in memory with final addresses, and
 * those in debug data are not easily found. So ours has the sections of the loaded file at their addresses, without
 * contents except for unwind data, and refers to the file as the one with the debug data (.gnu_debuglink). gdb reads
 * symbols and everything else from there, and relocates it section by section. */

#include "base/os.h"
#include "image/load/image.h"
#include "link/format/elf/writer.h"
#include "link/observe/jit_interface.h"
#include "link/observe/observer.h"

enum { OWN = 3 /* sections of ours: the empty one, the link, names */ };

struct tn__image_shown {
    struct tn__jit_entry entry;
    void (*unload)(struct tn_image *image); /* to be called after ours */
    uint8_t file[];
};

/* ---- the file with sections ---- */

struct source {
    const char *path;
    const uint8_t *bytes;
    size_t size;
    Elf64_Ehdr header;
    Elf64_Shdr names;
    size_t loaded;          /* how many sections are */
    uint8_t *unwind;        /* the contents of .eh_frame in memory; NULL: there is none */
    uint64_t unwind_header; /* and where its header is among the sections */
    struct tn_error *err;
};

/* Thread-local data has no address. */
static bool is_loaded(const Elf64_Shdr *section)
{
    return section->sh_flags & SHF_ALLOC && !(section->sh_flags & SHF_TLS);
}

static Elf64_Shdr section_of(const struct source *s, size_t index)
{
    Elf64_Shdr section;
    memcpy(&section, s->bytes + s->header.e_shoff + index * sizeof section, sizeof section);
    return section;
}

static bool has_bytes(const struct source *s, const Elf64_Shdr *section)
{
    return section->sh_type != SHT_NOBITS && tn__inside(section->sh_offset, section->sh_size, s->size);
}

/* The table of names ends with a NUL. */
static const char *name_of(const struct source *s, const Elf64_Shdr *section)
{
    return section->sh_name < s->names.sh_size ? (const char *)s->bytes + s->names.sh_offset + section->sh_name : "";
}

/* True if this section contains another image than the open one. Files without contents, with debug data alone, are
 * trusted. */
static bool is_other(const struct source *s, const Elf64_Shdr *section, const struct tn_image *image)
{
    enum { ID = 16 };
    uint64_t at = image->file->mapping.header - section->sh_addr;
    return has_bytes(s, section) && tn__inside(at, TN__IMAGE_AT_BUILD_ID + ID, section->sh_size) &&
           memcmp(s->bytes + section->sh_offset + at + TN__IMAGE_AT_BUILD_ID, tn_image_build_id(image), ID) != 0;
}

static int read_headers(struct source *s)
{
    static const char wrong[] = "%s: no ELF file with sections, which a debugger could look at";
    Elf64_Ehdr *header = &s->header;
    if (s->size < sizeof *header)
        return tn__fail(s->err, TN_EFORMAT, wrong, s->path);
    memcpy(header, s->bytes, sizeof *header);
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_shentsize != sizeof(Elf64_Shdr) ||
        header->e_shstrndx >= header->e_shnum || header->e_shnum >= SHN_LORESERVE - OWN ||
        !tn__inside(header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr), s->size))
        return tn__fail(s->err, TN_EFORMAT, wrong, s->path);
    s->names = section_of(s, header->e_shstrndx);
    bool named = has_bytes(s, &s->names) && s->names.sh_size && !s->bytes[s->names.sh_offset + s->names.sh_size - 1];
    return named ? 0 : tn__fail(s->err, TN_EFORMAT, wrong, s->path);
}

static int read_source(struct source *s, const struct tn_image *image)
{
    uint64_t names = 0;
    int code = read_headers(s);
    for (size_t i = 1; i < s->header.e_shnum && !code; i++) {
        Elf64_Shdr section = section_of(s, i);
        if (!is_loaded(&section))
            continue;
        s->loaded++;
        names += strlen(name_of(s, &section));
        if (names > s->size) /* they share bytes, and could be any number of times as long as the file */
            return tn__fail(s->err, TN_EFORMAT, "%s: the names of its sections overlap each other", s->path);
        if (!strcmp(name_of(s, &section), ".eh_frame")) {
            s->unwind = tn__image_at(&image->file->mapping, section.sh_addr, section.sh_size, TN__PROT_R);
            s->unwind_header = i;
        }
        if (is_other(s, &section, image))
            code = tn__fail(s->err, TN_EFORMAT, "%s: the image in it is not the open one", s->path);
    }
    return code;
}

/* ---- the file in memory ---- */

/* CRC-32 (ISO 3309), by which gdb checks that it has found the right file. */
static uint32_t crc_of(const uint8_t *bytes, size_t size)
{
    uint32_t table[256], crc = UINT32_MAX;
    for (uint32_t i = 0; i < TN_COUNT(table); i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
    }
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
    return ~crc;
}

/* Lists the sections of the file: those that are loaded, at their addresses, and the name of the file with the debug
 * data. */
static void list_sections(const struct source *s, uint64_t bias, struct tn__elf_sections *all)
{
    for (size_t i = 1; i < s->header.e_shnum; i++) {
        Elf64_Shdr section = section_of(s, i);
        bool unwinds = s->unwind && i == s->unwind_header;
        if (is_loaded(&section))
            tn__elf_append(all, (struct tn__elf_section){.name = name_of(s, &section),
                                                         .type = unwinds ? SHT_PROGBITS : SHT_NOBITS,
                                                         .flags = section.sh_flags,
                                                         .address = section.sh_addr + bias,
                                                         .size = section.sh_size,
                                                         .alignment = unwinds ? 8 : 1,
                                                         .bytes = unwinds ? s->unwind : NULL});
    }
    tn__elf_append(all, (struct tn__elf_section){.name = ".gnu_debuglink",
                                                 .type = SHT_PROGBITS,
                                                 .size = tn__align_up(strlen(s->path) + 1, 4) + 4,
                                                 .alignment = 4});
}

static struct tn__image_shown *make(const struct source *s, uint64_t bias)
{
    struct tn__elf_sections all = {tn__alloc_zeroed(NULL, s->loaded + OWN, sizeof *all.items), 1, sizeof(Elf64_Ehdr)};
    if (!all.items)
        return NULL;
    list_sections(s, bias, &all);
    const struct tn__elf_section *link = &all.items[all.count - 1];
    uint64_t size = tn__elf_end(&all);
    struct tn__image_shown *shown = tn__alloc_zeroed(NULL, 1, sizeof *shown + size);
    if (shown) {
        tn__elf_write(shown->file, &all, (Elf64_Ehdr){.e_type = ET_EXEC, .e_machine = s->header.e_machine});
        memcpy(shown->file + link->offset, s->path, strlen(s->path));
        tn__put32(shown->file + link->offset + link->size - 4, crc_of(s->bytes, s->size));
        shown->entry.bytes = shown->file;
        shown->entry.size = size;
    }
    tn__free(NULL, all.items);
    return shown;
}

/* ---- the whole ---- */

static void forget_image(struct tn_image *image)
{
    struct tn__image_shown *shown = image->shown;
    tn__observers_lock();
    tn__jit_unregister(&shown->entry);
    tn__observers_unlock();
    shown->unload(image);
    tn__free(NULL, shown);
}

static int show(struct tn_image *image, struct source *s)
{
    int code = read_source(s, image);
    if (code)
        return code;
    image->shown = make(s, image->file->mapping.bias);
    if (!image->shown)
        return tn__fail(s->err, TN_ENOMEM, "%s: out of memory", s->path);
    image->shown->unload = image->unload;
    image->unload = forget_image;
    tn__observers_lock();
    tn__jit_register(&image->shown->entry);
    tn__observers_unlock();
    return 0;
}

int tn_image_observe_gdb(struct tn_image *image, const char *path, struct tn_error *err)
{
    struct tn__os_file file;
    if (!image || !path)
        return tn__no_argument(err);
    if (!image->file)
        return tn__fail(err, TN_EINVAL, "only images that were loaded from files are shown to debuggers");
    if (image->shown)
        return 0;
    int error = tn__os_map_file(path, &file);
    if (error)
        return tn__fail(err, TN_EIO, "%s: cannot be read: %s", path, strerror(error));
    int code = show(image, &(struct source){.path = path, .bytes = file.bytes, .size = file.size, .err = err});
    tn__os_unmap_file(&file);
    return code;
}
