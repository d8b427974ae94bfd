/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The memory of an image: one stretch of address space within reach of the session's window, so that other loaded code
 * reaches its data as that of objects. Segments are mapped from the file where that is open (tn__object_file), as a
 * dynamic linker does: processes share what none has written. Others are copied, and writable until they are
 * relocated. */

#include <string.h>

#include "link/memory/placement.h"
#include "link/passes/link.h"
#include "link/shared/shared.h"

/* ---- address space ---- */

/* Gives back all but `size` bytes from the first multiple of `alignment` on. */
static uint64_t trim(uint64_t start, uint64_t reserved, uint64_t size, uint64_t alignment)
{
    uint64_t address = tn__align_up(start, alignment), end = start + reserved;
    if (address > start)
        tn__os_release(start, address - start);
    if (end > address + size)
        tn__os_release(address + size, end - address - size);
    return address;
}

static int reserve(const struct tn_session *session, const struct tn__shared *shared, uint64_t *address)
{
    const struct tn__window *window = &session->memory.windows[TN__WINDOW_NEAR];
    uint64_t page = tn__os_page_size(), alignment = tn__max64(shared->alignment, page), random;
    uint64_t size = shared->size + (alignment > page ? alignment : 0);
    int error = tn__os_random(&random);
    if (!error)
        error = tn__place_near(window->start, window->end, tn__os_heap_end(), size, random, address);
    if (error)
        error = tn__os_reserve(0, size, false, address);
    if (!error && alignment > page)
        *address = trim(*address, size, shared->size, alignment);
    return error;
}

/* ---- the image ---- */

static void unmap(struct tn__image *base)
{
    struct tn__shared_image *image = tn__container_of(base, struct tn__shared_image, image);
    tn__os_release(image->image.range.address, image->image.range.size);
    tn__shared_withdraw(image);
}

/* Its memory is the process's: a thread may be looking at it when the session ends. */
static struct tn__shared_image *new_image(const struct tn__object *object)
{
    const struct tn__shared *shared = tn__shared_of(object->data);
    size_t headers = shared->header_count * sizeof(Elf64_Phdr), name_size = strlen(object->name) + 1;
    struct tn__shared_image *image = tn__alloc_zeroed(NULL, 1, sizeof *image + headers + name_size);
    if (!image)
        return NULL;
    image->users = 1;
    image->image.unmap = unmap;
    tn__list_init(&image->listed);
    image->header_count = shared->header_count;
    memcpy(image->headers, shared->headers, headers);
    image->link_map.name = memcpy((char *)image->headers + headers, object->name, name_size);
    return image;
}

/* Pages show what is next to a segment in the file: only writable ones can be zero there instead. */
static bool can_be_mapped(const struct tn__shared_segment *s, uint64_t page)
{
    return s->file_size && s->address % page == s->offset % page && (s->prot == TN__PROT_RW || s->size == s->file_size);
}

static bool map_segment(const struct tn__shared_segment *s, uint64_t bias, int fd)
{
    uint64_t page = tn__os_page_size(), start = s->address & -page, bytes_end = s->address + s->file_size,
             mapped_end = tn__align_up(bytes_end, page), end = tn__align_up(s->address + s->size, page);
    int error = tn__os_map_view(fd, s->offset & -page, bias + start, mapped_end - start, (enum tn__prot)s->prot, true);
    if (!error && end > mapped_end)
        error = tn__os_commit(bias + mapped_end, end - mapped_end, TN__PROT_RW);
    if (!error && s->size > s->file_size)
        memset((void *)(uintptr_t)(bias + bytes_end), 0, tn__min64(mapped_end, s->address + s->size) - bytes_end);
    return !error;
}

/* What is copied from the file is wanted at once. */
static int commit_segment(const struct tn__shared_segment *s, uint64_t bias)
{
    uint64_t page = tn__os_page_size(), start = s->address & -page, end = tn__align_up(s->address + s->size, page);
    int error = tn__os_commit(bias + start, end - start, TN__PROT_RW);
    if (!error)
        tn__os_prefault(bias + start, tn__align_up(s->address + s->file_size, page) - start);
    return error;
}

static int make_segments(const struct tn__object *object, uint64_t bias)
{
    struct tn__shared *shared = tn__shared_of(object->data);
    int error = 0, fd = tn__object_file(object->data);
    for (size_t i = 0; i < shared->segment_count && !error; i++) {
        struct tn__shared_segment *s = &shared->segments[i];
        bool mapped = fd >= 0 && can_be_mapped(s, tn__os_page_size()) && map_segment(s, bias, fd);
        if (!mapped) /* nor on file systems without executable files */
            error = commit_segment(s, bias);
        object->data->sections[s->section].mapped = mapped;
    }
    return error;
}

/* Sections of the image get their addresses. */
static void place(struct tn__object *object, uint64_t bias)
{
    for (uint32_t i = 1; i < object->data->section_count; i++) {
        struct tn__input_section *section = &object->data->sections[i];
        if (!section->pinned)
            continue;
        section->address = bias + section->offset;
        section->write = (uint8_t *)(uintptr_t)section->address;
    }
}

int tn__shared_map(struct tn__link *link, struct tn__object *object)
{
    const struct tn__shared *shared = tn__shared_of(object->data);
    int code = tn__session_check_here(link->session, "shared libraries", link->err);
    if (code)
        return code;
    struct tn__shared_image *image = new_image(object);
    if (!image)
        return tn__no_memory(link->err, object->name);
    uint64_t address;
    int error = reserve(link->session, shared, &address);
    if (error) {
        tn__free(NULL, image);
        return tn__fail(link->err, TN_ENOMEM, "%s: no address space for its %llu bytes: %s", object->name,
                        (unsigned long long)shared->size, strerror(error));
    }
    image->image.range = (struct tn__mem_range){.address = address, .size = shared->size};
    object->ranges[TN__PART_IMAGE] = &image->image.range; /* what fails from here on is undone with the link */
    image->link_map.bias = address - shared->start;
    image->link_map.dynamic = image->link_map.bias + shared->dynamic;
    image->frames = shared->frames ? image->link_map.bias + shared->frames : 0;
    if (object->data->late) {
        tn__shared_move_names(&image->names, &shared->names, image->link_map.bias);
        image->image.late = &image->names.late;
    }
    error = make_segments(object, image->link_map.bias);
    if (error)
        return tn__fail(link->err, TN_ENOMEM, "%s: no memory for its segments: %s", object->name, strerror(error));
    place(object, image->link_map.bias);
    return 0;
}

/* Of one that was copied. */
static int protect_segment(const struct tn__shared_segment *s, uint64_t bias)
{
    uint64_t page = tn__os_page_size(), start = bias + (s->address & -page),
             end = bias + tn__align_up(s->address + s->size, page);
    int error = s->prot == TN__PROT_RW ? 0 : tn__os_protect(start, end - start, (enum tn__prot)s->prot);
    if (!error && s->prot == TN__PROT_RX)
        tn__os_flush_code(start, end - start);
    return error;
}

int tn__shared_protect(struct tn__link *link, struct tn__object *object)
{
    const struct tn__shared *shared = tn__shared_of(object->data);
    struct tn__shared_image *image =
        tn__container_of(object->ranges[TN__PART_IMAGE], struct tn__shared_image, image.range);
    uint64_t bias = image->link_map.bias;
    int error = 0;
    for (size_t i = 0; i < shared->segment_count && !error; i++)
        if (!object->data->sections[shared->segments[i].section].mapped)
            error = protect_segment(&shared->segments[i], bias);
    if (!error && shared->relro_size)
        error = tn__os_protect(bias + shared->relro, shared->relro_size, TN__PROT_R);
    if (error)
        return tn__fail(link->err, tn__is_refusal(error) ? TN_EPERM : TN_ENOMEM,
                        "%s: the system refuses to make its code executable: %s", object->name, strerror(error));
    image->tls = object->ranges[TN__PART_TLS] ? (int64_t)object->plan->tls_offset : 0;
    tn__shared_announce(image);
    return 0;
}
