/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "image/format/format.h"
#include "sample.h"

static void put(uint8_t *at, uint64_t value, size_t size)
{
    memcpy(at, &value, size);
}

static void add_segment(uint8_t *bytes, size_t index, uint32_t type, uint32_t flags, uint64_t at, uint64_t size)
{
    Elf64_Phdr h = {type, flags, at, at, at, size, size, type == PT_LOAD ? 0x1000 : 8};
    memcpy(bytes + sizeof(Elf64_Ehdr) + index * sizeof h, &h, sizeof h);
}

static void write_elf(uint8_t *bytes, uint16_t machine)
{
    Elf64_Ehdr file = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_DYN,
                       .e_machine = machine,
                       .e_version = EV_CURRENT,
                       .e_phoff = sizeof file,
                       .e_ehsize = sizeof file,
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = 7};
    memcpy(bytes, &file, sizeof file);
    add_segment(bytes, 0, PT_LOAD, PF_R, 0, 0x1000);
    add_segment(bytes, 1, PT_LOAD, PF_R | PF_X, SAMPLE_CODE, 0x1000);
    add_segment(bytes, 2, PT_LOAD, PF_R | PF_W, SAMPLE_DATA, 0x1000);
    add_segment(bytes, 3, PT_DYNAMIC, PF_R, 0x300, 4 * sizeof(Elf64_Dyn));
    add_segment(bytes, 4, PT_NOTE, PF_R, 0x36c, 36);
    add_segment(bytes, 5, PT_GNU_EH_FRAME, PF_R, 0x3e0, 12);
    add_segment(bytes, 6, PT_TLS, PF_R, 0x3f8, 8);
    static const uint8_t frames[20] = {1, 0x1b, 3, 0x3b,
                                       12}; /* of no function; the table, which is empty, lies behind it */
    memcpy(bytes + 0x3e0, frames, sizeof frames);
    Elf64_Dyn dynamic[] = {{DT_RELA, {0x3a0}}, {DT_RELASZ, {sizeof(Elf64_Rela)}}, {DT_SYMTAB, {0x3c0}}, {DT_NULL, {0}}};
    memcpy(bytes + 0x300, dynamic, sizeof dynamic);
    static const uint32_t relative[] = {
        [EM_X86_64] = R_X86_64_RELATIVE, [EM_AARCH64] = R_AARCH64_RELATIVE, [EM_RISCV] = R_RISCV_RELATIVE};
    Elf64_Rela rela = {SAMPLE_DATA, ELF64_R_INFO(0, relative[machine]), SAMPLE_CODE};
    memcpy(bytes + 0x3a0, &rela, sizeof rela);
    uint8_t *note = bytes + 0x36c;
    put(note, 6, 4);
    put(note + 4, 16, 4);
    put(note + 8, 1, 4);
    memcpy(note + 12, "Tenon", 6);
    put(note + 20, SAMPLE_IMAGE - 0x36c, 4);
}

static void write_target(uint8_t *row, uint32_t name, uint32_t flags)
{
    put(row, name, 4);
    put(row + 4, 5, 4); /* "" */
    put(row + 8, flags, 4);
}

static void write_image(uint8_t *bytes, uint16_t machine)
{
    static const uint8_t magic[8] = {0x89, 0x54, 0x4e, 0x49, 0x4d, 0x0d, 0x0a, 0x1a};
    static const char text[40] = "base\0\0wide\0one\0two\0sample";
    uint8_t *h = bytes + SAMPLE_IMAGE;
    memcpy(h, magic, 8);
    put(h + 8, 4, 4);
    put(h + 12, SAMPLE_TABLES, 4);
    put(h + 24, 0x01020304, 4);
    put(h + 28, machine, 2);
    h[30] = 8;
    h[31] = 1;
    put(h + 32, TN_RUNTIME_ABI, 4);
    put(h + 36, TN_CPU_TABLES, 4);
    put(h + 56, 1, 4);
    put(h + 60, 5, 4);
    put(h + 64, 9, 4);
    put(h + 68, 20, 4);
    put(h + 72, 19, 4);
    const uint32_t tables[][5] = {
        {0, 1, 80, SAMPLE_TARGETS - SAMPLE_IMAGE, 2},    {1, 1, 8, SAMPLE_FUNCTIONS - SAMPLE_IMAGE, 2},
        {2, 1, 8, SAMPLE_SETS - SAMPLE_IMAGE, 2},        {3, 1, 4, SAMPLE_TEXT - SAMPLE_IMAGE, 0},
        {4, 1, 20, SAMPLE_DEPENDENCY - SAMPLE_IMAGE, 0}, {5, 1, 1, SAMPLE_TEXT - SAMPLE_IMAGE, 40},
        {77, 0, 3, SAMPLE_TEXT - SAMPLE_IMAGE, 5},       {17, 1, 24, SAMPLE_OFFER - SAMPLE_IMAGE, 1},
        {18, 1, 24, SAMPLE_EDGE - SAMPLE_IMAGE, 1}};
    const uint32_t item[] = {0, 11, 5};
    memcpy(bytes + SAMPLE_OFFER, item, sizeof item);
    memcpy(bytes + SAMPLE_EDGE, item, sizeof item);
    put(bytes + SAMPLE_DEPENDENCY, 19, 4);
    memcpy(bytes + SAMPLE_DIRECTORY, tables, sizeof tables);
    write_target(bytes + SAMPLE_TARGETS, 0, 0);
    write_target(bytes + SAMPLE_TARGETS + 80, 6, 0);
    const uint32_t functions[][2] = {{15, 1 | UINT32_C(1) << 31}, {11, UINT32_C(1) << 31}};
    memcpy(bytes + SAMPLE_FUNCTIONS, functions, sizeof functions);
    const uint64_t sets[] = {1, 3};
    memcpy(bytes + SAMPLE_SETS, sets, sizeof sets);
    memcpy(bytes + SAMPLE_TEXT, text, sizeof text);
    const int32_t places[] = {SAMPLE_SLOTS - SAMPLE_IMAGE, SAMPLE_CODE + 16 - SAMPLE_IMAGE,
                              SAMPLE_CODE + 32 - SAMPLE_IMAGE, SAMPLE_CODE - SAMPLE_IMAGE, SAMPLE_CODE - SAMPLE_IMAGE};
    memcpy(bytes + SAMPLE_PLACES, places, sizeof places);
}

void sample_sign(uint8_t *bytes)
{
    uint8_t *h = bytes + SAMPLE_IMAGE;
    put(h + 16, tn__image_header_checksum(h, SAMPLE_TABLES), 8);
}

uint16_t sample_machine(void)
{
    Elf64_Ehdr self = {.e_machine = EM_NONE};
    FILE *file = fopen("/proc/self/exe", "rb");
    if (file && fread(&self, sizeof self, 1, file) != 1)
        self.e_machine = EM_NONE;
    if (file)
        fclose(file);
    return self.e_machine;
}

void sample_make(uint8_t *bytes, uint16_t machine)
{
    memset(bytes, 0, SAMPLE_SIZE);
    write_elf(bytes, machine);
    write_image(bytes, machine);
    sample_sign(bytes);
}
