/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */

/* What the reader needs of the Mach-O format ("OS X ABI Mach-O File Format Reference", Apple, 2009; later flags as the
 * headers of macOS 13 number them). Systems other than Apple's have no header for it. All numbers in objects for the
 * machines known here are little-endian; those in the header of a universal file are big-endian. */

#ifndef TENON_MACHO_H
#define TENON_MACHO_H

enum {
    TN__MACHO_MAGIC = 0xfeedfacf,      /* struct mach_header_64 */
    TN__MACHO_UNIVERSAL = 0xcafebabe,  /* struct fat_header, with 32-bit offsets */
    TN__MACHO_UNIVERSAL64 = 0xcafebabf /* with 64-bit offsets */
};

/* cputype, cpusubtype without the capability bits. */
enum { TN__MACHO_X86_64 = 0x01000007, TN__MACHO_ARM64 = 0x0100000c };
enum { TN__MACHO_SUBTYPE_MASK = 0x00ffffff, TN__MACHO_ARM64E = 2, TN__MACHO_HASWELL = 8 };

/* Places of members: MAGIC is that of struct mach_header_64, and so on. */
enum { /* struct mach_header_64 */
       TN__MACHO_CPU = 4,
       TN__MACHO_SUBTYPE = 8,
       TN__MACHO_FILE_TYPE = 12,
       TN__MACHO_COMMANDS = 16,
       TN__MACHO_COMMANDS_SIZE = 20,
       TN__MACHO_FLAGS = 24,
       TN__MACHO_HEADER = 32, /* its size */
};
enum { TN__MACHO_OBJECT = 1, TN__MACHO_SPLITS = 0x2000 /* MH_SUBSECTIONS_VIA_SYMBOLS */ };

enum { TN__MACHO_LC_SYMTAB = 2, TN__MACHO_LC_SEGMENT64 = 0x19, TN__MACHO_COMMAND = 8 };
enum { TN__MACHO_SEGMENT_SECTIONS = 64, TN__MACHO_SEGMENT = 72 }; /* struct segment_command_64 */
enum {                                                            /* struct symtab_command */
       TN__MACHO_SYMTAB_OFFSET = 8,
       TN__MACHO_SYMTAB_COUNT = 12,
       TN__MACHO_STRINGS_OFFSET = 16,
       TN__MACHO_STRINGS_SIZE = 20,
       TN__MACHO_SYMTAB = 24,
};

enum { /* struct section_64 */
       TN__MACHO_SECTION_NAME = 0,
       TN__MACHO_SEGMENT_NAME = 16,
       TN__MACHO_NAME = 16, /* the most bytes of either */
       TN__MACHO_SECTION_ADDRESS = 32,
       TN__MACHO_SECTION_SIZE = 40,
       TN__MACHO_SECTION_OFFSET = 48,
       TN__MACHO_SECTION_ALIGN = 52,
       TN__MACHO_SECTION_RELOCS = 56,
       TN__MACHO_SECTION_RELOC_COUNT = 60,
       TN__MACHO_SECTION_FLAGS = 64,
       TN__MACHO_SECTION = 80,
};

/* Types of sections: the low byte of their flags. */
enum {
    TN__MACHO_REGULAR = 0,
    TN__MACHO_ZEROFILL = 1,
    TN__MACHO_CSTRINGS = 2,
    TN__MACHO_LITERALS4 = 3,
    TN__MACHO_LITERALS8 = 4,
    TN__MACHO_LITERAL_POINTERS = 5,
    TN__MACHO_SYMBOL_POINTERS = 6,
    TN__MACHO_LAZY_POINTERS = 7,
    TN__MACHO_STUBS = 8,
    TN__MACHO_INITIALIZERS = 9,
    TN__MACHO_FINALIZERS = 10,
    TN__MACHO_COALESCED = 11,
    TN__MACHO_LARGE_ZEROFILL = 12,
    TN__MACHO_INTERPOSING = 13,
    TN__MACHO_LITERALS16 = 14,
    TN__MACHO_TLS = 17,
    TN__MACHO_TLS_ZEROFILL = 18,
    TN__MACHO_TLS_VARIABLES = 19, /* descriptors */
    TN__MACHO_SECTION_TYPES = 24,
};
/* Attributes: the rest of the flags. */
enum {
    TN__MACHO_SOME_CODE = 0x400,
    TN__MACHO_DEBUG = 0x02000000,
    TN__MACHO_LIVE_SUPPORT = 0x08000000,
    TN__MACHO_NO_DEAD_STRIP = 0x10000000,
};
#define TN__MACHO_ONLY_CODE 0x80000000U

enum { /* struct nlist_64 */
       TN__MACHO_SYMBOL_NAME = 0,
       TN__MACHO_SYMBOL_TYPE = 4,
       TN__MACHO_SYMBOL_SECTION = 5,
       TN__MACHO_SYMBOL_DESC = 6,
       TN__MACHO_SYMBOL_VALUE = 8,
       TN__MACHO_SYMBOL = 16,
};
enum { /* n_type */
       TN__MACHO_EXTERNAL = 1,
       TN__MACHO_TYPE_MASK = 0x0e,
       TN__MACHO_UNDEFINED = 0,
       TN__MACHO_ABSOLUTE = 2,
       TN__MACHO_INDIRECT = 10,
       TN__MACHO_IN_SECTION = 14,
       TN__MACHO_PRIVATE = 0x10,
       TN__MACHO_STAB = 0xe0, /* any of these bits: for debuggers */
};
enum { /* n_desc */
       TN__MACHO_SYMBOL_KEPT = 0x20,
       TN__MACHO_WEAK_REFERENCE = 0x40,
       TN__MACHO_WEAK_DEFINITION = 0x80,
       TN__MACHO_RESOLVER = 0x100,
       TN__MACHO_ALTERNATE_ENTRY = 0x200,
};

/* struct relocation_info: 4 bytes of address, then the bit fields. */
enum {
    TN__MACHO_RELOC = 8,
    TN__MACHO_RELOC_SYMBOL = 0x00ffffff,
    TN__MACHO_RELOC_RELATIVE = 24, /* bits */
    TN__MACHO_RELOC_LENGTH = 25,
    TN__MACHO_RELOC_EXTERNAL = 27,
    TN__MACHO_RELOC_TYPE = 28,
};

/* struct fat_arch and fat_arch_64. */
enum { TN__MACHO_SLICES = 8, TN__MACHO_SLICE = 20, TN__MACHO_SLICE64 = 32 };

#endif
