/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compiling shards. The building thread extracts them from the module one by one, as bitcode, while other threads
 * already compile. Then it disposes of the module, which takes more memory than all shards, and compiles as well. Each
 * shard is compiled in a context of its own. */

#include "base/os.h"
#include "codegen/image/build.h"
#include "codegen/llvm/fatal.h"

/* INLINE_BUDGET: of instructions that are copied into a shard (TN__MV_INLINE_SIZE), for each of its functions. */
enum { INLINE_BUDGET = 400, MOST_THREADS = 256 };

/* ---- extracting ---- */

static void multiply(void *context, LLVMModuleRef part)
{
    struct tn__image_build *b = context;
    tn__mv_multiply(part, &b->mv);
}

struct extraction {
    struct tn__image_build *b;
    size_t shard;
};

static int extract(void *user)
{
    struct extraction *e = user;
    struct tn__image_build *b = e->b;
    struct tn_buffer *out = &b->parts[e->shard].bitcode;
    bool written;
    b->is_abandoned = true; /* unless this function returns */
    if (tn__split_is_whole(b->split)) {
        multiply(b, b->unit.module);
        written = tn__llvm_write_bitcode(b->unit.module, out);
    } else {
        struct tn__extraction how = {
            .inline_size = TN__MV_INLINE_SIZE, .inline_budget = INLINE_BUDGET, .finish = multiply, .context = b};
        const char *problem; /* there is none: all bodies were read */
        written = tn__split_extract(b->split, e->shard, &how, out, &problem);
    }
    b->is_abandoned = false;
    return written ? 0 : TN_ENOMEM;
}

/* The lock is held. */
static void fail(struct tn__image_build *b, int code, const struct tn_error *err)
{
    if (b->code != 0)
        return;
    b->code = code;
    if (code == TN_ENOMEM)
        tn__image_no_memory(b);
    else { /* its lines are kept */
        tn__fail(b->err, code, "%s", "");
        tn__append_text(b->err, err->text);
    }
    pthread_cond_broadcast(&b->extracted_more); /* no more shards are to be waited for */
}

/* Returns the first error of all that the build does. */
static int extract_one(struct tn__image_build *b, size_t shard)
{
    struct tn_error err;
    uint64_t begin = tn__os_now_ns();
    int code = b->is_finished[shard] ? 0 : tn__contain(extract, &(struct extraction){b, shard}, &err);
    tn__mutex_lock(&b->lock);
    b->parts[shard].extract_ns = tn__os_now_ns() - begin;
    b->extracted = shard + 1;
    if (code)
        fail(b, code, &err);
    code = b->code;
    pthread_cond_broadcast(&b->extracted_more);
    tn__mutex_unlock(&b->lock);
    return code;
}

/* ---- compiling ---- */

static const struct {
    const char *suffix;
    enum tn_emit emit;
} kinds[TN_IMAGE_OUTPUTS] = {
    [TN_IMAGE_OBJECTS] = {"o", TN_EMIT_OBJECT},
    [TN_IMAGE_BITCODE] = {"bc", TN_EMIT_BITCODE},
    [TN_IMAGE_UNOPTIMIZED] = {"bc", TN_EMIT_BITCODE},
    [TN_IMAGE_ASSEMBLY] = {"s", TN_EMIT_ASM},
};

const char *tn__image_suffix(size_t kind)
{
    return kinds[kind].suffix;
}

bool tn__image_wants(const struct tn__image_build *b, size_t kind)
{
    return b->options.outputs >> kind & 1;
}

int tn__image_compile(const struct tn__image_build *b, size_t kind, const char *name, const struct tn_buffer *bitcode,
                      struct tn_buffer *out, struct tn_compile_stats *stats, struct tn_error *err)
{
    struct tn_compile_options options = b->compile;
    options.emit = kinds[kind].emit;
    if (kind == TN_IMAGE_UNOPTIMIZED)
        return tn__buffer_fill(out, bitcode->data, bitcode->size) ? 0
                                                                  : tn__fail(err, TN_ENOMEM, "%s: out of memory", name);
    return tn__compile_part(name, b->input_names, bitcode, true, &options, NULL, &b->observer, out, stats, err);
}

static void compile_shard(struct tn__image_build *b, struct tn_image_progress *shard)
{
    struct tn_error err;
    int code = 0;
    for (size_t kind = 0; kind < TN_IMAGE_OUTPUTS && !code; kind++)
        if (tn__image_wants(b, kind)) {
            struct tn__image_member *member = &b->members[kind][shard->shard];
            struct tn_compile_stats stats = {.size = sizeof stats};
            code = tn__image_compile(b, kind, member->name, &b->parts[shard->shard].bitcode, &member->content, &stats,
                                     &err);
            shard->parse_ns += stats.parse_ns;
            shard->optimize_ns += stats.optimize_ns;
            shard->emit_ns += stats.emit_ns;
        }
    tn_buffer_free(&b->parts[shard->shard].bitcode);
    tn__mutex_lock(&b->lock);
    if (code)
        fail(b, code, &err);
    shard->done = ++b->done;
    if (b->options.progress && !code)
        b->options.progress(b->options.context, shard);
    tn__mutex_unlock(&b->lock);
}

/* Takes the next shard, waiting until it is extracted. False: there is none, or something has failed. */
static bool take_shard(struct tn__image_build *b, struct tn_image_progress *shard)
{
    tn__mutex_lock(&b->lock);
    while (b->next < b->end && b->is_finished[b->next])
        b->next++;
    size_t taken = b->next++;
    while (b->code == 0 && taken < b->end && taken >= b->extracted)
        tn__mutex_wait(&b->lock, &b->extracted_more, NULL);
    bool found = b->code == 0 && taken < b->end;
    if (found)
        *shard = (struct tn_image_progress){.size = sizeof *shard,
                                            .shards = b->shard_count,
                                            .shard = taken,
                                            .weight = b->weights[taken],
                                            .extract_ns = b->parts[taken].extract_ns};
    tn__mutex_unlock(&b->lock);
    return found;
}

static void *work(void *user)
{
    struct tn__image_build *b = user;
    struct tn_image_progress shard;
    while (take_shard(b, &shard))
        compile_shard(b, &shard);
    return NULL;
}

/* This thread compiles too. It is no error if fewer threads than wanted can be started. */
int tn__image_compile_shards(struct tn__image_build *b)
{
    pthread_t threads[MOST_THREADS];
    size_t wanted = (size_t)tn__min64(tn__min64(b->options.threads, b->end - b->first), MOST_THREADS), started = 0;
    b->next = b->extracted = b->first;
    if (b->options.progress)
        b->options.progress(b->options.context, &(struct tn_image_progress){.size = sizeof(struct tn_image_progress),
                                                                            .done = b->done,
                                                                            .shards = b->shard_count});
    while (started + 1 < wanted && tn__os_start_thread(&threads[started], work, b))
        started++;
    for (size_t shard = b->first; shard < b->end && extract_one(b, shard) == 0; shard++)
        ;
    tn__image_dispose_module(b);
    work(b);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    return b->code;
}
