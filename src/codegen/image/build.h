/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The state of one build. The phases in build.c are the index: prepare.c fills it, work.c compiles, build.c writes,
 * shard.c carries shards between processes. */

#ifndef TENON_CODEGEN_IMAGE_BUILD_H
#define TENON_CODEGEN_IMAGE_BUILD_H

#include "base/mutex.h"
#include "codegen/compile/unit.h"
#include "codegen/image/image.h"
#include "codegen/image/multiversion.h"
#include "codegen/managed/ir/gc.h"
#include "codegen/parts/split.h"

#pragma GCC visibility push(hidden)

/* A shard that is to be compiled. */
struct tn__image_part {
    struct tn_buffer bitcode; /* until it is compiled */
    uint64_t extract_ns;
};

struct tn__image_build {
    const struct tn_image_input *inputs;
    size_t input_count;
    bool newest_counts; /* the last of several definitions of a name is taken; else they are an error */
    const struct tn_image_options *given; /* the client's; what of it was taken: */
    struct tn_image_options options;
    struct tn_compile_observer observer;
    struct tn_image_stats stats;
    struct tn_buffer *out; /* the caller's: an archive for each kind of output, or a shard */
    struct tn_error *err;

    struct tn_compile_options compile; /* of the module, then of its shards */
    char input_names[256];             /* of all that a shard may come from, for errors */
    struct tn__unit unit;
    bool is_abandoned; /* LLVM gave up in the unit: nothing of it may be touched any more */
    struct tn__gc gc;
    struct tn_cpu_targets *targets;
    struct tn__mv mv;
    const char **roots; /* those that exist */
    size_t root_count;
    char values_symbol[256];       /* of the words that hold addresses of saved objects; empty: there are none */
    struct tn_image_value *values; /* one for each word */
    size_t value_count;
    struct tn_type *layouts; /* types of the code, in the arena; none if no saved objects can be used */
    size_t layout_count;
    struct tn__image_view *used; /* tables of the dependencies, in the arena; without a header: not given */
    struct tn__image_items offers, edges;
    struct tn__image_reliance *reliances;
    size_t reliance_count, reliance_capacity;
    struct tn__image_kept *kept; /* in a build of all shards that keeps IR */
    size_t kept_count, kept_capacity;
    struct tn__image_shared *shared;
    size_t shared_count, shared_capacity;
    const char **reached; /* names of images that these depend on, and so on, without their own */
    size_t reached_count, reached_capacity;
    struct tn__split *split; /* of unit.module; whole: the module is one shard */
    char *triple, *layout;   /* in the arena */
    bool is_managed;
    struct tn__saved *saved; /* in the arena; NULL: there are no objects */
    size_t slots, cells;
    struct tn__shard_function *functions;
    size_t function_count, function_capacity;
    uint64_t fingerprint[2]; /* of everything that a shard's contents depend on */
    struct tn__arena arena;

    size_t shard_count;
    bool is_whole;     /* all of these are wanted, and the tables */
    size_t first, end; /* the shards that are wanted, to before `end` */
    uint64_t *weights; /* of shards */
    bool *is_finished; /* for each shard: another process has compiled it */

    struct tn__mutex lock; /* for what follows */
    pthread_cond_t extracted_more;
    struct tn__image_part *parts; /* by shard */
    size_t next, extracted;       /* the shard to compile next; the one after the last that was extracted */
    size_t done;
    int code;                                           /* the first error, after which no shard is begun */
    struct tn__image_member *members[TN_IMAGE_OUTPUTS]; /* of each archive: a member per shard, and the tables */
};

static inline int tn__image_no_memory(struct tn__image_build *b)
{
    return tn__fail(b->err, TN_ENOMEM, "out of memory while building an image");
}

/* ---- prepare.c ---- */

/* From the options, which were taken, to a module that is annotated and divided, with its fingerprint. For
 * tn__contain. */
int tn__image_prepare(void *build);

/* Disposes of the module, if it is there and not abandoned. */
void tn__image_dispose_module(struct tn__image_build *b);

/* ---- prepare.c ---- */

/* ---- uses.c ---- */

/* Lists what the image is going to offer, and what it uses of others. TN_ESTALE (the input was compiled with something
 * else), TN_ECYCLE, TN_EINVAL (facts), TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__image_take_items(struct tn__image_build *b);
/* Adds a row; the texts are copied. TN_ENOMEM. */
int tn__image_offer(struct tn__image_build *b, struct tn__image_item item);
/* The first dependency that offers something of a kind from `kind` to `last` under the name; NULL: none does. */
const struct tn__image_view *tn__image_find_used(const struct tn__image_build *b, enum tn__image_item_kind kind,
                                                 enum tn__image_item_kind last, const char *name,
                                                 struct tn__image_item *item);
/* Adds what was found. TN_ENOMEM. */
int tn__image_add_edge(struct tn__image_build *b, const struct tn__image_item *found);
/* Leaves out offers of symbols that the module has lost since. */
int tn__image_keep_offers(struct tn__image_build *b);
void tn__image_free_items(struct tn__image_build *b);

/* ---- foreign.c ---- */

/* Adds the bodies and constants of the input, as they are before anything is changed, to what is offered. TN_ENOMEM. */
int tn__image_take_bodies(struct tn__image_build *b);
/* Adds copies of those that dependencies offer and the input uses, the edges to them, and which functions may contain
 * them. TN_EINVAL, TN_ESTALE (`used` is not what a dependency was built from), TN_ECOMPILE, TN_ENOMEM. */
int tn__image_take_copies(struct tn__image_build *b);

/* Marks the functions whose IR is kept, before they are annotated; and takes it, when the module is divided. TN_ENOMEM.
 */
int tn__image_mark_kept(struct tn__image_build *b);
int tn__image_take_kept(struct tn__image_build *b);
void tn__image_free_kept(struct tn__image_build *b);

/* ---- versions.c ---- */

/* Describes the targets to build for, in *mv; `names` tells what LLVM knows; memory comes from the arena. TN_EINVAL,
 * TN_ENOMEM. */
int tn__image_versions(const struct tn_cpu_targets *targets, const struct tn__subtarget *names, const char *image,
                       struct tn__arena *arena, struct tn__mv *mv, struct tn_error *err);

/* ---- work.c ---- */

/* The suffix of member names. */
const char *tn__image_suffix(size_t kind);

/* True if the build is to write this kind of output. */
bool tn__image_wants(const struct tn__image_build *b, size_t kind);

/* Compiles one module to one kind of output. `stats` may be NULL. Errors as tn_compile. */
int tn__image_compile(const struct tn__image_build *b, size_t kind, const char *name, const struct tn_buffer *bitcode,
                      struct tn_buffer *out, struct tn_compile_stats *stats, struct tn_error *err);

/* Compiles those of the wanted shards that are not finished. The module is disposed of meanwhile. */
int tn__image_compile_shards(struct tn__image_build *b);

/* ---- shard.c ---- */

/* Writes the first wanted shard, which was compiled, for another process. TN_ENOMEM. */
int tn__image_write_shard(struct tn__image_build *b);

/* All shards are wanted. Takes over the finished ones that the options list. TN_EFORMAT (damaged), TN_EINVAL (of
 * another build), TN_ENOMEM. */
int tn__image_take_shards(struct tn__image_build *b);

#pragma GCC visibility pop
#endif
