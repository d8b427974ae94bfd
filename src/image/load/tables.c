/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Header and tables of an image. Everything that opening uses is checked at once, rows of functions when they are read,
 * so after tn__image_read every index is in range. Errors name the first difference. */

#include <elf.h>
#include <string.h>

#include "image/load/image.h"
#include "tenon_gc.h"

struct reader {
    const char *name;
    struct tn__image_view *view;
    struct tn_error *err;
};

#define FAIL(r, ...) tn__fail((r)->err, TN_EFORMAT, __VA_ARGS__)

/* ---- the header ---- */

static int check_version(const struct reader *r)
{
    const uint8_t *h = r->view->header;
    uint32_t version = tn__get32(h + TN__IMAGE_AT_VERSION), order = tn__get32(h + TN__IMAGE_AT_BYTE_ORDER);
    uint32_t abi = tn__get32(h + TN__IMAGE_AT_ABI), gc_abi = tn__get32(h + TN__IMAGE_AT_GC_ABI);
    if (memcmp(h, TN__IMAGE_MAGIC, 8) != 0)
        return FAIL(r, "%s: not an image: its first bytes are not those of one", r->name);
    if (version != TN__IMAGE_VERSION)
        return tn__fail(r->err, TN_ENOTSUP, "%s: format version %u; this runtime reads version %d", r->name, version,
                        TN__IMAGE_VERSION);
    if (order != TN__IMAGE_BYTE_ORDER)
        return FAIL(r, "%s: byte order 0x%08x, not 0x%08x", r->name, order, TN__IMAGE_BYTE_ORDER);
    if (h[TN__IMAGE_AT_POINTER] != 8)
        return FAIL(r, "%s: pointers of %u bytes, not 8", r->name, h[TN__IMAGE_AT_POINTER]);
    if (h[TN__IMAGE_AT_SYSTEM] != TN__IMAGE_LINUX)
        return tn__fail(r->err, TN_ENOTSUP, "%s: system %u; this is %d, Linux", r->name, h[TN__IMAGE_AT_SYSTEM],
                        TN__IMAGE_LINUX);
    if (abi != TN_RUNTIME_ABI)
        return tn__fail(r->err, TN_ENOTSUP, "%s: runtime ABI %u; this runtime's is %d", r->name, abi, TN_RUNTIME_ABI);
    if (gc_abi && gc_abi != TN_GC_ABI)
        return tn__fail(r->err, TN_ENOTSUP,
                        "%s: managed code or objects for version %u of the collector's ABI; this runtime's is %d",
                        r->name, gc_abi, TN_GC_ABI);
    return 0;
}

static int check_size(const struct reader *r, uint64_t available)
{
    struct tn__image_view *v = r->view;
    v->size = tn__get32(v->header + TN__IMAGE_AT_SIZE);
    v->slots = tn__get32(v->header + TN__IMAGE_AT_SLOTS);
    v->places = tn__get32(v->header + TN__IMAGE_AT_PLACES);
    v->machine = tn__get16(v->header + TN__IMAGE_AT_MACHINE);
    if (v->size < TN__IMAGE_HEADER || v->size % 8 || v->size > available || v->size > INT32_MAX)
        return FAIL(r, "%s: header and tables of %u bytes, where %llu are", r->name, v->size,
                    (unsigned long long)available);
    uint64_t noted = tn__get64(v->header + TN__IMAGE_AT_CHECKSUM);
    uint64_t sum = tn__image_header_checksum(v->header, v->size);
    if (noted != sum)
        return FAIL(r, "%s: checksum of header and tables is %016llx, should be %016llx", r->name,
                    (unsigned long long)sum, (unsigned long long)noted);
    if (!v->places || v->places > INT32_MAX / 4 || v->slots > INT32_MAX / 8)
        return FAIL(r, "%s: %u places and %u slots", r->name, v->places, v->slots);
    for (size_t at = TN__IMAGE_AT_ZEROS; at < TN__IMAGE_HEADER; at++)
        if (v->header[at])
            return FAIL(r, "%s: byte %zu of the header is not zero", r->name, at);
    return 0;
}

/* What is known of the tables; the text's rows are bytes. */
static const struct {
    const char *name;
    uint32_t row;
} known_tables[TN__IMAGE_TABLES] = {{"targets", TN__IMAGE_TARGET},
                                    {"functions", TN__IMAGE_FUNCTION},
                                    {"sets of targets", 8},
                                    {"host symbols", 4},
                                    {"dependencies", TN__IMAGE_DEPENDENCY},
                                    {"text", 1},
                                    {"zones", TN__IMAGE_ZONE},
                                    {"lists", TN__IMAGE_LIST},
                                    {"bindings", TN__IMAGE_BINDING},
                                    {"types", TN__IMAGE_TYPE},
                                    {"roots", TN__IMAGE_ROOT},
                                    {"unique objects", TN__IMAGE_UNIQUE},
                                    {"uses", TN__IMAGE_USE},
                                    {"patches", TN__IMAGE_PATCH},
                                    {"values", TN__IMAGE_VALUE},
                                    {"layouts", TN__IMAGE_LAYOUT},
                                    {"cells", TN__IMAGE_CELL_ROW},
                                    {"offers", TN__IMAGE_ITEM},
                                    {"edges", TN__IMAGE_ITEM},
                                    {"dependencies of dependencies", 4},
                                    {"reliances", TN__IMAGE_RELIANCE},
                                    {"kept functions", TN__IMAGE_KEPT},
                                    {"shared symbols", 4},
                                    {"settings", TN__IMAGE_SETTING}};

static int find_table(const struct reader *r, const uint8_t *entry)
{
    struct tn__image_view *v = r->view;
    uint32_t kind = tn__get32(entry + TN__IMAGE_ENTRY_KIND), flags = tn__get32(entry + TN__IMAGE_ENTRY_FLAGS);
    uint32_t row = tn__get32(entry + TN__IMAGE_ENTRY_ROW), offset = tn__get32(entry + TN__IMAGE_ENTRY_OFFSET),
             count = tn__get32(entry + TN__IMAGE_ENTRY_ROWS);
    bool is_known = kind < TN__IMAGE_TABLES;
    const char *name = is_known ? known_tables[kind].name : "an unknown kind";
    if (!is_known && (flags & TN__IMAGE_REQUIRED))
        return tn__fail(r->err, TN_ENOTSUP,
                        "%s: table of kind %u, without which it cannot be opened; this runtime knows "
                        "%d kinds",
                        r->name, kind, TN__IMAGE_TABLES);
    if (flags & ~TN__IMAGE_REQUIRED)
        return FAIL(r, "%s: table of %s: flags 0x%x, of which 0x%x are known", r->name, name, flags,
                    TN__IMAGE_REQUIRED);
    if (offset < TN__IMAGE_HEADER || !tn__inside(offset, (uint64_t)count * row, v->size))
        return FAIL(r, "%s: table of %s: %u rows of %u bytes at %u, outside of %u bytes", r->name, name, count, row,
                    offset, v->size);
    if (!is_known)
        return 0;
    if (row < known_tables[kind].row || (kind == TN__IMAGE_TEXT_TABLE && row != 1))
        return FAIL(r, "%s: table of %s: rows of %u bytes, not %u", r->name, name, row, known_tables[kind].row);
    if (v->tables[kind].rows)
        return FAIL(r, "%s: two tables of %s", r->name, name);
    v->tables[kind] = (struct tn__image_rows){v->header + offset, count, row};
    return 0;
}

static int find_tables(const struct reader *r)
{
    struct tn__image_view *v = r->view;
    uint32_t count = tn__get32(v->header + TN__IMAGE_AT_DIRECTORY), row = tn__get32(v->header + TN__IMAGE_AT_ROW);
    int code = 0;
    if (row < TN__IMAGE_ENTRY || !tn__inside(TN__IMAGE_HEADER, (uint64_t)count * row, v->size))
        return FAIL(r, "%s: directory of %u rows of %u bytes, in %u bytes", r->name, count, row, v->size);
    for (uint32_t i = 0; i < count && !code; i++)
        code = find_table(r, v->header + TN__IMAGE_HEADER + (size_t)i * row);
    bool has_heap = v->tables[TN__IMAGE_ZONE_TABLE].rows;
    for (size_t kind = 0; kind < TN__IMAGE_TABLES && !code; kind++)
        if (!v->tables[kind].rows && (kind < TN__IMAGE_CODE_TABLES || (has_heap && kind < TN__IMAGE_HEAP_TABLES)))
            code = FAIL(r, "%s: no table of %s", r->name, known_tables[kind].name);
    if (code)
        return code;
    const struct tn__image_rows *text = &v->tables[TN__IMAGE_TEXT_TABLE];
    v->text = (const char *)text->rows;
    if (!text->count || v->text[text->count - 1])
        return FAIL(r, "%s: the table of text does not end with a zero", r->name);
    return 0;
}

const char *tn__image_text(const struct tn__image_view *v, const uint8_t *field)
{
    uint32_t offset = tn__get32(field);
    return offset < v->tables[TN__IMAGE_TEXT_TABLE].count ? v->text + offset : NULL;
}

/* ---- targets ---- */

static int read_target(const struct reader *r, uint32_t index)
{
    static const uint32_t known =
        TN_CPU_CLONE_ALL | TN_CPU_UNKNOWN_NAME | TN_CPU_OPT_SIZE | TN_CPU_MIN_SIZE | TN_CPU_UNKNOWN_FEATURE;
    struct tn__image_view *v = r->view;
    const uint8_t *row = tn__image_row(&v->tables[TN__IMAGE_TARGET_TABLE], index);
    struct tn_cpu_target *target = &v->targets[index];
    *target = (struct tn_cpu_target){.size = sizeof *target,
                                     .name = tn__image_text(v, row + TN__IMAGE_TARGET_NAME),
                                     .extra = tn__image_text(v, row + TN__IMAGE_TARGET_EXTRA),
                                     .flags = tn__get32(row + TN__IMAGE_TARGET_FLAGS),
                                     .base = tn__get32(row + TN__IMAGE_TARGET_BASE)};
    for (size_t w = 0; w < TN_CPU_WORDS; w++)
        target->enabled.words[w] = tn__get64(row + TN__IMAGE_TARGET_ENABLED + 8 * w);
    if (!target->name || !target->extra)
        return FAIL(r, "%s: target %u: its name lies outside of the text", r->name, index);
    if (target->flags & ~(uint64_t)known)
        return tn__fail(r->err, TN_ENOTSUP, "%s: target %u: flags 0x%llx, of which 0x%x are known", r->name, index,
                        (unsigned long long)target->flags, known);
    if (index == 0 || (target->flags & TN_CPU_CLONE_ALL))
        v->groups |= UINT64_C(1) << index;
    if (target->base && (target->base >= index || !(v->groups >> target->base & 1)))
        return FAIL(r, "%s: target %u: base %zu", r->name, index, target->base);
    return 0;
}

static int read_targets(const struct reader *r, struct tn__arena *arena)
{
    struct tn__image_view *v = r->view;
    uint32_t count = v->tables[TN__IMAGE_TARGET_TABLE].count;
    if (!count || count > TN__IMAGE_TARGETS)
        return FAIL(r, "%s: %u targets", r->name, count);
    v->targets = tn__arena_array(arena, count, sizeof *v->targets);
    if (!v->targets)
        return tn__fail(r->err, TN_ENOMEM, "%s: out of memory", r->name);
    int code = 0;
    for (uint32_t i = 0; i < count && !code; i++)
        code = read_target(r, i);
    return code;
}

static int check_counts(const struct reader *r)
{
    struct tn__image_view *v = r->view;
    uint32_t targets = v->tables[TN__IMAGE_TARGET_TABLE].count, functions = v->tables[TN__IMAGE_FUNCTION_TABLE].count;
    if (!tn__image_text(v, v->header + TN__IMAGE_AT_NAME))
        return FAIL(r, "%s: the image's name lies outside of the text", r->name);
    if (v->slots > functions)
        return FAIL(r, "%s: %u slots for %u functions", r->name, v->slots, functions);
    const struct tn__image_rows *zones = &v->tables[TN__IMAGE_ZONE_TABLE];
    bool by_places = zones->count && !tn__get64(tn__image_row(zones, 0) + TN__IMAGE_ZONE_PLACE);
    bool has_words = v->tables[TN__IMAGE_VALUE_TABLE].count || by_places;
    uint64_t offers = TN__IMAGE_FIRST_VERSION + (uint64_t)targets * v->slots + (functions - v->slots),
             own = offers + v->tables[TN__IMAGE_OFFER_TABLE].count,
             before = own + has_words + (by_places ? zones->count + UINT64_C(1) : 0),
             cells = v->tables[TN__IMAGE_CELL_TABLE].count, shared = before + (cells ? 1 + cells : 0),
             places = shared + (v->tables[TN__IMAGE_SHARED_TABLE].count > 0);
    if (v->places != places)
        return FAIL(r, "%s: %u places; %u slots, %u targets and %u functions need %llu", r->name, v->places, v->slots,
                    targets, functions, (unsigned long long)places);
    v->offers_at = (uint32_t)offers;
    v->values_at = has_words ? (uint32_t)own : 0;
    v->zones_at = by_places ? (uint32_t)own + 1 : 0;
    v->cells_at = cells ? (uint32_t)before : 0;
    v->shared_at = places > shared ? (uint32_t)shared : 0;
    return 0;
}

uint32_t tn__image_cell_function(const struct tn__image_view *view, uint32_t cell)
{
    return tn__get32(tn__image_row(&view->tables[TN__IMAGE_CELL_TABLE], cell) + TN__IMAGE_CELL_FUNCTION);
}

static int check_cells(const struct reader *r)
{
    const struct tn__image_view *v = r->view;
    uint32_t functions = v->tables[TN__IMAGE_FUNCTION_TABLE].count;
    for (uint32_t i = 0; i < v->tables[TN__IMAGE_CELL_TABLE].count; i++) {
        uint32_t function = tn__image_cell_function(v, i);
        if (function >= functions || (i && tn__image_cell_function(v, i - 1) >= function))
            return FAIL(r, "%s: cell %u is that of function %u, out of order or of %u", r->name, i, function,
                        functions);
    }
    return 0;
}

static int check_reliances(const struct reader *r)
{
    const struct tn__image_view *v = r->view;
    const struct tn__image_rows *rows = &v->tables[TN__IMAGE_RELIANCE_TABLE], *edges = &v->tables[TN__IMAGE_EDGE_TABLE];
    uint64_t last = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint8_t *row = tn__image_row(rows, i);
        uint32_t cell = tn__get32(row + TN__IMAGE_RELIANCE_CELL), edge = tn__get32(row + TN__IMAGE_RELIANCE_EDGE);
        uint64_t both = (uint64_t)cell << 32 | edge;
        if (cell >= v->tables[TN__IMAGE_CELL_TABLE].count || edge >= edges->count || (i && both <= last))
            return FAIL(r, "%s: reliance %u is that of cell %u on edge %u, out of order or of %u edges", r->name, i,
                        cell, edge, edges->count);
        last = both;
    }
    return 0;
}

static int check_kept(const struct reader *r)
{
    const struct tn__image_view *v = r->view;
    const struct tn__image_rows *kept = &v->tables[TN__IMAGE_KEPT_TABLE];
    uint32_t cells = v->tables[TN__IMAGE_CELL_TABLE].count, wanted = v->tables[TN__IMAGE_TARGET_TABLE].count + 1,
             settings = v->tables[TN__IMAGE_SETTING_TABLE].count;
    if (settings != (kept->count ? wanted : 0))
        return FAIL(r, "%s: %u settings for %u targets and %u kept functions", r->name, settings, wanted - 1,
                    kept->count);
    for (uint32_t i = 0; i < kept->count; i++) {
        const uint8_t *row = tn__image_row(kept, i);
        uint32_t cell = tn__get32(row + TN__IMAGE_KEPT_CELL), flags = tn__get32(row + TN__IMAGE_KEPT_FLAGS);
        if (cell >= cells || (i && tn__get32(tn__image_row(kept, i - 1) + TN__IMAGE_KEPT_CELL) >= cell) ||
            flags & ~TN__IMAGE_KEPT_COMMON)
            return FAIL(r, "%s: kept function %u is that of cell %u, out of order or of %u, with flags 0x%x", r->name,
                        i, cell, cells, flags);
    }
    return 0;
}

/* Rows that begin with a name. */
static int check_names(const struct reader *r, enum tn__image_table table, const char *what)
{
    const struct tn__image_rows *rows = &r->view->tables[table];
    for (uint32_t i = 0; i < rows->count; i++)
        if (!tn__image_text(r->view, tn__image_row(rows, i)))
            return FAIL(r, "%s: %s %u: its name lies outside of the text", r->name, what, i);
    return 0;
}

/* ---- names and functions ---- */

const char *tn__image_name(const struct tn__image_view *view)
{
    return tn__image_text(view, view->header + TN__IMAGE_AT_NAME);
}

static const uint8_t *function_row(const struct tn__image_view *view, uint32_t index)
{
    return tn__image_row(&view->tables[TN__IMAGE_FUNCTION_TABLE], index);
}

const char *tn__image_function_name(const struct tn__image_view *view, uint32_t index)
{
    const char *name = tn__image_text(view, function_row(view, index) + TN__IMAGE_FUNCTION_NAME);
    return name ? name : "";
}

bool tn__image_function_is_public(const struct tn__image_view *view, uint32_t index)
{
    return tn__get32(function_row(view, index) + TN__IMAGE_FUNCTION_VERSIONS) & TN__IMAGE_PUBLIC;
}

uint64_t tn__image_function_clones(const struct tn__image_view *view, uint32_t index)
{
    const struct tn__image_rows *sets = &view->tables[TN__IMAGE_SET_TABLE];
    uint32_t set = tn__get32(function_row(view, index) + TN__IMAGE_FUNCTION_VERSIONS) & ~TN__IMAGE_PUBLIC;
    return set < sets->count ? tn__get64(tn__image_row(sets, set)) : 0;
}

uint32_t tn__image_version(const struct tn__image_view *view, uint32_t function, size_t target)
{
    uint32_t targets = view->tables[TN__IMAGE_TARGET_TABLE].count,
             before = function < view->slots ? (uint32_t)target : targets - 1;
    return TN__IMAGE_FIRST_VERSION + before * view->slots + function;
}

uint32_t tn__image_cell(const struct tn__image_view *view, uint32_t function)
{
    uint32_t cells = view->tables[TN__IMAGE_CELL_TABLE].count;
    uint32_t at = (uint32_t)TN_BISECT(0, cells, i, tn__image_cell_function(view, (uint32_t)i) < function);
    return at < cells && tn__image_cell_function(view, at) == function ? at : TN__IMAGE_NO_CELL;
}

static int check_function(const struct reader *r, uint32_t index)
{
    const struct tn__image_view *v = r->view;
    const char *name = tn__image_text(v, function_row(v, index) + TN__IMAGE_FUNCTION_NAME);
    uint64_t clones = tn__image_function_clones(v, index);
    uint32_t targets = v->tables[TN__IMAGE_TARGET_TABLE].count;
    bool has_slot = index < v->slots;
    if (!name)
        return FAIL(r, "%s: function %u: its name lies outside of the text", r->name, index);
    if (index && index != v->slots && strcmp(tn__image_function_name(v, index - 1), name) >= 0)
        return FAIL(r, "%s: function %u, '%s', is out of order", r->name, index, name);
    if (!clones || (has_slot && (clones & v->groups) != v->groups))
        return FAIL(r, "%s: function '%s' lacks a version", r->name, name);
    if (has_slot ? targets < 64 && clones >> targets : clones != 1)
        return FAIL(r, "%s: function '%s' has versions for more than %u targets", r->name, name,
                    has_slot ? targets : 1);
    return 0;
}

int tn__image_check_functions(const char *name, const struct tn__image_view *view, struct tn_error *err)
{
    struct tn__image_view copy = *view;
    struct reader r = {name, &copy, err};
    int code = 0;
    for (uint32_t i = 0; i < view->tables[TN__IMAGE_FUNCTION_TABLE].count && !code; i++)
        code = check_function(&r, i);
    return code;
}

int tn__image_read(const char *name, const uint8_t *header, uint64_t available, struct tn__arena *arena,
                   struct tn__image_view *view, struct tn_error *err)
{
    struct reader r = {name, view, err};
    *view = (struct tn__image_view){.header = header};
    if (available < TN__IMAGE_HEADER)
        return FAIL(&r, "%s: truncated: %llu bytes are no image", name, (unsigned long long)available);
    int code = check_version(&r);
    if (!code)
        code = check_size(&r, available);
    if (!code)
        code = find_tables(&r);
    if (!code)
        tn__image_find_kinds(view);
    if (!code)
        code = read_targets(&r, arena);
    if (!code)
        code = check_counts(&r);
    if (!code)
        code = check_names(&r, TN__IMAGE_NEED_TABLE, "host symbol");
    if (!code)
        code = check_names(&r, TN__IMAGE_DEPENDENCY_TABLE, "dependency");
    if (!code)
        code = check_names(&r, TN__IMAGE_REACHED_TABLE, "dependency of a dependency");
    if (!code)
        code = check_names(&r, TN__IMAGE_VALUE_TABLE, "value");
    if (!code)
        code = check_cells(&r);
    if (!code)
        code = check_reliances(&r);
    if (!code)
        code = check_kept(&r);
    return code ? code : check_names(&r, TN__IMAGE_LAYOUT_TABLE, "layout");
}
