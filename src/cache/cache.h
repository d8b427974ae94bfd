/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* A cache of compiled code (doc/CACHE.md): key.c (what stands for a module and how it is compiled, by digest.h),
 * description.c (what a compiler says of a module), pack.c (all that is kept of a module, as bytes), folder.c (packs as
 * files, by files.h), cache.c (a compiler that looks into stores first), compiler.c (compilers of clients). */

#ifndef TENON_CACHE_INTERNAL_H
#define TENON_CACHE_INTERNAL_H

#include "base/base.h"
#include "base/sha256/sha256.h"
#include "tenon_cache.h"
#include "tenon_cpu.h"

#pragma GCC visibility push(hidden)

/* ---- key.c ---- */

/* How a member of struct tn_compile_options takes part in keys. */
enum tn__key_part {
    TN__KEY_NUMBER,  /* an int, as it is */
    TN__KEY_TEXT,    /* the text; NULL differs from "" */
    TN__KEY_NATIVE,  /* the CPU and all its features, where the options leave the CPU open */
    TN__KEY_NOTHING, /* it does not change objects */
    TN__KEY_REFUSES, /* unless it is 0, what it changes is not known */
    TN__KEY_OBSERVER /* the same for its function before_pass, which may leave out passes */
};

/* A row for each member, in order. */
extern const struct tn__key_row {
    const char *name;
    size_t offset, size;
    enum tn__key_part part;
} tn__key_rows[];
extern const size_t tn__key_row_count;

/* The key of a module; `host`: what "native" means where the options do not say. False: nothing may be kept of it. */
bool tn__key_of(const char *identity, const void *salt, size_t salt_length, const struct tn_cpu *host,
                const struct tn_ir *ir, const struct tn_compile_options *options, uint8_t key[TN__SHA256_SIZE]);

/* How a member of struct tn_part_request takes part in the kind of an object in packs. */
enum tn__variant_part {
    TN__VARIANT_PLACE,  /* it is the row's part */
    TN__VARIANT_NUMBER, /* an int, as it is */
    TN__VARIANT_IS_SET, /* whether it is there; its text comes from the digest */
    TN__VARIANT_NOTHING /* it does not change objects */
};

/* A row for each member, in order. */
extern const struct tn__variant_row {
    const char *name;
    size_t offset, size;
    enum tn__variant_part part;
    unsigned bits, shift; /* of the kind */
} tn__variant_rows[];
extern const size_t tn__variant_row_count;

/* The kind under which a pack has the object that is asked for: TN__PACK_OBJECT with what else decides about it. False:
 * nothing may be kept of it. */
bool tn__variant_of(const struct tn_part_request *request, uint32_t *kind);

/* ---- pack.c ---- */

/* Kinds; those of objects have more above their low byte (tn__variant_of). */
enum { TN__PACK_DESCRIPTION = 0, TN__PACK_OBJECT = 1, TN__PACK_ORDER = 2, TN__PACK_KIND = 0xff };

/* Something that a pack contains; bytes are borrowed. */
struct tn__pack_item {
    uint32_t kind, part;
    const void *bytes;
    size_t size;
    const uint8_t *digest; /* of bytes, kind and part; not NULL: it was not yet compared with them */
};

struct tn__pack {
    const uint8_t *bytes;
    size_t size;
    uint32_t count; /* 0: nothing was read */
};

/* Looks at the header and the table of a pack, which has to outlive *pack. False: it is damaged, or has another key. */
bool tn__pack_read(const void *bytes, size_t size, const uint8_t key[TN__SHA256_SIZE], struct tn__pack *pack);
struct tn__pack_item tn__pack_item(const struct tn__pack *pack, uint32_t index);
/* Finds an item; *is_damaged: it is there, but is not what was written. */
bool tn__pack_find(const struct tn__pack *pack, uint32_t kind, uint32_t part, struct tn__pack_item *item,
                   bool *is_damaged);
bool tn__pack_is_sound(const struct tn__pack_item *item);
/* Orders the items, of which no two are of one kind and part, and writes a pack into an empty buffer. False: out of
 * memory. */
bool tn__pack_write(const uint8_t key[TN__SHA256_SIZE], struct tn__pack_item *items, uint32_t count,
                    struct tn_buffer *out);

#pragma GCC visibility pop
#endif
