/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

#include "words.h"

#include "elf_builder.h"

/* A section with the word, in a group with symbol number `signature` as its signature. */
static unsigned add_group(struct elf *elf, const uint32_t *word, unsigned signature)
{
    static uint32_t groups[PARTS][2];
    static unsigned used;
    uint32_t *group = groups[used++ % PARTS];
    group[0] = GRP_COMDAT;
    group[1] = elf_section(elf, ".data.inline", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE | SHF_GROUP, word, sizeof *word);
    unsigned section = elf_section(elf, ".group", SHT_GROUP, 0, group, sizeof groups[0]);
    elf->sections[section].header.sh_info = signature;
    return group[1];
}

struct bytes words_object(const struct part *parts)
{
    static struct elf elf;
    static uint32_t words[PARTS];
    static uint64_t references[PARTS];
    memset(&elf, 0, sizeof elf);
    unsigned data = elf_section(&elf, ".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, words, sizeof words);
    unsigned refs = elf_section(&elf, ".data.rel", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, references, sizeof references);
    for (unsigned i = 0; i < PARTS && parts[i].kind; i++) {
        const struct part *part = &parts[i];
        if (part->kind == INLINE || part->kind == INLINE_STRONG || part->kind == GROUP) {
            words[i] = part->value;
            unsigned inlined = elf_symbol(&elf, part->name, part->kind == INLINE_STRONG ? STB_GLOBAL : STB_WEAK,
                                          STT_OBJECT, 0, 0, sizeof *words);
            unsigned section = add_group(&elf, &words[i], inlined);
            if (part->kind != GROUP)
                elf.symbols[inlined].st_shndx = (uint16_t)section;
            continue;
        }
        bool weak = part->kind == WEAK || part->kind == WEAK_UNDEFINED || part->kind == HIDDEN_WEAK_UNDEFINED;
        bool defined = part->kind == STRONG || part->kind == WEAK || part->kind == HIDDEN || part->kind == UNIQUE;
        unsigned bind = weak ? STB_WEAK : part->kind == UNIQUE ? STB_GNU_UNIQUE : STB_GLOBAL;
        words[i] = part->value;
        unsigned symbol = elf_symbol(&elf, part->name, bind, STT_OBJECT,
                                     defined                ? data
                                     : part->kind == COMMON ? SHN_COMMON
                                                            : SHN_UNDEF,
                                     defined                ? i * sizeof *words
                                     : part->kind == COMMON ? part->alignment
                                                            : 0,
                                     part->kind == COMMON ? part->value : sizeof *words);
        if (part->kind == HIDDEN || part->kind == HIDDEN_UNDEFINED || part->kind == HIDDEN_WEAK_UNDEFINED)
            elf.symbols[symbol].st_other = STV_HIDDEN;
        if (!defined && part->kind != COMMON) {
            char name[64];
            snprintf(name, sizeof name, "ref_%s", part->name);
            elf_symbol(&elf, name, STB_WEAK, STT_OBJECT, refs, i * sizeof *references, 8); /* parts may share one */
            elf_reloc(&elf, refs, i * sizeof *references, symbol, MACHINE_ADDRESS, 0);
        }
    }
    return elf_finish(&elf);
}

static int try_add(const struct fixture *f, const char *name, const struct part *parts, struct tn_tracker *owner,
                   struct tn_error *err)
{
    struct bytes object = words_object(parts);
    struct tn_input input = {
        .size = sizeof input, .name = name, .bytes = object.at, .length = object.size, .owner = owner};
    int code = tn_add_object(f->library, &input, err);
    /* The bytes are borrowed until the link. They are kept until the end of the program, where LeakSanitizer finds them
     * reachable. */
    static struct bytes kept[4096];
    static size_t count;
    assert_true(count < COUNT(kept));
    kept[count++] = object;
    return code;
}

int try_add_words(const struct fixture *f, const char *name, const struct part *parts, struct tn_error *err)
{
    return try_add(f, name, parts, NULL, err);
}

void add_words(const struct fixture *f, const char *name, const struct part *parts)
{
    add_words_of(f, name, parts, NULL);
}

void add_words_of(const struct fixture *f, const char *name, const struct part *parts, struct tn_tracker *owner)
{
    struct tn_error err;
    assert_ok(try_add(f, name, parts, owner, &err), &err);
}

uint32_t word_at(const struct fixture *f, const char *name)
{
    return *(const uint32_t *)lookup(f, name);
}
