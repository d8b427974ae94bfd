/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a section is to the linker: its flags say what kind of bytes it has, its name what they are for ("PE Format",
 * Section Flags, Special Sections). What follows a $ in a name is no part of it, but says in which order linkers put
 * the sections of one name. Here that matters for arrays of functions, and for sections that programs name themselves;
 * those of compilers stay with their objects. */

#include "link/format/coff/reader.h"

/* ---- arrays of functions ---- */

/* The C library calls what is between .CRT$XIA and .CRT$XIZ, then .CRT$XCA to .CRT$XCZ at the start, and .CRT$XPA to
 * .CRT$XPZ, then .CRT$XTA to .CRT$XTZ at the end (Microsoft, "CRT initialization"). GCC and clang for MinGW have .ctors
 * and .dtors, as they had in ELF files; MinGW's __main walks the whole of .ctors from its end, that of COMDATs too. */
static const struct array {
    const char *name;
    uint8_t role;
    bool second; /* after the other one */
    bool counts_down;
} arrays[] = {
    {".CRT$XI", TN__ROLE_INIT, false, false}, {".CRT$XC", TN__ROLE_INIT, true, false},
    {".CRT$XP", TN__ROLE_FINI, false, false}, {".CRT$XT", TN__ROLE_FINI, true, false},
    {".ctors", TN__ROLE_INIT, true, true},    {".dtors", TN__ROLE_FINI, true, true},
};

enum { LETTERS = 26 };

static uint32_t parse_digits(const char *text, size_t most, const char **end)
{
    uint32_t value = 0;
    const char *at = text;
    for (; (size_t)(at - text) < most && *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (uint32_t)(*at - '0');
    *end = at;
    return value;
}

/* A number that sorts as the letters after .CRT$XC do: the first of them, then five digits (as clang writes the
 * priorities of its initializers) or up to three more characters. */
static uint32_t letters_priority(const char *letters)
{
    enum { DIGITS = 5, MORE = 3, BITS = 6, LETTER_BITS = 19 };
    if (!*letters)
        return 0;
    uint32_t value = (uint32_t)(*letters >= 'A' && *letters <= 'Z' ? *letters - 'A' + 1 : LETTERS + 1) << LETTER_BITS;
    const char *rest = letters + 1, *end;
    uint32_t number = parse_digits(rest, DIGITS, &end);
    if (end - rest == DIGITS)
        return value | (number + 1);
    if (!*rest)
        return value;
    uint32_t more = 0;
    for (int i = 0; i < MORE; i++) {
        more = more << BITS | (uint32_t)(*rest > ' ' ? tn__min64((uint64_t)(*rest - ' '), 63) : 0);
        rest += *rest != '\0';
    }
    return value | 1U << (LETTER_BITS - 1) | more;
}

/* .ctors.N has priority 65535 - N, as in ELF files, and stands for .CRT$XCT with that number; .ctors for .CRT$XCU. */
static uint32_t suffix_priority(const char *suffix)
{
    enum { DIGITS = 5, NUMBERS = 65535 };
    const char *end;
    uint32_t value = *suffix == '.' ? parse_digits(suffix + 1, DIGITS, &end) : 0;
    uint32_t letter = letters_priority("T");
    if (*suffix != '.' || end == suffix + 1 || value > NUMBERS)
        return letters_priority("U");
    return letter | (NUMBERS - value + 1);
}

static void set_array(struct tn__input_section *section)
{
    const uint32_t second = 1U << 25;
    for (size_t i = 0; i < TN_COUNT(arrays); i++) {
        size_t length = strlen(arrays[i].name);
        const char *rest = section->name + length;
        if (strncmp(section->name, arrays[i].name, length) != 0 ||
            (arrays[i].counts_down && *rest && *rest != '.' && *rest != '$'))
            continue;
        section->role = arrays[i].role;
        section->priority =
            (arrays[i].counts_down ? suffix_priority(rest) : letters_priority(rest)) | (arrays[i].second ? second : 0);
        /* Finalizers run from the highest priority to the lowest. */
        if (section->role == TN__ROLE_FINI && !arrays[i].counts_down)
            section->priority = 2 * second - section->priority;
        section->reversed = arrays[i].counts_down && section->role == TN__ROLE_INIT;
        section->backwards = arrays[i].counts_down;
        return;
    }
}

/* ---- groups ---- */

/* Who wants to know the neighbours of a section gives it a name of its own; `.text$function` says nothing. */
static bool is_compilers(const char *name)
{
    static const char *const names[] = {".text", ".data", ".rdata", ".bss", ".pdata", ".xdata"};
    size_t length = strcspn(name, "$");
    for (size_t i = 0; i < TN_COUNT(names); i++)
        if (strlen(names[i]) == length && !strncmp(name, names[i], length))
            return true;
    return false;
}

/* Nothing refers to what lies between the first and the last one of a group, so that is kept when others are stripped:
 * as all sections are by linkers for Windows, except those of COMDATs. */
static void set_group(struct tn__object_data *object, struct tn__input_section *section, uint32_t flags)
{
    section->grouped = !section->role && !is_compilers(section->name);
    if (!section->grouped || !strchr(section->name, '$'))
        return;
    object->has_groups = true;
    section->retained = !(flags & TN__SCN_COMDAT);
}

/* ---- kinds ---- */

static uint8_t flags_kind(uint32_t flags)
{
    if (flags & (TN__SCN_INFO | TN__SCN_REMOVE | TN__SCN_DISCARDABLE))
        return TN__SECTION_UNLOADED;
    if (flags & (TN__SCN_CODE | TN__SCN_EXECUTE))
        return TN__SECTION_CODE;
    if (flags & TN__SCN_ZEROS)
        return TN__SECTION_ZERO;
    return flags & TN__SCN_WRITE ? TN__SECTION_DATA : TN__SECTION_RODATA;
}

int tn__coff_set_kind(const struct tn__coff_reader *r, uint32_t index, uint32_t flags)
{
    struct tn__input_section *section = &r->object->sections[index];
    bool tls = !strncmp(section->name, ".tls", 4) && (!section->name[4] || section->name[4] == '$');
    section->kind = flags_kind(flags);
    if (section->kind == TN__SECTION_UNLOADED)
        return 0;
    if (tls && section->size && !r->object->any_machine)
        return tn__fail(r->err, TN_ENOTSUP,
                        "%s: section %u (%s): thread-local variables of Windows are found through the thread's "
                        "environment block, which there is none of here; compile with -femulated-tls",
                        r->object->name, index, section->name);
    if (section->kind == TN__SECTION_CODE && flags & TN__SCN_ZEROS)
        return TN__COFF_FAIL(r, "%s: section %u (%s): code without bytes", r->object->name, index, section->name);
    if (section->kind == TN__SECTION_DATA || section->kind == TN__SECTION_RODATA)
        set_array(section);
    if (section->role)
        section->kind = TN__SECTION_RODATA; /* once relocated */
    set_group(r->object, section, flags);
    return 0;
}
