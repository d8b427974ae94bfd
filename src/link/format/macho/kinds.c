/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What a section is to the linker: its type and attributes say what kind of bytes it has, its segment whether they may
 * be written. */

#include "link/format/macho/reader.h"

/* What a section of each type is, whatever its segment. */
static const struct type {
    const char *refused; /* its name, if it cannot be loaded */
    uint8_t kind;        /* UNLOADED: the segment tells */
    uint8_t role;
    bool whole; /* its entries are told apart by their contents, not by symbols */
} types[TN__MACHO_SECTION_TYPES] = {
    [TN__MACHO_ZEROFILL] = {.kind = TN__SECTION_ZERO},
    [TN__MACHO_CSTRINGS] = {.whole = true},
    [TN__MACHO_LITERALS4] = {.whole = true},
    [TN__MACHO_LITERALS8] = {.whole = true},
    [TN__MACHO_LITERAL_POINTERS] = {.whole = true},
    [TN__MACHO_SYMBOL_POINTERS] = {.refused = "non-lazy symbol pointers"},
    [TN__MACHO_LAZY_POINTERS] = {.refused = "lazy symbol pointers"},
    [TN__MACHO_STUBS] = {.refused = "symbol stubs"},
    [TN__MACHO_INITIALIZERS] = {.kind = TN__SECTION_RODATA, .role = TN__ROLE_INIT, .whole = true},
    [TN__MACHO_FINALIZERS] = {.kind = TN__SECTION_RODATA, .role = TN__ROLE_FINI, .whole = true},
    [TN__MACHO_LARGE_ZEROFILL] = {.kind = TN__SECTION_ZERO},
    [TN__MACHO_INTERPOSING] = {.refused = "interposing"},
    [TN__MACHO_LITERALS16] = {.whole = true},
    [15] = {.refused = "DTrace's"},
    [16] = {.refused = "lazy symbol pointers of shared libraries"},
    [TN__MACHO_TLS] = {.kind = TN__SECTION_TLS},
    [TN__MACHO_TLS_ZEROFILL] = {.kind = TN__SECTION_TLS_ZERO},
    [TN__MACHO_TLS_VARIABLES] = {.kind = TN__SECTION_DATA},
    [20] = {.refused = "pointers to thread-local variables"},
    [21] = {.refused = "functions that initialise thread-local variables"},
    [22] = {.refused = "offsets of initializers"},
    [23] = {.refused = "a type that does not exist"},
};

static bool is_in(const struct tn__macho_section *section, const char *segment)
{
    size_t length = strlen(segment);
    return !strncmp(section->name, segment, length) && section->name[length] == ',';
}

/* For debuggers, or for a linker. */
static bool is_unloaded(const struct tn__macho_section *section)
{
    return section->flags & TN__MACHO_DEBUG || is_in(section, "__DWARF") || is_in(section, "__LD") ||
           is_in(section, "__LLVM");
}

/* Of one with bytes that its type says nothing about. */
static uint8_t segment_kind(const struct tn__macho_section *section)
{
    if (section->flags & (TN__MACHO_ONLY_CODE | TN__MACHO_SOME_CODE))
        return TN__SECTION_CODE;
    bool constant =
        is_in(section, "__TEXT") || is_in(section, "__DATA_CONST") || !strcmp(section->name, "__DATA,__const");
    return constant ? TN__SECTION_RODATA : TN__SECTION_DATA;
}

static bool is_unwind(const struct tn__macho_section *section)
{
    return !strcmp(section->name, "__TEXT,__eh_frame");
}

int tn__macho_set_kind(const struct tn__macho_reader *r, struct tn__macho_section *section)
{
    static const struct type unknown = {.refused = "a type that does not exist"};
    if (is_unloaded(section))
        return 0;
    const struct type *type =
        tn__macho_type(section) < TN__MACHO_SECTION_TYPES ? &types[tn__macho_type(section)] : &unknown;
    if (type->refused)
        return tn__fail(r->err, TN_ENOTSUP, "%s: section %s: sections of type %#x (%s) cannot be loaded",
                        r->object->name, section->name, tn__macho_type(section), type->refused);
    section->role = type->role;
    section->kind = type->kind ? type->kind : segment_kind(section);
    if (is_unwind(section)) {
        section->kind = TN__SECTION_RODATA;
        section->role = TN__ROLE_UNWIND;
        if (!section->bytes)
            return TN__MACHO_FAIL(r, "%s: section %s: an unwind table without bytes", r->object->name, section->name);
    }
    return 0;
}

bool tn__macho_is_divisible(const struct tn__macho_section *section)
{
    return section->kind && section->role == TN__ROLE_NONE && !types[tn__macho_type(section)].whole;
}
