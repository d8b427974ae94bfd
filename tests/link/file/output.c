/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* Links laid out as files: where everything is placed, and what is left for load time. tests/image runs such files. */

#include "bounds.h"
#include "outputs.h"

#include <stdlib.h>
#include <time.h>

#include "base/os.h"

static const uint8_t code[64] = {0xc3};
static const uint8_t words[64];

/* ---- a file that may lie anywhere ---- */

/* Code that calls and loads an import, data with addresses of code, of itself and of an import, constants with and
 * without addresses. */
static struct bytes make_object(void)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, 32);
    unsigned table = elf_section(&elf, ".rodata.table", SHT_PROGBITS, SHF_ALLOC, words, 16);
    unsigned text_only = elf_section(&elf, ".rodata.str", SHT_PROGBITS, SHF_ALLOC, "constant", 9);
    elf_section(&elf, ".bss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE, NULL, 0x3000);
    elf_section(&elf, ".note.tenon", SHT_NOTE, SHF_ALLOC, words, 28);
    unsigned own = elf_section(&elf, "own_name", SHT_PROGBITS, SHF_ALLOC, words, 8);
    unsigned start = elf_function(&elf, "start", text, 0);
    unsigned far = elf_undefined(&elf, "far"), maybe = elf_symbol(&elf, "maybe", STB_WEAK, STT_NOTYPE, 0, 0, 0);
    unsigned constant = elf_symbol(&elf, "constant", STB_GLOBAL, STT_OBJECT, text_only, 0, 9);
    unsigned end = elf_undefined(&elf, "__stop_own_name");
    elf_symbol(&elf, "hidden", STB_LOCAL, STT_OBJECT, own, 0, 8);
    elf_reloc(&elf, text, 4, far, R_X86_64_PLT32, -4);
    elf_reloc(&elf, text, 16, far, R_X86_64_GOTPCREL, -4);
    elf_reloc(&elf, text, 24, constant, R_X86_64_PC32, -4);
    elf_reloc(&elf, data, 0, start, R_X86_64_64, 5);
    elf_reloc(&elf, data, 8, far, R_X86_64_64, 6);
    elf_reloc(&elf, data, 16, maybe, R_X86_64_64, 0);
    elf_reloc(&elf, data, 24, end, R_X86_64_64, 0);
    elf_reloc(&elf, table, 8, constant, R_X86_64_64, 0);
    return elf_finish(&elf);
}

static uint64_t head(void *context, const struct tn__output *output)
{
    unsigned *asked = context;
    ++*asked;
    return output->head_size ? 0x123 : 0x100; /* more than at first */
}

static void test_places(void **state)
{
    (void)state;
    unsigned asked = 0;
    const struct tn__output_options options = {.name = "out", .head = head, .context = &asked};
    struct tn__output *output = link_good_output(&options, make_object());
    const struct tn__output_segment *s = output->segments;
    assert_int_equal(asked, 3);
    assert_int_equal(output->head_address, 0);
    assert_int_equal(output->head_size, 0x130);
    assert_int_equal(find_section(output, ".note.tenon")->address, 0x130);
    for (int i = 0; i < TN__OUTPUT_SEGMENTS; i++) {
        assert_int_equal(s[i].address % 4096, s[i].offset % 4096);
        assert_true(s[i].file_size <= s[i].size);
        assert_true(!i || s[i].address >= s[i - 1].address + s[i - 1].size);
    }
    assert_int_equal(find_section(output, ".rodata")->place, TN__OUTPUT_RODATA);
    assert_int_equal(find_section(output, "own_name")->place, TN__OUTPUT_RODATA);
    assert_int_equal(find_section(output, ".text")->address, s[TN__OUTPUT_CODE].address);
    assert_int_equal(find_section(output, ".plt")->place, TN__OUTPUT_CODE);
    assert_int_equal(find_section(output, ".data.rel.ro")->address, s[TN__OUTPUT_RELRO].address);
    assert_int_equal(find_section(output, ".data.rel.ro")->size, 16); /* only the table */
    assert_int_equal(s[TN__OUTPUT_RELRO].size % 4096, 0);
    assert_int_equal(s[TN__OUTPUT_RELRO].file_size, s[TN__OUTPUT_RELRO].size - find_section(output, ".padding")->size);
    assert_true(s[TN__OUTPUT_RELRO].file_size < s[TN__OUTPUT_RELRO].size);
    assert_int_equal(find_section(output, ".bss")->kind, TN__OUTPUT_ZERO);
    assert_int_equal(s[TN__OUTPUT_DATA].size - s[TN__OUTPUT_DATA].file_size, 0x3000);
    assert_int_equal(find_symbol(output, "start")->value, s[TN__OUTPUT_CODE].address);
    assert_true(find_symbol(output, "start")->exported && find_symbol(output, "start")->function);
    assert_true(find_symbol(output, "hidden")->local && !find_symbol(output, "hidden")->exported);
    tn__output_free(output);
}

/* Values in code are final; the relocations list the words that depend on the load address. */
static void test_relocs(void **state)
{
    (void)state;
    const struct tn__output_options options = {.name = "out"};
    struct tn__output *output = link_good_output(&options, make_object());
    const struct tn__output_section *text = find_section(output, ".text"), *data = find_section(output, ".data");
    const struct tn__output_section *got = find_section(output, ".got"), *own = find_section(output, "own_name");
    uint64_t constant = find_symbol(output, "constant")->value, table = find_section(output, ".data.rel.ro")->address;
    assert_int_equal((int32_t)tn__get32(text->bytes + 4), find_section(output, ".plt")->address - text->address - 8);
    assert_int_equal((int32_t)tn__get32(text->bytes + 16), got->address - text->address - 20);
    assert_int_equal((int32_t)tn__get32(text->bytes + 24), constant - text->address - 28);
    const struct tn__output_reloc wanted[] = {
        {table + 8, TN__DYNAMIC_RELATIVE, 0, constant},
        {got->address, TN__DYNAMIC_SLOT, 0, 0},
        {data->address, TN__DYNAMIC_RELATIVE, 0, text->address + 5},
        {data->address + 8, TN__DYNAMIC_IMPORT, 0, 6},
        {data->address + 16, TN__DYNAMIC_IMPORT, 1, 0},
        {data->address + 24, TN__DYNAMIC_RELATIVE, 0, own->address + own->size},
    };
    assert_int_equal(output->reloc_count, COUNT(wanted));
    for (size_t i = 0; i < COUNT(wanted); i++) {
        const struct tn__output_reloc *is = &output->relocs[i];
        assert_int_equal(is->address, wanted[i].address);
        assert_int_equal(is->fixup, wanted[i].fixup);
        assert_int_equal(is->import, wanted[i].import);
        assert_int_equal(is->addend, wanted[i].addend);
    }
    assert_int_equal(tn__get64(data->bytes), text->address + 5);
    assert_int_equal(tn__get64(data->bytes + 8), 0);
    assert_int_equal(output->import_count, 2);
    assert_string_equal(output->imports[0].name, "far");
    assert_false(output->imports[0].weak);
    assert_string_equal(output->imports[1].name, "maybe");
    assert_true(output->imports[1].weak);
    tn__output_free(output);
}

/* Loads that are rewritten need no slot. One that cannot be, a call of an import, and a comparison with an address need
 * one. */
static void test_slots(void **state)
{
    (void)state;
    static const uint8_t loads[] = {
        0x48, 0x8b, 0x05, 0, 0, 0, 0, /* 0: mov one@GOTPCREL(%rip), %rax, */
        0x48, 0x8d, 0x05, 0, 0, 0, 0, /* lea, contradicting its relocation */
        0x48, 0x3b, 0x05, 0, 0, 0, 0, /* cmp, whose rewritten form has a 32-bit address */
        0xff, 0x15, 0,    0, 0, 0,    /* call */
    };
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, loads, sizeof loads);
    unsigned one = elf_function(&elf, "one", text, 0), two = elf_function(&elf, "two", text, 1);
    unsigned three = elf_function(&elf, "three", text, 2), four = elf_function(&elf, "four", text, 3);
    elf_reloc(&elf, text, 3, one, R_X86_64_REX_GOTPCRELX, -4);
    elf_reloc(&elf, text, 10, two, R_X86_64_REX_GOTPCRELX, -4);
    elf_reloc(&elf, text, 17, three, R_X86_64_REX_GOTPCRELX, -4);
    elf_reloc(&elf, text, 23, four, R_X86_64_GOTPCRELX, -4);
    const struct tn__output_options options = {.name = "out"};
    struct tn__output *output = link_good_output(&options, elf_finish(&elf));
    const struct tn__output_section *got = find_section(output, ".got"), *code_out = find_section(output, ".text");
    assert_int_equal(got->size, 16);
    assert_int_equal(output->reloc_count, 2);
    assert_int_equal(output->relocs[0].addend, code_out->address + 1);
    assert_int_equal(output->relocs[1].addend, code_out->address + 2);
    assert_int_equal(code_out->bytes[1], 0x8d); /* lea */
    assert_int_equal((int32_t)tn__get32(code_out->bytes + 10), got->address - code_out->address - 14);
    assert_int_equal((int32_t)tn__get32(code_out->bytes + 17), got->address + 8 - code_out->address - 21);
    assert_int_equal(code_out->bytes[22], 0xe8); /* call, after a prefix */
    tn__output_free(output);
}

/* ---- inputs ---- */

/* Hidden symbols are not exported, but weak definitions give way to them. */
static void test_flags(void **state)
{
    (void)state;
    static struct elf elf;
    struct bytes objects[2];
    for (int i = 0; i < 2; i++) {
        memset(&elf, 0, sizeof elf);
        elf_function(&elf, "start", elf_code(&elf, code, sizeof code), (uint64_t)(16 * i));
        objects[i] = elf_finish(&elf);
    }
    const struct tn_input inputs[] = {
        {sizeof *inputs, "weak.o", objects[0].at, objects[0].size, NULL, NULL, NULL, TN_INPUT_WEAK},
        {sizeof *inputs, "hidden.o", objects[1].at, objects[1].size, NULL, NULL, NULL, TN_INPUT_HIDDEN},
    };
    const struct tn__output_options options = {.name = "out"};
    struct tn__output *output;
    struct tn_error err;
    assert_ok(tn__output_link(&options, inputs, COUNT(inputs), &output, &err), &err);
    const struct tn__output_symbol *start = find_symbol(output, "start");
    assert_int_equal(start->value, find_section(output, ".text")->address + sizeof code + 16);
    assert_false(start->exported || start->local);
    tn__output_free(output);
    free(objects[0].at);
    free(objects[1].at);
}

/* ---- RELR ---- */

static void test_relr(void **state)
{
    (void)state;
    static const struct {
        uint64_t addresses[8]; /* 0: none */
        uint64_t words[4];
        size_t count;
    } rows[] = {
        {{0}, {0}, 0},
        {{0x1000}, {0x1000}, 1},
        {{0x1000, 0x1008}, {0x1000, 3}, 2},
        {{0x1000, 0x1008 + 62 * 8}, {0x1000, (UINT64_C(1) << 63) | 1}, 2}, /* the last bit of a bitmap */
        {{0x1000, 0x1008 + 63 * 8}, {0x1000, 0x1200}, 2},                  /* the first beyond it */
        {{0x1000, 0x1008, 0x1008 + 63 * 8}, {0x1000, 3, 3}, 3},            /* in the next bitmap */
        {{0x1000, 0x1008, 0x1008 + 126 * 8}, {0x1000, 3, 0x1008 + 126 * 8}, 3},
        {{0x1000, 0x1004, 0x1010}, {0x1000, 5}, 2}, /* unaligned ones are omitted */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn__output_reloc relocs[8] = {{0}};
        struct tn__output output = {.relocs = relocs};
        for (; output.reloc_count < 8 && rows[i].addresses[output.reloc_count]; output.reloc_count++)
            relocs[output.reloc_count].address = rows[i].addresses[output.reloc_count];
        uint64_t got[4] = {0};
        assert_int_equal(tn__output_relr(&output, NULL, 0), rows[i].count);
        assert_int_equal(tn__output_relr(&output, got, 4), rows[i].count);
        assert_memory_equal(got, rows[i].words, sizeof got);
    }
}

/* ---- a part of a program ---- */

static void *resolve(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "far") ? NULL : (void *)0x401000;
}

static void test_fixed(void **state)
{
    (void)state;
    const struct tn__output_options options = {
        .name = "out", .fixed = true, .address = 0x800000, .file_offset = 0x5000, .resolver = resolve};
    struct tn__output *output = link_good_output(&options, make_object());
    const struct tn__output_section *text = find_section(output, ".text"), *data = find_section(output, ".data");
    assert_int_equal(output->segments[0].address, 0x800000);
    assert_int_equal(output->segments[0].offset, 0x5000);
    assert_int_equal(output->reloc_count, 0);
    assert_int_equal(output->import_count, 0);
    assert_int_equal(text->address + 8 + (int32_t)tn__get32(text->bytes + 4), 0x401000);
    assert_int_equal(tn__get64(data->bytes), text->address + 5);
    assert_int_equal(tn__get64(data->bytes + 8), 0x401006);
    assert_int_equal(tn__get64(data->bytes + 16), 0); /* weak */
    tn__output_free(output);
}

/* What precedes the output moves along with it: distances to it are final, and words with its addresses are relocated
 * like the output's own. */
static void test_beside(void **state)
{
    (void)state;
    static const struct tn_definition definitions[] = {{"far", (const void *)0x1234, TN_SYMBOL_WEAK},
                                                       {"constant", (const void *)0x5678, TN_SYMBOL_WEAK}};
    const struct tn__output_options options = {.name = "out",
                                               .address = 0x20000,
                                               .file_offset = 0x5000,
                                               .definitions = definitions,
                                               .definition_count = COUNT(definitions)};
    struct tn__output *output = link_good_output(&options, make_object());
    const struct tn__output_section *text = find_section(output, ".text"), *data = find_section(output, ".data");
    const struct tn__output_section *table = find_section(output, ".data.rel.ro");
    assert_int_equal(output->segments[0].address, 0x20000);
    assert_int_equal(output->segments[0].offset, 0x5000);
    assert_int_equal(text->address + 8 + (int32_t)tn__get32(text->bytes + 4), 0x1234);
    assert_int_equal(output->import_count, 1); /* "maybe" */
    assert_int_equal(output->relocs[output->reloc_count - 3].address, data->address + 8);
    assert_int_equal(output->relocs[output->reloc_count - 3].fixup, TN__DYNAMIC_RELATIVE);
    assert_int_equal(output->relocs[output->reloc_count - 3].addend, 0x123a);
    assert_int_equal(tn__get64(table->bytes + 8), find_symbol(output, "constant")->value); /* its own definition wins */
    assert_true(find_symbol(output, "constant")->value > 0x20000);
    tn__output_free(output);
}

/* Code that refers to thread-local data: 24 bytes with initial values and 16 without. */
static struct bytes make_thread_local(uint64_t alignment)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned data = elf_section(&elf, ".tdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, words, 24);
    unsigned zeros = elf_section(&elf, ".tbss", SHT_NOBITS, SHF_ALLOC | SHF_WRITE | SHF_TLS, NULL, 16);
    elf.sections[data].header.sh_addralign = 8;
    elf.sections[zeros].header.sh_addralign = alignment;
    elf_reloc(&elf, text, 0, elf_symbol(&elf, "data", STB_GLOBAL, STT_TLS, data, 0, 24), R_X86_64_TPOFF32, 0);
    elf_reloc(&elf, text, 4, elf_symbol(&elf, "zeros", STB_GLOBAL, STT_TLS, zeros, 0, 16), R_X86_64_TPOFF32, 0);
    return elf_finish(&elf);
}

/* The block ends at the thread pointer: with the output's data, or with the room for the rest of the program. */
static void test_thread_local(void **state)
{
    (void)state;
    static const struct {
        uint64_t alignment, room, room_alignment;
        bool has_values;
        uint64_t size, file_size, whole_alignment;
        int32_t data, zeros;
    } rows[] = {
        {8, 0, 0, false, 40, 24, 8, -40, -16},
        {64, 0, 0, false, 80, 24, 64, -128, -64}, /* the thread pointer is aligned like the whole block */
        {8, 8, 8, false, 48, 24, 8, -48, -24},
        {8, 8, 8, true, 48, 48, 8, -48, -24},        /* zeros cannot precede bytes in the file */
        {8, 60, 64, false, 192, 24, 64, -192, -128}, /* .tbss is one section */
        {8, 60, 64, true, 128, 128, 64, -128, -104},
        {256, 64, 64, false, 768, 24, 256, -768, -512}, /* the room is at the end */
        {256, 64, 64, true, 768, 768, 256, -768, -512},
        {4096, 0, 1, true, 4112, 4112, 4096, -8192, -4096},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct tn__output_options options = {.name = "out", .program = true, .address = 0x20000};
        options.tls_space.size = rows[i].room;
        options.tls_space.alignment = rows[i].room_alignment;
        options.tls_space.has_values = rows[i].has_values;
        struct tn__output *output = link_good_output(&options, make_thread_local(rows[i].alignment));
        const uint8_t *text = find_section(output, ".text")->bytes;
        assert_int_equal(output->tls_size, rows[i].size);
        assert_int_equal(output->tls_file_size, rows[i].file_size);
        assert_int_equal(output->tls_alignment, rows[i].whole_alignment);
        assert_int_equal(output->tls_address % rows[i].whole_alignment, 0);
        assert_int_equal((int32_t)tn__get32(text), rows[i].data);
        assert_int_equal((int32_t)tn__get32(text + 4), rows[i].zeros);
        assert_int_equal(find_symbol(output, "zeros")->value, rows[i].zeros - rows[i].data);
        tn__output_free(output);
    }
    struct tn__output_options options = {.name = "out", .program = true};
    options.tls_space.size = options.tls_space.alignment = 64;
    struct tn__output *output = link_good_output(&options, make_object());
    assert_int_equal(output->tls_size, 0); /* the rest of the program has its own */
    tn__output_free(output);
}

/* ---- debug data ---- */

static unsigned add_strings(struct elf *elf, const char *name, const char *bytes, size_t size)
{
    unsigned section = elf_section(elf, name, SHT_PROGBITS, SHF_MERGE | SHF_STRINGS, bytes, size);
    elf->sections[section].header.sh_entsize = elf->sections[section].header.sh_addralign = 1;
    return section;
}

/* Duplicate strings are kept once, and references follow. Sections that may not be lists of strings are left alone. */
static void test_debug_strings(void **state)
{
    (void)state;
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    elf_code(&elf, code, sizeof code);
    unsigned info = elf_section(&elf, ".debug_info", SHT_PROGBITS, 0, words, 36);
    unsigned first = add_strings(&elf, ".debug_str", "one\0two\0one\0", 12);
    unsigned second = add_strings(&elf, ".debug_str", "two\0\0three\0one", 15);
    add_strings(&elf, ".debug_line_str", "two\0two\0", 8);
    add_strings(&elf, ".debug_open", "one\0one", 7);
    static const struct {
        unsigned string, addend;
        const char *text;
        int expected; /* offset in .debug_str */
    } rows[] = {{0, 0, "one", 0}, {0, 4, "two", 4},   {0, 6, "o", 6},  {0, 8, "one", 0}, {1, 0, "two", 4},
                {1, 4, "", 8},    {1, 5, "three", 9}, {1, 10, "", 14}, {1, 11, "one", 0}};
    unsigned sections[2] = {first, second}, symbols[2];
    for (int i = 0; i < 2; i++)
        symbols[i] = elf_symbol(&elf, "", STB_LOCAL, STT_SECTION, sections[i], 0, 0);
    for (size_t i = 0; i < COUNT(rows); i++)
        elf_reloc(&elf, info, 4 * i, symbols[rows[i].string], R_X86_64_32, rows[i].addend);
    const struct tn__output_options options = {.name = "out"};
    struct tn__output *output = link_good_output(&options, elf_finish(&elf));
    const struct tn__output_section *strings = find_section(output, ".debug_str");
    assert_int_equal(strings->size, 15);
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint32_t at = tn__get32(find_section(output, ".debug_info")->bytes + 4 * i);
        assert_int_equal(at, rows[i].expected);
        assert_string_equal((const char *)strings->bytes + at, rows[i].text);
    }
    assert_int_equal(find_section(output, ".debug_line_str")->size, 4);
    assert_int_equal(find_section(output, ".debug_open")->size, 7);
    tn__output_free(output);
}

/* ---- many sections ---- */

enum { MANY_OBJECTS = 1000, MANY_SECTIONS = 60 };

/* Each name is in two objects: in the first half of them it is read-only data that points to its start, in the
 * second half zeros. */
static struct bytes make_one_of_many(int number)
{
    static struct elf elf;
    static char names[MANY_SECTIONS][32];
    char start[48];
    memset(&elf, 0, sizeof elf);
    bool zeros = number >= MANY_OBJECTS / 2;
    for (int s = 0; s < MANY_SECTIONS; s++) {
        snprintf(names[s], sizeof *names, "own_%d_%d", s, number % (MANY_OBJECTS / 2));
        unsigned section = elf_section(&elf, names[s], zeros ? SHT_NOBITS : SHT_PROGBITS,
                                       SHF_ALLOC | (zeros ? SHF_WRITE : 0), words, 16);
        snprintf(start, sizeof start, "__start_own_%d_%d", s, number % (MANY_OBJECTS / 2));
        if (!zeros)
            elf_reloc(&elf, section, 8, elf_undefined(&elf, start), R_X86_64_64, 0);
    }
    return elf_finish(&elf);
}

/* 60,000 sections of 30,000 names take 0.2 s of CPU time; comparing each name with each took 20 s. */
static void test_many_sections(void **state)
{
    (void)state;
    static struct tn_input inputs[MANY_OBJECTS];
    for (int i = 0; i < MANY_OBJECTS; i++) {
        struct bytes object = make_one_of_many(i);
        inputs[i] = (struct tn_input){
            .size = sizeof *inputs, .name = "one_of_many.o", .bytes = object.at, .length = object.size};
    }
    const struct tn__output_options options = {.name = "out"};
    struct tn__output *output;
    struct tn_error err;
    clock_t start = clock();
    assert_ok(tn__output_link(&options, inputs, MANY_OBJECTS, &output, &err), &err);
    assert_true(clock() - start < BOUNDS_SLOWER * 5 * CLOCKS_PER_SEC);
    assert_int_equal(output->section_count, MANY_OBJECTS * MANY_SECTIONS / 2);
    assert_int_equal(output->reloc_count, output->section_count);
    for (size_t i = 0; i < output->section_count; i++) {
        assert_int_equal(output->sections[i].place, TN__OUTPUT_DATA);
        assert_int_equal(output->sections[i].size, 32);
        assert_int_equal(output->relocs[i].address, output->sections[i].address + 8);
        assert_int_equal(output->relocs[i].addend, output->sections[i].address);
    }
    tn__output_free(output);
    for (int i = 0; i < MANY_OBJECTS; i++)
        free((void *)(uintptr_t)inputs[i].bytes);
}

/* ---- when memory is out ---- */

static void test_out_of_memory(void **state)
{
    (void)state;
    const struct tn__output_options options = {.name = "out"};
    struct tn__output *output = NULL;
    struct tn_error err;
    int rc = TN_ENOMEM, failures = 0;
    for (int n = 1; rc != 0; n++, failures++) {
        char plan[16];
        struct bytes object = make_object();
        snprintf(plan, sizeof plan, "a%d", n);
        assert_int_equal(tn__os_set_faults(plan), 0);
        rc = link_output(&options, object, &output, &err);
        tn__os_set_faults(NULL);
        assert_true(rc == 0 || (rc == TN_ENOMEM && !output));
    }
    tn__output_free(output);
    assert_true(failures >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),        cmocka_unit_test(test_relocs),        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_flags),         cmocka_unit_test(test_relr),          cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_beside),        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_thread_local),
        cmocka_unit_test(test_debug_strings), cmocka_unit_test(test_many_sections),
    };
    return cmocka_run_group_tests_name("link/output", tests, NULL, NULL);
}
