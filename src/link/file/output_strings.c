/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Merges the strings of debug data (gABI, SHF_MERGE and SHF_STRINGS): a piece keeps only those that no earlier piece
 * has. Strings in loaded sections are not merged: they are few, and not every reference to them has a relocation that
 * could be redirected. */

#include <string.h>

#include "link/file/output_build.h"

struct merger {
    struct tn__output_link *o;
    struct kept {
        const char *text;
        uint32_t piece, at;
    } * kept; /* each string once */
    uint32_t count;
    uint32_t *table; /* indexes into `kept` plus 1, hashed by text; 0: free */
    size_t mask;
};

static bool is_mergeable(const struct tn__output_piece *piece)
{
    const struct tn__input_section *section = piece->section;
    return piece->class == TN__CLASS_DEBUG && section->strings && section->alignment == 1 && !section->reloc_count &&
           section->size && !section->bytes[section->size - 1];
}

static size_t count_strings(const struct tn__output_piece *piece)
{
    size_t count = 0;
    for (uint64_t i = 0; i < piece->section->size; i++)
        count += !piece->section->bytes[i];
    return count;
}

/* The slot of the string in the hash table, or the free one for it. Output sections do not share strings with each
 * other. */
static uint32_t *find_string(const struct merger *m, const char *section, const char *text)
{
    for (size_t i = (size_t)tn__name_key(&m->o->link->session->seed, text);; i++) {
        uint32_t *slot = &m->table[i & m->mask];
        const struct kept *kept = *slot ? &m->kept[*slot - 1] : NULL;
        if (!kept || (!strcmp(kept->text, text) && !strcmp(m->o->pieces[kept->piece].name, section)))
            return slot;
    }
}

static bool merge_piece(struct merger *m, uint32_t number)
{
    struct tn__output_piece *piece = &m->o->pieces[number];
    const char *bytes = (const char *)piece->section->bytes;
    piece->strings = tn__arena_array(&m->o->arena, count_strings(piece), sizeof *piece->strings);
    if (!piece->strings)
        return false;
    piece->size = 0;
    for (uint32_t at = 0; at < piece->section->size; at += (uint32_t)strlen(bytes + at) + 1) {
        uint32_t *slot = find_string(m, piece->name, bytes + at);
        if (!*slot) {
            m->kept[m->count] = (struct kept){bytes + at, number, (uint32_t)piece->size};
            *slot = ++m->count;
            piece->size += strlen(bytes + at) + 1;
        }
        const struct kept *kept = &m->kept[*slot - 1];
        piece->strings[piece->string_count++] = (struct tn__output_string){at, kept->piece, kept->at};
    }
    return true;
}

int tn__output_merge_strings(struct tn__output_link *o)
{
    struct merger m = {.o = o, .mask = 1};
    size_t count = 0;
    for (size_t i = 0; i < o->piece_count; i++)
        count += is_mergeable(&o->pieces[i]) ? count_strings(&o->pieces[i]) : 0;
    if (!count)
        return 0;
    while (m.mask < 2 * count)
        m.mask = m.mask << 1 | 1;
    m.kept = tn__arena_array(&o->arena, count, sizeof *m.kept);
    m.table = tn__arena_array(&o->arena, m.mask + 1, sizeof *m.table);
    bool good = m.kept && m.table;
    for (uint32_t i = 0; i < o->piece_count && good; i++)
        good = !is_mergeable(&o->pieces[i]) || merge_piece(&m, i);
    return good ? 0 : tn__output_no_memory(o);
}

void tn__output_copy_strings(const struct tn__output_link *o, const struct tn__output_piece *piece, uint8_t *to)
{
    for (uint32_t i = 0; i < piece->string_count; i++) {
        const struct tn__output_string *string = &piece->strings[i];
        const char *text = (const char *)piece->section->bytes + string->from;
        if (&o->pieces[string->piece] == piece)
            memcpy(to + string->at, text, strlen(text) + 1);
    }
}

uint64_t tn__output_string_at(const struct tn__output_link *o, const struct tn__output_piece *piece, uint64_t offset)
{
    size_t behind = TN_BISECT(1, piece->string_count, i, piece->strings[i].from <= offset);
    const struct tn__output_string *string = &piece->strings[behind - 1];
    return o->pieces[string->piece].offset + string->at + (offset - string->from);
}
