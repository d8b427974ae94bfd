/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The images that an image depends on (doc/PACKAGES.md): which of the open ones they are, whether these have what it
 * uses, and the addresses of that. */

#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "image/load/image.h"

enum { ID = 16, ID_TEXT = 2 * ID + 1 };

/* A row of the table of dependencies. */
struct wanted {
    const char *name;
    const uint8_t *id;
    uint32_t index;
    bool by_use;
    uint64_t offers;
};

static struct wanted read_row(const struct tn__image_view *view, uint32_t index)
{
    const struct tn__image_rows *table = &view->tables[TN__IMAGE_DEPENDENCY_TABLE];
    const uint8_t *row = tn__image_row(table, index);
    struct wanted wanted = {.name = tn__image_text(view, row + TN__IMAGE_DEPENDENCY_NAME),
                            .id = row + TN__IMAGE_DEPENDENCY_ID,
                            .index = index};
    if (table->size >= TN__IMAGE_DEPENDENCY_USED) {
        wanted.by_use = tn__get32(row + TN__IMAGE_DEPENDENCY_FLAGS) & TN__IMAGE_BY_USE;
        wanted.offers = tn__get64(row + TN__IMAGE_DEPENDENCY_OFFERS);
    }
    return wanted;
}

__attribute__((cold)) static void write_id(const uint8_t *id, char text[ID_TEXT])
{
    for (size_t i = 0; i < ID; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

static bool has_id(const struct tn_image *image, const struct wanted *wanted)
{
    return memcmp(tn_image_build_id(image), wanted->id, ID) == 0;
}

/* Another build of an image that is wanted. */
__attribute__((cold)) static int compare(const struct tn__image_opening *o, const struct wanted *wanted,
                                         const struct tn_image *open, bool is_tolerant)
{
    const char *name = tn__image_label(o->image);
    char ids[2][ID_TEXT];
    if (!wanted->by_use) {
        write_id(wanted->id, ids[0]);
        write_id(tn_image_build_id(open), ids[1]);
        return tn__fail(o->err, TN_ENOTSUP,
                        "%s: it depends on the image '%s' with the build id %s; the open one has %s", name,
                        wanted->name, ids[0], ids[1]);
    }
    if (wanted->offers && wanted->offers == tn__get64(open->view.header + TN__IMAGE_AT_OFFERS))
        return 0;
    int code = tn__image_compare_edges(name, &o->image->view, wanted->index, &open->view, o->err);
    return code ? code : tn__image_find_stale(o, wanted->index, open, is_tolerant);
}

/* The same build if it is open, or else the first of this name that has what is used, if possible without making a
 * function stale. */
__attribute__((cold)) static int find_open(const struct tn__image_opening *o, const struct wanted *wanted,
                                           struct tn_image **found)
{
    struct tn_image *const *images = o->options->images;
    size_t count = o->options->image_count;
    int code = TN_EUNDEF;
    for (size_t i = 0; i < count; i++)
        if (has_id(images[i], wanted) && strcmp(tn__image_name(&images[i]->view), wanted->name) == 0) {
            *found = images[i];
            return 0;
        }
    bool tolerates = o->options->on_stale || o->options->recompiler;
    for (size_t round = 0; round < (tolerates ? 2 : 1); round++)
        for (size_t i = 0; i < count && code; i++)
            if (strcmp(tn__image_name(&images[i]->view), wanted->name) == 0) {
                code = compare(o, wanted, images[i], round == 1);
                *found = images[i];
            }
    return *found ? code
                  : tn__fail(o->err, TN_EUNDEF, "%s: it depends on the image '%s', which is not among the open ones",
                             tn__image_label(o->image), wanted->name);
}

__attribute__((cold)) int tn__image_check_dependencies(const struct tn__image_opening *o)
{
    struct tn_image *image = o->image;
    uint32_t count = image->view.tables[TN__IMAGE_DEPENDENCY_TABLE].count;
    int code = 0;
    if (!count)
        return 0;
    image->dependencies = tn__arena_array(&image->arena, count, sizeof *image->dependencies);
    if (!image->dependencies)
        return tn__no_memory(o->err, tn__image_label(image));
    for (uint32_t i = 0; i < count && !code; i++) {
        struct wanted wanted = read_row(&image->view, i);
        code = find_open(o, &wanted, &image->dependencies[i]);
    }
    return code;
}

/* ---- addresses ---- */

/* Where a place of the table of offers leads. Those of a file are checked here, those of the program are trusted. */
static void *address_of(const struct tn_image *image, uint32_t index, uint64_t size, unsigned prot)
{
    void *address = tn__image_place(&image->view, image->view.offers_at + index);
    const struct tn__image_mapping *m = image->file ? &image->file->mapping : NULL;
    if (!m || image->files->segment_at(m, (uintptr_t)address - m->bias, tn__max64(size, 1), prot))
        return address;
    return NULL;
}

/* `index`: which row of a function it may be. */
static void *find_entry(const struct tn_image *image, const char *name, uint32_t index)
{
    struct tn__image_item item;
    if (tn__image_find_item(&image->view, TN__IMAGE_OFFER_TABLE, TN__ITEM_FUNCTION, name, &index, &item))
        return address_of(image, index, 1, TN__PROT_RX);
    if (tn__image_find_item(&image->view, TN__IMAGE_OFFER_TABLE, TN__ITEM_VARIABLE, name, &index, &item))
        return address_of(image, index, item.size, TN__PROT_R);
    return tn_image_lookup(image, name); /* of an image without a table of offers */
}

void *tn__image_entry(const struct tn_image *image, const char *name)
{
    return find_entry(image, name, TN__IMAGE_ANYWHERE);
}

/* What an edge of this name says, or NULL. */
static void *follow_edge(const struct tn_image *image, const char *name)
{
    struct tn__image_item item;
    uint32_t index = TN__IMAGE_ANYWHERE;
    for (enum tn__image_item_kind kind = TN__ITEM_FUNCTION; kind <= TN__ITEM_VARIABLE && image->dependencies; kind++)
        if (tn__image_find_item(&image->view, TN__IMAGE_EDGE_TABLE, kind, name, &index, &item))
            return find_entry(image->dependencies[item.dependency], name, (uint32_t)item.size);
    return NULL;
}

void *tn__image_resolve(const struct tn_image *image, const struct tn_image_load_options *options, const char *name)
{
    void *address = follow_edge(image, name);
    for (size_t i = 0; i < options->image_count && !address; i++)
        address = tn__image_entry(options->images[i], name);
    return address || !options->resolver ? address : options->resolver(options->context, name);
}
