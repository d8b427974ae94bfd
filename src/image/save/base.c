/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The address that an image is intended for. It follows from the name and the contents, so that two images rarely want
 * the same; each architecture has a range for it, where neither programs nor the system's own mappings lie. */

#include <elf.h>

#include "image/save/save.h"

enum { ALIGNMENT = 2 << 20 };

/* x86-64: below programs that are position-independent (0x5555'5555'4000 and above), their heap and the mappings of the
 * system. Others may have only 39 bits of addresses. */
static const struct range {
    uint16_t machine;
    uint64_t start, end, page;
} ranges[] = {
    {EM_X86_64, UINT64_C(0x550000000000), UINT64_C(0x555000000000), 4096},
    {EM_AARCH64, UINT64_C(0x1000000000), UINT64_C(0x2000000000), 65536},
    {EM_RISCV, UINT64_C(0x1000000000), UINT64_C(0x2000000000), 4096},
};

static const struct range *range_of(uint16_t machine)
{
    for (size_t i = 0; i < TN_COUNT(ranges); i++)
        if (ranges[i].machine == machine)
            return &ranges[i];
    return NULL;
}

uint64_t tn__save_page_size(uint16_t machine)
{
    const struct range *range = range_of(machine);
    return range ? range->page : 0;
}

/* ---- the build id ---- */

static void compute_id(struct tn_save *save)
{
    for (size_t half = 0; half < 2; half++) {
        uint64_t sum = tn__image_checksum(save->options.name, strlen(save->options.name), half);
        sum = tn__image_checksum(save->bytes, save->size, sum);
        for (size_t i = 0; i < save->root_count; i++) {
            sum = tn__image_checksum(save->roots[i].name, strlen(save->roots[i].name), sum);
            sum = tn__image_checksum(&save->roots[i].place, sizeof save->roots[i].place, sum);
        }
        for (size_t i = 0; i < save->binding_count; i++) {
            const struct tn__save_binding *binding = &save->bindings[i];
            sum = tn__image_checksum(binding->symbol, strlen(binding->symbol), sum);
            sum = tn__image_checksum(&binding->place, sizeof binding->place, sum);
            sum = tn__image_checksum(&binding->addend, sizeof binding->addend, sum);
        }
        for (size_t i = 0; i < save->unique_count; i++)
            sum = tn__image_checksum(save->unique[i].key, save->unique[i].key_size, sum);
        for (size_t i = 0; i < save->options.image_count; i++)
            sum = tn__image_checksum(tn_image_build_id(save->options.images[i]), 16, sum);
        sum = tn__save_sum_patches(save, sum);
        save->id[half] = sum;
    }
}

/* ---- the address ---- */

/* Whether `size` bytes there are apart from the images that it is opened with, where these are intended to be. */
static bool is_apart(const struct tn_save *save, uint64_t base, uint64_t size)
{
    for (size_t i = 0; i < save->options.image_count; i++) {
        const struct tn_image *image = save->options.images[i];
        const struct tn__image_heap *heap = image->heap;
        if (!heap)
            continue;
        uint64_t start = (uintptr_t)heap->start - heap->moved, length = heap->size;
        if (!image->view.zones_at) { /* the whole file is mapped there */
            start = image->file->mapping.start - heap->moved;
            length = image->file->mapping.size;
        }
        if (base < start + length && start < base + size)
            return false;
    }
    return true;
}

/* For so many bytes of objects, and header, tables and lists. */
static uint64_t space_for(uint64_t size)
{
    enum { TABLES = 64 << 20 };
    return tn__align_up(size + size / 32 + TABLES, ALIGNMENT);
}

uint64_t tn__save_choose_base(const struct tn__save_place *place, uint64_t size,
                              bool (*is_free)(const void *context, uint64_t base, uint64_t size), const void *context)
{
    enum { ATTEMPTS = 1000 };
    const struct range *range = range_of(place->machine);
    uint64_t space = space_for(size), end = range->end - range->start;
    uint64_t salt = place->salt ? tn__image_checksum(place->salt, strlen(place->salt), 0) : 0;
    for (uint64_t i = 0; i < ATTEMPTS && space < end; i++) {
        uint64_t hash = tn__image_checksum(place->id, 16, salt + i);
        uint64_t base = range->start + hash % ((end - space) / ALIGNMENT + 1) * ALIGNMENT;
        if (is_free(context, base, space))
            return base;
    }
    return 0;
}

static bool is_free(const void *context, uint64_t base, uint64_t size)
{
    return is_apart(context, base, size);
}

static int choose(struct tn_save *save)
{
    const struct tn__save_place place = {save->machine, save->id, save->options.salt};
    save->base = save->options.base ? save->options.base : tn__save_choose_base(&place, save->size, is_free, save);
    if (!save->base)
        return tn__fail(save->err, TN_ERANGE, "%s: no address for %llu bytes apart from other images",
                        save->options.name, (unsigned long long)save->size);
    return is_apart(save, save->base, space_for(save->size))
               ? 0
               : tn__fail(save->err, TN_EINVAL, "%s: an image that it depends on is intended for the same addresses",
                          save->options.name);
}

int tn__save_settle(struct tn_save *save)
{
    compute_id(save);
    int code = choose(save);
    if (code)
        return code;
    struct tn__save_list *own = &save->lists[0];
    uint64_t heap = save->base + save->page;
    own->base = heap;
    for (uint64_t word = 0; word < save->size / 512 + 1; word++)
        for (uint64_t rest = own->bits[word]; rest; rest &= rest - 1) {
            uint8_t *at = save->bytes + 8 * (word * 64 + (unsigned)__builtin_ctzll(rest));
            tn__put64(at, tn__get64(at) + heap);
            save->stats.addresses++;
        }
    return 0;
}
