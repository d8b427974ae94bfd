/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Saving objects of a heap (doc/IMAGE.md, "Heaps"), the parts and their interfaces:
 *     save.c     tn_save_create and its likes
 *     map.c      arrays that are searched by address
 *     client.c   what the client says about objects
 *     trace.c    what is saved: the objects that roots reach, and their places
 *     types.c    types of these objects, and their descriptors
 *     copy.c     the copies, whose references become places
 *     changes.c  words of objects of other images that were changed
 *     unique.c   objects that may give way to others
 *     path.c     how an object is reached, for messages
 *     base.c     the address that the image is intended for
 *     tables.c   header and tables
 *     file.c     the file around them
 *     rebase.c   the same file for another address */

#ifndef TENON_IMAGE_SAVE_H
#define TENON_IMAGE_SAVE_H

#include "base/os.h"
#include "gc/collect/collect.h"
#include "image/heap/heap.h"
#include "image/write/saved.h"
#include "tenon_save.h"

#pragma GCC visibility push(hidden)

/* ---- map.c ---- */

/* An array of structs that begin with an address, by which they are found. Zeroed: an empty one. */
struct tn__addresses {
    void *items;
    size_t count, capacity;
    uint32_t *slots; /* a hash table of numbers of items, plus 1 */
    size_t slot_count;
};

#define TN__NOT_FOUND UINT32_MAX

/* The number of the item with this address, or TN__NOT_FOUND. */
uint32_t tn__addresses_find(const struct tn__addresses *all, size_t size, const void *address);
/* Appends an item, whose address is new; NULL: no memory. */
void *tn__addresses_add(struct tn__addresses *all, size_t size, const void *item);
void tn__addresses_free(struct tn__addresses *all);

/* A growing array in chunks, which do not move. Zeroed: an empty one. */
struct tn__chunked {
    char **chunks;
    size_t count, capacity, chunk_count; /* capacity: of `chunks` */
};

enum { TN__CHUNK_SHIFT = 15, TN__CHUNK_ITEMS = 1 << TN__CHUNK_SHIFT };

static inline void *tn__chunked_at(const struct tn__chunked *all, size_t size, size_t index)
{
    return all->chunks[index >> TN__CHUNK_SHIFT] + (index & (TN__CHUNK_ITEMS - 1)) * size;
}

/* Appends an uninitialised item; NULL: no memory. */
void *tn__chunked_add(struct tn__chunked *all, size_t size);
/* Removes the last item. Its memory stays until the next call. */
void *tn__chunked_drop(struct tn__chunked *all, size_t size);
void tn__chunked_free(struct tn__chunked *all, size_t size);

/* Places of objects. Those of the heap are entered with a bit for each 16 bytes of it, and get their places when all
 * are there: 8 bytes for each 512 of what has some, and 8 for each object. */
struct tn__places {
    uint64_t start, size;
    struct granules **spans;
    uint64_t *places;            /* of objects of the heap, by their addresses */
    struct tn__addresses others; /* outside of the heap */
};

#define TN__NO_PLACE UINT64_MAX

bool tn__places_begin(struct tn__places *all, const struct tn_heap *heap);
bool tn__places_have(const struct tn__places *all, const void *object);
/* Enters an object that was not entered. False: no memory. */
bool tn__places_add(struct tn__places *all, const void *object);
/* When all were entered: takes their places from the items. False: no memory. */
bool tn__places_end(struct tn__places *all, const struct tn__chunked *items);
/* After that. TN__NO_PLACE: the object was not entered. */
uint64_t tn__places_find(const struct tn__places *all, const void *object);
void tn__places_free(struct tn__places *all);

/* ---- what is saved ---- */

/* Of `parent`: it is a root's number, or that number of roots plus the number of a changed object. */
#define TN__FROM_ROOT UINT32_C(0x80000000)

struct tn__save_item {
    void *object;
    uint64_t place; /* of its payload: in its zone until that is placed, then in the heap */
    uint32_t parent;
    uint32_t kind : 30, zone : 2; /* enum tn__image_zone */
};
_Static_assert(TN__ZONES <= 4, "two bits");

struct tn__save_kind {
    const struct tn_type *type;
    const struct tn_save_type *row; /* NULL: the client has none */
    const char *name;
    enum tn__image_zone zone;
    uint32_t hash;  /* of the name */
    uint32_t same;  /* number of the type of the same name that stands for it, or its own */
    uint32_t other; /* 1 + number of the image that has it; 0: none */
    uint64_t place; /* of its descriptor, in the heap; in another image, its intended address */
    bool is_host;
};

struct tn__save_root {
    const char *name;
    struct tn_handle *handle;
    uint64_t place; /* of the word that refers to it */
};

struct tn__save_zone {
    uint64_t start; /* in the heap */
    uint64_t objects, size;
};

/* Words of a list, one bit for each of the heap. */
struct tn__save_list {
    enum tn__image_list of;
    uint32_t index;
    uint64_t base;
    uint64_t *bits;
    uint64_t place, size, sum; /* in the file, when it was written */
};

struct tn__save_binding {
    uint64_t place, addend;
    const char *symbol;
};

/* An object that may give way to another. */
struct tn__save_unique {
    uint32_t item, key_size;
    uint64_t place;
    void *key; /* in the arena */
};

/* A word that refers to one. */
struct tn__save_use {
    uint32_t unique;
    uint64_t object, place;
};

/* A copy that the client prepared. */
struct tn__save_prepared {
    uint32_t item;
    uint64_t *words; /* header and payload */
};

/* An object of another image, words of which were changed. */
struct tn__save_changed {
    void *object;
    uint32_t image; /* its number in the options */
};

/* Such a word. */
struct tn__save_patch {
    uint32_t changed; /* number of the object */
    uint32_t image;   /* that has it: its number in the options */
    bool is_reference;
    enum tn__image_patch_of of;
    uint32_t index;         /* of a dependency; 1 + number of a unique object */
    uint64_t object, place; /* in that image */
    uint64_t value;         /* until it is settled: what the word holds */
    uint64_t before;
    const char *symbol;
};

struct tn_save {
    struct tn__saved saved; /* first: what makes images with code, but does not save, knows this much */
    struct tn_heap *heap;
    struct tn_save_options options;
    struct tn__arena arena;
    enum { TN__SAVE_OPEN, TN__SAVE_TAKEN, TN__SAVE_FAILED } state;
    struct tn__save_root *roots; /* by name when they are taken */
    size_t root_count, root_capacity;
    struct tn__chunked items;   /* struct tn__save_item, in the order of their places */
    struct tn__places places;   /* of items */
    struct tn__addresses kinds; /* struct tn__save_kind */
    struct tn__save_zone zones[TN__ZONES];
    uint8_t *bytes; /* of the heap, one zone after the other */
    uint64_t size;  /* of the heap */
    uint64_t page;
    uint16_t machine;
    struct tn__save_list *lists; /* the first one is that of the heap itself */
    size_t list_count, list_capacity;
    struct tn__save_binding *bindings;
    size_t binding_count, binding_capacity;
    struct tn__save_prepared *prepared; /* by item */
    size_t prepared_count, prepared_capacity;
    struct tn__save_unique *unique; /* by place when all objects have theirs */
    size_t unique_count, unique_capacity;
    struct tn__save_use *uses; /* by unique object and place when the objects were copied */
    size_t use_count, use_capacity;
    struct tn__save_changed *changed; /* by image and address */
    size_t changed_count, changed_capacity;
    struct tn__save_patch *patches; /* likewise */
    size_t patch_count, patch_capacity;
    bool has_unique; /* some row has TN_SAVE_UNIQUE */
    uint64_t base;   /* of the file */
    uint64_t id[2];
    struct tn_buffer tail; /* what follows the heap in the file */
    uint8_t head[1024];    /* what the file begins with */
    size_t head_size;
    struct tn_save_stats stats;
    struct tn_error *err;
};

static inline struct tn__save_item *tn__save_item(const struct tn_save *save, size_t number)
{
    return tn__chunked_at(&save->items, sizeof(struct tn__save_item), number);
}

static inline struct tn__save_kind *tn__save_kinds(const struct tn_save *save)
{
    return save->kinds.items;
}

/* ---- client.c ---- */

/* The name that the row gives to its type. */
const char *tn__save_row_name(const struct tn_save_type *row);
/* The row of the type; else that of its name, for objects of an image's own types. NULL: there is none. */
const struct tn_save_type *tn__save_row_of(const struct tn_save *save, const struct tn_type *type);
/* What a declared word at an offset of an object is saved as: enum tn_save_word_kind; -1: it is not declared. */
int tn__save_word_kind(const struct tn_save_type *row, const struct tn_type *type, uint64_t offset);
/* The name of an address. Not 0: it has none. */
int tn__save_name(const struct tn_save *save, const void *address, struct tn_save_name *name);
/* A copy of the object, header and payload, as the client wants to have it saved. NULL, or not: an error, in *code. */
uint64_t *tn__save_prepare(const struct tn_save *save, const struct tn_save_type *row, const void *object, int *code);
/* Copies the key of an object of a unique type if it fits, and returns its size. */
size_t tn__save_key(const struct tn_save *save, const struct tn_save_type *row, const void *object, void *bytes,
                    size_t space);
/* Whether two of them have equal keys. */
bool tn__save_same_key(const struct tn_save *save, const struct tn_save_type *row, const void *a, const void *b);

/* ---- trace.c ---- */

/* Finds all that is saved; zones get their sizes. The world is stopped. */
int tn__save_trace(struct tn_save *save);

/* The image of the options that the address lies in: its number plus 1; 0: none. */
uint32_t tn__save_image_of(const struct tn_save *save, const void *address);

/* ---- types.c ---- */

/* The kind of an object; `parent` as in struct tn__save_item. TN__NOT_FOUND: an error, in *code. */
uint32_t tn__save_kind_of(struct tn_save *save, const struct tn_type *type, uint32_t parent, int *code);
/* Where its descriptor is, unless another image has it. */
enum tn__image_zone tn__save_descriptor_zone(const struct tn__save_kind *kind);
/* Places the descriptors behind the objects of their zones. */
void tn__save_place_types(struct tn_save *save);
int tn__save_write_types(struct tn_save *save);
/* The kinds that the image has rows for, by name. NULL: no memory. */
const struct tn__save_kind **tn__save_own_kinds(const struct tn_save *save, size_t *count);
/* The type of the object that holds the roots. */
extern const struct tn_type tn__save_roots_type;

/* ---- copy.c ---- */

/* Makes the copies. The world is stopped. */
int tn__save_copy(struct tn_save *save);
/* Enters a word in the list; false: no memory. */
bool tn__save_note(struct tn_save *save, enum tn__image_list of, uint32_t index, uint64_t base, uint64_t place);
/* Binds the word when the image is opened. TN_EUNDEF: the client has no name for the address; `what` is, or NULL: a
 * word of the item. TN_ENOMEM. */
int tn__save_bind(struct tn_save *save, uint64_t place, const void *address, const struct tn__save_item *item,
                  const char *what);

/* ---- changes.c ---- */

/* Compares the objects of an image of the options with what it has, and calls `found` for each that was changed, with
 * the numbers of its first patch and of the one after its last. */
int tn__save_compare(struct tn_save *save, uint32_t image,
                     int (*found)(void *context, uint32_t changed, size_t first, size_t end), void *context);
/* The same bytes for the same patches. */
uint64_t tn__save_sum_patches(const struct tn_save *save, uint64_t sum);

/* ---- unique.c ---- */

/* Enters an object whose kind is unique. */
int tn__save_unique(struct tn_save *save, const void *object, uint32_t item);
/* When all objects have their places. */
void tn__save_place_unique(struct tn_save *save);
/* The number of the object at the place; TN__NOT_FOUND: it is none. */
uint32_t tn__save_unique_of(const struct tn_save *save, uint64_t place);
/* Whether the object refers to unique ones. */
bool tn__save_refers_to_unique(struct tn_save *save, void *object);
/* Notes that a word of an object refers to the object at `to`, which may be unique; all of them places. False: no
 * memory. */
bool tn__save_note_use(struct tn_save *save, uint64_t to, uint64_t object, uint64_t place);
/* When all objects were copied. */
void tn__save_sort_uses(struct tn_save *save);

/* ---- path.c ---- */

enum { TN__SAVE_PATH = 600 };

/* How the object that has this parent is reached from a root. */
void tn__save_path(const struct tn_save *save, const void *object, uint32_t parent, char path[TN__SAVE_PATH]);
/* Fails with the path, and with what is wrong with the object. */
int tn__save_fail(const struct tn_save *save, int code, const void *object, uint32_t parent, const char *what);

/* ---- base.c ---- */

/* The default of the options for an architecture, as ELF has it; 0: it has no range of addresses. */
uint64_t tn__save_page_size(uint16_t machine);
/* What an address follows from. */
struct tn__save_place {
    uint16_t machine; /* that has a range of addresses */
    const void *id;   /* the build id, which the name is part of */
    const char *salt; /* NULL: none */
};

/* An address for `size` bytes of objects, and their tables, that `is_free` accepts; 0: there is none. */
uint64_t tn__save_choose_base(const struct tn__save_place *place, uint64_t size,
                              bool (*is_free)(const void *context, uint64_t base, uint64_t size), const void *context);
/* Chooses the address, and makes places addresses. Computes the build id. */
int tn__save_settle(struct tn_save *save);

/* ---- tables.c ---- */

/* What follows the heap in the file: the note, header, tables and lists. The header is at TN__SAVE_HEADER. */
enum { TN__SAVE_HEADER = 64 };
int tn__save_tables(struct tn_save *save, struct tn_buffer *out);

/* ---- file.c ---- */

/* Everything of the file but the heap itself, into head and tail. */
int tn__save_make_file(struct tn_save *save);
/* Replaces a file by one that has `head`, and the `rest` from a place on. TN_EIO, TN_ENOMEM. */
int tn__save_replace(const char *path, const struct tn__piece *head, uint64_t at, const struct tn__piece *rest,
                     size_t count, struct tn_error *err);
int tn__save_write_file(const struct tn_save *save, const char *path, struct tn_error *err);

#pragma GCC visibility pop
#endif
