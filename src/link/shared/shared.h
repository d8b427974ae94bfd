/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* ELF shared libraries (gABI 4.1, chapter 5; psABI for x86-64; "ELF Handling For Thread-Local Storage"). One becomes
 * a neutral object whose sections are its segments, which keep their distances: an image. Everything else is done by
 * links as for other objects. */

#ifndef TENON_SHARED_H
#define TENON_SHARED_H

#include <elf.h>

#include "link/model/late.h"
#include "link/model/plan.h"

#pragma GCC visibility push(hidden)

/* What a relocation of a shared library becomes: an index into the rows of its format (x86_64.c). */
enum tn__shared_row {
    TN__SHARED_RELATIVE,
    TN__SHARED_64,
    TN__SHARED_GLOB_DAT,
    TN__SHARED_JUMP_SLOT,
    TN__SHARED_SIZE64,
    TN__SHARED_DTPMOD64,     /* of a named variable: its offset is a distance from the thread pointer */
    TN__SHARED_DTPMOD64_OWN, /* of the library: offsets count from the beginning of its thread-local data */
    TN__SHARED_DTPOFF64,
    TN__SHARED_TPOFF64,
    TN__SHARED_TLSDESC,        /* the first word of a descriptor, */
    TN__SHARED_TLSDESC_OFFSET, /* and the second */
    TN__SHARED_IRELATIVE,
    TN__SHARED_FUNCTION, /* of an array that is made for DT_INIT or DT_FINI */
    TN__SHARED_ROWS,
};

enum { TN__SHARED_SEGMENTS = 32 };

/* A part of the file in memory, by addresses of the file. */
struct tn__shared_segment {
    uint64_t address, file_size, size, offset;
    uint8_t prot;
    uint32_t section, zeros; /* numbers of the sections that it becomes; 0: none */
};

/* Local symbols of the neutral object behind those of the file. */
enum tn__shared_symbol {
    TN__SHARED_BASE,       /* address 0 of the file */
    TN__SHARED_TLS,        /* the beginning of its thread-local data */
    TN__SHARED_ONE,        /* the module number */
    TN__SHARED_DESCRIPTOR, /* what TLS descriptors call */
    TN__SHARED_SYMBOLS,
};

/* Tables to find definitions by (names.c). */
struct tn__shared_names {
    struct tn__late late;
    const uint8_t *buckets, *chains; /* of DT_GNU_HASH */
    uint32_t bucket_count;           /* 0: there is no such table, and no definition is late */
    uint32_t first, end;             /* the symbols that it has */
    const uint8_t *symtab, *versym;  /* versym may be NULL */
    const char *strings;
    uint64_t strings_size, most; /* of bytes; of bytes of names, each counted as often as it occurs */
    struct {
        uint64_t buckets, chains, symtab, versym, strings;
    } at;                 /* addresses of the file */
    uint64_t input_flags; /* TN_INPUT_... */
    uint64_t bias;        /* of a linked library */
};

/* What a file has besides sections, symbols and relocations. In the arena of the object's data. */
struct tn__shared {
    struct tn__shared_names names;
    struct tn__image_steps steps;
    struct tn__shared_segment segments[TN__SHARED_SEGMENTS];
    size_t segment_count;
    uint64_t start, size, alignment; /* of all segments, in whole pages */
    uint64_t relro, relro_size;      /* of segments that are read-only in the end */
    uint64_t frames;                 /* the address of PT_GNU_EH_FRAME; 0: there is none */
    uint64_t dynamic;                /* that of PT_DYNAMIC */
    uint64_t tls_size, tls_alignment;
    const Elf64_Phdr *headers; /* in the arena */
    uint16_t header_count;
    const char *soname; /* NULL: there is none */
    const char **needed;
    size_t needed_count;
    bool stays; /* DF_1_NODELETE */
};

static inline struct tn__shared *tn__shared_of(const struct tn__object_data *data)
{
    return tn__container_of((struct tn__image_steps *)(uintptr_t)data->image, struct tn__shared, steps);
}

/* ---- a file that is being read ---- */

/* Entries of the dynamic section that have one value; d_tag of each is in a table of reader.c. */
enum tn__shared_tag {
    TN__DT_STRTAB,
    TN__DT_STRSZ,
    TN__DT_SYMTAB,
    TN__DT_SYMENT,
    TN__DT_HASH,
    TN__DT_GNU_HASH,
    TN__DT_VERSYM,
    TN__DT_VERDEF,
    TN__DT_VERDEFNUM,
    TN__DT_VERNEED,
    TN__DT_VERNEEDNUM,
    TN__DT_RELA,
    TN__DT_RELASZ,
    TN__DT_RELAENT,
    TN__DT_JMPREL,
    TN__DT_PLTRELSZ,
    TN__DT_PLTREL,
    TN__DT_RELR,
    TN__DT_RELRSZ,
    TN__DT_RELRENT,
    TN__DT_INIT,
    TN__DT_FINI,
    TN__DT_INIT_ARRAY,
    TN__DT_INIT_ARRAYSZ,
    TN__DT_FINI_ARRAY,
    TN__DT_FINI_ARRAYSZ,
    TN__DT_SONAME,
    TN__DT_FLAGS,
    TN__DT_FLAGS_1,
    TN__DT_TAGS,
};

struct tn__shared_reader {
    struct tn__object_data *object;
    struct tn__shared *shared;
    struct tn_error *err;
    uint64_t tags[TN__DT_TAGS]; /* 0: there is no such entry */
    Elf64_Phdr tls;             /* p_memsz 0: there is none */
    uint64_t dynamic_size;
    const char *strings;
    uint64_t strings_size;
    uint32_t file_symbols; /* those of the file, by number */
    const uint8_t *symtab;
    const uint8_t *versym; /* NULL: there are no versions */
    const char **versions; /* that it defines, by number; NULL: it does not */
    size_t version_count;
    uint64_t copied;                 /* bytes of names */
    bool *is_used;                   /* by symbol: a relocation refers to it */
    uint32_t tls_section, tls_zeros; /* 0: none */
    uint64_t *indirect;              /* addresses of IRELATIVE relocations: each has a symbol of its own at the end */
    size_t indirect_count;
    uint64_t words; /* that relocations with addends store */
};

#define TN__SHARED_FAIL(r, ...) tn__fail((r)->err, TN_EFORMAT, __VA_ARGS__)

/* The bytes of the file at an address, if the file has `size` of them in one segment; NULL otherwise. */
const uint8_t *tn__shared_at(const struct tn__shared *shared, const struct tn__object_data *object, uint64_t address,
                             uint64_t size);
/* How many bytes the file has from this address on in its segment. */
uint64_t tn__shared_left(const struct tn__shared *shared, uint64_t address);
/* The segment with all of these bytes in memory; NULL: there is none. */
const struct tn__shared_segment *tn__shared_segment_at(const struct tn__shared *shared, uint64_t address,
                                                       uint64_t size);
/* A string of the dynamic string table; NULL: it is outside. The table ends with a NUL. */
const char *tn__shared_string(const struct tn__shared_reader *r, uint64_t offset);

/* The number of one of the symbols at the end. */
static inline uint32_t tn__shared_symbol(const struct tn__shared_reader *r, enum tn__shared_symbol which)
{
    return r->file_symbols + (uint32_t)which;
}

/* symbols.c. Counts the file's symbols; makes all. The relocations are known. TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__shared_count_symbols(struct tn__shared_reader *r);
int tn__shared_read_symbols(struct tn__shared_reader *r);
/* names.c. Completes the tables of the file, of which the hash table is known; makes those of a library in memory. True
 * for a definition that these find. */
void tn__shared_begin_names(struct tn__shared_names *names, const struct tn__shared_reader *r);
void tn__shared_move_names(struct tn__shared_names *names, const struct tn__shared_names *file, uint64_t bias);
static inline bool tn__shared_is_late(const struct tn__shared_names *names, uint32_t number, const Elf64_Sym *symbol)
{
    enum { LOCAL = 0, GLOBAL = 1, HIDDEN = 0x8000 };
    uint8_t binding = ELF64_ST_BIND(symbol->st_info), visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    uint16_t version = names->versym ? tn__get16(names->versym + (size_t)number * 2) : GLOBAL;
    return number >= names->first && number < names->end && (binding == STB_GLOBAL || binding == STB_WEAK) &&
           (visibility == STV_DEFAULT || visibility == STV_PROTECTED) && ELF64_ST_TYPE(symbol->st_info) <= STT_FUNC &&
           symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_COMMON && version != LOCAL && version < HIDDEN;
}
/* versions.c: what the library needs of the host's C library is there. TN_EFORMAT, TN_EUNDEF, TN_ENOTSUP. */
int tn__shared_check_needs(struct tn__shared_reader *r);
/* Fills r->versions. TN_EFORMAT, TN_ENOMEM. */
int tn__shared_read_versions(struct tn__shared_reader *r);
/* relocs.c. The largest number of a symbol that one refers to. Checks them all, converts them, and notes which symbols
 * they use. TN_EFORMAT, TN_ENOTSUP, TN_ENOMEM. */
int tn__shared_last_symbol(struct tn__shared_reader *r, uint32_t *last);
int tn__shared_read_relocs(struct tn__shared_reader *r);
/* reader.c: struct tn__reader. */
bool tn__shared_claims(const uint8_t *bytes, size_t size, uint32_t machine);
int tn__shared_read(struct tn__object_data *object, struct tn_error *err);

/* ---- an image ---- */

/* memory.c: struct tn__image_steps. */
int tn__shared_map(struct tn__link *link, struct tn__object *object);
int tn__shared_protect(struct tn__link *link, struct tn__object *object);
/* needed.c: likewise. */
int tn__shared_add(struct tn_library *library, struct tn__object_data *data, struct tn_error *err);

/* What is known of an image as long as it is mapped (found.c). */
struct tn__shared_image {
    struct tn__image image;
    struct tn__list listed;
    uint32_t users; /* guarded by the threads' lock: with the last one it is freed */
    struct tn__shared_names names;
    struct {
        uint64_t bias;
        const char *name;
        uint64_t dynamic;
        void *links[4]; /* of a debugger's list, in which it is not */
    } link_map;         /* as struct link_map begins */
    uint64_t frames;    /* 0: none */
    int64_t tls;        /* the place of its thread-local data (tls.h); 0: there is none */
    uint16_t header_count;
    Elf64_Phdr headers[]; /* and the name behind them */
};

void tn__shared_announce(struct tn__shared_image *image);
/* It is no longer mapped; takes it over. */
void tn__shared_withdraw(struct tn__shared_image *image);
/* _dl_find_object (glibc 2.35) as seen by loaded shared libraries. */
int tn__shared_find_object(void *address, void *result);

#pragma GCC visibility pop
#endif
