/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The table that says where exceptions go on: the language-specific data area of the Itanium C++ ABI's exception
 * handling, in the layout of GCC's "LSDA". All calls are in it, so that no exception ends the program by itself. */

#include "base/os.h"
#include "baseline/code.h"

enum { OMIT = 0xff, INDIRECT_DISTANCE = 0x9b, ULEB = 0x01, LONGEST_NUMBER = 5, TYPE_SIZE = 4 };

/* ---- types ---- */

/* Null is one type, whatever number it is. */
static struct tn__flat_address key_of(const struct tn__flat *flat, uint32_t operand)
{
    return tn__flat_is_number(operand) ? (struct tn__flat_address){UINT32_MAX, 0}
                                       : flat->addresses[tn__flat_index(operand)];
}

/* The place that has the number of a type, or a free one. */
static uint32_t *find(const struct tn__flat *flat, const struct tn__code_types *types, uint32_t operand)
{
    const struct tn__flat_address key = key_of(flat, operand);
    uint64_t factor = types->seed[1] | 1, hash = (types->seed[0] ^ key.symbol) * factor;
    hash = (hash ^ hash >> 32 ^ (uint32_t)key.addend) * factor;
    for (size_t at = hash >> 32;; at++) {
        uint32_t *place = &types->places[at & (types->place_count - 1)];
        if (!*place)
            return place;
        const struct tn__flat_address other = key_of(flat, types->operands[*place - 1]);
        if (other.symbol == key.symbol && other.addend == key.addend)
            return place;
    }
}

void tn__code_begin_types(struct tn__code_types *types)
{
    if (types->count)
        memset(types->places, 0, types->place_count * sizeof *types->places);
    types->count = 0;
}

static bool provide(const struct tn__flat *flat, struct tn__code_types *types)
{
    if (!tn__grow(NULL, &types->operands, &types->room, types->count + 1, sizeof *types->operands))
        return false;
    if (types->place_count > 2 * types->count)
        return true;
    size_t room = types->place_count ? 2 * types->place_count : 16;
    if (!types->place_count)
        tn__os_seed(types->seed);
    uint32_t *places = tn__alloc_zeroed(NULL, room, sizeof *places);
    if (!places)
        return false;
    tn__free(NULL, types->places);
    types->places = places;
    types->place_count = room;
    for (uint32_t i = 0; i < types->count; i++)
        *find(flat, types, types->operands[i]) = i + 1;
    return true;
}

uint32_t tn__code_type(const struct tn__flat *flat, struct tn__code_types *types, uint32_t operand)
{
    if (!provide(flat, types))
        return 0;
    uint32_t *found = find(flat, types, operand);
    if (!*found) {
        types->operands[types->count++] = operand;
        *found = (uint32_t)types->count;
    }
    return *found;
}

/* ---- bytes ---- */

struct table {
    uint8_t *bytes; /* has the size that was computed before */
    uint32_t size;
};

static void put_byte(struct table *t, unsigned byte)
{
    if (t->bytes)
        t->bytes[t->size] = (uint8_t)byte;
    t->size++;
}

static void put_unsigned(struct table *t, uint32_t value)
{
    for (; value > 0x7f; value >>= 7)
        put_byte(t, value | 0x80);
    put_byte(t, value);
}

static void put_signed(struct table *t, int32_t value)
{
    for (; value < -64 || value > 63; value >>= 7)
        put_byte(t, (value & 0x7f) | 0x80);
    put_byte(t, value & 0x7f);
}

/* ---- filters: lists of types that follow the table of types ---- */

/* The lists of the landings of all sites, each after those before it. */
static void put_filter(struct table *t, const struct tn__flat *flat, const struct tn__code_types *types,
                       const uint32_t *operands, uint32_t count)
{
    for (uint32_t k = 0; k < count && (k == 0 || operands[k + 1] == TN__FLAT_FILTER_MORE); k += 2)
        if (!tn__flat_is_number(operands[k]))
            put_unsigned(t, *find(flat, types, operands[k]));
    put_byte(t, 0);
}

/* ---- actions: what the types of a landing are, each followed by the distance to the next one ---- */

struct actions {
    const struct tn__flat *flat;
    const struct tn__code_types *types;
    struct table table, filters;
};

static void put_action(struct table *t, int32_t filter, bool is_last)
{
    put_signed(t, filter);
    put_byte(t, is_last ? 0 : 1);
}

/* Returns where the landing's actions begin, from 1 on; 0: it has none. */
static uint32_t put_actions(struct actions *a, const struct tn__flat_inst *landing)
{
    const uint32_t *operands = a->flat->operands + landing->first;
    uint32_t start = a->table.size, last = 0, begins = 0;
    for (uint32_t k = 0; k < landing->count; k += 2)
        if (operands[k + 1] != TN__FLAT_FILTER_MORE) {
            last = k;
            begins++;
        }
    if (!begins || (begins == 1 && operands[1] == TN__FLAT_CLEANUP))
        return 0;
    for (uint32_t k = 0; k < landing->count; k += 2) {
        int32_t filter = 0;
        if (operands[k + 1] == TN__FLAT_FILTER_MORE)
            continue;
        if (operands[k + 1] == TN__FLAT_CATCH)
            filter = (int32_t)*find(a->flat, a->types, operands[k]);
        if (operands[k + 1] == TN__FLAT_FILTER) {
            filter = -(int32_t)a->filters.size - 1;
            put_filter(&a->filters, a->flat, a->types, operands + k, landing->count - k);
        }
        put_action(&a->table, filter, k == last);
    }
    return start + 1;
}

/* Sites of one landing have the same actions, which this finds. */
static bool measure_actions(struct actions *a, struct tn__code_site *sites, size_t count)
{
    uint32_t *of_landings = tn__alloc(NULL, a->flat->inst_count * sizeof *of_landings);
    if (!of_landings)
        return false;
    memset(of_landings, 0xff, a->flat->inst_count * sizeof *of_landings);
    for (size_t i = 0; i < count; i++) {
        uint32_t *action = &of_landings[sites[i].inst];
        if (*action == UINT32_MAX)
            *action = put_actions(a, &a->flat->insts[sites[i].inst]);
        sites[i].action = *action;
    }
    tn__free(NULL, of_landings);
    return true;
}

/* Only the first site of a landing has actions that begin where those before it end. */
static void put_all_actions(struct actions *a, const struct tn__code_site *sites, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sites[i].action == a->table.size + 1)
            put_actions(a, &a->flat->insts[sites[i].inst]);
}

/* ---- sites ---- */

static void put_site(struct table *t, uint32_t start, uint32_t end, uint32_t landing, uint32_t action)
{
    if (start == end)
        return;
    put_unsigned(t, start);
    put_unsigned(t, end - start);
    put_unsigned(t, landing);
    put_unsigned(t, action);
}

/* What lies between sites has no landing. */
static void put_sites(struct table *t, const struct tn__code_site *sites, size_t count, uint32_t size)
{
    uint32_t end = 0;
    for (const struct tn__code_site *site = sites; site < sites + count; site++) {
        put_site(t, end, site->start, 0, 0);
        put_site(t, site->start, site->end, site->landing, site->action);
        end = site->end;
    }
    put_site(t, end, size, 0, 0);
}

/* ---- the whole ---- */

static bool add_type_relocs(struct tn__code *code, const struct tn__flat *flat, const struct tn__code_types *types,
                            uint32_t end)
{
    if (!tn__grow(NULL, &code->type_relocs, &code->type_reloc_room, code->type_reloc_count + types->count,
                  sizeof *code->type_relocs))
        return false;
    for (uint32_t i = 0; i < types->count; i++) {
        if (tn__flat_is_number(types->operands[i]))
            continue;
        const struct tn__flat_address *address = &flat->addresses[tn__flat_index(types->operands[i])];
        code->type_relocs[code->type_reloc_count++] =
            (struct tn__code_reloc){end - TYPE_SIZE * (i + 1), 0, address->symbol, address->addend};
    }
    return true;
}

static uint32_t length_of(uint32_t value)
{
    struct table t = {0};
    put_unsigned(&t, value);
    return t.size;
}

bool tn__code_add_table(struct tn__code *code, const struct tn__flat *flat, const struct tn__code_types *types,
                        struct tn__code_site *sites, size_t count, uint32_t size)
{
    struct actions measured = {.flat = flat, .types = types};
    struct table all = {0}, measured_sites = {0};
    if (!measure_actions(&measured, sites, count))
        return false;
    put_sites(&measured_sites, sites, count, size);
    uint32_t type_bytes = TYPE_SIZE * (uint32_t)types->count;
    uint32_t to_types = 1 + length_of(measured_sites.size) + measured_sites.size + measured.table.size + type_bytes;
    size_t room = code->tables_size + 2 + LONGEST_NUMBER + to_types + measured.filters.size;
    if (!tn__grow(NULL, &code->tables, &code->tables_room, room, 1))
        return false;
    all.bytes = code->tables + code->tables_size;
    put_byte(&all, OMIT); /* landings count from the function's beginning */
    put_byte(&all, INDIRECT_DISTANCE);
    put_unsigned(&all, to_types);
    put_byte(&all, ULEB);
    put_unsigned(&all, measured_sites.size);
    put_sites(&all, sites, count, size);
    uint32_t end = all.size + measured.table.size + type_bytes;
    struct actions actions = {
        .flat = flat, .types = types, .table.bytes = all.bytes + all.size, .filters.bytes = all.bytes + end};
    put_all_actions(&actions, sites, count);
    memset(all.bytes + end - type_bytes, 0, type_bytes);
    if (!add_type_relocs(code, flat, types, (uint32_t)code->tables_size + end))
        return false;
    code->tables_size += end + actions.filters.size;
    return true;
}
