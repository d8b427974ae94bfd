/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "observed.h"

#include "elf_builder.h"

const uint8_t code[CODE_SIZE] = {0x31, 0xc0, 0xc3};

struct bytes functions_object(const char *name)
{
    static struct elf elf;
    static const uint32_t datum = 7;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, &datum, sizeof datum);
    elf_symbol(&elf, "local", STB_LOCAL, STT_FUNC, text, 48, 8);
    elf_symbol(&elf, "$x", STB_LOCAL, STT_NOTYPE, text, 52, 0);
    elf_symbol(&elf, ".Llabel", STB_LOCAL, STT_NOTYPE, text, 54, 0);
    elf_symbol(&elf, "weak_alias", STB_LOCAL, STT_FUNC, text, 0, 16);
    elf_symbol(&elf, name, STB_GLOBAL, STT_FUNC, text, 0, 16);
    elf_symbol(&elf, "inside", STB_LOCAL, STT_NOTYPE, text, 8, 2);
    elf_symbol(&elf, "behind", STB_LOCAL, STT_NOTYPE, text, 32, 0);
    elf_symbol(&elf, "anchor", STB_LOCAL, STT_NOTYPE, text, sizeof code + 1000, 0); /* of a compiler; no function */
    elf_symbol(&elf, "datum", STB_LOCAL, STT_OBJECT, data, 0, 4);
    return elf_finish(&elf);
}

struct bytes simple_object(const char *name, const char *needs)
{
    static struct elf elf;
    memset(&elf, 0, sizeof elf);
    unsigned text = elf_code(&elf, code, sizeof code);
    elf_symbol(&elf, name, STB_GLOBAL, STT_FUNC, text, 0, sizeof code);
    if (needs)
        elf_reloc(&elf, text, 16, elf_undefined(&elf, needs), R_X86_64_PLT32, -4);
    return elf_finish(&elf);
}

void add(const struct fixture *f, const char *name, struct bytes object, struct tn_tracker *owner)
{
    const struct tn_input input = {
        .size = sizeof input, .name = name, .bytes = object.at, .length = object.size, .owner = owner};
    struct tn_error err;
    assert_ok(tn_add_object(f->library, &input, &err), &err);
}

void remove_all(struct tn_tracker *tracker)
{
    struct tn_error err;
    assert_ok(tn_tracker_remove(tracker, &err), &err);
}
