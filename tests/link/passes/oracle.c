/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Compares with ld.lld: objects of many compilers, flags and code models are linked by ld.lld and, at the addresses
 * that it chose, by us. Every byte must be the same, with these exceptions:
 *
 *  - GOT slots: ld.lld orders them differently. The slot that its instructions load must hold the same value as ours.
 *  - Distances from the GOT, which begins elsewhere. They must differ by that much.
 *  - Loads of the address of an undefined weak symbol: ld.lld leaves them, we rewrite them to work without the GOT.
 *  - General- and local-dynamic thread-local code: ld.lld makes it local-exec, we leave it. For RISC-V it leaves it
 *    too; the offset in a slot is the one that the C library wants.
 *
 * .eh_frame is not compared: ld.lld writes a table of its own. */

#include "support.h"

#include <elf.h>
#include <stdlib.h>

#include "link/arch/aarch64/aarch64.h"
#include "link/arch/riscv64/riscv64.h"
#include "link/file/detached.h"

enum { SECTIONS = 64, HOSTS = 3, WINDOW = 0x20000000 };

/* An instruction that loads from a slot, or a half of one. */
struct load {
    uint64_t (*value)(uint64_t instruction);
    uint64_t (*of_slot)(uint64_t slot, uint64_t P); /* the same, of the address of a slot */
    uint64_t opcode;                                /* the bits that are not part of the field */
};

/* ---- fields of AArch64's instructions ---- */

static uint64_t adrp_value(uint64_t instruction)
{
    return ((instruction >> 29 & 3) | (instruction >> 5 & 0x7ffff) << 2) << 12;
}

static uint64_t adrp_of_slot(uint64_t slot, uint64_t P)
{
    return ((slot & -0x1000ULL) - (P & -0x1000ULL)) & 0x1fffff000;
}

static uint64_t low_value(uint64_t instruction)
{
    return (instruction >> 10 & 0xfff) * 8;
}

static uint64_t low_of_slot(uint64_t slot, uint64_t P)
{
    (void)P;
    return slot & 0xff8;
}

static uint64_t literal_value(uint64_t instruction)
{
    return (instruction >> 5 & 0x7ffff) * 4;
}

static uint64_t literal_of_slot(uint64_t slot, uint64_t P)
{
    return (slot - P) & 0x1ffffc;
}

static const struct load aarch64_loads[TN__AARCH64_FIELDS] = {
    [TN__AARCH64_ADRP] = {adrp_value, adrp_of_slot, 0x9f00001f},
    [TN__AARCH64_LO12_8] = {low_value, low_of_slot, 0xffc003ff},
    [TN__AARCH64_BRANCH19] = {literal_value, literal_of_slot, 0xff00001f},
};

/* ---- and of RISC-V's ---- */

static uint64_t high_value(uint64_t instruction)
{
    return instruction & 0xfffff000;
}

static uint64_t high_of_slot(uint64_t slot, uint64_t P)
{
    return (slot - P + 0x800) & 0xfffff000;
}

static uint64_t low_i_value(uint64_t instruction)
{
    return instruction >> 20 & 0xfff;
}

static uint64_t low_i_of_slot(uint64_t slot, uint64_t P)
{
    return (slot - P) & 0xfff;
}

static const struct load riscv64_loads[TN__RISCV64_FIELDS] = {
    [TN__RISCV64_HI20] = {high_value, high_of_slot, 0xfff},
    [TN__RISCV64_LO12_I] = {low_i_value, low_i_of_slot, 0xfffff},
};

/* ---- machines ---- */

/* `near` is where rules.mk tells ld.lld to put the section of that name: where branches lead. */
static const struct machine {
    uint16_t number;
    const struct tn_format *formats[2];
    uint64_t near;
    const struct load *loads; /* by field */
    uint32_t fields;
} machines[] = {
    {EM_X86_64, {&tn_format_elf_x86_64}, 0x10000000},
    {EM_AARCH64, {&tn_format_elf_aarch64}, 0x2000000, aarch64_loads, TN__AARCH64_FIELDS},
    {EM_RISCV, {&tn_format_elf_riscv64}, 0x480000, riscv64_loads, TN__RISCV64_FIELDS},
};

static const char *const ways[] = {ORACLE NULL};

/* As in data/oracle_host.s: in the section .near, or at an address. */
static const struct {
    const char *name;
    uint64_t near, address;
} hosts[] = {
    {"host_function", 0x10}, {"host_datum", 0x2000}, {"host_far", 0, 0x7fff12345678}, {"__tls_get_addr", 0x20}};

/* ---- what ld.lld made ---- */

struct output {
    const struct machine *machine;
    struct bytes file;
    struct tn__pin pins[SECTIONS];
    size_t pin_count;
    uint64_t got_base;          /* 0: it has none */
    uint64_t slots, slots_size; /* the section .got */
    unsigned sections, relocs, slots_seen, thread_local;
    const char *failure;
    char text[256];
};

/* The bytes at `address` in the output; NULL if there are none. */
static const uint8_t *at_address(const struct output *output, uint64_t address, uint64_t size)
{
    const uint8_t *file = output->file.at;
    const Elf64_Ehdr *elf = (const void *)file;
    const Elf64_Phdr *headers = (const void *)(file + elf->e_phoff);
    for (unsigned i = 0; i < elf->e_phnum; i++)
        if (headers[i].p_type == PT_LOAD && address >= headers[i].p_vaddr &&
            address + size <= headers[i].p_vaddr + headers[i].p_filesz)
            return file + headers[i].p_offset + (address - headers[i].p_vaddr);
    return NULL;
}

/* Lines of a map: address, load address, size, alignment, and an output section or "   file:(section)". */
static void read_map(struct output *output, const char *path)
{
    char line[512], *word;
    FILE *map = fopen(path, "re");
    assert_non_null(map);
    while (fgets(line, sizeof line, map)) {
        unsigned long long address, size;
        int used = 0;
        if (sscanf(line, "%llx %*x %llx %*u %n", &address, &size, &used) < 2 || !used)
            continue;
        line[strcspn(line, "\n")] = '\0';
        char *open = strstr(line + used, ":(");
        word = line + used;
        if (!strcmp(word, ".got.plt") || (!output->got_base && !strcmp(word, ".got")))
            output->got_base = address;
        if (!strcmp(word, ".got"))
            output->slots = address, output->slots_size = size;
        if (!open || strstr(word, "<internal>") || strstr(word, "oracle_host.") || strstr(open, "(.eh_frame)"))
            continue;
        open[strlen(open) - 1] = '\0';
        assert_true(output->pin_count + 1 < SECTIONS);
        output->pins[output->pin_count++] =
            (struct tn__pin){.file = "object.o", .section = strdup(open + 2), .address = address};
    }
    fclose(map);
    if (output->slots) /* where loads with a short reach find it */
        output->pins[output->pin_count++] =
            (struct tn__pin){.file = "object.o", .section = strdup(".got"), .address = output->slots};
}

/* ---- comparing ---- */

/* One relocation of ours, and its field's value in both outputs. */
struct field {
    const struct tn__object *object;
    const struct tn__row *row;
    const struct tn__reloc *reloc;
    uint64_t P, ours, theirs;
    /* Of the first instruction, if this is the second one of a pair that names the first; else the same. */
    const struct tn__row *slot_row;
    const struct tn__reloc *slot_reloc;
    uint64_t slot_P;
};

/* The value of a formula without its A, P and GOT. */
static uint64_t target_of(const struct field *field, uint64_t value, uint64_t got)
{
    value -= (uint64_t)field->reloc->addend;
    switch (field->row->value) {
    case TN__V_G_A_P:
    case TN__V_GOT_A_P:
        return value + field->P;
    default: /* from the GOT */
        return value + got;
    }
}

/* ---- GOT slots ---- */

static bool is_same_slot(const struct field *field, const uint8_t *ours, const uint8_t *theirs)
{
    return !memcmp(ours, theirs, field->slot_row->slot == TN__SLOT_TLS_INDEX ? 16 : 8);
}

/* True if both are the same instruction for slots that hold the same; *theirs is that of ld.lld. */
static bool is_same_load(struct output *output, const struct field *field, const uint8_t **theirs)
{
    const struct tn__object *object = field->object;
    const struct machine *machine = output->machine;
    *theirs = NULL;
    if (field->row->field >= machine->fields || !machine->loads[field->row->field].value ||
        (field->slot_row->slot != TN__SLOT_ADDRESS && field->slot_row->slot != TN__SLOT_TLS_INDEX))
        return false;
    const struct load *load = &machine->loads[field->row->field];
    uint64_t ours = tn__got_slot(object, field->slot_row->slot, field->slot_reloc->symbol);
    for (uint64_t at = output->slots; at < output->slots + output->slots_size; at += 8) {
        *theirs = at_address(output, at, tn__slot_words(field->slot_row->slot) * 8);
        if (*theirs && load->of_slot(at, field->slot_P) == load->value(field->theirs) &&
            is_same_slot(field, object->plan->got_write + (ours - object->plan->got_address), *theirs)) {
            output->slots_seen++;
            return !((field->ours ^ field->theirs) & load->opcode) &&
                   load->of_slot(ours, field->slot_P) == load->value(field->ours);
        }
    }
    return false;
}

/* ---- what explains a difference ---- */

/* True if the difference is one of the exceptions above. */
static bool is_explained(struct output *output, const struct field *field)
{
    const struct tn__plan *plan = field->object->plan;
    const uint8_t *load;
    if (field->row->field >= TN__FIELDS)
        return is_same_load(output, field, &load);
    uint64_t ours = target_of(field, field->ours, plan->got_address);
    uint64_t theirs = target_of(field, field->theirs, output->got_base);
    switch (field->row->value) {
    case TN__V_S_A_GOT:
        return ours == theirs;
    case TN__V_GOT_A_P:
        return ours == plan->got_address && theirs == output->got_base;
    case TN__V_G_A_P:
    case TN__V_G_A_GOT: {
        const uint8_t *slot = at_address(output, theirs, 8);
        output->slots_seen++;
        return field->row->slot == TN__SLOT_ADDRESS && slot && ours - plan->got_address < plan->got_words * 8 &&
               !memcmp(slot, plan->got_write + (ours - plan->got_address), 8);
    }
    default:
        return false;
    }
}

/* How many bytes of thread-local code ld.lld rewrites, before the field and in total, including the call that
 * follows. */
static bool is_dynamic_tls(const struct tn__row *row, const uint8_t *field, uint64_t *before, uint64_t *size)
{
    enum { CALL = 0xe8 }; /* other forms are one byte longer */
    if (row->field >= TN__FIELDS)
        return false;
    bool general = row->slot == TN__SLOT_TLS_INDEX, local = row->slot == TN__SLOT_TLS_BASE;
    *before = general ? 4 : 3;
    *size = general ? 16 : field[4] == CALL ? 12 : 13;
    return general || local;
}

static uint64_t load(const uint8_t *at, unsigned size)
{
    return size == 8   ? tn__get64(at)
           : size == 4 ? (uint64_t)(int64_t)(int32_t)tn__get32(at)
           : size == 2 ? tn__get16(at)
                       : *at;
}

static void fail_at(struct output *output, const struct tn__input_section *section, uint64_t offset, const char *what)
{
    if (output->failure)
        return;
    snprintf(output->text, sizeof output->text, "%s+0x%llx: %s", section->name, (unsigned long long)offset, what);
    output->failure = output->text;
}

/* If ld.lld left a load of zero that we rewrote, rewrites it in its bytes too. */
static void relax_undefined(struct output *output, const struct field *field, const struct tn__reloc *next,
                            uint8_t *theirs, uint64_t size)
{
    const struct tn__symbol *symbol = &field->object->data->symbols[field->reloc->symbol];
    uint64_t S = field->object->plan->addresses[field->reloc->symbol];
    const uint8_t *slot;
    if (field->row->field >= TN__FIELDS)
        is_same_load(output, field, &slot);
    else
        slot = at_address(output, target_of(field, field->theirs, output->got_base), 8);
    if (field->row->relax && symbol->place == TN__PLACE_UNDEFINED && !S && slot && !tn__get64(slot))
        field->object->data->arch->relax(
            &(struct tn__sequence){.form = field->row->relax,
                                   .next = tn__form_behind(field->object->data->format, field->reloc, next),
                                   .field = theirs + field->reloc->offset,
                                   .before = field->reloc->offset,
                                   .after = size - field->reloc->offset,
                                   .S = S,
                                   .P = field->P,
                                   .A = field->reloc->addend});
}

/* Finds the first instruction of a pair. */
static void find_first(struct field *field, const struct tn__input_section *section, struct tn__reloc *first)
{
    const struct tn__object_data *data = field->object->data;
    const struct tn__symbol *label = &data->symbols[field->reloc->symbol];
    for (uint64_t i = 0; i < section->reloc_count; i++) {
        tn__relocs_copy(section, i, first, 1);
        if (first->offset != label->value || data->format->rows[first->type].value == TN__V_AT_S)
            continue;
        field->slot_row = &data->format->rows[first->type];
        field->slot_reloc = first;
        field->slot_P = section->address + first->offset;
        return;
    }
}

/* Makes explained differences equal in `theirs`, so that only unexplained ones remain. */
static void explain(struct output *output, const struct tn__object *object, const struct tn__input_section *section,
                    uint8_t *theirs)
{
    for (uint64_t i = 0; i < section->reloc_count; i++) {
        struct tn__reloc reloc, first, next = {.type = UINT32_MAX};
        tn__relocs_copy(section, i, &reloc, 1);
        if (i + 1 < section->reloc_count)
            tn__relocs_copy(section, i + 1, &next, 1);
        const struct tn__row *row = &object->data->format->rows[reloc.type];
        uint64_t before, rewritten;
        unsigned size = row->size;
        output->relocs++;
        if (is_dynamic_tls(row, section->write + reloc.offset, &before, &rewritten)) {
            memcpy(theirs + reloc.offset - before, section->write + reloc.offset - before, rewritten);
            output->thread_local ++;
            continue;
        }
        struct field field = {object,
                              row,
                              &reloc,
                              section->address + reloc.offset,
                              load(section->write + reloc.offset, size),
                              load(theirs + reloc.offset, size),
                              row,
                              &reloc,
                              section->address + reloc.offset};
        if (row->value == TN__V_AT_S)
            find_first(&field, section, &first);
        if (field.ours != field.theirs && is_explained(output, &field))
            memcpy(theirs + reloc.offset, section->write + reloc.offset, size);
        else if (field.ours != field.theirs)
            relax_undefined(output, &field, &next, theirs, section->size);
    }
}

static void compare_section(struct output *output, const struct tn__object *object,
                            const struct tn__input_section *section, uint64_t address)
{
    const uint8_t *made = at_address(output, address, section->size);
    if (!made)
        return fail_at(output, section, 0, "not in ld.lld's output");
    uint8_t *theirs = malloc(section->size);
    memcpy(theirs, made, section->size);
    explain(output, object, section, theirs);
    for (uint64_t i = 0; i < section->size; i++)
        if (theirs[i] != section->write[i]) {
            char bytes[100] = "ours, theirs:";
            for (uint64_t k = i & ~3ULL; k < section->size && k < (i & ~3ULL) + 8; k++)
                snprintf(bytes + strlen(bytes), sizeof bytes - strlen(bytes), " %02x,%02x", section->write[k], made[k]);
            fail_at(output, section, i, bytes);
            break;
        }
    free(theirs);
    output->sections++;
}

static void compare_object(struct output *output, const struct tn__object *object)
{
    for (uint32_t i = 1; i < object->data->section_count; i++) {
        const struct tn__input_section *section = &object->data->sections[i];
        for (size_t k = 0; tn__section_is_loaded(section) && section->bytes && section->size && k < output->pin_count;
             k++)
            if (!strcmp(section->name, output->pins[k].section))
                compare_section(output, object, section, output->pins[k].address);
    }
}

static int compare_all(struct tn__link *link)
{
    for (size_t i = 0; i < link->count; i++)
        compare_object(link->session->detached->context, link->objects[i]);
    return 0;
}

static void same_bytes(void **state)
{
    const char *way = *(const char **)*state;
    char name[300];
    struct output output = {0};
    struct tn_session *session;
    struct tn_library *library;
    struct tn_error err;
    snprintf(name, sizeof name, "%s.elf", way);
    output.file = read_bytes(data_file(name));
    snprintf(name, sizeof name, "%s.map", way);
    read_map(&output, data_file(name));
    snprintf(name, sizeof name, "%s.o", way);
    struct bytes object = read_bytes(data_file(name));

    const struct machine *machine = machines;
    while (machine->number != tn__get16(object.at + offsetof(Elf64_Ehdr, e_machine)))
        machine++;
    output.machine = machine;
    const struct tn_session_options options = {.size = sizeof options, .formats = machine->formats};
    struct tn__detached where = {
        .address = WINDOW, .size = 1 << 20, .page_size = 4096, .pins = output.pins, .pin_count = output.pin_count};
    assert_ok(tn__session_create_detached(&options, &where, &session, &err), &err);
    assert_ok(tn_library_create(session, way, &library, &err), &err);
    where.finish = compare_all;
    where.context = &output;
    for (size_t i = 0; i < COUNT(hosts); i++)
        assert_ok(tn_define(library, hosts[i].name,
                            (void *)(uintptr_t)(hosts[i].near ? machine->near + hosts[i].near : hosts[i].address),
                            &err),
                  &err);
    const struct tn_input input = {.size = sizeof input, .name = "object.o", .bytes = object.at, .length = object.size};
    assert_ok(tn_add_object(library, &input, &err), &err);
    assert_ok(tn_link(library, &err), &err);
    tn_session_destroy(session);

    for (size_t i = 0; i < output.pin_count; i++)
        free((char *)output.pins[i].section);
    free(output.file.at);
    free(object.at);
    if (output.failure)
        fail_msg("%s: %s", way, output.failure);
    assert_true(output.sections >= 2 && output.relocs >= 20); /* it has compared something */
}

int main(void)
{
    if (!ways[0]) {
        puts("ok link/oracle # SKIP no ld.lld");
        return 0;
    }
    return run_rows("link/oracle", ways, COUNT(ways) - 1, sizeof *ways, same_bytes);
}
