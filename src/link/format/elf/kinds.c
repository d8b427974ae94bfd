/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a section is to the linker. Its flags and type say what kind of bytes it has, its name says what these are for.
 * Both are checked together, because later phases rely on the pair: a table that is read in memory must have an address
 * there. */

#include "link/format/elf/reader.h"

/* ---- types ---- */

/* The types of sections that are loaded as they are (gABI, "Section Types"; psABI; GNU). All others with SHF_ALLOC are
 * refused: what they would need is not known. */
static bool is_loadable(const struct tn__elf_reader *r, uint32_t type)
{
    const uint32_t generic = 1 << SHT_PROGBITS | 1 << SHT_NOBITS | 1 << SHT_NOTE | 1 << SHT_INIT_ARRAY |
                             1 << SHT_FINI_ARRAY | 1 << SHT_PREINIT_ARRAY;
    if (type < 32)
        return generic >> type & 1;
    const struct tn_format *format = r->object->format;
    bool of_any_machine = !format->machine && type >= SHT_LOPROC && type <= SHT_HIPROC; /* only looked at */
    return type == format->unwind_type || type == TN__SHT_GNU_SFRAME || of_any_machine;
}

/* ---- names ---- */

struct naming {
    const char *name;
    uint8_t role;
    bool has_suffixes; /* name.anything is the same */
    bool reversed;
    bool counts_down; /* .ctors.N has priority 65535 - N */
    bool is_code;     /* data of this name is as any other */
};

static const struct naming namings[] = {
    {".eh_frame", TN__ROLE_UNWIND, false, false, false, false},
    {"tenon_maps", TN__ROLE_MANAGED, false, false, false, false},
    {"tenon_roots", TN__ROLE_MANAGED, false, false, false, false},
    {"tenon_abi", TN__ROLE_MANAGED, false, false, false, false},
    {"tenon_types", TN__ROLE_MANAGED, false, false, false, false},
    {".preinit_array", TN__ROLE_INIT, true, false, false, false},
    {".init_array", TN__ROLE_INIT, true, false, false, false},
    {".ctors", TN__ROLE_INIT, true, true, true, false},
    {".fini_array", TN__ROLE_FINI, true, true, false, false},
    {".dtors", TN__ROLE_FINI, true, false, true, false},
    {".init", TN__ROLE_STARTUP, false, false, false, true},
    {".fini", TN__ROLE_STARTUP, false, false, false, true},
};

/* True for `name` itself and, with `suffixes`, for name.anything. */
static bool is_called(const char *name, const char *base, bool suffixes)
{
    size_t length = strlen(base);
    return !strncmp(name, base, length) && (name[length] == '\0' || (suffixes && name[length] == '.'));
}

/* Of the spellings of a number, that with this many digits, in the order of characters. */
static uint32_t spelling_of(uint32_t value, uint32_t digits)
{
    uint32_t least = 1;
    for (uint32_t rest = value / 10; rest; rest /= 10)
        least++;
    return value ? TN__PRIORITY_SPELLINGS - 1 - (digits - least) : digits - least;
}

static uint32_t priority_of(const char *name, const struct naming *naming)
{
    if (!strcmp(naming->name, ".preinit_array"))
        return TN__PRIORITY_FIRST;
    const char *digits = name + strlen(naming->name);
    if (*digits != '.')
        return TN__PRIORITY_LAST;
    enum { DIGITS = 10 }; /* at most: any number of sections may have one long name */
    const uint32_t numbers = TN__PRIORITY_UNNUMBERED / TN__PRIORITY_STEPS;
    const char *end = ++digits;
    uint32_t value = 0;
    for (; *end >= '0' && *end <= '9' && value < numbers && end < digits + DIGITS; end++)
        value = value * 10 + (uint32_t)(*end - '0');
    if (end == digits || *end || value >= numbers)
        return TN__PRIORITY_UNNUMBERED;
    uint32_t number = naming->counts_down ? numbers - 1 - value : value;
    uint32_t first = TN__PRIORITY_STEPS * number + (naming->counts_down ? 0 : TN__PRIORITY_SPELLINGS);
    return first + spelling_of(value, (uint32_t)(end - digits));
}

/* Whether the second letter is one of those in `namings`, which most sections' is not. */
static bool may_have_role(const char *name)
{
#define LETTER(letter) (1U << ((letter) - 'a'))
    const uint32_t letters = LETTER('e') | LETTER('p') | LETTER('i') | LETTER('c') | LETTER('f') | LETTER('d');
#undef LETTER
    unsigned letter = *name ? (unsigned)name[1] - 'a' : 32;
    return letter < 32 && letters >> letter & 1;
}

/* Not inlined, for few sections come here, and the path of all others needs no registers to be saved. */
__attribute__((noinline)) static void set_named_role(struct tn__input_section *section, bool is_code)
{
    for (size_t i = 0; i < TN_COUNT(namings); i++)
        if (is_called(section->name, namings[i].name, namings[i].has_suffixes) && is_code >= namings[i].is_code) {
            section->role = namings[i].role;
            section->reversed = namings[i].reversed;
            if (section->role == TN__ROLE_INIT || section->role == TN__ROLE_FINI)
                section->priority = priority_of(section->name, &namings[i]);
            return;
        }
}

/* ---- kinds ---- */

/* What flags and type alone say. TN__SECTION_UNLOADED: what they say makes no sense. */
static uint8_t flags_kind(uint32_t type, uint64_t flags)
{
    enum { WRITE = 1, EXEC = 2, TLS = 4, ALL = 8 };
    static const struct {
        uint8_t bytes, zeros;
    } kinds[ALL] = {
        [0] = {TN__SECTION_RODATA, TN__SECTION_UNLOADED},  [WRITE] = {TN__SECTION_DATA, TN__SECTION_ZERO},
        [EXEC] = {TN__SECTION_CODE, TN__SECTION_UNLOADED}, [EXEC | WRITE] = {TN__SECTION_CODE, TN__SECTION_UNLOADED},
        [TLS] = {TN__SECTION_TLS, TN__SECTION_TLS_ZERO},   [TLS | WRITE] = {TN__SECTION_TLS, TN__SECTION_TLS_ZERO},
        /* thread-local code: unloaded */
    };
    unsigned row = (flags & SHF_WRITE ? WRITE : 0) | (flags & SHF_EXECINSTR ? EXEC : 0) | (flags & SHF_TLS ? TLS : 0);
    return type == SHT_NOBITS ? kinds[row].zeros : kinds[row].bytes;
}

/* How a section of each role and kind is loaded; a pair without an entry is refused. Sections that the linker and its
 * observers read are read-only once relocated. */
static const uint8_t loaded_as[TN__ROLES][TN__SECTION_KINDS] = {
    [TN__ROLE_NONE] = {[TN__SECTION_CODE] = TN__SECTION_CODE,
                       [TN__SECTION_RODATA] = TN__SECTION_RODATA,
                       [TN__SECTION_DATA] = TN__SECTION_DATA,
                       [TN__SECTION_ZERO] = TN__SECTION_ZERO,
                       [TN__SECTION_TLS] = TN__SECTION_TLS,
                       [TN__SECTION_TLS_ZERO] = TN__SECTION_TLS_ZERO},
    [TN__ROLE_INIT] = {[TN__SECTION_RODATA] = TN__SECTION_RODATA, [TN__SECTION_DATA] = TN__SECTION_RODATA},
    [TN__ROLE_FINI] = {[TN__SECTION_RODATA] = TN__SECTION_RODATA, [TN__SECTION_DATA] = TN__SECTION_RODATA},
    [TN__ROLE_UNWIND] = {[TN__SECTION_RODATA] = TN__SECTION_RODATA, [TN__SECTION_DATA] = TN__SECTION_RODATA},
    [TN__ROLE_MANAGED] = {[TN__SECTION_RODATA] = TN__SECTION_RODATA, [TN__SECTION_DATA] = TN__SECTION_RODATA},
    [TN__ROLE_STARTUP] = {[TN__SECTION_CODE] = TN__SECTION_CODE},
};

static const char *const role_names[TN__ROLES] = {
    [TN__ROLE_NONE] = "a section",
    [TN__ROLE_INIT] = "an array of initializers",
    [TN__ROLE_FINI] = "an array of finalizers",
    [TN__ROLE_UNWIND] = "an unwind table",
    [TN__ROLE_MANAGED] = "a table of managed code",
    [TN__ROLE_STARTUP] = "a piece of a startup function",
};

static const char *const kind_names[TN__SECTION_KINDS] = {
    [TN__SECTION_UNLOADED] = "code or constants without bytes",
    [TN__SECTION_CODE] = "code",
    [TN__SECTION_ZERO] = "data without bytes",
    [TN__SECTION_TLS] = "thread-local data",
    [TN__SECTION_TLS_ZERO] = "thread-local data without bytes",
};

__attribute__((noinline)) static bool is_constant_once_relocated(const struct tn__input_section *section)
{
    return is_called(section->name, ".data.rel.ro", true);
}

/* True for code that would be loaded, and never run. */
static bool is_never_run(const struct tn__elf_reader *r, const struct tn__input_section *section)
{
    return section->role == TN__ROLE_STARTUP && section->size && r->object->becomes_program;
}

bool tn__elf_set_kind(const struct tn__elf_reader *r, struct tn__input_section *section, uint32_t type, uint64_t flags)
{
    if (!is_loadable(r, type))
        return type == SHT_NULL;
    section->note = type == SHT_NOTE;
    if (section->note)
        return true;
    if (type == r->object->format->unwind_type)
        section->role = TN__ROLE_UNWIND;
    else if (may_have_role(section->name))
        set_named_role(section, flags & SHF_EXECINSTR);
    section->kind = loaded_as[section->role][flags_kind(type, flags)];
    if (section->kind == TN__SECTION_DATA && is_constant_once_relocated(section))
        section->kind = TN__SECTION_RODATA;
    return section->kind != TN__SECTION_UNLOADED && !section->compressed && !is_never_run(r, section);
}

int tn__elf_fail_kind(const struct tn__elf_reader *r, uint32_t index)
{
    const Elf64_Shdr header = tn__elf_header_of(r, index);
    const char *file = r->object->name;
    const struct tn__input_section *section = &r->object->sections[index];
    if (!is_loadable(r, header.sh_type))
        return tn__fail(r->err, TN_ENOTSUP, "%s: section %u (%s): sections of type %#x cannot be loaded", file, index,
                        section->name, header.sh_type);
    if (section->kind && is_never_run(r, section))
        return tn__fail(r->err, TN_ENOTSUP,
                        "%s: section %u (%s): a piece of a function that startup files of the C library begin, end and "
                        "call; loaded code has none, so it would never run; use %s_array",
                        file, index, section->name, section->name);
    if (section->kind)
        return TN__ELF_FAIL(r, "%s: section %u (%s): a loaded section must not be compressed", file, index,
                            section->name);
    if ((header.sh_flags & SHF_TLS) && (header.sh_flags & SHF_EXECINSTR))
        return TN__ELF_FAIL(r, "%s: section %u (%s): thread-local code", file, index, section->name);
    return TN__ELF_FAIL(r, "%s: section %u (%s): %s cannot be %s", file, index, section->name,
                        role_names[section->role], kind_names[flags_kind(header.sh_type, header.sh_flags)]);
}

/* GNU's way to say that the object's code runs on the stack (functions within functions, whose address is taken). */
static bool wants_executable_stack(const struct tn__input_section *section, uint64_t flags)
{
    return flags & SHF_EXECINSTR && !strcmp(section->name, ".note.GNU-stack");
}

/* True for what GCC writes with -flto and without -ffat-lto-objects. The section begins with two version numbers of 16
 * bits; then a flag says that the object has no code (GCC, struct lto_section; before version 10, a symbol said so). */
static bool has_no_code(const struct tn__input_section *section)
{
    enum { SLIM = 4 };
    static const char prefix[] = ".gnu.lto_.lto.";
    return !strncmp(section->name, prefix, sizeof prefix - 1) && section->size > SLIM && section->bytes &&
           section->bytes[SLIM];
}

int tn__elf_check_unloaded(const struct tn__elf_reader *r, uint32_t index, uint64_t flags)
{
    const struct tn__input_section *section = &r->object->sections[index];
    if (wants_executable_stack(section, flags) && !r->object->any_machine)
        return tn__fail(
            r->err, TN_ENOTSUP,
            "%s: needs an executable stack (%s), which it does not get; the usual cause is the address of a "
            "function within a function",
            r->object->name, section->name);
    if (has_no_code(section) && !r->object->any_machine)
        return tn__fail(r->err, TN_ENOTSUP,
                        "%s: GCC LTO without code: compile with -ffat-lto-objects, or without -flto", r->object->name);
    return 0;
}
