/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Target machines outlive their compilation: making one costs more than compiling a small function. One is used by one
 * compilation at a time; what LLVM gave up in is never used again, because it does not come back here. */

#include <pthread.h>

#include <llvm-c/Target.h>

#include "base/fork.h"
#include "codegen/target/target.h"
#include "jit/options.h"
#include "tenon_cpu.h"

/* A target with what it was asked for by. */
struct entry {
    struct tn__target target; /* first: tn__target_give gets it back from this address */
    struct tn_compile_options key;
    struct tn_cpu native; /* of the key, if it has one */
    char *wanted;         /* the module's triple as it was given */
    struct entry *next;
    char text[]; /* of the key's strings */
};

/* The one given back last is first. */
static struct pool {
    struct tn__mutex lock;
    struct entry *idle;
    size_t count;
} pool = {.lock = TN__MUTEX(TN__LEVEL_TARGETS)};

enum { MOST_IDLE = 16 };

static void lock_pool(void)
{
    static const struct tn__fork_hooks hooks = {.lock = &pool.lock};
    tn__forks_watch(TN__LEVEL_TARGETS, &hooks);
    tn__mutex_lock(&pool.lock);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool matches(const struct entry *entry, const struct tn_compile_options *options, const char *triple)
{
    const struct tn_compile_options *key = &entry->key;
    const struct tn_cpu *a = key->native, *b = options->native;
    bool same_cpu = a == b || (a && b && a->arch == b->arch && same_text(a->name, b->name) &&
                               memcmp(&a->features, &b->features, sizeof a->features) == 0);
    return same_cpu && key->opt_level == options->opt_level && key->reloc_model == options->reloc_model &&
           key->code_model == options->code_model && !key->function_sections == !options->function_sections &&
           !key->assembly_files == !options->assembly_files && !key->any_threads == !options->any_threads &&
           same_text(key->triple, options->triple) && same_text(key->cpu, options->cpu) &&
           same_text(key->features, options->features) && (options->triple || same_text(entry->wanted, triple));
}

static struct entry *take_idle(const struct tn_compile_options *options, const char *triple)
{
    lock_pool();
    struct entry **at = &pool.idle;
    while (*at && !matches(*at, options, triple))
        at = &(*at)->next;
    struct entry *found = *at;
    if (found) {
        *at = found->next;
        pool.count--;
    }
    tn__mutex_unlock(&pool.lock);
    return found;
}

static struct entry *make_entry(const struct tn_compile_options *options, const char *triple)
{
    struct tn_compile_options key = *options;
    size_t size = tn__keep_compile_options(&key, NULL, NULL), triple_size = strlen(triple) + 1;
    struct entry *entry = tn__alloc_zeroed(NULL, sizeof *entry + size + triple_size, 1);
    if (!entry)
        return NULL;
    tn__keep_compile_options(&key, entry->text, &entry->native);
    entry->key = key;
    entry->wanted = memcpy(entry->text + size, triple, triple_size);
    return entry;
}

static void dispose(struct entry *entry)
{
    tn__target_close(&entry->target);
    tn__free(NULL, entry);
}

int tn__target_take(struct tn__target **out, const struct tn_compile_options *options, const char *module_triple,
                    struct tn_error *err)
{
    *out = NULL;
    struct entry *entry = take_idle(options, module_triple);
    if (!entry) {
        entry = make_entry(options, module_triple);
        if (!entry)
            return tn__fail(err, TN_ENOMEM, "out of memory while setting up the target");
        int code = tn__target_open(&entry->target, &entry->key, entry->wanted, err);
        if (code) {
            dispose(entry);
            return code;
        }
    }
    *out = &entry->target;
    return 0;
}

void tn__target_give(struct tn__target *target)
{
    if (!target)
        return;
    struct entry *entry = (struct entry *)(void *)target, *surplus = NULL;
    if (target->spent) {
        dispose(entry);
        return;
    }
    lock_pool();
    entry->next = pool.idle;
    pool.idle = entry;
    if (++pool.count > MOST_IDLE) {
        struct entry **at = &pool.idle;
        while ((*at)->next)
            at = &(*at)->next;
        surplus = *at;
        *at = NULL;
        pool.count--;
    }
    tn__mutex_unlock(&pool.lock);
    if (surplus)
        dispose(surplus);
}
