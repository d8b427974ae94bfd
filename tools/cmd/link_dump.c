/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* tenon link --dump-json: what was linked, as JSON.
 *
 *   {"triple": "...", "endian": "little",
 *    "sections": [{"file", "name", "addr", "size", "bytes": "hex"; "" with a size: zeros}],
 *    "symbols":  [{"name", "file", "addr", "size"}],       definitions of objects; of the client and the host: file ""
 *    "got":      [{"symbol", "file", "addr", "kind"}],     and a section ".got" for each object
 *    "stubs":    [{"symbol", "file", "addr"}],             and a section ".stubs"
 *    "ifuncs":   [{"symbol", "file", "addr"}]}             pointers of indirect functions, and a section ".ifuncs"
 *
 * Addresses are texts, "0x...". Addresses of thread-local symbols and sections are distances from the thread
 * pointer. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "link/passes/link.h"
#include "lib/show.h"
#include "lib/tool.h"

enum list { SECTIONS, LOCALS, GLOBALS, GOT, STUBS, IFUNCS, LISTS };

struct dump {
    const char *triple; /* of the first object */
    char c_prefix;      /* what the names of C begin with in the files */
    struct {
        char *text;
        size_t size;
        FILE *stream;
    } lists[LISTS];
};

/* ---- JSON ---- */

static void put_field(FILE *out, const char *key, const char *text, size_t length)
{
    fprintf(out, "\"%s\": ", key);
    show_quoted(out, text, length);
    fputs(", ", out);
}

/* Prints "lib.a(member.o)" for "dir/lib.a(member.o)". */
static void put_file(FILE *out, const char *name)
{
    size_t end = strcspn(name, "(");
    while (end && name[end - 1] != '/')
        end--;
    put_field(out, "file", name + end, strlen(name + end));
}

/* Opens an item of a list. */
static FILE *begin(struct dump *dump, enum list list, const char *key, const char *name, const char *file)
{
    FILE *out = dump->lists[list].stream;
    fputs(ftell(out) ? ",\n  {" : "\n  {", out);
    put_field(out, key, name, strlen(name));
    put_file(out, file);
    return out;
}

/* The same for a symbol, which is called as in its file. */
static FILE *begin_symbol(struct dump *dump, enum list list, const char *key, const struct tn__symbol *symbol,
                          const char *file)
{
    const char *name = symbol->name;
    char in_file[strlen(name) + 2];
    bool marked = *name == '\1', renamed = dump->c_prefix && *name && !symbol->exact;
    snprintf(in_file, sizeof in_file, "%.*s%s", renamed && !marked, &dump->c_prefix, name + (renamed && marked));
    return begin(dump, list, key, in_file, file);
}

static void put_section(struct dump *dump, const char *file, const char *name, uint64_t address, uint64_t size,
                        const uint8_t *bytes)
{
    static const char digits[] = "0123456789abcdef";
    FILE *out = begin(dump, SECTIONS, "name", name, file);
    fprintf(out, "\"addr\": \"0x%" PRIx64 "\", \"size\": %" PRIu64 ", \"bytes\": \"", address, size);
    for (uint64_t i = 0; bytes && i < size; i++) {
        putc(digits[bytes[i] >> 4], out);
        putc(digits[bytes[i] & 15], out);
    }
    fputs("\"}", out);
}

static void put_symbol(struct dump *dump, enum list list, const char *file, const struct tn__symbol *symbol,
                       uint64_t address, uint64_t size)
{
    FILE *out = begin_symbol(dump, list, "name", symbol, file);
    fprintf(out, "\"addr\": \"0x%" PRIx64 "\", \"size\": %" PRIu64 "}", address, size);
}

static void put_entry(struct dump *dump, enum list list, const char *file, const struct tn__symbol *symbol,
                      uint64_t address, const char *kind)
{
    FILE *out = begin_symbol(dump, list, "symbol", symbol, file);
    if (kind)
        put_field(out, "kind", kind, strlen(kind));
    fprintf(out, "\"addr\": \"0x%" PRIx64 "\"}", address);
}

/* ---- one object ---- */

static void dump_sections(struct dump *dump, const struct tn__object *object)
{
    for (uint32_t i = 1; i < object->data->section_count; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
        if (tn__section_is_loaded(section))
            put_section(dump, object->name, section->name, section->address, section->size,
                        section->bytes ? section->write : NULL);
    }
}

/* True for a definition that was taken. */
static bool is_here(const struct tn__object *object, uint32_t index)
{
    const struct tn__symbol *symbol = &object->data->symbols[index];
    const struct tn__entry *entry = symbol->entry;
    if ((symbol->type == TN__TYPE_SECTION && symbol->binding == TN__BIND_LOCAL) || !*symbol->name ||
        object->plan->symbol_flags[index] & TN__SYMBOL_DISCARDED)
        return false;
    if (!entry) /* local absolute ones are names of source files */
        return symbol->place == TN__PLACE_SECTION || symbol->place == TN__PLACE_COMMON;
    return entry->kind == TN__ENTRY_OBJECT && entry->object == object && entry->symbol == index;
}

static void dump_symbols(struct dump *dump, const struct tn__object *object)
{
    for (uint32_t i = 1; i < object->data->symbol_count; i++) {
        const struct tn__symbol *symbol = &object->data->symbols[i];
        if (!is_here(object, i))
            continue;
        put_symbol(dump, symbol->entry ? GLOBALS : LOCALS, object->name, symbol, object->plan->addresses[i],
                   tn__symbol_size(object->data, symbol));
        if (symbol->place == TN__PLACE_COMMON)
            put_section(dump, object->name, "COMMON", object->plan->addresses[i],
                        symbol->entry ? symbol->entry->common_size : symbol->size, NULL);
    }
}

static void dump_got(struct dump *dump, const struct tn__object *object)
{
    static const char *const kinds[TN__SLOTS] = {[TN__SLOT_ADDRESS] = "address",
                                                 [TN__SLOT_TLS_INDEX] = "tls-index",
                                                 [TN__SLOT_TLS_BASE] = "tls-base",
                                                 [TN__SLOT_TLS_DESC] = "tls-descriptor"};
    for (int kind = TN__SLOT_ADDRESS; kind < TN__SLOTS; kind++)
        for (uint32_t i = 0; object->plan->slots[kind] && i < object->data->symbol_count; i++)
            if (object->plan->slots[kind][i])
                put_entry(dump, GOT, object->name, &object->data->symbols[i], tn__got_slot(object, kind, i),
                          kinds[kind]);
    const struct tn__symbol got = {.name = "_GLOBAL_OFFSET_TABLE_"};
    put_symbol(dump, GLOBALS, object->name, &got, object->plan->got_address, 0);
    if (object->plan->got_words)
        put_section(dump, object->name, ".got", object->plan->got_address, (uint64_t)object->plan->got_words * 8,
                    object->plan->got_write);
}

/* Entries of equal size, numbered from 1 in `index`, from `offset` of a range on. */
static void dump_table(struct dump *dump, const struct tn__object *object, enum list list, const char *name,
                       const uint32_t *index, uint32_t count, const struct tn__mem_range *range, uint64_t offset,
                       size_t size)
{
    for (uint32_t i = 0; count && i < object->data->symbol_count; i++)
        if (index[i])
            put_entry(dump, list, object->name, &object->data->symbols[i],
                      range->address + offset + (index[i] - 1) * size, NULL);
    if (count)
        put_section(dump, object->name, name, range->address + offset, count * size, range->write + offset);
}

static void dump_object(struct dump *dump, const struct tn__object *object)
{
    if (!dump->triple)
        dump->triple = object->data->arch->triple;
    dump->c_prefix = object->data->format->reader->c_prefix;
    dump_sections(dump, object);
    dump_symbols(dump, object);
    dump_got(dump, object);
    dump_table(dump, object, STUBS, ".stubs", object->plan->stub_index, object->plan->stub_count,
               object->ranges[TN_ZONE_CODE], object->plan->stub_offset, object->data->arch->stub_size);
    dump_table(dump, object, IFUNCS, ".ifuncs", object->plan->ifunc_index, object->plan->ifunc_count,
               object->ranges[TN_ZONE_DATA], object->plan->ifunc_offset, 8);
}

static int on_linked(struct tn__link *link)
{
    for (size_t i = 0; i < link->count; i++)
        dump_object(link->session->detached->context, link->objects[i]);
    return 0;
}

/* ---- the whole ---- */

struct dump *tool_dump_start(struct tn_session *session)
{
    struct dump *dump = calloc(1, sizeof *dump);
    bool ok = dump != NULL;
    for (int i = 0; ok && i < LISTS; i++)
        ok = (dump->lists[i].stream = open_memstream(&dump->lists[i].text, &dump->lists[i].size)) != NULL;
    if (!ok)
        return tool_fail(STATUS_FAILURE, "out of memory"), NULL;
    session->detached->finish = on_linked;
    session->detached->context = dump;
    return dump;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct tn__entry *const *)a)->name, (*(struct tn__entry *const *)b)->name);
}

static bool is_other(struct tn__entry *entry)
{
    const struct tn__entry *target = tn__entry_target(entry);
    return !entry->hidden && (target->kind == TN__ENTRY_ABSOLUTE || target->kind == TN__ENTRY_HOST ||
                              (target != entry && target->kind == TN__ENTRY_LINKED));
}

/* What no object defines. The order of the table is another one each time. */
static bool dump_others(struct dump *dump, const struct tn_library *library)
{
    const struct tn__symtab *table = &library->symtab;
    struct tn__entry **entries = calloc(table->count + 1, sizeof *entries);
    size_t count = 0;
    if (!entries)
        return false;
    for (size_t i = 0; table->slots && i <= table->mask; i++)
        if (table->slots[i] && is_other(table->slots[i]))
            entries[count++] = table->slots[i];
    qsort(entries, count, sizeof *entries, by_name);
    for (size_t i = 0; i < count; i++) {
        const struct tn__symbol symbol = {.name = entries[i]->name};
        put_symbol(dump, GLOBALS, "", &symbol, tn__entry_target(entries[i])->address, 0);
    }
    free(entries);
    return true;
}

static void write_all(struct dump *dump, const char *triple, FILE *out)
{
    static const char *const names[LISTS] = {"sections", "symbols", NULL, "got", "stubs", "ifuncs"};
    fputs("{", out);
    put_field(out, "triple", triple ? triple : "", triple ? strlen(triple) : 0);
    fputs("\"endian\": \"little\"", out);
    for (int i = 0; i < LISTS; i++) {
        if (names[i])
            fprintf(out, ",\n\"%s\": [", names[i]);
        else if (dump->lists[i].size && dump->lists[i - 1].size) /* goes on with the list before */
            fputs(",", out);
        fputs(dump->lists[i].text, out);
        if (i + 1 == LISTS || names[i + 1])
            fputs("]", out);
    }
    fputs("}\n", out);
}

bool tool_dump_finish(struct dump *dump, const struct tn_session *session, const char *triple, const char *name)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    bool ok = out != NULL;
    for (const struct tn_library *library = session->libraries; library; library = library->next)
        ok = dump_others(dump, library) && ok;
    for (int i = 0; i < LISTS; i++) /* fails if memory ran out on the way */
        ok = !fflush(dump->lists[i].stream) && !ferror(dump->lists[i].stream) && ok;
    if (ok)
        write_all(dump, triple ? triple : dump->triple, out);
    ok = out && !fclose(out) && ok;
    for (int i = 0; i < LISTS; i++) {
        fclose(dump->lists[i].stream);
        free(dump->lists[i].text);
    }
    ok = ok ? tool_write(name, text, size) : (tool_fail(STATUS_FAILURE, "out of memory"), false);
    free(text);
    free(dump);
    return ok;
}
