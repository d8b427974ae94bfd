/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A shared library's segments in memory (gABI 4.1, chapter 5, "Program Loading"). Contents are mapped from the file, so
 * that processes share them, or copied; only writable segments are private. Every field is checked before it is
 * used. */

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/os.h"
#include "image/load/image.h"

/* The bytes of a file that are read before it is mapped: its header, usually followed by the program headers. */
enum { HEAD = 2048, HEADERS = HEAD / sizeof(Elf64_Phdr) };

struct parser {
    const char *name;
    struct tn__image_source from;
    struct tn__image_mapping *mapping;
    struct tn__image_segment notes[TN__IMAGE_SEGMENTS];
    size_t note_count;
    uint64_t end; /* of the last segment in memory */
    struct tn_error *err;
};

#define FAIL(p, ...) tn__fail((p)->err, TN_EFORMAT, __VA_ARGS__)

/* Addresses of a file are below this, so that sums of them do not wrap. */
static const uint64_t highest = UINT64_C(1) << 47;

/* Reads up to `size` bytes: fewer at the end. */
static int read_source(const struct tn__image_source *from, uint64_t offset, void *bytes, size_t size, size_t *got)
{
    if (!from->bytes)
        return tn__os_read_open(from->fd, offset, bytes, size, got);
    *got = offset < from->size ? (size_t)tn__min64(size, from->size - offset) : 0;
    if (*got)
        memcpy(bytes, from->bytes + offset, *got);
    return 0;
}

/* ---- headers ---- */

static int check_file(const struct parser *p, const uint8_t *head, size_t size)
{
    if (size < sizeof(Elf64_Ehdr) || memcmp(head, ELFMAG, SELFMAG) != 0)
        return FAIL(p, "%s: not an ELF file", p->name);
    if (head[EI_CLASS] != ELFCLASS64 || head[EI_DATA] != ELFDATA2LSB)
        return FAIL(p, "%s: ELF class %u, byte order %u; only 64-bit little-endian files can be loaded", p->name,
                    head[EI_CLASS], head[EI_DATA]);
    unsigned type = tn__get16(head + offsetof(Elf64_Ehdr, e_type));
    if (type != ET_DYN)
        return FAIL(p, "%s: ELF type %u; only shared libraries can be loaded", p->name, type);
    return 0;
}

static int add_segment(struct parser *p, const Elf64_Phdr *h)
{
    struct tn__image_mapping *m = p->mapping;
    uint64_t page = tn__os_page_size();
    if (m->segment_count == TN__IMAGE_SEGMENTS)
        return tn__fail(p->err, TN_ENOTSUP, "%s: more than %d segments", p->name, TN__IMAGE_SEGMENTS);
    bool has_bytes = h->p_filesz; /* otherwise the offset says nothing: strip leaves those that the file had */
    if ((has_bytes && !tn__inside(h->p_offset, h->p_filesz, p->from.size)) || h->p_filesz > h->p_memsz ||
        h->p_vaddr > highest || h->p_memsz > highest)
        return FAIL(p, "%s: segment %zu lies outside of the file's %llu bytes", p->name, m->segment_count,
                    (unsigned long long)p->from.size);
    if (has_bytes && h->p_vaddr % page != h->p_offset % page)
        return FAIL(p, "%s: segment %zu: address 0x%llx and offset 0x%llx cannot be mapped in pages of %llu", p->name,
                    m->segment_count, (unsigned long long)h->p_vaddr, (unsigned long long)h->p_offset,
                    (unsigned long long)page);
    if (h->p_vaddr / page * page < p->end)
        return FAIL(p, "%s: segment %zu shares a page with the one before", p->name, m->segment_count);
    if ((h->p_flags & PF_W) && (h->p_flags & PF_X))
        return FAIL(p, "%s: segment %zu is writable and executable", p->name, m->segment_count);
    p->end = tn__align_up(h->p_vaddr + h->p_memsz, page);
    m->segments[m->segment_count++] = (struct tn__image_segment){h->p_vaddr, h->p_filesz, h->p_memsz, h->p_offset,
                                                                 h->p_flags & PF_X   ? TN__PROT_RX
                                                                 : h->p_flags & PF_W ? TN__PROT_RW
                                                                                     : TN__PROT_R};
    return 0;
}

static int take_header(struct parser *p, const Elf64_Phdr *h)
{
    struct tn__image_segment range = {.address = h->p_vaddr, .file_size = h->p_filesz, .size = h->p_memsz};
    switch (h->p_type) {
    case PT_LOAD:
        return h->p_memsz ? add_segment(p, h) : 0;
    case PT_DYNAMIC:
        p->mapping->dynamic = range;
        return 0;
    case PT_GNU_RELRO:
        p->mapping->relro = range;
        return 0;
    case PT_NOTE:
        if (p->note_count < TN__IMAGE_SEGMENTS)
            p->notes[p->note_count++] = range;
        return 0;
    case PT_GNU_EH_FRAME:
        p->mapping->frames = range;
        return 0;
    case PT_TLS:
        p->mapping->tls = range;
        p->mapping->tls_alignment = h->p_align;
        return 0;
    default:
        return 0;
    }
}

static int read_at(const struct parser *p, uint64_t offset, uint8_t *bytes, size_t *size)
{
    int error = read_source(&p->from, offset, bytes, HEAD, size);
    return error ? tn__fail(p->err, TN_EIO, "%s: cannot be read: %s", p->name, strerror(error)) : 0;
}

static int read_headers(struct parser *p)
{
    uint8_t head[HEAD];
    Elf64_Ehdr file;
    size_t read;
    int code = read_at(p, 0, head, &read);
    if (!code)
        code = check_file(p, head, read);
    if (code)
        return code;
    memcpy(&file, head, sizeof file);
    p->mapping->machine = file.e_machine;
    uint64_t at = file.e_phoff, size = (uint64_t)file.e_phnum * sizeof(Elf64_Phdr);
    if (file.e_phentsize != sizeof(Elf64_Phdr) || file.e_phnum > HEADERS || !tn__inside(at, size, p->from.size))
        return FAIL(p, "%s: %u program headers of %u bytes at %llu lie outside of the file", p->name, file.e_phnum,
                    file.e_phentsize, (unsigned long long)file.e_phoff);
    if (!tn__inside(at, size, read)) {
        code = read_at(p, at, head, &read);
        if (!code && read < size)
            code = FAIL(p, "%s: was truncated while it was read", p->name);
        at = 0;
    }
    for (size_t i = 0; i < file.e_phnum && !code; i++) {
        Elf64_Phdr header;
        memcpy(&header, head + at + i * sizeof header, sizeof header);
        code = take_header(p, &header);
    }
    if (!code && !p->mapping->segment_count)
        return FAIL(p, "%s: there is nothing to load", p->name);
    return code;
}

/* ---- the image in the file ---- */

const uint8_t *tn__image_file_bytes(const struct tn__image_mapping *mapping, uint64_t address, uint64_t *available)
{
    for (size_t i = 0; i < mapping->segment_count; i++) {
        const struct tn__image_segment *s = &mapping->segments[i];
        if (address < s->address || address - s->address >= s->file_size || s->prot == TN__PROT_RW)
            continue;
        *available = s->file_size - (address - s->address);
        return (const uint8_t *)(uintptr_t)(mapping->bias + address);
    }
    *available = 0;
    return NULL;
}

static int find_image(const struct parser *p)
{
    for (size_t i = 0; i < p->note_count; i++) {
        uint64_t available, note;
        const struct tn__image_segment *range = &p->notes[i];
        const uint8_t *notes = tn__image_file_bytes(p->mapping, range->address, &available);
        if (!notes || !tn__image_find_note(notes, tn__min64(available, range->file_size), &note))
            continue;
        int32_t distance = (int32_t)tn__get32(notes + note + TN__IMAGE_NOTE_AT);
        p->mapping->header = range->address + note + (uint64_t)(int64_t)distance;
        return 0;
    }
    return FAIL(p, "%s: there is no image in it: no note of Tenon's", p->name);
}

/* ---- memory ---- */

const struct tn__image_segment *tn__image_segment_at(const struct tn__image_mapping *mapping, uint64_t address,
                                                     uint64_t size, unsigned prot)
{
    for (size_t i = 0; i < mapping->segment_count; i++) {
        const struct tn__image_segment *s = &mapping->segments[i];
        if (address >= s->address && tn__inside(address - s->address, size, s->size) && (s->prot & prot) == prot)
            return s;
    }
    return NULL;
}

void *tn__image_at(const struct tn__image_mapping *mapping, uint64_t address, uint64_t size, unsigned prot)
{
    bool inside = tn__image_segment_at(mapping, address, size, prot);
    return inside ? (void *)(uintptr_t)(mapping->bias + address) : NULL;
}

/* Copies one segment, which is not executable while it is written. */
static int copy_segment(const struct tn__image_mapping *m, const struct tn__image_segment *s,
                        const struct tn__image_source *from)
{
    uint64_t page = tn__os_page_size(), start = s->address / page * page,
             end = tn__align_up(s->address + s->size, page);
    size_t got = 0;
    int error = tn__os_commit(m->bias + start, end - start, TN__PROT_RW);
    if (!error && s->file_size)
        error = read_source(from, s->offset, (void *)(uintptr_t)(m->bias + s->address), s->file_size, &got);
    if (!error && s->prot != TN__PROT_RW)
        error = tn__os_protect(m->bias + start, end - start, (enum tn__prot)s->prot);
    if (!error && s->prot == TN__PROT_RX)
        tn__os_flush_code(m->bias + start, end - start);
    return error;
}

/* Maps one segment: whole pages of the file, then zeros. */
static int map_segment(const struct tn__image_mapping *m, const struct tn__image_segment *s, int fd)
{
    uint64_t page = tn__os_page_size(), start = s->address / page * page, skew = s->address - start;
    uint64_t file_end = tn__align_up(s->address + s->file_size, page), end = tn__align_up(s->address + s->size, page);
    int error = 0;
    if (!s->file_size)
        file_end = start;
    else
        error = tn__os_map_view(fd, s->offset - skew, m->bias + start, file_end - start, (enum tn__prot)s->prot, true);
    if (!error && end > file_end)
        error = tn__os_commit(m->bias + file_end, end - file_end, (enum tn__prot)s->prot);
    if (!error && s->prot == TN__PROT_RW && s->file_size && s->size > s->file_size) {
        uint64_t rest = tn__min64(file_end, s->address + s->size) - (s->address + s->file_size);
        memset((void *)(uintptr_t)(m->bias + s->address + s->file_size), 0, rest);
    }
    return error;
}

static int report(const struct tn__image_mapping *m, int error, struct tn_error *err)
{
    if (error == EACCES || error == EPERM)
        return tn__fail(err, TN_EPERM,
                        "%s: the system refuses to map its code (a file system mounted noexec, or a policy): %s",
                        m->name, strerror(error));
    return tn__fail(err, error == ENOMEM ? TN_ENOMEM : TN_EIO, "%s: cannot be mapped: %s", m->name, strerror(error));
}

/* A file with an address of its own is wanted there, but anywhere is good enough. */
static int reserve(struct tn__image_mapping *m, uint64_t start, size_t size, bool at_address)
{
    if (at_address && start && tn__os_reserve(start, size, true, &m->start) == 0)
        return 0;
    return tn__os_reserve(0, size, false, &m->start);
}

static int map_segments(struct tn__image_mapping *m, uint64_t end, const struct tn__image_source *from,
                        struct tn_error *err)
{
    uint64_t start = m->segments[0].address / tn__os_page_size() * tn__os_page_size();
    int error = reserve(m, start, end - start, from->at_address);
    if (error)
        return report(m, error, err);
    m->size = end - start;
    m->bias = m->start - start;
    for (size_t i = 0; i < m->segment_count && !error; i++)
        error = from->bytes ? copy_segment(m, &m->segments[i], from) : map_segment(m, &m->segments[i], from->fd);
    return error ? report(m, error, err) : 0;
}

int tn__image_map(const char *name, const struct tn__image_source *from, struct tn__image_mapping *mapping,
                  struct tn_error *err)
{
    struct parser p = {.name = name, .from = *from, .mapping = mapping, .err = err};
    *mapping = (struct tn__image_mapping){.name = name, .fd = from->bytes ? -1 : from->fd};
    int code = read_headers(&p);
    if (!code)
        code = map_segments(mapping, p.end, from, err);
    if (!code)
        code = find_image(&p);
    if (code)
        tn__image_unmap(mapping);
    return code;
}

void tn__image_unmap(struct tn__image_mapping *mapping)
{
    if (mapping->size)
        tn__os_release(mapping->start, mapping->size);
    mapping->size = 0;
}
