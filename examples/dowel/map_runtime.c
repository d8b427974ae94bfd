/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Maps, in collected C: a part of runtime.c. Entries have numbers, in the order in which they came: their hashes, keys
 * and values are in arrays. `places` is a hash table with open addressing of these numbers, each plus 1; it is a power
 * of two, and at most half full. */

struct map {
    struct words tn_ref *places;
    struct words tn_ref *hashes;
    void tn_ref *keys; /* struct words, or struct references */
    void tn_ref *values;
    long count;
    long has_references; /* 1: as keys; 2: as values */
};
TN_TYPE(struct map, places, hashes, keys, values);

enum { SMALLEST = 8, KEYS = 1, VALUES = 2 };

struct map tn_ref *dowel_map(long has_references)
{
    struct map tn_ref *map = tn_new(struct map);
    map->places = dowel_words(2 * SMALLEST, 0);
    map->hashes = dowel_words(SMALLEST, 0);
    map->keys = has_references & KEYS ? (void tn_ref *)dowel_references(SMALLEST, NULL) : dowel_words(SMALLEST, 0);
    map->values = has_references & VALUES ? (void tn_ref *)dowel_references(SMALLEST, NULL) : dowel_words(SMALLEST, 0);
    map->has_references = has_references;
    return map;
}

static struct words tn_ref *longer_words(struct words tn_ref *old, size_t length)
{
    struct words tn_ref *words = dowel_words(length, 0);
    for (size_t i = 0; i < old->length && i < length; i++)
        words->items[i] = old->items[i];
    return words;
}

static struct references tn_ref *longer_references(struct references tn_ref *old, size_t length)
{
    struct references tn_ref *references = dowel_references(length, NULL);
    for (size_t i = 0; i < old->length && i < length; i++)
        references->items[i] = old->items[i];
    return references;
}

static void tn_ref *longer(void tn_ref *old, size_t length, long is_references)
{
    return is_references ? (void tn_ref *)longer_references(old, length) : longer_words(old, length);
}

static void put_place(struct words tn_ref *places, long hash, long entry)
{
    size_t at = (size_t)hash & (places->length - 1);
    while (places->items[at])
        at = (at + 1) & (places->length - 1);
    places->items[at] = entry + 1;
}

static void grow(struct map tn_ref *map)
{
    size_t length = map->hashes->length * 2;
    map->hashes = longer_words(map->hashes, length);
    map->keys = longer(map->keys, length, map->has_references & KEYS);
    map->values = longer(map->values, length, map->has_references & VALUES);
    map->places = dowel_words(2 * length, 0);
    for (long i = 0; i < map->count; i++)
        put_place(map->places, map->hashes->items[i], i);
}

static long add_entry(struct map tn_ref *map, long hash)
{
    if (map->count == (long)map->hashes->length)
        grow(map);
    map->hashes->items[map->count] = hash;
    put_place(map->places, hash, map->count);
    return map->count++;
}

/* The number of the entry of a key, which is a string or, without one, a number; if there is none, -1, or a new one. */
static long find_entry(struct map tn_ref *map, long hash, struct text tn_ref *string, long number, long adds)
{
    struct references tn_ref *strings = map->keys;
    struct words tn_ref *numbers = map->keys;
    size_t mask = map->places->length - 1;
    long entry;
    for (size_t at = (size_t)hash & mask; (entry = map->places->items[at] - 1) >= 0; at = (at + 1) & mask)
        if (map->hashes->items[entry] == hash &&
            (string ? dowel_equal(strings->items[entry], string) : numbers->items[entry] == number))
            return entry;
    if (!adds)
        return -1;
    entry = add_entry(map, hash);
    strings = map->keys;
    numbers = map->keys;
    if (string)
        strings->items[entry] = string;
    else
        numbers->items[entry] = number;
    return entry;
}

long dowel_map_string(struct map tn_ref *map, struct text tn_ref *key, long adds)
{
    unsigned long hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length_of(key); i++)
        hash = (hash ^ (unsigned char)key->items[i]) * 1099511628211u;
    return find_entry(map, (long)hash, key, 0, adds);
}

long dowel_map_i64(struct map tn_ref *map, long key, long adds)
{
    unsigned long hash = (unsigned long)key * 0x9e3779b97f4a7c15u;
    return find_entry(map, (long)(hash ^ hash >> 32), NULL, key, adds);
}

void tn_ref *dowel_map_keys(struct map tn_ref *map)
{
    return longer(map->keys, (size_t)map->count, map->has_references & KEYS);
}
