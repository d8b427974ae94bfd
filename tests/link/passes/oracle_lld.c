/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compares with ld64.lld and lld-link, as oracle.c does with ld.lld: they link Mach-O and COFF objects of clang, we
 * link them at the addresses that they chose, and every byte must be the same, except where
 *
 *  - a thread-local variable lies: their distances are from a file's template, ours from the thread pointer, so all of
 *    them must differ by the same number;
 *  - a pointer to the thread-local variables' getter lies, which is stored when a file of Darwin is loaded;
 *  - a GOT slot or a pointer to a DLL's function or variable (__imp_NAME) lies; what it holds must be the same;
 *  - an instruction of AArch64 makes an address by `nop; adr` instead of `adrp; add`, because the address is near.
 *
 * Unwind tables are not compared: ld64.lld writes one of its own. */

#include "support.h"

#include <stdlib.h>

#include "base/base.h"
#include "link/passes/link.h"
#include "link/file/detached.h"

enum { MOST = 64, WINDOW = 0x20000000 };

static const char *const ways[] = {ORACLE_LLD NULL};

/* ---- what lld made ---- */

/* Bytes at an address: in a section of the output. */
struct extent {
    char name[40];
    uint64_t address, size, offset;
};

/* Where a section of the object is; those of one name in the order of the file. */
struct place {
    char name[40];
    uint64_t address;
    bool used;
};

struct output {
    const struct tn_format *format;
    struct bytes file;
    struct extent extents[MOST];
    size_t extent_count;
    struct place places[MOST];
    size_t place_count;
    struct place symbols[MOST]; /* global ones of COFF, which tell sections of one name apart */
    size_t symbol_count;
    uint64_t host;                    /* where the section of the host's symbols is */
    uint64_t tls_factor;              /* our distances less theirs; */
    bool tls_seen;                    /* it is known */
    unsigned sections, relocs, slots; /* compared */
    char failure[256];
};

static void add_extent(struct output *output, const char *name, uint64_t address, uint64_t size, uint64_t offset)
{
    assert_true(output->extent_count < MOST);
    struct extent *extent = &output->extents[output->extent_count++];
    *extent = (struct extent){.address = address, .size = size, .offset = offset};
    snprintf(extent->name, sizeof extent->name, "%s", name);
}

static void add(struct place *places, size_t *count, const char *name, uint64_t address)
{
    assert_true(*count < MOST);
    struct place *place = &places[(*count)++];
    *place = (struct place){.address = address};
    snprintf(place->name, sizeof place->name, "%s", name);
}

static const uint8_t *at_address(const struct output *output, uint64_t address, uint64_t size)
{
    for (size_t i = 0; i < output->extent_count; i++) {
        const struct extent *extent = &output->extents[i];
        if (address >= extent->address && size <= extent->size && address - extent->address <= extent->size - size)
            return output->file.at + extent->offset + (address - extent->address);
    }
    return NULL;
}

/* Sections keep their names, but some segments have others. */
static void read_macho(struct output *output)
{
    enum { COMMANDS = 16, HEADER = 32, SEGMENT = 72, SECTION = 80, LC_SEGMENT_64 = 0x19 };
    const uint8_t *command = output->file.at + HEADER;
    for (uint32_t n = tn__get32(output->file.at + COMMANDS); n; n--, command += tn__get32(command + 4)) {
        if (tn__get32(command) != LC_SEGMENT_64)
            continue;
        for (uint32_t i = 0; i < tn__get32(command + 64); i++) {
            const uint8_t *section = command + SEGMENT + (size_t)i * SECTION;
            char name[40];
            snprintf(name, sizeof name, "%.16s,%.16s", (const char *)section + 16, (const char *)section);
            if (!strncmp(name, "__DATA_CONST,", 13))
                memmove(name + 6, name + 12, strlen(name + 12) + 1);
            if (!strcmp(name, "__TEXT,__literals"))
                strcpy(name, "__TEXT,__literal8");
            add_extent(output, name, tn__get64(section + 32), tn__get64(section + 40), tn__get32(section + 48));
            add(output->places, &output->place_count, name, tn__get64(section + 32));
            if (!strcmp(name, "__HOST,__host"))
                output->host = tn__get64(section + 32);
        }
    }
}

static const uint64_t IMAGE_BASE = 0x140000000; /* as rules.mk says */

/* Sections from the headers; places from the map, whose lines are "address size align file:(section)". */
static void read_coff(struct output *output, const char *map)
{
    enum { HEADER_AT = 0x3c, SECTIONS = 6, OPTIONAL = 20, HEADER = 24, SECTION = 40 };
    const uint8_t *header = output->file.at + tn__get32(output->file.at + HEADER_AT);
    for (unsigned i = 0; i < tn__get16(header + SECTIONS); i++) {
        const uint8_t *section = header + HEADER + tn__get16(header + OPTIONAL) + (size_t)i * SECTION;
        uint32_t size = tn__get32(section + 16), used = tn__get32(section + 8);
        add_extent(output, "", IMAGE_BASE + tn__get32(section + 12), used < size ? used : size,
                   tn__get32(section + 20));
    }
    char line[512];
    FILE *file = fopen(map, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        unsigned long long address;
        char *open = strstr(line, ":("), symbol[40];
        if (!open && sscanf(line, "%llx %*x %*u %39s", &address, symbol) == 2)
            add(output->symbols, &output->symbol_count, symbol, IMAGE_BASE + address);
        if (!open || sscanf(line, "%llx", &address) != 1)
            continue;
        open[strcspn(open, ")")] = '\0';
        if (!strcmp(open + 2, ".host"))
            output->host = IMAGE_BASE + address;
        else if (!strstr(line, "oracle_lld_host"))
            add(output->places, &output->place_count, open + 2, IMAGE_BASE + address);
    }
    fclose(file);
}

/* ---- our link ---- */

/* True if a symbol says that the section lies elsewhere. */
static bool is_elsewhere(const struct output *output, const struct tn__object_data *data, uint32_t section,
                         uint64_t address)
{
    for (uint32_t i = 1; i < data->symbol_count; i++) {
        const struct tn__symbol *symbol = &data->symbols[i];
        if (symbol->binding == TN__BIND_LOCAL || symbol->place != TN__PLACE_SECTION || symbol->section != section)
            continue;
        for (size_t k = 0; k < output->symbol_count; k++)
            if (!strcmp(output->symbols[k].name, symbol->name) && output->symbols[k].address - symbol->value != address)
                return true;
    }
    return false;
}

static struct place *find_place(struct output *output, const struct tn__object_data *data, uint32_t section)
{
    for (size_t i = 0; i < output->place_count; i++) {
        struct place *place = &output->places[i];
        if (!place->used && !strcmp(place->name, data->sections[section].name) &&
            !is_elsewhere(output, data, section, place->address))
            return place;
    }
    return NULL;
}

static int pin_all(struct tn__link *link)
{
    struct output *output = link->session->detached->context;
    struct tn__object_data *data = link->objects[0]->data;
    for (uint32_t i = 1; i < data->section_count; i++) {
        struct tn__input_section *section = &data->sections[i];
        if (!tn__section_is_loaded(section) || tn__section_is_tls(section) || section->role == TN__ROLE_UNWIND)
            continue;
        struct place *place = find_place(output, data, i);
        if (!place)
            continue;
        place->used = section->pinned = true;
        section->address = place->address;
        section->write = tn__arena_array(&link->arena, section->size, 1);
    }
    return 0;
}

/* ---- comparing ---- */

/* One relocation, and its field in both outputs. */
struct field {
    const struct tn__object *object;
    const struct tn__row *row;
    const struct tn__reloc *reloc;
    uint64_t P;
    const uint8_t *ours, *original;
    uint8_t *theirs; /* a copy of the original, in which what is explained is made equal */
};

static bool is_same_distance(struct output *output, const struct field *field)
{
    uint64_t factor = tn__get64(field->ours) - tn__get64(field->theirs);
    bool same = !output->tls_seen || factor == output->tls_factor;
    output->tls_seen = true;
    output->tls_factor = factor;
    return same;
}

static uint64_t adr_value(uint32_t instruction)
{
    uint64_t value = (instruction >> 29 & 3) | (uint64_t)(instruction >> 5 & 0x7ffff) << 2;
    return (value ^ 0x100000) - 0x100000;
}

/* How far behind an `adrp` the `ldr` is that belongs to it; 0: it is not near. */
static unsigned load_behind(const uint8_t *adrp)
{
    for (unsigned at = 4; at <= 128; at += 4)
        if ((tn__get32(adrp + at) & 0xffc003e0) == (0xf9400000 | (tn__get32(adrp) & 31) << 5))
            return at;
    return 0;
}

/* Where the field leads to: by a distance, or by `adrp` and `ldr`. */
static uint64_t slot_of(const struct field *field, const uint8_t *bytes)
{
    if (field->object->data->arch != &tn__arch_aarch64)
        return field->P - (uint64_t)field->reloc->addend + (uint64_t)(int32_t)tn__get32(bytes);
    uint32_t adrp = tn__get32(bytes), ldr = tn__get32(bytes + load_behind(bytes));
    return (adrp & 0x9f000000) == 0x90000000 && ldr != adrp
               ? (field->P & ~0xfffULL) + (adr_value(adrp) << 12) + (ldr >> 10 & 0xfff) * 8
               : 0;
}

static bool is_same_slot(struct output *output, const struct field *field)
{
    const struct tn__plan *plan = field->object->plan;
    uint64_t ours = slot_of(field, field->ours);
    const uint8_t *slot = at_address(output, slot_of(field, field->original), 8);
    output->slots++;
    return slot && ours - plan->got_address < plan->got_words * 8 &&
           !memcmp(slot, plan->got_write + (ours - plan->got_address), 8);
}

/* Ours: nop; adr. */
static bool is_same_address(const struct field *field)
{
    uint32_t adr = tn__get32(field->ours + 4), adrp = tn__get32(field->theirs), add = tn__get32(field->theirs + 4);
    uint64_t ours = field->P + 4 + adr_value(adr), theirs = (field->P & ~0xfffULL) + (adr_value(adrp) << 12);
    bool known =
        (adr & 0x9f000000) == 0x10000000 && (adrp & 0x9f000000) == 0x90000000 && (add & 0xffc00000) == 0x91000000;
    return known && ours == theirs + (add >> 10 & 0xfff) && (adr & 31) == (add & 31) && (adrp & 31) == (add >> 5 & 31);
}

/* Makes the bytes equal if their difference is one of the exceptions. */
static void explain(struct output *output, const struct field *field)
{
    const uint32_t nop = 0xd503201f;
    const struct tn__symbol *symbol = &field->object->data->symbols[field->reloc->symbol];
    bool arm = field->object->data->arch == &tn__arch_aarch64, same = false;
    unsigned second = 0; /* how far behind the field another instruction is */
    bool slot = symbol->stand_in == TN__STAND_IN_SLOT || field->row->slot == TN__SLOT_ADDRESS;
    if (field->row->flags & TN__R_TLS)
        same = is_same_distance(output, field);
    else if (!strcmp(symbol->name, "_tlv_bootstrap"))
        same = !tn__get64(field->theirs);
    else if (arm && tn__get32(field->ours) == nop) {
        same = is_same_address(field);
        second = 4;
    } else if (slot && (arm || field->row->size == 4)) {
        same = is_same_slot(output, field);
        second = arm ? load_behind(field->ours) : 0;
    }
    if (!same)
        return;
    memcpy(field->theirs, field->ours, field->row->size);
    memcpy(field->theirs + second, field->ours + second, second ? 4 : 0);
}

static void compare_section(struct output *output, const struct tn__object *object,
                            const struct tn__input_section *section)
{
    const uint8_t *made = at_address(output, section->address, section->size);
    uint8_t *theirs = malloc(section->size);
    struct tn__reloc reloc;
    if (!made) {
        snprintf(output->failure, sizeof output->failure, "%s is not in the output", section->name);
        free(theirs);
        return;
    }
    memcpy(theirs, made, section->size);
    for (uint64_t i = 0; i < section->reloc_count; i++) {
        tn__relocs_copy(section, i, &reloc, 1);
        const struct tn__row *row = &object->data->format->rows[reloc.type];
        const struct field field = {object,
                                    row,
                                    &reloc,
                                    section->address + reloc.offset,
                                    section->write + reloc.offset,
                                    made + reloc.offset,
                                    theirs + reloc.offset};
        if (memcmp(field.theirs, field.ours, row->size) != 0)
            explain(output, &field);
        output->relocs++;
    }
    for (uint64_t i = 0; i < section->size && !*output->failure; i++)
        if (theirs[i] != section->write[i])
            snprintf(output->failure, sizeof output->failure, "%s+%#llx: ours %02x, theirs %02x", section->name,
                     (unsigned long long)i, section->write[i], theirs[i]);
    free(theirs);
    output->sections++;
}

static int compare_all(struct tn__link *link)
{
    struct output *output = link->session->detached->context;
    const struct tn__object *object = link->objects[0];
    for (uint32_t i = 1; i < object->data->section_count; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
        if (tn__section_is_loaded(section) && section->pinned && section->bytes && section->size)
            compare_section(output, object, section);
    }
    return 0;
}

/* ---- rows ---- */

/* In the order of data/macho/oracle_host.s and data/windows/oracle_host.s: each has 16 bytes. */
static const char *const macho_hosts[] = {"strlen", "elsewhere", "missing"};
static const char *const coff_hosts[] = {"host_add", "host_mul",      "host_var", "other_static",
                                         "_fltused", "defined_twice", "entry"};

static const struct tn_format *format_of(const char *way)
{
    bool arm = strstr(way, "arm64") || strstr(way, "aarch64");
    if (strstr(way, "apple"))
        return arm ? &tn_format_macho_aarch64 : &tn_format_macho_x86_64;
    return arm ? &tn_format_coff_aarch64 : &tn_format_coff_x86_64;
}

static void same_bytes(void **state)
{
    const char *way = *(const char **)*state;
    static struct output output;
    char name[200];
    output = (struct output){.format = format_of(way)};
    bool coff = output.format->reader == &tn__reader_coff;
    snprintf(name, sizeof name, "%s.linked", way);
    output.file = read_bytes(data_file(name));
    snprintf(name, sizeof name, "%s.map", way);
    if (coff)
        read_coff(&output, data_file(name));
    else
        read_macho(&output);
    snprintf(name, sizeof name, "%s.o", way);
    struct bytes object = read_bytes(data_file(name));

    const struct tn_session_options options = {.size = sizeof options,
                                               .formats = (const struct tn_format *const[]){output.format, NULL}};
    struct tn__detached where = {.address = WINDOW, .size = 1 << 20, .page_size = 4096, .arrange = pin_all};
    struct fixture f;
    struct tn_error err;
    where.finish = compare_all;
    where.context = &output;
    assert_true(output.host != 0);
    if (coff)
        where.address = IMAGE_BASE + (1 << 24);
    assert_ok(tn__session_create_detached(&options, &where, &f.session, &err), &err);
    assert_ok(tn_library_create(f.session, way, &f.library, &err), &err);
    if (coff)
        define(&f, "__ImageBase", (const void *)(uintptr_t)IMAGE_BASE);
    else
        define(&f, "_tlv_bootstrap", (const void *)(uintptr_t)output.host);
    for (size_t i = 0; i < (coff ? COUNT(coff_hosts) : COUNT(macho_hosts)); i++)
        define(&f, coff ? coff_hosts[i] : macho_hosts[i], (const void *)(uintptr_t)(output.host + 16 * i));
    add_bytes(&f, "object.o", object.at, object.size);
    assert_ok(tn_link(f.library, &err), &err);
    close_fixture(&f);
    free(output.file.at);
    free(object.at);
    if (*output.failure)
        fail_msg("%s: %s", way, output.failure);
    assert_true(output.sections >= 2 && output.relocs >= 20); /* it has compared something */
}

int main(void)
{
    if (!ways[0]) {
        puts("ok link/oracle_lld # SKIP no lld");
        return 0;
    }
    return run_rows("link/oracle_lld", ways, COUNT(ways) - 1, sizeof *ways, same_bytes);
}
