/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The symbol table of a library. Every name that its objects define or mention has one entry, found by one hash probe
 * when the object is added. All later phases hold pointers to entries, which never move. */

#include "link/model/late.h"

/* The product of a secret odd factor, folded: without the factor, no two names are known to have one hash. */
static uint64_t fold(uint64_t value, uint64_t factor)
{
    unsigned __int128 product = (unsigned __int128)value * factor;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t hash_name(const struct tn__seed *seed, const char *name, size_t length)
{
    uint64_t factor = seed->numbers[0] ^ UINT64_C(0x9e3779b97f4a7c15), hash = seed->numbers[1] ^ length;
    factor |= 1;
    for (; length >= 8; name += 8, length -= 8)
        hash = fold(hash ^ tn__get64(name), factor);
    uint64_t rest = 0;
    memcpy(&rest, name, length);
    hash = fold(hash ^ rest, factor);
    return (uint32_t)(hash ^ hash >> 32);
}

uint64_t tn__name_key(const struct tn__seed *seed, const char *name)
{
    size_t length = strlen(name);
    return length < UINT32_MAX ? ((uint64_t)(length + 1) << 32) | hash_name(seed, name, length) : 0;
}

/* The size of a name with its NUL. */
static size_t size_of(uint64_t key)
{
    return (size_t)(key >> 32);
}

bool tn__object_find_keys(struct tn__object_data *data, const struct tn__seed *seed)
{
    const uint32_t end = tn__object_entered_end(data);
    uint64_t sum = 0, most = tn__names_limit(data);
    for (uint32_t i = 1; i < end; i++) {
        struct tn__symbol *symbol = &data->symbols[i];
        if (symbol->binding != TN__BIND_LOCAL) {
            if (!data->first_global)
                data->first_global = i;
            if (symbol->late)
                continue;
            data->name_count++;
            symbol->key = tn__name_key(seed, symbol->name);
            sum += size_of(symbol->key);
            if (sum > most)
                return false;
        }
    }
    if (!data->first_global)
        data->first_global = end;
    for (uint32_t i = 0; i < data->group_count && sum <= most; i++) {
        data->groups[i].key = tn__name_key(seed, data->groups[i].signature);
        sum += size_of(data->groups[i].key);
        data->name_count++;
    }
    return sum <= most;
}

void tn__object_enter_all(struct tn__object_data *data)
{
    data->late = NULL;
    data->late_first = 0;
    for (uint32_t i = 1; i < data->symbol_count; i++)
        data->symbols[i].late = false;
}

/* The slot that holds the name, or the free one where it belongs. */
static struct tn__entry **probe(const struct tn__symtab *table, const char *name, uint64_t key)
{
    for (size_t i = key & table->mask;; i = (i + 1) & table->mask) {
        const struct tn__entry *entry = table->slots[i];
        if (!entry || (entry->key == key && !memcmp(entry->name, name, size_of(key))))
            return &table->slots[i];
    }
}

/* Three quarters of the slots may be in use. */
static bool has_space(const struct tn__symtab *table, size_t count)
{
    return table->slots && (table->count + count) * 4 <= (table->mask + 1) * 3;
}

bool tn__symtab_reserve(struct tn__symtab *table, size_t count)
{
    if (has_space(table, count))
        return true;
    size_t old_size = table->slots ? table->mask + 1 : 0, size = old_size ? old_size * 2 : 64;
    while ((table->count + count) * 4 > size * 3)
        size *= 2;
    struct tn__entry **old = table->slots, **slots = tn__alloc_zeroed(table->arena.from, size, sizeof *slots);
    if (!slots)
        return false;
    table->slots = slots;
    table->mask = size - 1;
    for (size_t i = 0; i < old_size; i++)
        if (old[i])
            *probe(table, old[i]->name, old[i]->key) = old[i];
    tn__free(table->arena.from, old);
    return true;
}

/* Freed entries are reused for others of the same size class: multiples of 16 bytes up to 512, then powers of two. */
static unsigned class_of(size_t *size)
{
    enum { STEP = 16, STEPS = 32 };
    size_t steps = (*size + STEP - 1) / STEP;
    unsigned class = steps <= STEPS ? (unsigned)steps - 1 : 26 + 64 - (unsigned)__builtin_clzll(steps - 1);
    *size = STEP * (steps <= STEPS ? steps : (size_t)1 << (class - 26));
    return class;
}

static struct tn__entry *new_entry(struct tn__symtab *table, uint64_t key)
{
    size_t size = sizeof(struct tn__entry) + size_of(key);
    unsigned class = class_of(&size);
    if (class >= TN__SYMTAB_CLASSES)
        return NULL;
    struct tn__entry *entry = table->unused[class];
    if (!entry)
        return tn__arena_alloc(&table->arena, size);
    table->unused[class] = entry->target;
    return entry;
}

static void give_back(struct tn__symtab *table, struct tn__entry *entry)
{
    size_t size = sizeof *entry + size_of(entry->key);
    unsigned class = class_of(&size);
    entry->target = table->unused[class];
    table->unused[class] = entry;
    table->count--;
}

void tn__symtab_filter(struct tn__symtab *table, bool (*is_unused)(struct tn__entry *))
{
    struct tn__entry **old = table->slots;
    if (!old)
        return;
    size_t size = table->mask + 1;
    struct tn__entry **slots = tn__alloc_zeroed(table->arena.from, size, sizeof *slots);
    for (size_t i = 0; i < size; i++)
        if (old[i] && is_unused(old[i]) && slots) {
            give_back(table, old[i]);
            old[i] = NULL;
        }
    if (!slots)
        return;
    table->slots = slots;
    for (size_t i = 0; i < size; i++)
        if (old[i])
            *probe(table, old[i]->name, old[i]->key) = old[i];
    tn__free(table->arena.from, old);
}

struct tn__entry *tn__symtab_intern_key(struct tn__symtab *table, const char *name, uint64_t key)
{
    if (!key || !tn__symtab_reserve(table, 1))
        return NULL;
    struct tn__entry **slot = probe(table, name, key);
    if (*slot)
        return *slot;
    struct tn__entry *entry = new_entry(table, key);
    if (!entry)
        return NULL;
    *entry = (struct tn__entry){.name = memcpy(entry + 1, name, size_of(key)), .key = key};
    table->count++;
    *slot = entry;
    uint32_t late = table->late ? table->late->find(table->late, name) : 0;
    if (late)
        table->late->define(table->late, late, entry);
    return entry;
}

struct tn__entry *tn__symtab_intern(struct tn__symtab *table, const char *name)
{
    return tn__symtab_intern_key(table, name, tn__name_key(&table->seed, name));
}

struct tn__entry *tn__symtab_find_key(const struct tn__symtab *table, const char *name, uint64_t key)
{
    struct tn__entry *entry = table->slots && key ? *probe(table, name, key) : NULL;
    if (entry || !table->late || !key || !table->late->find(table->late, name))
        return entry;
    return tn__symtab_intern_key(table->late->table, name, key);
}

struct tn__entry *tn__symtab_find(const struct tn__symtab *table, const char *name)
{
    return tn__symtab_find_key(table, name, tn__name_key(&table->seed, name));
}

void tn__symtab_free(struct tn__symtab *table)
{
    tn__free(table->arena.from, table->slots);
    tn__arena_free(&table->arena);
    *table = (struct tn__symtab){.seed = table->seed, .arena.from = table->arena.from};
}

/* What is in an entry that was just created, apart from its name. */
static const struct tn__entry blank;

static bool is_blank(const struct tn__entry *entry)
{
    return !memcmp(&entry->kind, &blank.kind, sizeof *entry - offsetof(struct tn__entry, kind));
}

bool tn__journal_note(struct tn__journal *journal, struct tn__entry *entry)
{
    bool new = is_blank(entry);
    struct tn__journal_record *record = tn__arena_alloc(&journal->arena, sizeof *record + (new ? 0 : sizeof *entry));
    if (!record)
        return false;
    *record =
        (struct tn__journal_record){journal->last, entry, new ? &blank : memcpy(record + 1, entry, sizeof *entry)};
    journal->last = record;
    return true;
}

void tn__journal_undo(struct tn__journal *journal)
{
    for (; journal->last; journal->last = journal->last->before) {
        struct tn__entry *entry = journal->last->entry, now = *entry;
        *entry = *journal->last->old;
        entry->name = now.name;
        entry->key = now.key;
        entry->aliased |= now.aliased; /* not undone: aliases of others may lead here */
    }
}

void tn__journal_free(struct tn__journal *journal)
{
    tn__arena_free(&journal->arena);
    journal->last = NULL;
}
