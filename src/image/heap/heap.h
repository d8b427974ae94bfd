/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Opening the heap of an image (doc/IMAGE.md, "Heaps"), the parts and their interfaces:
 *     heaps.c    tn_image_heaps
 *     open.c     registration with the heap; roots
 *     zones.c    where zones are, and bringing them to where they are intended to be
 *     adjust.c   words that depend on where things are: lists, bindings, types of the program
 *     lists.c    lists of words, coded as RELR
 *     check.c    TN_IMAGE_VERIFY: every object, and every reference
 *     types.c    descriptors of types
 *     same.c     types of one name in several images
 *     unique.c   objects that give way to others
 *     patches.c  words of other images that this one changes
 *     values.c   types and objects that code of images uses
 *     layouts.c  types that code of images was compiled with
 *     restore.c  what the program does when an image was opened
 * Programs that do not name tn_image_heaps or tn_save_create contain none of this. */

#ifndef TENON_IMAGE_HEAP_H
#define TENON_IMAGE_HEAP_H

#include "base/types.h"
#include "gc/object/object.h"
#include "image/load/image.h"
#include "tenon_heap.h"

#pragma GCC visibility push(hidden)

/* ---- open.c ---- */

struct tn__saved_zone {
    char *start; /* NULL: there is none of this kind */
    uint64_t size, objects;
    /* What was saved, of zones that may be written; NULL: the file is not mapped but copied, or the system has refused
     * it. */
    const char *original;
};

struct tn__patching;

struct tn__space {
    uint64_t start, size; /* size 0: none */
};

/* An open heap. Places are distances from `start`; that of zones, which follow each other. */
struct tn__image_heap {
    struct tn_heap *heap; /* NULL: it was destroyed */
    char *start;
    uint64_t size;
    uint64_t moved;   /* actual address - intended address */
    uint64_t written; /* words that opening wrote */
    struct tn__saved_zone zones[TN__ZONES];
    struct tn_image **dependencies; /* by the rows of their table */
    /* By the rows of its types: the type of the same name of another image, which its objects have; NULL: none. Set
     * under the heap's lock. */
    const struct tn_type **instead;
    bool is_settled;      /* under the lock: that was decided, and other images may use its types */
    bool is_needed;       /* under the lock: another image does */
    uint64_t changing;    /* the place of the first zone that may be written */
    struct tn__space own; /* what this image has mapped beside its file: the zones, or what they were */
    uint64_t *mark;       /* 1 while the image is open; NULL: it is a file without code */
    /* Images that patch this one, oldest first; changed under the heap's lock. */
    const struct tn_image **patchers;
    size_t patcher_count, patcher_capacity;
    struct tn__saved_types types; /* while the image's leave_types is set */
    const struct tn_image *image;
};

/* What was saved at a place that may be written. */
static inline const char *tn__image_original(const struct tn__image_heap *heap, uint64_t place)
{
    const struct tn__saved_zone *zone = &heap->zones[TN__ZONE_MUTABLE];
    if (!zone->start || place < (uint64_t)(zone->start - heap->start))
        zone = &heap->zones[TN__ZONE_BOUND];
    return zone->original + (place - (uint64_t)(zone->start - heap->start));
}

/* The heap of an image that is one of this heap's; NULL: it has none, or is another one's. */
static inline struct tn__image_heap *tn__image_heap_of(const struct tn_image *image, const struct tn_heap *heap)
{
    return image && image->heap && image->heap->heap == heap ? image->heap : NULL;
}

/* The word that the root is in; NULL: there is none. */
void *const *tn__image_find_root(const struct tn_image *image, const char *name);

/* What executables do not contain, because their one image cannot need it: there is no other image that it patches, and
 * no client that has objects for others to give way to, or asks for checks; its types were compared when it was built.
 * */
struct tn__heap_parts {
    int (*check_unique)(const struct tn_image *image, struct tn_error *err);
    int (*give_way)(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);
    int (*check_patches)(const struct tn_image *image, struct tn_error *err);
    int (*patch_all)(struct tn_image *image, const struct tn_image_load_options *options, struct tn__patching *patching,
                     struct tn_error *err);
    void (*end_patching)(struct tn__patching *patching, bool undo);
    int (*check)(const struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);
    int (*check_layouts)(const struct tn_image *image, const char *file, const struct tn_image_load_options *options,
                         struct tn_error *err);
    int (*enter_types)(struct tn_image *image, struct tn_error *err);
};

/* `open` and `close` of struct tn_image_heaps. */
int tn__image_heap_open(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);
bool tn__image_heap_close(struct tn_image *image);

/* ---- zones.c ---- */

/* Finds the zones, and brings those of an image with code to where they are intended to be, or anywhere. TN_EFORMAT,
 * TN_ENOTSUP, TN_ENOMEM. */
int tn__image_find_zones(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);
/* Lets a file of saved objects alone be compared with what it was, when another heap is saved on top of this one. No
 * page of it is read before. */
void tn__image_keep_original(struct tn_image *image);
/* After that, or after an error, at the end. */
void tn__image_release_zones(struct tn__image_heap *heap);

/* ---- adjust.c ---- */

/* The address of a symbol that objects refer to: a function of the image, or else as tn__image_resolve finds it. */
const void *tn__image_symbol(const struct tn_image *image, const struct tn_image_load_options *options,
                             const char *name);

/* Adjusts all words. TN_EFORMAT, TN_EUNDEF, TN_ENOTSUP, TN_ENOMEM. */
int tn__image_heap_adjust(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);

/* ---- sets of words: a bit for each word of the heap, by its place ---- */

static inline void tn__word_add(uint64_t *words, uint64_t place)
{
    words[place / 512] |= UINT64_C(1) << place / 8 % 64;
}

static inline bool tn__word_is_in(const uint64_t *words, uint64_t place)
{
    return words[place / 512] >> place / 8 % 64 & 1;
}

/* An empty set for a heap of `size` bytes; NULL: no memory. */
static inline uint64_t *tn__words_new(uint64_t size)
{
    return tn__alloc_zeroed(NULL, size / 512 + 1, sizeof(uint64_t));
}

/* ---- lists.c ---- */

/* Codes the words whose bits are set, of `count` words, in `words`, which has space for `space` words. Returns how many
 * there are. */
size_t tn__list_write(const uint64_t *bits, uint64_t count, uint64_t *words, size_t space);

/* Where words of a list may lie: from place `first` to `end`, counted from `start`. */
struct tn__list_words {
    char *start;
    uint64_t first, end;
};

/* Adds `distance` to each word of the list of `size` bytes. False: one of them lies outside. *written is increased by
 * their number. */
bool tn__list_add(const uint8_t *list, uint64_t size, const struct tn__list_words *words, uint64_t distance,
                  uint64_t *written);

/* ---- types.c ---- */

/* Whether a descriptor can be used without reading outside of the `size` bytes from `start` on, or dividing by 0. Its
 * `visit` is not looked at. */
bool tn__type_is_sound(const struct tn_type *type, const char *start, uint64_t size);

/* ---- same.c ---- */

/* The name of the type of the object that holds roots, which every image has. */
#define TN__IMAGE_ROOTS_TYPE "tenon.roots"

/* The image's own type of this name, whatever tn_image_type says. */
const struct tn_type *tn__image_own_type(const struct tn_image *image, const char *name);
/* `settle` of struct tn_image_heaps. TN_EDUP (with another layout), TN_ENOMEM. */
int tn__image_settle_types(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);

/* ---- unique.c ---- */

/* Checks the tables of unique objects. TN_EFORMAT. */
int tn__image_check_unique(const struct tn_image *image, struct tn_error *err);
/* Asks the client which of them give way, and adjusts the words that refer to these. */
int tn__image_give_way(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);

/* ---- patches.c ---- */

struct tn__patch {
    uint32_t dependency, of, index, flags; /* enum tn__image_patch_of; as in format.h */
    uint64_t object, place, value;
};

struct tn__patch tn__image_patch(const struct tn_image *image, uint32_t row);
/* What the image stores into the word of another one; false: nothing. */
bool tn__image_find_patch(const struct tn_image *image, const struct tn_image *of, uint64_t place,
                          struct tn__patch *patch);
/* Checks the table of patches. TN_EFORMAT. */
int tn__image_check_patches(const struct tn_image *image, struct tn_error *err);

/* What patching has replaced. */
struct tn__patching {
    struct tn_image *image;
    struct tn__patched *words;
    uint32_t count;
};
/* Patches the images that this one depends on. TN_EDUP (another image has changed a word in another way), TN_EUNDEF,
 * TN_ENOMEM. */
int tn__image_patch_all(struct tn_image *image, const struct tn_image_load_options *options,
                        struct tn__patching *patching, struct tn_error *err);
/* Ends patching, after errors as well: undoes what was done, or makes it final. */
void tn__image_end_patching(struct tn__patching *patching, bool undo);

/* ---- values.c ---- */

/* `fill` of struct tn_image_heaps. TN_EUNDEF, TN_ENOTSUP (an object gave way, or may move). */
int tn__image_heap_fill(const struct tn_image *image, const char *name, uint64_t *values,
                        const struct tn_image_load_options *options, struct tn_error *err);

/* ---- layouts.c, see also layouts.h ---- */

/* Compares the types of the image's code with those of the heaps of images that it depends on; those of its own heap
 * were compared when it was built. TN_ENOTSUP, TN_EFORMAT, TN_ENOMEM. */
int tn__image_check_layouts(const struct tn_image *image, const char *file, const struct tn_image_load_options *options,
                            struct tn_error *err);

/* Has the image's types, which are in place, compared with those of other code of the process until
 * tn__image_leave_types. TN_ENOTSUP, TN_EFORMAT, TN_ENOMEM. */
int tn__image_enter_types(struct tn_image *image, struct tn_error *err);

/* ---- restore.c ---- */

/* The functions of a program whose linker does not collect them, before any image is opened. */
void tn__image_give_restores(const struct tn_restore *rows, size_t count);

/* The last steps of opening, which run functions of the program (TN_RESTORE) until one fails. */
int tn__image_heap_restore(struct tn_image *image, const struct tn_image_load_options *options, struct tn_error *err);

/* ---- check.c ---- */

/* Checks every object and reference of the image, which was adjusted. TN_EFORMAT, TN_ENOMEM. */
int tn__image_heap_check(const struct tn_image *image, const struct tn_image_load_options *options,
                         struct tn_error *err);

#pragma GCC visibility pop
#endif
