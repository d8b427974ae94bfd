/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Building an image (doc/IMAGE.md), the parts and their interfaces:
 *     build.c           tn_image_build: the steps, options, archives
 *     prepare.c         from the inputs to one module that is annotated and divided
 *     work.c            compiling its shards, on several threads
 *     shard.c           shards that another process has compiled
 *     plan.c            which shard each part of the module belongs to
 *     versions.c        targets in LLVM's terms
 *     annotate.cpp      which functions get versions of their own, on the whole module
 *     multiversion.cpp  the versions, in each shard
 *     roots.cpp         makes one module of several, and leaves out what the roots do not need
 *     uses.c            what it offers to other images, and what it uses of others
 *     items.cpp         what the module says of that
 *     foreign.c         bodies and constants that it offers, and copies of those of others
 *     bodies.cpp        which ones may be copied, and their digests
 *     foreign.cpp       the copies, and the functions that may contain them
 *     kept.cpp          the IR of these functions, for compiling them again
 *     prepare.c         the types that code has, which are compared with those of saved objects
 *     metadata.c        the tables
 *     archive.c         archives of objects
 * src/image/write makes files of these archives. */

#ifndef TENON_CODEGEN_IMAGE_H
#define TENON_CODEGEN_IMAGE_H

#include "base/base.h"
#include "image/write/saved.h"
#include "tenon_codegen.h"

#pragma GCC visibility push(hidden)

/* ---- build.c ---- */

/* tn_image_build. `newest_counts`: the last of several definitions of a name is taken. */
int tn__image_build(const struct tn_image_input *inputs, size_t count, bool newest_counts,
                    const struct tn_image_options *options, struct tn_buffer *out, struct tn_image_stats *stats,
                    struct tn_error *err);

/* ---- plan.c ---- */

enum { TN__IMAGE_SHARDS = 1024 }; /* the most */

/* Distributes parts over shards, the heaviest first, each to the lightest shard. Returns the number of shards: `wanted`
 * or, if that is 0, one that follows from the weights; no more than there are parts. Fills shard_of[i] for each part;
 * part 0 belongs to shard 0. 0: out of memory. */
size_t tn__image_plan(const uint64_t *weights, size_t count, size_t wanted, size_t *shard_of);

/* ---- metadata.c ---- */

struct tn__shard_function {
    const char *name;
    uint64_t clones;
    int64_t slot, cell, opaque; /* negative: none */
    bool is_public, entry_is_body;
};

/* Sorted by kind and name. */
struct tn__image_items {
    struct tn__image_item *rows;
    size_t count, capacity;
};

/* A function that may contain a copy of this body or constant. */
struct tn__image_reliance {
    size_t opaque; /* the function's number */
    enum tn__image_item_kind kind;
    const char *name;
};

/* A function whose IR the image has, and what that IR names. */
struct tn__image_kept {
    uint32_t cell, registers, stack;
    bool is_common;
    struct tn_buffer ir;
};
struct tn__image_shared {
    const char *name;
    bool is_own, is_hidden;
};

/* What it is compiled for: LLVM's names. */
struct tn__image_setting {
    const char *cpu, *features;
};

struct tn__image_contents {
    const char *image; /* its symbol */
    const char *triple, *layout;
    const struct tn_cpu_targets *targets;
    struct tn__shard_function *functions; /* which are sorted here */
    size_t function_count;
    size_t slots, cells;
    const char *const *needs; /* names that nothing in the image defines, sorted */
    size_t need_count;
    const struct tn_image_dependency *dependencies;
    size_t dependency_count;
    const struct tn__image_view *used; /* tables of the dependencies, or NULL; without a header: unknown */
    struct tn__image_items offers, edges;
    const struct tn__image_reliance *reliances; /* in the order of the functions' numbers */
    size_t reliance_count;
    const char *const *reached; /* what the dependencies depend on */
    size_t reached_count;
    const struct tn__image_kept *kept; /* by cell */
    size_t kept_count;
    const struct tn__image_shared *shared; /* by name */
    size_t shared_count;
    const struct tn__image_setting *settings; /* of each target, and of what all have; if IR is kept */
    int opt_level;
    const struct tn_image_value *values;
    size_t value_count;
    const struct tn_type *layouts; /* types that the code was compiled with */
    size_t layout_count;
    const struct tn__saved *saved; /* its objects; NULL: none */
    bool is_managed;
    uint64_t build_id[2];
};

/* Writes the metadata as bitcode of a module. TN_ENOTSUP (too large), TN_ENOMEM, TN_EFATAL. */
int tn__image_metadata(const struct tn__image_contents *contents, struct tn_buffer *out, struct tn_error *err);

/* ---- archive.c ---- */

struct tn__image_member {
    char name[32]; /* at most 15 characters */
    struct tn_buffer content;
};

/* Makes an archive, with a symbol table of those members that are objects. TN_ENOMEM, TN_EFORMAT, TN_ENOTSUP (too
 * large). */
int tn__image_archive(const struct tn__image_member *members, size_t count, struct tn_buffer *out,
                      struct tn_error *err);

/* The names that members refer to and none of them defines, sorted and without repetition; they lie in the members'
 * contents. */
int tn__image_needs(const struct tn__image_member *members, size_t count, struct tn__arena *arena, const char ***names,
                    size_t *name_count, struct tn_error *err);

#pragma GCC visibility pop
#endif
