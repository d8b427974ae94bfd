/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* The neutral object: what readers produce and all later phases work on. Flat arrays; no phase after the readers knows
 * the file format.
 *
 * ELF relocations stay in the file's bytes and are copied in blocks when they are scanned and applied: as an array of
 * their own they would be the largest of the link, and touching fresh memory costs more than copying twice. Readers of
 * other formats convert theirs. */

#ifndef TENON_OBJECT_H
#define TENON_OBJECT_H

#include "link/arch/reloc.h"

#pragma GCC visibility push(hidden)

struct tn__archive;
struct tn__archive_renaming;
struct tn__entry;
struct tn__link;
struct tn__object;
struct tn__object_data;
struct tn__mem_range;
struct tn__window;

enum tn__content {
    TN__SECTION_UNLOADED = 0, /* debug data, symbol tables ... */
    TN__SECTION_CODE,
    TN__SECTION_RODATA, /* includes data that is read-only once relocated */
    TN__SECTION_DATA,
    TN__SECTION_ZERO, /* data without bytes in the file */
    TN__SECTION_TLS,  /* initial values of thread-local data; its address is a distance from the thread pointer */
    TN__SECTION_TLS_ZERO,
    TN__SECTION_KINDS,
};

enum tn__section_role {
    TN__ROLE_NONE = 0,
    TN__ROLE_INIT, /* an array of initializers */
    TN__ROLE_FINI, /* an array of finalizers */
    TN__ROLE_UNWIND,
    TN__ROLE_MANAGED, /* stack maps, root ranges, types and versions of the ABI, which observers read */
    TN__ROLE_STARTUP, /* code that is a piece of a function which the C library's startup files begin, end and call */
    TN__ROLES,
};

/* Order of .init_array and the like: smaller runs first. GNU ld sorts by the number in a section's name, then by the
 * name: .ctors.N comes before .init_array.N (and .dtors.N before .fini_array.N), and of these, one that spells the
 * number with more zeros before one with less. So each number has steps. Names that end in something else follow, as
 * with GNU ld in most cases, and names without a suffix come last. */
enum {
    TN__PRIORITY_FIRST = 0,
    TN__PRIORITY_SPELLINGS = 16,
    TN__PRIORITY_STEPS = 2 * TN__PRIORITY_SPELLINGS,
    TN__PRIORITY_UNNUMBERED = TN__PRIORITY_STEPS * 65536,
    TN__PRIORITY_LAST,
};

struct tn__input_section {
    const char *name;
    const uint8_t *bytes; /* in the file; NULL for TN__SECTION_ZERO */
    uint64_t size, alignment;
    const uint8_t *relocs; /* in the file, undecoded, or in the object's arena; also of sections that are not loaded */
    uint64_t reloc_count;
    bool relocs_made; /* they are an array of struct tn__reloc that belongs to the object or the link */
    uint64_t address; /* once placed */
    union {
        uint8_t *write;                   /* where the bytes for `address` are written */
        struct tn__dependent *dependents; /* before it is placed: see strip.c */
    };
    uint64_t offset; /* in its zone's range */
    uint32_t priority;
    uint32_t follows; /* the section that it accompanies (SHF_LINK_ORDER); 0: none */
    uint32_t notes;   /* of tn__arch.note */
    uint8_t kind, role;
    uint8_t symbol_flags; /* TN__SYMBOL_... of the symbols that it defines; see bind.c */
    bool reversed;        /* its functions run from last to first */
    bool backwards;       /* of sections of its object with its priority, the last one is the first to run */
    bool discarded;       /* another object's copy of its COMDAT group is used, or it was stripped */
    bool is_copy;         /* in a COMDAT group of which this object's copy is used */
    bool retained;        /* not to be stripped */
    bool supports;        /* to be stripped unless it refers to something that is kept */
    bool live, stripped;  /* see strip.c */
    bool pinned;          /* placed at a chosen address, outside of the object's ranges */
    bool mapped;          /* pinned, and its bytes are there already */
    bool gathered;        /* in one that several objects share */
    bool grouped;         /* what follows a $ in its name says where it lies among those of the name */
    bool compressed;
    bool strings; /* NUL-terminated ones, which may be shared with other sections */
    bool note;    /* a note about the file; not loaded */
};

enum tn__symbol_place {
    TN__PLACE_UNDEFINED = 0,
    TN__PLACE_SECTION,
    TN__PLACE_ABSOLUTE,
    TN__PLACE_COMMON, /* value is the alignment */
    TN__PLACE_ALIAS,  /* another name of the symbol whose number is the value */
};

/* What an undefined symbol is for its own object if nothing defines it. */
enum tn__stand_in {
    TN__STAND_IN_NONE = 0,
    TN__STAND_IN_SLOT, /* the GOT slot of the symbol whose number is in `section` */
    TN__STAND_IN_BASE, /* the address from which those of loaded code are counted: see TN__V_S_A_BASE */
};

enum tn__binding { TN__BIND_LOCAL = 0, TN__BIND_WEAK, TN__BIND_GLOBAL };

/* Those from TLS on are restricted to certain sections. */
enum tn__symbol_type { TN__TYPE_OTHER = 0, TN__TYPE_FUNCTION, TN__TYPE_SECTION, TN__TYPE_TLS, TN__TYPE_IFUNC };

struct tn__symbol {
    const char *name; /* in the file, NUL-terminated */
    union {
        struct tn__entry *entry; /* in the library's table; NULL for local symbols */
        uint64_t key;            /* of the name, until it is entered there; 0 for local symbols */
    };
    uint64_t value, size;
    uint32_t section; /* or of an undefined symbol: see enum tn__stand_in */
    uint8_t place : 7;
    bool is_copy : 1; /* of a variable of which every object that needs it may have a copy, without a COMDAT group */
    uint8_t binding, type;
    bool hidden : 1;  /* invisible to other libraries */
    bool listed : 1;  /* its entry is in the object's list of entries */
    bool late : 1;    /* a definition that is entered when its name is looked up: see late.h */
    bool dropped : 1; /* defined in a group of which another object's copy is kept; treated as a reference meanwhile */
    bool dropped_weak : 1;   /* and was weak */
    bool after_archives : 1; /* a weak definition that members of archives come before */
    uint8_t stand_in : 2;
    bool exact : 1; /* a local one whose name is as in the file, although the reader has a c_prefix */
};

/* Which copies of a group may be there, and which of them is kept. */
enum tn__selection {
    TN__SELECT_ANY = 0, /* the first one */
    TN__SELECT_LARGEST,
    TN__SELECT_SAME_SIZE, /* any, and all are alike: */
    TN__SELECT_EXACT_MATCH,
    TN__SELECT_SETTING, /* all are alike, and have no members: see below */
};

/* A COMDAT group: sections of which a library keeps only one object's copy. Or a setting that all objects of a library
 * have to share; the signature is its name, which begins as no symbol's does, and the measure a hash of its value. */
struct tn__group {
    const char *signature;
    uint64_t key; /* of the signature */
    const uint32_t *members;
    uint32_t count;
    uint8_t selection;
    bool listed;      /* its entry is in the object's list of entries */
    uint32_t measure; /* what copies are compared by: their size or, where they have to match, a hash */
};

/* Laid out as Elf64_Rela, so that ELF files' records need no conversion. */
struct tn__reloc {
    uint64_t offset; /* in its section */
    uint32_t type;   /* an index into the architecture's rows */
    uint32_t symbol;
    int64_t addend;
};

enum { TN__RELOC_BLOCK = 128 };

/* What adding and linking do for an object with an image (plan.h). */
struct tn__image_steps {
    /* Before it is entered in a library, without a lock. */
    int (*add)(struct tn_library *library, struct tn__object_data *data, struct tn_error *err);
    /* Gives the object its image, and its pinned sections, which are all in there, their addresses. */
    int (*map)(struct tn__link *link, struct tn__object *object);
    int (*protect)(struct tn__link *link, struct tn__object *object); /* everything is written */
};

struct tn__late;

/* An object as it is read, with everything that it needs until it is linked. Who frees it: a function that enters it
 * takes it over, and frees its arena if it fails. On success tn__library_add has moved it into an object, or stage
 * (responsibility.c) into a promise. The bytes of `input` are not part of it: they stay the caller's until an object or
 * a promise has the data, and are released when that lets go of it (tn__object_release_data; tn__promise_unstage). */
struct tn__object_data {
    const char *name; /* "file.o", "archive.a(member.o)"; in `arena` */
    const uint8_t *bytes;
    size_t size;
    const struct tn_format *format;
    const struct tn__arch *arch; /* the format's */
    uint32_t variant;            /* what the file says about its code besides: e_flags of ELF */
    bool any_machine;            /* it is looked at and not linked */
    bool may_change;             /* the bytes are those of a mapped file */
    bool becomes_program;        /* code that would have to run by itself there, and would not, is refused */
    bool with_unloaded;          /* relocations of sections that are not loaded are wanted too */
    bool has_stand_ins;          /* among its symbols */
    bool has_ifuncs;             /* likewise: indirect functions */
    bool has_commons;            /* likewise */
    bool has_groups;             /* a grouped section has a $ in its name */
    bool is_refused;             /* by the client, and not read */
    bool relocs_sound;           /* the reader has checked that their types and symbols exist, and where they lie */
    struct tn__input_section *sections;
    struct tn__symbol *symbols;
    struct tn__group *groups;
    const struct tn__image_steps *image; /* NULL: it has none */
    struct tn__late *late;               /* for those of its symbols that are late; NULL: there are none */
    uint32_t section_count, symbol_count, group_count;
    uint32_t split;         /* how many of the symbols, at the end, are not in the file (lazy/lazy_object.c) */
    uint32_t base;          /* the symbol from whose address TN__V_S_A_BASE counts; 0: there is none */
    uint32_t first_global;  /* symbols before this one are local; set with their keys (symtab.h), like */
    uint32_t late_first;    /* symbols from this one on are late, or local, and have no entries; 0: there is none */
    uint32_t name_count;    /* how many names the object enters: of global symbols and of groups */
    uint32_t first_need;    /* symbols from this one on are needed although no relocation refers to them; 0: none */
    uint64_t number;        /* of the object, archive or promise that it came with, among the library's inputs */
    uint64_t explored;      /* the last query that followed its references */
    struct tn_input input;  /* the source of the bytes, with the function that releases them */
    struct tn__arena arena; /* holds the arrays */
};

/* Symbols from this one on have no entries. */
static inline uint32_t tn__object_entered_end(const struct tn__object_data *data)
{
    return data->late_first ? data->late_first : data->symbol_count;
}

/* The file that the bytes are mapped from, of a format that maps more of it when the object is linked. -1: there is
 * none. It is closed with the input. */
int tn__object_file(const struct tn__object_data *data);

/* The size of a symbol, as far as it lies in its section. The file may claim more than the section or the address space
 * has: whatever computes a symbol's end uses this size. */
static inline uint64_t tn__symbol_size(const struct tn__object_data *data, const struct tn__symbol *symbol)
{
    if (symbol->place != TN__PLACE_SECTION)
        return symbol->size;
    uint64_t size = data->sections[symbol->section].size;
    return symbol->value < size ? tn__min64(symbol->size, size - symbol->value) : 0;
}

/* The most bytes of names, each counted as often as it occurs, that are accepted from a file. Names may end alike and
 * share bytes; those that compilers make are no longer in sum than their file. */
static inline uint64_t tn__names_limit(const struct tn__object_data *data)
{
    return data->size ? (1 << 20) + 64 * (uint64_t)data->size : UINT64_MAX; /* the client's are in no file */
}

/* TN_EFORMAT; `of` is a plural noun. */
int tn__object_fail_names(const struct tn__object_data *data, const char *of, struct tn_error *err);

/* The reader of a file format, for all architectures. */
struct tn__reader {
    const char *name;
    char c_prefix; /* in files, names of C begin with it; a session knows them without, and others with \1; 0: none */
    bool has_versions;  /* a definition of NAME@@VERSION is one of NAME and of NAME@VERSION */
    bool common_yields; /* common symbols give way to weak definitions */
    bool maps_files;    /* parts of a file stay mapped while the object is linked: see tn__object_file */
    /* For the index of an archive, where there is a c_prefix: tn__archive_rename (archive.h). NULL: none. */
    int (*rename)(const struct tn__archive *archive, struct tn__archive_renaming *renaming, struct tn_error *err);
    /* True for files of this format, for the architecture that they know by this number (0: for any). Also true for
     * files that are too short to say. */
    bool (*claims)(const uint8_t *bytes, size_t size, uint32_t machine);
    /* Of files that have a part for each of several machines: changes *bytes and *size to the part for this one. False:
     * it is no such file, or has none for it. NULL: the format has no such files. */
    bool (*take_part)(const uint8_t **bytes, size_t *size, uint32_t machine);
    /* Fills in the arrays of an object whose name, bytes, size, format and architecture are set; allocates in its
     * arena. TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
    int (*read)(struct tn__object_data *object, struct tn_error *err);
};

/* The end of NAME in NAME@@VERSION; NULL: it is no such name. A number is no version: compilers put the size of the
 * arguments behind the names of functions that are called by registers (vectorcall), references and definitions
 * alike. */
static inline const char *tn__default_version(const char *name)
{
    const char *at = strchr(name, '@');
    bool doubled = at && at != name && at[1] == '@' && at[2] && at[2] != '@';
    return doubled && at[2 + strspn(at + 2, "0123456789")] ? at : NULL;
}

extern const struct tn__reader tn__reader_elf, tn__reader_macho, tn__reader_coff;

/* A file format for one architecture: what the public header calls a format. Each is a file of its own beside the
 * reader, with the format's relocation types as rows, which stand at the numbers that the reader gives them. */
struct tn_format {
    const char *name;
    const struct tn__reader *reader;
    const struct tn__arch *arch; /* NULL: any, of objects that are looked at and not linked */
    uint32_t machine;            /* the architecture's number in such files */
    uint32_t unwind_type; /* in ELF files, of sections with unwind data, besides SHT_PROGBITS; 0: there is none */
    const struct tn__row *rows;
    uint32_t row_count;
    const struct tn__steps *steps; /* what a link does for such objects alone (passes/steps.h); NULL: nothing */
    const void *details; /* what else the reader has to know of the architecture; its folder's reader.h has the type */
};

/* ELF for any machine, without relocation types: for programs that only look at objects. */
extern const struct tn_format tn__format_elf;

/* What a session reads unless it is told otherwise: ELF of this machine, and NULL (host_*.c). */
extern const struct tn_format *const tn__formats_host[];

/* Copies `count` relocations starting at number `first`, all below reloc_count: nothing in a file is aligned. They are
 * unchecked. */
void tn__relocs_copy(const struct tn__input_section *section, uint64_t first, struct tn__reloc *out, size_t count);

/* Iterates over the relocations of a section (except in passes/reloc_loop.h, whose loop is hot):
 *
 *     struct tn__relocs relocs;
 *     tn__relocs_begin(&relocs, section);
 *     for (const struct tn__reloc *reloc; (reloc = tn__relocs_next(&relocs));) */
struct tn__relocs {
    const struct tn__input_section *section;
    uint64_t decoded; /* of the section's */
    size_t at, count; /* in `block` */
    struct tn__reloc block[TN__RELOC_BLOCK];
};

static inline void tn__relocs_begin(struct tn__relocs *relocs, const struct tn__input_section *section)
{
    relocs->section = section;
    relocs->decoded = relocs->at = relocs->count = 0;
}

/* NULL after the last one; valid until the next call. */
static inline const struct tn__reloc *tn__relocs_next(struct tn__relocs *relocs)
{
    if (relocs->at == relocs->count) {
        relocs->count = (size_t)tn__min64(relocs->section->reloc_count - relocs->decoded, TN__RELOC_BLOCK);
        if (!relocs->count)
            return NULL;
        tn__relocs_copy(relocs->section, relocs->decoded, relocs->block, relocs->count);
        relocs->decoded += relocs->count;
        relocs->at = 0;
    }
    return &relocs->block[relocs->at++];
}

/* The form of the relocation `next`, which follows `reloc`, for struct tn__sequence. */
static inline uint32_t tn__form_behind(const struct tn_format *format, const struct tn__reloc *reloc,
                                       const struct tn__reloc *next)
{
    enum { INSTRUCTION = 4 };
    bool together =
        next->offset - reloc->offset == INSTRUCTION && next->symbol == reloc->symbol && next->addend == reloc->addend;
    return together && next->type < format->row_count ? format->rows[next->type].relax : 0;
}

/* The name that a session has for one of a file whose reader has this c_prefix: a part of it, or *copy, which is the
 * caller's. NULL when memory is out (archive_names.c). */
const char *tn__session_name(char c_prefix, const char *name, const struct tn_allocator *from, char **copy);

/* That of the formats, up to NULL, which the bytes are of; NULL: none. */
const struct tn_format *tn__format_of(const struct tn_format *const *formats, const uint8_t *bytes, size_t size);

/* True if the bytes look like an object of a format that Tenon has a reader for (identify.c). */
bool tn__object_is_known(const uint8_t *bytes, size_t size);

/* A file of Darwin with parts for several machines, objects or archives (identify.c). */
bool tn__is_universal(const uint8_t *bytes, size_t size);

/* Reads an object of one of the formats, up to NULL; name, bytes and size are set. TN_EFORMAT, TN_ENOTSUP (also: a
 * format that is not among them), TN_ENOMEM. */
int tn__object_read(struct tn__object_data *object, const struct tn_format *const *formats, struct tn_error *err);

/* What a file is that is of none of the formats: TN_ENOTSUP if Tenon knows its format, else TN_EFORMAT (identify.c). */
int tn__object_fail_format(const struct tn__object_data *object, const struct tn_format *const *formats,
                           struct tn_error *err);

/* "AArch64": a machine of ELF files (identify.c). */
const char *tn__elf_machine_name(uint16_t machine, uint8_t class);

#pragma GCC visibility pop
#endif
