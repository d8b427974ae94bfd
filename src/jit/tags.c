/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Tags of modules (base/shown_name.h). They come from the IR, so that objects are the same in every process, however
 * many modules there are and in whatever order they were added. What was local to a module is hidden in its library and
 * may stay there longer than the module, so a further module of the same IR gets a number. */

#include "jit/jit.h"

/* Found by the beginning of the module's digest, and by the library. */
struct tn__jit_tag {
    struct tn__tree node;
    uint64_t modules; /* numbers that were given out */
};

static uint64_t key_of(const struct tn_library *library, const uint8_t digest[TN__SHA256_SIZE])
{
    return tn__get64(digest) ^ (tn_library_number(library) + 1) * 0x9e3779b97f4a7c15;
}

static struct tn__jit_tag *find(const struct tn_jit *jit, uint64_t key)
{
    struct tn__tree *node = tn__tree_find(jit->tags, key);
    return node ? tn__container_of(node, struct tn__jit_tag, node) : NULL;
}

bool tn__jit_tag(struct tn_jit *jit, const struct tn_library *library, const uint8_t digest[TN__SHA256_SIZE],
                 uint64_t *copy)
{
    uint64_t key = key_of(library, digest);
    tn__jit_lock();
    struct tn__jit_tag *tag = find(jit, key);
    if (!tag && (tag = tn__alloc_zeroed(NULL, 1, sizeof *tag))) {
        tag->node.key = key;
        tn__tree_insert(&jit->tags, &tag->node);
    }
    *copy = tag ? tag->modules++ : 0;
    tn__jit_unlock();
    return tag;
}

void tn__jit_untag(struct tn_jit *jit, const struct tn_library *library, const struct tn__jit_tagged *tagged)
{
    if (!tagged->is_tagged)
        return;
    tn__jit_lock();
    struct tn__jit_tag *tag = find(jit, key_of(library, tagged->digest));
    if (tag->modules == tagged->copy + 1)
        tag->modules--;
    if (!tag->modules) {
        tn__tree_remove(&jit->tags, &tag->node);
        tn__free(NULL, tag);
    }
    tn__jit_unlock();
}

void tn__jit_free_tags(struct tn_jit *jit)
{
    while (jit->tags) {
        struct tn__tree *node = jit->tags;
        tn__tree_remove(&jit->tags, node);
        tn__free(NULL, tn__container_of(node, struct tn__jit_tag, node));
    }
}
